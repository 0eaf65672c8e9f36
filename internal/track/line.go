package track

import (
	"math"
	"slices"

	"github.com/dynolab/dyno/internal/stats"
)

// A Commit is one of a history.
type Commit struct {
	ID, Tree, Title, Date string
}

// A Line is a metric over the commits of a history that were measured, the oldest first.
type Line struct {
	Metric string
	At     []Place
	Lost   []string // commits that were measured and are not in the history, as after a rebase
	Apart  []string // commits whose level in this metric is not known, as that of what they were compared with is not

	places  map[int]int // by index in the history
	history *history
	base    string // the anchor whose level is 0
}

// A Place is a measured commit on a line.
type Place struct {
	Commit
	Index  int       // in the history
	Level  float64   // logarithm of the ratio to the first anchor
	SE     float64   // its standard error, that of the anchors between included, such that Level ± 1.96 SE is an interval of 95 %
	Step   []float64 // logarithms of the ratio to the commit before, one of each block
	Before string    // that commit
	Same   bool      // its program is that of Before
	Anchor string

	own float64 // the part of SE that is not the anchor's
}

// Line puts what is known of a metric on one line. A point whose commit is no longer in the history stands for the commit with the same tree.
func (l *Log) Line(metric string, commits []Commit) *Line {
	line := &Line{Metric: metric, places: map[int]int{}, history: l.history(commits), base: l.root()}
	trees := line.history.trees
	offsets := l.offsets(metric, trees)
	found, own := map[int][]Place{}, map[int]bool{}
	for _, p := range l.Points {
		if at, ok := line.history.byID[p.Commit]; ok && (p.Same || len(p.Logs[metric].Anchor) > 0 && offsets[trees.content(p.Anchor)].ok) {
			own[at] = true
		}
	}
	for _, p := range l.Points {
		all := line.history.all(p.Commit)
		if len(all) == 0 {
			line.Lost = with(line.Lost, p.Commit)
		}
		place := Place{Anchor: p.Anchor, Same: p.Same}
		level, known := estimate{}, true
		if anchor := offsets[trees.content(p.Anchor)]; !p.Same {
			level = ofBlocks(p.Logs[metric].Anchor)
			known = level.ok && anchor.ok
			place.Level, place.SE, place.own = anchor.mean+level.mean, math.Hypot(anchor.se, level.se), level.se
		}
		meant, _ := line.history.find(p.Commit)
		for _, at := range all {
			switch {
			case own[at] && commits[at].ID != p.Commit, p.Same && at != meant:
				continue
			case at != meant: // the commit before it is another one
				place.Step, place.Before = nil, ""
			default:
				place.Step, place.Before = p.Logs[metric].Before, p.Before
			}
			if place.Commit, place.Index = commits[at], at; known {
				found[at] = append(found[at], place)
			} else if level.ok {
				line.Apart = with(line.Apart, commits[at].ID)
			}
		}
	}
	for _, anchor := range l.anchors() {
		e, known := offsets[trees.content(anchor)]
		for _, at := range line.history.all(anchor) {
			if known && len(found[at]) == 0 {
				found[at] = []Place{{Commit: commits[at], Index: at, Level: e.mean, SE: e.se, Anchor: anchor}}
			}
		}
	}
	for at := range commits {
		if of := found[at]; len(of) > 0 {
			line.put(of, offsets)
		}
	}
	return line
}

func with(list []string, x string) []string {
	if slices.Contains(list, x) {
		return list
	}
	return append(list, x)
}

// put adds what is known of one commit to the end of the line. A commit whose program is that of another has the level of that.
func (line *Line) put(of []Place, offsets map[string]estimate) {
	p := merged(of)
	if e, known := offsets[line.history.trees.content(p.ID)]; p.Same {
		switch at := line.at(p.Before, p.Index); {
		case at >= 0:
			p.Level, p.SE = line.At[at].Level, line.At[at].SE
		case known:
			p.Level, p.SE = e.mean, e.se
		default:
			line.Apart = with(line.Apart, p.ID)
			return
		}
	}
	line.places[p.Index] = len(line.At)
	line.At = append(line.At, p)
}

