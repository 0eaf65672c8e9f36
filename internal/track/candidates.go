package track

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/dynolab/dyno/internal/stats"
)

// Limits of what is looked at on fresh blocks.
const (
	PerCommit = 0.001  // false alarms, at most on average, for each commit that was measured
	Alpha     = 0.0005 // error of one look, so that two looks for each commit keep PerCommit
	head      = 10     // commits whose error may be spent before they are measured

	least      = 0.01 // smallest change that is looked at, as a logarithm
	directP    = 0.01 // p of a commit against the one before, from which on it is looked at
	placeDrop  = 3.0  // in units of log likelihood: where else a step may be
	again      = 10   // commits after which a place is looked at anew, if it is still a candidate
	mostPlaces = 250  // of a stretch, the last ones
)

// A Candidate is where a line may have changed. Most have not.
type Candidate struct {
	Metric   string
	Shape    Shape
	From, To Place   // the change is after From, and at To at the latest
	Size     float64 // logarithm of the ratio, as the line has it
	Direct   bool    // the commit differs from the one before, measured side by side
}

// Candidates are the places of a line to be looked at next, the greatest first.
//
// A commit that differs from the one before it, side by side, is one at once. Other steps are found by [stats.ChangePoints] on each stretch between
// the changes that were shown. Where such a step was looked at and not shown, the line may creep: then the ends of the stretch are compared. What
// was looked at is a candidate again after some more commits, if the line still says so.
func (l *Log) Candidates(line *Line) (found []Candidate) {
	for i := range line.At {
		if c, ok := line.direct(i); ok && !l.judged(line, c) {
			found = append(found, c)
		}
	}
	for _, part := range line.stretches(l.Alarms) {
		part = part[max(0, len(part)-mostPlaces):]
		levels := make([]float64, len(part))
		for i, p := range part {
			levels[i] = p.Level
		}
		for _, cut := range stats.ChangePoints(levels) {
			size := cut.After - cut.Before
			if math.Abs(size) < least {
				continue
			}
			lo, hi := around(levels, cut.At)
			c := Candidate{Metric: line.Metric, Shape: Step, From: part[lo], To: part[hi], Size: size}
			if l.judged(line, c) {
				c.Shape, c.From, c.To, c.Size = Creep, part[0], part[len(part)-1], levels[len(part)-1]-levels[0]
			}
			overlaps := slices.ContainsFunc(found, func(o Candidate) bool { return o.From.Index < c.To.Index && c.From.Index < o.To.Index })
			if !overlaps && !l.judged(line, c) {
				found = append(found, c)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b Candidate) int { return cmp.Compare(math.Abs(b.Size), math.Abs(a.Size)) })
	return found
}

// stretches are the parts of a line between the changes that were shown.
func (line *Line) stretches(alarms []Alarm) (parts [][]Place) {
	type span struct{ from, to int }
	var shown []span
	for i := range alarms {
		if from, to, ok := line.On(&alarms[i]); ok && alarms[i].Shown {
			shown = append(shown, span{from, to})
		}
	}
	slices.SortFunc(shown, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	begin := 0
	for _, s := range shown {
		if s.from > begin {
			parts = append(parts, line.At[begin:s.from+1])
		}
		begin = max(begin, s.to)
	}
	return append(parts, line.At[begin:])
}

// direct is a commit that differs from the one before it, though no step is seen on the line yet.
func (line *Line) direct(i int) (c Candidate, ok bool) {
	p := line.At[i]
	at := line.at(p.Before, p.Index)
	if at < 0 || at >= i || p.Same {
		return c, false
	}
	ranks := stats.CompareRanks(p.Step, true, nil)
	c = Candidate{Metric: line.Metric, Shape: Step, From: line.At[at], To: p, Size: math.Log(ranks.Ratio), Direct: true}
	return c, ranks.N >= stats.RankBlocks && ranks.P <= directP && math.Abs(c.Size) >= least
}

// around is where the step of a cut may be: after the first place, and at the last at the latest. Places whose cut fits nearly as well count.
func around(levels []float64, cut int) (lo, hi int) {
	rest := func(c int) (sum float64) {
		for _, part := range [][]float64{levels[:c], levels[c:]} {
			m := stats.Median(part)
			for _, x := range part {
				sum += math.Abs(x - m)
			}
		}
		return sum
	}
	best := rest(cut)
	scale := max(best/float64(len(levels)), 1e-9) // of Laplace's distribution, which medians belong to
	near := func(c int) bool { return c > 0 && c < len(levels) && (rest(c)-best)/scale <= placeDrop }
	lo, hi = cut, cut
	for near(lo - 1) {
		lo--
	}
	for near(hi + 1) {
		hi++
	}
	return lo - 1, hi
}

// judged reports whether a candidate was looked at before, and too little has come since: a look at a place that contains it, or for a step on the
// line that begins where it does. What two commits say side by side does not change, so such a look is the last.
func (l *Log) judged(line *Line, c Candidate) bool {
	return slices.ContainsFunc(l.Alarms, func(a Alarm) bool {
		from, to, ok := line.On(&a)
		if !ok || a.Shape != c.Shape {
			return false
		}
		lo, hi := line.At[from].Index, line.At[to].Index
		contains := lo <= c.From.Index && hi >= c.To.Index
		if c.Direct && a.Why == "" {
			return contains
		}
		if c.Shape == Creep {
			contains = lo <= c.From.Index
		}
		return (contains || lo == c.From.Index) && l.since(a.At) < again
	})
}

// since counts the commits that were measured after a time.
func (l *Log) since(t time.Time) (n int) {
	for _, p := range l.Points {
		if p.At.After(t) {
			n++
		}
	}
	return n
}

// Together are the candidates that one look is for: the greatest, and those of other metrics at about the same place, at most so many in all.
func Together(all []Candidate, most int) (one []Candidate) {
	first := slices.MaxFunc(all, func(a, b Candidate) int { return cmp.Compare(math.Abs(a.Size), math.Abs(b.Size)) })
	one = []Candidate{first}
	for _, c := range all {
		known := slices.ContainsFunc(one, func(o Candidate) bool { return o.Metric == c.Metric })
		if !known && c.Shape == first.Shape && c.From.Index < first.To.Index && first.From.Index < c.To.Index && len(one) < most {
			one = append(one, c)
		}
	}
	return one
}

// Left is how many metrics may be looked at now, each at one place, so that false alarms stay within PerCommit of the commits that were measured.
func (l *Log) Left() int {
	spent := 0.0
	for _, a := range l.Alarms {
		spent += a.Alpha
	}
	commits := map[string]bool{}
	for _, p := range l.Points {
		commits[p.Commit] = commits[p.Commit] || !p.Same
	}
	measured := 0
	for _, own := range commits {
		if own {
			measured++
		}
	}
	return max(0, int(math.Floor((PerCommit*float64(measured+head)-spent)/Alpha+1e-9)))
}
