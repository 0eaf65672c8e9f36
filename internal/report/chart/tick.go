package chart

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// An axis maps lo to hi onto start to end, linearly or by logarithm.
type axis struct {
	lo, hi     float64
	log        bool
	start, end float64
	origin     *float64 // the value whose line is bolder; nil if absent
}

// at is the coordinate of x; what lies beyond the axis is at its end.
func (a axis) at(x float64) float64 {
	x = max(a.lo, min(x, a.hi))
	share := (x - a.lo) / (a.hi - a.lo)
	if a.log {
		share = math.Log(x/a.lo) / math.Log(a.hi/a.lo)
	}
	if math.IsNaN(share) {
		share = 0
	}
	return a.start + share*(a.end-a.start)
}

type spread struct {
	lo, hi float64
	n      int
}

// add ignores values that no axis can show.
func (s *spread) add(x float64) {
	if !known(x) {
		return
	}
	if s.n == 0 {
		s.lo, s.hi = x, x
	}
	s.lo, s.hi = min(s.lo, x), max(s.hi, x)
	s.n++
}

// linear adds a margin, a share of the range, at both ends.
func (s *spread) linear(margin, start, end float64) axis {
	d := s.hi - s.lo
	if least := max(math.Abs(s.lo), math.Abs(s.hi)) * 1e-9; d <= least { // all equal
		d = max(math.Abs(s.hi)*0.1, 1e-100)
		if s.hi == 0 {
			d = 1
		}
		margin = max(margin, 0.5)
	}
	a := axis{lo: s.lo - margin*d, hi: s.hi + margin*d, start: start, end: end}
	if s.lo >= 0 {
		a.lo = max(a.lo, 0) // what is never negative has no axis that is
	}
	return a
}

func (s *spread) logarithmic(margin, start, end float64) axis {
	f := math.Pow(s.hi/s.lo, margin)
	f = max(f, math.Sqrt(max(1, 1.2/(s.hi/s.lo)))) // not less than a factor of 1.2 in all
	return axis{lo: s.lo / f, hi: s.hi * f, log: true, start: start, end: end}
}

// A Tick is a labelled place of an axis.
type Tick struct {
	Value float64
	Label string
}

type fit func(ts []Tick) bool

func (a axis) across(size float64) fit {
	return a.fits(func(s, t string) float64 { return (textWidth(s, size)+textWidth(t, size))/2 + size })
}

func (a axis) down(least float64) fit { return a.fits(func(_, _ string) float64 { return least }) }

func (a axis) fits(gap func(label, next string) float64) fit {
	return func(ts []Tick) bool {
		for i := 1; i < len(ts); i++ {
			if math.Abs(a.at(ts[i].Value)-a.at(ts[i-1].Value)) < gap(ts[i-1].Label, ts[i].Label) {
				return false
			}
		}
		return true
	}
}

// ticks returns as many round numbers as there is room for. Which numbers are round depends on the unit: 16
// MiB is not a round number of bytes. So powers of 1024 are tried too, and the ticks with the fewest printed
// digits win.
func (a axis) ticks(f Format, room fit) []Tick {
	var best []Tick
	least := math.Inf(1)
	for unit := 1.0; unit == 1 || unit <= min(1<<40, math.Abs(a.hi)*2); unit *= 1024 {
		ts := a.in(unit, f, room)
		digits, n := 0.0, float64(len(ts))
		for _, t := range ts {
			digits += float64(significant(t.Label))
		}
		if cost := digits/n + max(0, 3-n); n > 0 && cost < least {
			best, least = ts, cost
		}
	}
	return best
}

func (a axis) in(unit float64, f Format, room fit) []Tick {
	if !a.log {
		return a.steps(unit, f, room)
	}
	ladders := [][]float64{{1, 2, 5}, {1, 3}, {1}}
	for _, ladder := range ladders {
		if ts := a.rungs(ladder, 1, unit, f); len(ts) >= 3 && room(ts) {
			return ts
		}
	}
	if a.hi/a.lo < 100 {
		return a.steps(unit, f, room)
	}
	for every := 2; every <= 256; every *= 2 {
		if ts := a.rungs(ladders[2], every, unit, f); room(ts) {
			return ts
		}
	}
	return nil
}

func (a axis) rungs(ladder []float64, every int, unit float64, f Format) (ts []Tick) {
	first := int(math.Floor(math.Log10(a.lo / unit)))
	last := int(math.Ceil(math.Log10(a.hi / unit)))
	for e := first - ((first%every)+every)%every; e <= last; e += every {
		for _, m := range ladder {
			ts = a.append(ts, m*math.Pow10(e)*unit, f)
		}
	}
	return ts
}

func (a axis) steps(unit float64, f Format, room fit) []Tick {
	d := a.hi - a.lo
	for e := int(math.Floor(math.Log10(d/unit))) - 2; e < 200; e++ {
		for _, m := range []float64{1, 2, 5} {
			step := m * math.Pow10(e) * unit
			first, last := math.Ceil(a.lo/step-1e-9), math.Floor(a.hi/step+1e-9)
			if last < first {
				return nil
			}
			if last-first > 11 {
				continue
			}
			var ts []Tick
			for k := 0.0; k <= last-first; k++ {
				ts = a.append(ts, (first+k)*step, f)
			}
			if room(ts) {
				return ts
			}
		}
	}
	return nil
}

// append skips ticks beyond the axis and repeated labels.
func (a axis) append(ts []Tick, x float64, f Format) []Tick {
	if x < a.lo || x > a.hi || !known(x) || x == 0 && a.log {
		return ts
	}
	if x == 0 {
		x = 0 // and not -0
	}
	label := f(x)
	for _, t := range ts {
		if t.Label == label || t.Value >= x {
			return ts
		}
	}
	return append(ts, Tick{x, label})
}

var digits = regexp.MustCompile(`[0-9][0-9.,]*`)

func significant(label string) int {
	number := digits.FindString(label)
	return len(strings.Trim(strings.NewReplacer(".", "", ",", "").Replace(number), "0"))
}

// RatioTicks returns as many ticks of a logarithmic axis of ratios as there is room for, labelled as changes.
// lo and hi come from RatioRange.
func RatioTicks(lo, hi float64, room func(ts []Tick) bool) []Tick {
	a := axis{lo: lo, hi: hi, log: true}
	for _, step := range []float64{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2} {
		first, last := math.Ceil((a.lo-1)/step-1e-9), math.Floor((a.hi-1)/step+1e-9)
		if last-first > 20 {
			continue
		}
		var ts []Tick
		for k := first; k <= last; k++ {
			ts = a.append(ts, 1+k*step, ratioLabel)
		}
		if len(ts) > 0 && room(ts) {
			return ts
		}
	}
	for _, ladder := range [][]float64{
		{.1, .2, .3, .5, .7, 1, 1.5, 2, 3, 5, 10},
		{.1, .2, .5, .8, 1, 1.25, 2, 5, 10},
		{.1, .2, .5, 1, 2, 5, 10},
		{.1, .5, 1, 2, 10},
		{.1, 1, 10},
	} {
		var ts []Tick
		for _, x := range ladder {
			ts = a.append(ts, x, ratioLabel)
		}
		if len(ts) > 0 && room(ts) {
			return ts
		}
	}
	return nil
}

func ratioLabel(x float64) string {
	percent := math.Round((x-1)*1e5) / 1e3
	switch {
	case percent >= 100:
		return "×" + strconv.FormatFloat(1+percent/100, 'g', 9, 64)
	case percent == 0:
		return "0"
	}
	return fmt.Sprintf("%+g%%", percent)
}