// merged is a commit that was measured several times: the mean by precision.
func merged(of []Place) Place {
	own := slices.DeleteFunc(slices.Clone(of), func(p Place) bool { return p.Same })
	if len(own) < 2 {
		return append(own, of...)[0]
	}
	p, sum, weight, anchors := own[len(own)-1], 0.0, 0.0, 0.0
	for _, o := range own {
		if len(o.Step) > 0 {
			p = o
		}
		w := 1 / math.Max(o.own*o.own, 1e-8)
		sum, weight = sum+w*o.Level, weight+w
		anchors = max(anchors, math.Sqrt(max(0, o.SE*o.SE-o.own*o.own))) // an error that they may share
	}
	p.Level, p.SE = sum/weight, math.Hypot(math.Sqrt(1/weight), anchors)
	return p
}

// at is the place of a commit before an index of the history, -1 if it has none.
func (line *Line) at(commit string, before int) int {
	h := line.history
	i, ok := h.findBefore(commit, before)
	if place, placed := line.places[i]; ok && placed {
		return place
	}
	for _, i := range slices.Backward(h.byTree[h.trees[commit]]) { // it was not measured, but one with its content was
		if place, placed := line.places[i]; placed && i < before {
			return place
		}
	}
	return -1
}

// On reports whether what an alarm is about is on the line, and between which places.
func (line *Line) On(a *Alarm) (from, to int, ok bool) {
	last, ended := line.history.find(a.To)
	first, begun := line.history.findBefore(a.From, last)
	from, known := line.places[first]
	to, knownTo := line.places[last]
	return from, to, a.Metric == line.Metric && begun && ended && known && knownTo
}

// An estimate is a mean of logarithms with its standard error.
type estimate struct {
	mean, se float64
	ok       bool
}

// ofBlocks estimates by signed ranks. The error is that of a t interval, over 1.96: few blocks make it wider.
func ofBlocks(logs []float64) (e estimate) {
	m := stats.MeanOf(logs)
	ranks := stats.CompareRanks(logs, true, nil)
	if math.IsNaN(m.Hi) || math.IsNaN(ranks.Ratio) {
		return e
	}
	return estimate{math.Log(ranks.Ratio), (m.Hi - m.Lo) / 2 / 1.96, true}
}

// offsets are the levels of anchors, by content. The first anchor has 0. Each other was measured against one that is known, or its program is that of
// a commit that was.
func (l *Log) offsets(metric string, trees trees) map[string]estimate {
	offsets := map[string]estimate{trees.content(l.root()): {ok: true}}
	wanted := map[string]bool{}
	for _, anchor := range l.anchors() {
		wanted[trees.content(anchor)] = true
	}
	for grown := true; grown; {
		grown = false
		for _, p := range l.Points {
			if own, before := trees.content(p.Commit), trees.content(p.Before); p.Same && wanted[own] != wanted[before] {
				wanted[own], wanted[before], grown = true, true, true
			}
		}
	}
	for grown := true; grown; {
		grown = false
		take := func(content string, e estimate) {
			if _, known := offsets[content]; !known && e.ok && wanted[content] {
				offsets[content], grown = e, true
			}
		}
		for _, p := range l.Points {
			own, before := trees.content(p.Commit), trees.content(p.Before)
			if p.Same { // equal programs have one level
				take(own, offsets[before])
				take(before, offsets[own])
			} else if base := offsets[trees.content(p.Anchor)]; base.ok && wanted[own] && !offsets[own].ok {
				e := ofBlocks(p.Logs[metric].Anchor)
				take(own, estimate{base.mean + e.mean, math.Hypot(base.se, e.se), e.ok})
			}
		}
	}
	return offsets
}
