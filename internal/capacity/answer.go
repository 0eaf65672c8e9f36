package capacity

import (
	"cmp"
	"math"
	"slices"

	"github.com/dynolab/dyno/internal/stats"
)

// A Kind says what an answer is.
type Kind string

const (
	Found   Kind = "found"    // a capacity with an interval
	Wide    Kind = "wide"     // its interval is wider than was asked for: the time was up
	AtLeast Kind = "at least" // no rate was too high that could be tried
	AtMost  Kind = "at most"  // the lowest rate that was tried is too high, or the lower end of the interval is open
	Unknown Kind = "unclear"
)

// An Answer is what a search found.
type Answer struct {
	Kind    Kind
	Rate    float64 // the capacity; of AtLeast and AtMost the bound; of Unknown NaN
	Lo, Hi  float64 // interval of 95 %; 0 and +Inf where no rate is excluded
	Binding int     // the objective whose capacity it is
	Flat    bool    // of Unknown: lower rates do not help
	Limited bool    // of AtLeast: the generator was the limit
	Highest bool    // of AtLeast: it is the highest rate that may be tried
}

// Answer is what the windows so far say.
func (s *Search) Answer() Answer {
	lo, hi := s.Bracket()
	switch {
	case lo == 0 && (hi == 0 || len(s.used) == 0):
		return s.unknown()
	case lo == 0 && (s.flat() || s.Restless()): // a disturbance makes rates break an objective, too
		return s.unknown()
	case lo == 0:
		return Answer{Kind: AtMost, Rate: hi, Hi: hi, Binding: s.Binding()}
	case math.IsInf(hi, 1):
		return s.atLeast(lo, hi)
	}
	a := Answer{Kind: Found, Binding: s.Binding(), Lo: math.Inf(1), Hi: math.Inf(1), Rate: s.binding().capacity}
	for _, f := range s.fits {
		a.Lo, a.Hi = min(a.Lo, f.lo), min(a.Hi, f.hi)
	}
	if s.binding().near < fewest { // a step, which may lie anywhere between windows
		a.Lo, a.Hi = min(a.Lo, lo), max(a.Hi, hi)
	}
	a.Lo *= 1 - s.unseen()
	switch {
	case a.Lo == 0 && !math.IsInf(a.Hi, 1) && !s.Restless():
		return Answer{Kind: AtMost, Rate: a.Hi, Hi: a.Hi, Binding: a.Binding}
	case a.Lo == 0 || math.IsInf(a.Hi, 1) || math.IsInf(a.Rate, 1) || a.Rate == 0:
		return s.unknown()
	case s.Restless():
		a.Kind = Wide
	case !a.within(s.Precision):
		a.Kind = Wide
	}
	return a
}

// atLeast is the answer where all rates held that could be tried, up to lo: lo if it was shown to hold, else the end of
// the capacity's interval.
func (s *Search) atLeast(lo, hi float64) Answer {
	a := Answer{Kind: AtLeast, Rate: lo, Hi: hi, Limited: s.generator() < lo*near || s.used[len(s.used)-1].Limited}
	if !s.proven(lo) {
		for _, f := range s.fits {
			a.Rate = min(a.Rate, f.lo)
		}
		if a.Rate *= 1 - s.unseen(); a.Rate < least {
			return s.unknown()
		}
	}
	a.Lo, a.Highest = a.Rate, a.Rate == lo && s.Most > 0 && lo >= s.Most*highest
	return a
}

// within reports whether half the width of the interval is at most a fraction of the capacity.
func (a Answer) within(precision float64) bool { return math.Log(a.Hi/a.Lo)/2 <= precision }

// unknown is the answer without a figure.
func (s *Search) unknown() Answer {
	return Answer{Kind: Unknown, Rate: math.NaN(), Hi: math.Inf(1), Flat: s.flat()}
}

func (s *Search) flat() bool { flat, _ := s.Flat(); return flat }

func sorted(ws []Window) []Window {
	return slices.SortedFunc(slices.Values(ws), func(a, b Window) int { return cmp.Compare(a.Rate, b.Rate) })
}

// unseen is by how much the service may be overloaded in windows that hold: their queue grows, but not beyond
// the limit before they end.
func (s *Search) unseen() float64 {
	length, n := 0.0, 0.0
	for _, w := range s.used {
		if w.Length > 0 && !w.Limited {
			length, n = length+w.Length.Seconds(), n+1
		}
	}
	if n == 0 {
		return 0
	}
	return min(s.slowest().Seconds()*n/length, 0.5)
}

// A Ratio is a capacity against that of the baseline.
type Ratio struct {
	Ratio, Lo, Hi float64 // with an interval of 95 %; NaN if one of the two is not known
	P             float64 // adjusted for all comparisons with the baseline
	Verdict       stats.Verdict
}

// Against compares answers with the first, in the words of other comparisons: more is better, and what is smaller than
// negligible is the same. The intervals of both are put together as Zou and Donner do (Statistics in Medicine 27,
// 2008), which keeps their asymmetry.
func Against(answers []Answer, negligible float64) []Ratio {
	ratios := make([]Ratio, len(answers))
	base := answers[0]
	for i, a := range answers {
		r := &ratios[i]
		*r = Ratio{Ratio: math.NaN(), Lo: math.NaN(), Hi: math.NaN(), P: math.NaN(), Verdict: stats.Unclear}
		if i == 0 || !base.known() || !a.known() {
			continue
		}
		x := math.Log(a.Rate / base.Rate)
		down := math.Hypot(math.Log(a.Rate/a.Lo), math.Log(base.Hi/base.Rate))
		up := math.Hypot(math.Log(a.Hi/a.Rate), math.Log(base.Rate/base.Lo))
		r.Ratio, r.Lo, r.Hi = math.Exp(x), math.Exp(x-down), math.Exp(x+up)
		toward := down // 1
		if x < 0 {
			toward = up
		}
		const normal = 1.959964
		r.P = min(1, math.Erfc(math.Abs(x)/toward*normal/math.Sqrt2)*float64(len(answers)-1))
		switch least := math.Log1p(negligible); {
		case x-down > -least && x+up < least:
			r.Verdict = stats.Same
		case r.P < 0.05 && x > 0:
			r.Verdict = stats.Better
		case r.P < 0.05:
			r.Verdict = stats.Worse
		}
	}
	return ratios
}

// known reports whether there is a capacity with an interval.
func (a Answer) known() bool { return a.Kind == Found || a.Kind == Wide }
