package capacity

import (
	"math"
	"slices"
	"time"
)

// A Search is the search for the capacity of one setting.
type Search struct {
	Problem
	Windows []Window
	Spent   time.Duration

	used   []Window // of Windows, those that count
	took   []time.Duration
	around time.Duration // what the last window took beside its length
	length time.Duration // of the last window
	fits   []*fit
	over   bool
}

// Add adds a window that was measured.
func (s *Search) Add(w Window, took time.Duration) {
	s.Windows, s.took = append(s.Windows, w), append(s.took, took)
	s.Spent += took
	s.around = max(took-s.length, 0)
	s.used = slices.DeleteFunc(slices.Clone(s.Windows), s.LeftOut)
	s.fits = s.fits[:0]
	for i, o := range s.Objectives {
		s.fits = append(s.fits, newFit(s.used, i, o))
	}
}

// fewWindows is how many windows may be left out in any case.
const fewWindows = 3

// Restless reports whether the machine was disturbed in most windows: then none is left out.
func (s *Search) Restless() bool {
	n := 0
	for _, w := range s.Windows {
		if w.Disturbed {
			n++
		}
	}
	return n > fewWindows && 2*n > len(s.Windows)
}

// LeftOut reports whether a window does not count, as something disturbed the machine. A late generator on a disturbed
// machine does not show the generator's limit, so such a window never counts.
func (s *Search) LeftOut(w Window) bool { return w.Disturbed && (w.Limited || !s.Restless()) }

// crude is an interval, half its width as a fraction of the capacity, that says too little to end at Within.
const crude = 0.1

// within is the most time for the search. Windows that are left out are measured again, and may take as much time again.
// Few requests a second, or slow ones, may need longer.
func (s *Search) within() time.Duration {
	out := time.Duration(0)
	for i, w := range s.Windows {
		if w.Disturbed {
			out += s.took[i]
		}
	}
	within := s.Within + min(out, s.Within)
	if s.Longer > within && s.Spent > s.Within/2 && !s.Answer().within(crude) {
		return s.Longer
	}
	return within
}

// fewest is how many windows near the capacity an answer rests on, and how many on each side where the share
// changes in a step.
const (
	fewest     = 5
	fewestSide = 2
)

// Next is the rate and the length of the next window; false if the search is over.
func (s *Search) Next() (rate float64, length time.Duration, ok bool) {
	if s.over {
		return 0, 0, false
	}
	rate, fine := s.next()
	if rate = s.distinct(rate); rate < least {
		return 0, 0, s.end()
	}
	s.length = s.window(rate, fine)
	if s.Spent+s.length+s.around > s.within() && len(s.Windows) > 0 {
		return 0, 0, s.end()
	}
	return rate, s.length, true
}

func (s *Search) end() bool { s.over = true; return false }

// mostCluster is by what factor the dispersion may make windows longer than theory does.
const mostCluster = 2

// proofClusters is how many clusters of slow requests are allowed in a window that has to prove that a rate holds: with
// mostProofs windows without any, by a margin.
const proofClusters = 2.5

// window is the length of a window: long enough to see 30 requests beyond the limit where as many as allowed
// are, a rough one 5.
func (s *Search) window(rate float64, fine bool) time.Duration {
	share := 1.0
	for _, o := range s.Objectives {
		share = min(share, o.Share, 1-o.Share)
	}
	seconds := func(n float64) time.Duration { return time.Duration(n / share / rate * float64(time.Second)) }
	if fine {
		f := s.binding()
		// What disturbs makes the dispersion larger, too, and a longer window does not help: it is disturbed more often.
		dispersion := f.dispersion
		if f.limit > 0 {
			dispersion = min(dispersion, mostCluster*f.theory(f.capacity))
		}
		wanted := max(30, 2*(1+swell)*dispersion)
		if _, hi := s.Bracket(); math.IsInf(hi, 1) { // it has to prove that the rate holds
			wanted = max(wanted, proofClusters*s.cluster(s.Binding(), rate))
		}
		return max(min(seconds(wanted), mostWindow), leastWindow, windowLimits*s.slowest())
	}
	longest := mostRough
	if s.onlyDown() { // rougher ones would say less and less
		longest = s.Within
	}
	return max(min(seconds(5), longest), leastRough, windowLimits*s.slowest()/4)
}

// onlyDown reports whether no rate held so far.
func (s *Search) onlyDown() bool {
	lo, hi := s.Bracket()
	return lo == 0 && hi > 0
}

// next is where to measure, and whether to look closely; a rate below least ends the search.
func (s *Search) next() (rate float64, fine bool) {
	if len(s.used) == 0 {
		return s.From, false
	}
	lo, hi := s.Bracket()
	rough := lo == 0 || math.IsInf(hi, 1) || hi/lo > 1.5
	if rate, ok := s.again(); ok && rough {
		return rate, false
	}
	limit, flat, low := s.generator(), false, 0.0
	if lo == 0 {
		flat, low = s.Flat()
	}
	switch {
	case flat:
		return 0, false
	case low > 0:
		return low, false
	case lo == 0 && hi == 0: // all were limited
		return limit / 4, false
	case math.IsInf(hi, 1) && (limit < lo*near || s.Most > 0 && lo >= s.Most*highest):
		if !s.proven(lo) && len(s.at(lo)) <= mostProofs {
			return lo, true
		}
		return 0, false // at least lo
	case math.IsInf(hi, 1) && lo*s.growth() >= limit*0.99:
		return math.Sqrt(lo * limit), false
	case math.IsInf(hi, 1):
		return lo * s.growth(), false
	case lo == 0:
		return hi / 4, false
	case hi/lo > 1.5:
		return math.Sqrt(lo * hi), false
	}
	f := s.binding()
	if s.enough(f) {
		return 0, false
	}
	return s.refine(f, lo, hi), true
}

