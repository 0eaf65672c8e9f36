package track

import (
	"cmp"
	"math"
	"slices"

	"github.com/dynolab/dyno/internal/stats"
)

// Limits of what is looked at on fresh blocks.
const (
	PerCommit = 0.001  // false alarms, at most, for each commit that was measured
	Alpha     = 0.0005 // error of one look, so that two looks for each commit keep PerCommit
	head      = 10     // commits whose error may be spent before they are measured

	least      = 0.01 // smallest change that is looked at, as a logarithm
	directP    = 0.01 // p of a commit against the one before, from which on it is looked at
	placeDrop  = 3.0  // in units of log likelihood: where else a step may be
	creepAgain = 10   // commits after which a creep is looked at anew
	mostPlaces = 250  // of a line, the last ones
)

// A Candidate is where a line may have changed. Most have not.
type Candidate struct {
	Metric   string
	Shape    Shape
	From, To Place   // the change is after From, and at To at the latest
	Size     float64 // logarithm of the ratio, as the line has it
	Direct   bool    // the commit differs from the one before, measured side by side
}

// Candidates are the places of a line to be looked at next, the greatest first: those that no alarm is about yet.
//
// A commit that differs from the one before it, side by side, is one at once. Other steps are found by [stats.ChangePoints] on what is left of the
// line after the last change that was shown. Where such a step was looked at and not shown, the line may creep: then its ends are compared.
func (line *Line) Candidates(alarms []Alarm) []Candidate {
	rest := line.At[max(line.fresh(alarms), len(line.At)-mostPlaces):]
	var found []Candidate
	for i := range rest {
		if c, ok := line.direct(rest, i); ok && !line.judged(alarms, c) {
			found = append(found, c)
		}
	}
	levels := make([]float64, len(rest))
	for i, p := range rest {
		levels[i] = p.Level
	}
	for _, cut := range stats.ChangePoints(levels) {
		size := cut.After - cut.Before
		if math.Abs(size) < least {
			continue
		}
		lo, hi := around(levels, cut.At)
		c := Candidate{Metric: line.Metric, Shape: Step, From: rest[lo], To: rest[hi], Size: size}
		if line.judged(alarms, c) {
			c.Shape, c.From, c.To, c.Size = Creep, rest[0], rest[len(rest)-1], levels[len(rest)-1]-levels[0]
		}
		overlaps := slices.ContainsFunc(found, func(o Candidate) bool { return o.From.Index < c.To.Index && c.From.Index < o.To.Index })
		if !overlaps && !line.judged(alarms, c) {
			found = append(found, c)
		}
	}
	slices.SortStableFunc(found, func(a, b Candidate) int { return cmp.Compare(math.Abs(b.Size), math.Abs(a.Size)) })
	return found
}

// fresh is the first place after the last change that was shown.
func (line *Line) fresh(alarms []Alarm) (from int) {
	for _, a := range alarms {
		if a.Metric == line.Metric && a.Shown {
			if i := line.at(a.To); i > from {
				from = i
			}
		}
	}
	return from
}

// at is the place of a commit, -1 if it has none.
func (line *Line) at(commit string) int {
	return slices.IndexFunc(line.At, func(p Place) bool { return p.ID == commit })
}

// direct is a commit that differs from the one before it, though no step is seen on the line yet.
func (line *Line) direct(rest []Place, i int) (c Candidate, ok bool) {
	p := rest[i]
	c = Candidate{Metric: line.Metric, Shape: Step, To: p, Direct: true}
	at := line.at(p.Before)
	if at < 0 {
		return c, false
	}
	c.From = line.At[at]
	ranks := stats.CompareRanks(p.Step, true, nil)
	c.Size = math.Log(ranks.Ratio)
	return c, ranks.N >= stats.RankBlocks && ranks.P <= directP && math.Abs(c.Size) >= least && c.From.Index < p.Index
}

// around is where the step of a cut may be: before the first place, and at the last at the latest. Places whose cut fits nearly as well count.
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

// judged reports whether a candidate was looked at before: an alarm spans no more than it does, or a creep has not gone on much since.
func (line *Line) judged(alarms []Alarm, c Candidate) bool {
	return slices.ContainsFunc(alarms, func(a Alarm) bool {
		if a.Metric != c.Metric || a.Shape != c.Shape {
			return false
		}
		from, to := line.at(a.From), line.at(a.To)
		if from < 0 || to < 0 {
			return false
		}
		lo, hi := line.At[from].Index, line.At[to].Index
		if c.Shape == Creep {
			return lo == c.From.Index && c.To.Index < hi+creepAgain
		}
		return lo <= c.From.Index && hi >= c.To.Index || !c.Direct && lo == c.From.Index
	})
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

// Left is how many candidates may be looked at now, so that false alarms stay within PerCommit of the commits that were measured.
func (l *Log) Left() int {
	spent := 0.0
	for _, a := range l.Alarms {
		spent += a.Alpha
	}
	commits := map[string]bool{}
	for _, p := range l.Points {
		commits[p.Commit] = true
	}
	return max(0, int(math.Floor((PerCommit*float64(len(commits)+head)-spent)/Alpha+1e-9)))
}
