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
	Lost   int // points of commits that are not in the history, as after a rebase
}

// A Place is a measured commit on a line.
type Place struct {
	Commit
	Index  int       // in the history
	Level  float64   // logarithm of the ratio to the first anchor
	SE     float64   // its standard error, that of the anchors between included
	Step   []float64 // logarithms of the ratio to the commit before, one of each block
	Before string    // that commit
	Same   bool      // its program is that of the place before
	Anchor string
}

// Line puts what is known of a metric on one line. A point whose commit is no longer in the history stands for the commit with the same tree.
func (l *Log) Line(metric string, history []Commit) *Line {
	line := &Line{Metric: metric}
	offsets := l.offsets(metric)
	byID, byTree := map[string]int{}, map[string]int{}
	for i, c := range history {
		byID[c.ID] = i
		if c.Tree != "" {
			byTree[c.Tree] = i
		}
	}
	found := map[int][]Place{}
	for _, p := range l.Points {
		at, ok := byID[p.Commit]
		if !ok {
			at, ok = byTree[p.Tree]
		}
		if !ok {
			line.Lost++
			continue
		}
		place := Place{Commit: history[at], Index: at, Anchor: p.Anchor, Before: p.Before, Same: p.Same}
		if p.Same {
			found[at] = append(found[at], place)
			continue
		}
		anchor, known := offsets[p.Anchor]
		level := ofBlocks(p.Logs[metric].Anchor)
		if !known || !level.ok {
			continue
		}
		place.Level, place.SE, place.Step = anchor.mean+level.mean, math.Hypot(anchor.se, level.se), p.Logs[metric].Before
		found[at] = append(found[at], place)
	}
	for anchor, e := range offsets {
		if at, ok := byID[anchor]; ok && len(found[at]) == 0 {
			found[at] = []Place{{Commit: history[at], Index: at, Level: e.mean, SE: e.se, Anchor: anchor}}
		}
	}
	for at := range history {
		if of := found[at]; len(of) > 0 {
			line.At = append(line.At, merged(of))
		}
	}
	line.settle()
	return line
}

// settle gives commits whose program is that of the one before its level.
func (line *Line) settle() {
	for i := 0; i < len(line.At); i++ {
		if p := &line.At[i]; p.Same && i > 0 {
			p.Level, p.SE = line.At[i-1].Level, line.At[i-1].SE
		}
	}
	if first := slices.IndexFunc(line.At, func(p Place) bool { return !p.Same }); first > 0 {
		line.At = line.At[first:]
	} else if first < 0 {
		line.At = nil
	}
}

// merged is a commit that was measured several times: the mean by precision.
func merged(of []Place) Place {
	own := slices.DeleteFunc(slices.Clone(of), func(p Place) bool { return p.Same })
	if len(own) == 0 {
		return of[0]
	}
	p, sum, weight := own[len(own)-1], 0.0, 0.0
	for _, o := range own {
		w := 1 / math.Max(o.SE*o.SE, 1e-12)
		sum, weight = sum+w*o.Level, weight+w
	}
	p.Level, p.SE = sum/weight, math.Sqrt(1/weight)
	return p
}

// An estimate is a mean of logarithms with its standard error.
type estimate struct {
	mean, se float64
	ok       bool
}

func ofBlocks(logs []float64) (e estimate) {
	if len(logs) < 2 {
		return e
	}
	return estimate{stats.Median(logs), stats.GateRanks(logs, true).SD / math.Sqrt(float64(len(logs))), true}
}

// offsets are the levels of anchors. The first is 0; each other was measured against one before.
func (l *Log) offsets(metric string) map[string]estimate {
	offsets := map[string]estimate{}
	for _, p := range l.Points {
		if len(offsets) == 0 {
			offsets[p.Anchor] = estimate{ok: true}
		}
		if _, known := offsets[p.Commit]; known {
			continue
		}
		if base, ok := offsets[p.Anchor]; ok {
			if e := ofBlocks(p.Logs[metric].Anchor); e.ok {
				offsets[p.Commit] = estimate{base.mean + e.mean, math.Hypot(base.se, e.se), true}
			}
		}
	}
	return offsets
}