// growth is by what factor to go up where all rates held: less where the limit is near.
func (s *Search) growth() float64 {
	for i, o := range s.Objectives {
		for _, w := range s.used {
			if w.Whole[i].share() > o.Share/far {
				return 1.5
			}
		}
	}
	return 4
}

// generator is the lowest rate that the generator cannot send: it was late at it twice, and on time at no higher one.
// Without such a rate it is +Inf.
func (s *Search) generator() float64 {
	limit := math.Inf(1)
	onTime := s.onTime()
	for i, w := range s.used {
		for _, v := range s.used[:i] {
			if w.Limited && v.Limited && same(w.Rate, v.Rate) && min(w.Rate, v.Rate) > onTime {
				limit = min(limit, w.Rate, v.Rate)
			}
		}
	}
	return limit
}

// Held reports whether all objectives were held, by what was counted.
func (s *Search) Held(w *Window) bool { return !w.Behind && s.holds(w.Whole) }

// Bracket returns the rates between which the capacity lies: the split against which the fewest windows vote.
// lo is 0, or hi +Inf, if no window is on that side.
func (s *Search) Bracket() (lo, hi float64) {
	leastVotes := math.Inf(1)
	try := func(split float64) {
		against, below, above := 0.0, 0.0, math.Inf(1)
		for i := range s.used {
			w := &s.used[i]
			switch {
			case w.Limited:
			case w.Rate <= split:
				below = max(below, w.Rate)
				if !s.Held(w) {
					against += s.vote(w)
				}
			default:
				above = min(above, w.Rate)
				if s.Held(w) {
					against += s.vote(w)
				}
			}
		}
		if against <= leastVotes { // the later splits are higher: in doubt up
			leastVotes, lo, hi = against, below, above
		}
	}
	try(0)
	for _, w := range sorted(s.used) {
		try(w.Rate)
	}
	if lo == 0 && math.IsInf(hi, 1) {
		hi = 0
	}
	return lo, hi
}

// binding is the fit of the objective with the lowest capacity.
func (s *Search) binding() *fit { return s.fits[s.Binding()] }

// Binding is the objective with the lowest capacity, so far.
func (s *Search) Binding() (binding int) {
	for i, f := range s.fits {
		if f.capacity < s.fits[binding].capacity {
			binding = i
		}
	}
	return binding
}

// enough reports whether the answer is as precise as asked for. A step has few windows near.
func (s *Search) enough(f *fit) bool {
	a := s.Answer()
	if !a.within(s.Precision) {
		return false
	}
	if f.near >= fewest {
		return true
	}
	below, above := 0, 0
	for i := range s.used {
		w := &s.used[i]
		x := math.Log(w.Rate / a.Rate)
		switch {
		case w.Limited || math.Abs(x) > 2*s.Precision:
		case x <= 0 && s.Held(w):
			below++
		case x > 0 && !s.Held(w):
			above++
		}
	}
	return f.near+below+above >= fewest && below >= fewestSide && above >= fewestSide
}

// apart is how far from the estimated capacity windows are placed, in units of the logit: far enough to see the
// slope, near enough for the line to be one.
const apart = 1

// refine places a window beside the estimate, on the side that has fewer.
func (s *Search) refine(f *fit, lo, hi float64) float64 {
	c := f.capacity
	if !(c >= lo/1.5 && c <= hi*1.5) {
		c = math.Sqrt(lo * hi)
	}
	d := min(max(apart/f.slope, 0.005), 0.06)
	side := 0.0
	for _, w := range s.used {
		if x := math.Log(w.Rate / c); !w.Limited && math.Abs(x) < 3*d {
			side += math.Copysign(1, x)
		}
	}
	rate := c * math.Exp(-math.Copysign(d, side))
	if rate >= s.generator() {
		rate = c * math.Exp(-d)
	}
	return rate
}

// distinct rounds a rate to one that has not been measured, and may be.
func (s *Search) distinct(rate float64) float64 {
	if rate < least || math.IsInf(rate, 1) {
		return 0
	}
	digit := math.Pow(10, math.Floor(math.Log10(rate))-2)
	rate = math.Round(rate/digit) * digit
	digit /= 10
	step := digit
	if s.Most > 0 && rate >= s.Most*highest {
		rate, step = s.Most, -digit
	}
	for s.measured(rate) {
		rate += step
	}
	if rate == s.Most {
		return rate
	}
	return math.Round(rate/digit) * digit
}

// near is by which factor the generator's limit may be above the highest rate that held when the search ends.
const near = 1.1

// highest is the share of the highest rate from which on it is reached.
const highest = 0.99

func (s *Search) measured(rate float64) bool {
	for _, w := range s.Windows {
		if math.Abs(w.Rate-rate) < 1e-9*rate {
			return true
		}
	}
	return false
}
