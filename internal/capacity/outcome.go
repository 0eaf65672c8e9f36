package capacity

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// An outcome is what a window says of all objectives.
type outcome int

const (
	undecided outcome = iota
	held
	notHeld
)

// What is assumed of counts that were not seen second by second: slow requests come together.
const (
	usualCluster = 4.0
	usualDegrees = 8
	fewSeconds   = 3 // of fewer, the spread between them is not known
	overwhelming = 0.5
)

// The levels of one-sided tests.
const (
	usualLevel = 0.95
	proofLevel = 0.99 // of each of mostProofs tests of one rate: 4 % together
)

// mostProofs is how many windows at one rate may have to show that it holds, and mostProofs+1 how many it is given
// with the one that found it, which held by selection.
const mostProofs = 4

// proven reports whether windows at a rate together show that it holds, by a test; the first does not count, since the rate was
// chosen by it.
func (s *Search) proven(rate float64) bool {
	ws := s.at(rate)
	if len(ws) < 2 {
		return false
	}
	for i, o := range s.Objectives {
		var pool Count
		var parts []Count
		for _, w := range ws[1:] {
			if w.Behind {
				return false
			}
			pool.N, pool.Beyond = pool.N+w.Whole[i].N, pool.Beyond+w.Whole[i].Beyond
			if len(w.Parts) > i {
				parts = append(parts, w.Parts[i]...)
			}
		}
		if evidence(o, pool, parts, s.cluster(i, rate), proofLevel) > -1 {
			return false
		}
	}
	return true
}

// cluster is how many requests are slow together at least, by theory. Few windows often have no long busy period: then
// they are too good, and vary too little.
func (s *Search) cluster(objective int, rate float64) float64 {
	if f := s.fits[objective]; f.limit > 0 {
		return max(usualCluster, f.theory(rate)*(1+swell))
	}
	return usualCluster
}

// at are the windows at a rate in which the generator was on time.
func (s *Search) at(rate float64) (ws []Window) {
	for _, w := range s.used {
		if !w.Limited && same(w.Rate, rate) {
			ws = append(ws, w)
		}
	}
	return ws
}

// evidence is how strongly counts say that an objective is broken (above 0) or held (below 0); from 1 on, either
// way, by a one-sided test of a level. Slow requests come together, at least cluster of them, so the test is clustered by second.
func evidence(o Objective, whole Count, parts []Count, cluster, level float64) float64 {
	if whole.N == 0 {
		return 0
	}
	if o.Share <= 0.1 && whole.share() > overwhelming { // no pause of a part of a second explains it
		return 1
	}
	expected := whole.N * o.Share
	variance, degrees := cluster*expected*(1-o.Share), float64(usualDegrees)
	if len(parts) >= fewSeconds {
		between, n := 0.0, float64(len(parts))
		for _, p := range parts {
			between += sqr(p.Beyond - p.N*whole.share())
		}
		variance, degrees = max(variance, between*n/(n-1)), n-1
	}
	e := (whole.Beyond - expected) / math.Sqrt(variance) / distuv.StudentsT{Sigma: 1, Nu: degrees}.Quantile(level)
	if n := len(parts); n > 0 && n < fewSeconds {
		e = min(e, 0.5)
	}
	return e
}

// evidence is that of the objective of which most is broken.
func (s *Search) evidence(w *Window) float64 {
	if w.Behind {
		return 1
	}
	most := math.Inf(-1)
	for i, o := range s.Objectives {
		var parts []Count
		if len(w.Parts) > i {
			parts = w.Parts[i]
		}
		most = max(most, evidence(o, w.Whole[i], parts, usualCluster, usualLevel))
	}
	return most
}

func (s *Search) outcome(w *Window) outcome {
	switch e := s.evidence(w); {
	case e >= 1:
		return notHeld
	case e <= -1:
		return held
	}
	return undecided
}

// leastVote is the vote of a window that says almost nothing.
const leastVote = 0.1

// vote is how much a window counts where windows contradict each other.
func (s *Search) vote(w *Window) float64 {
	return min(max(math.Abs(s.evidence(w)), leastVote), 1)
}

// same reports whether rates are the same but for what makes them distinct.
func same(a, b float64) bool { return math.Abs(math.Log(a/b)) < 0.01 }

// again is the rate that has to be measured again before the search goes on: the last window left open whether it held,
// and the search would go down, or the generator was late in it for the first time.
func (s *Search) again() (rate float64, ok bool) {
	if len(s.used) == 0 {
		return 0, false
	}
	last := s.used[len(s.used)-1]
	times := 0
	for _, w := range s.used {
		if same(w.Rate, last.Rate) && w.Limited == last.Limited {
			times++
		}
	}
	switch {
	case times > 1:
		return 0, false
	case last.Limited:
		return last.Rate, last.Rate > s.onTime()
	}
	return last.Rate, !s.Held(&last) && s.outcome(&last) == undecided
}

// onTime is the highest rate that was sent on time.
func (s *Search) onTime() (rate float64) {
	for _, w := range s.used {
		if !w.Limited {
			rate = max(rate, w.Rate)
		}
	}
	return rate
}

// lows is how many windows at the lowest rates have to say that a queue is not the reason.
const lows = 3

// Flat reports whether the share of requests beyond the limit is too large at low rates, too: so a queue does not
// explain it. At three times the capacity, a queue leaves almost no request within the limit.
// low is the rate at which to look again, if windows say so but are too few; else 0.
func (s *Search) Flat() (flat bool, low float64) {
	for i, o := range s.Objectives {
		high := 0.0
		for _, w := range s.used {
			if share := w.Whole[i].share(); !w.Limited && !w.Behind && share > o.Share && share < overwhelming {
				high = max(high, w.Rate)
			}
		}
		var pool Count
		var parts []Count
		n, lowest := 0, math.Inf(1)
		for _, w := range s.used {
			if w.Limited || w.Behind || w.Rate >= high/3 {
				continue
			}
			pool.N, pool.Beyond = pool.N+w.Whole[i].N, pool.Beyond+w.Whole[i].Beyond
			if len(w.Parts) > i {
				parts = append(parts, w.Parts[i]...)
			}
			n, lowest = n+1, min(lowest, w.Rate)
		}
		switch {
		case n == 0 || evidence(o, pool, parts, usualCluster, usualLevel) < 1:
		case n >= lows:
			return true, 0
		default:
			low = lowest
		}
	}
	return false, low
}
