package stats

import (
	"cmp"
	"math"
	"slices"
)

// A Bin counts values from Lo to Hi, both above or equal to 0.
type Bin struct {
	Lo, Hi float64
	Count  int64
}

// A Mode is a peak of a distribution that valleys set apart from others.
type Mode struct {
	At   float64 `json:"sec"`  // the middle value of those that are counted to it; response times in summary.json
	Frac float64 `json:"frac"` // their share of all values
	Lo   float64 `json:"-"`
	Hi   float64 `json:"-"` // the valleys beside it, or the ends of the distribution
}

// What a mode must have besides significance: with a million values everything is
// significant.
const (
	leastModeFrac = 0.01 // of all values
	mostValley    = 0.5  // a valley's density over that of the peaks beside it
	modeError     = 1e-3 // samples of one mode that are said to have more
)

// Modes returns the modes of a distribution on a logarithmic scale, from its bins in
// increasing order; empty bins may be left out. There is at least one unless all are
// empty.
//
// Candidates are the local extremes of a taut string through a narrow band around the
// distribution function (Davies, Kovac, Annals of Statistics 29, 2001). A valley counts if
// it holds fewer values than at the density of an interval to its left and of one to its
// right: a binomial test with Chernoff's bound at 0.001/m³ for m borders, more than all
// pairs of neighbors, so that at most 1 sample in 1,000 has a false mode. Besides, a
// valley has at most half of both densities, and a mode at least 1 % of the values. Values
// that come in steps, such as whole milliseconds, are spread over their step.
func Modes(bins []Bin) []Mode {
	s := newTautString(bins)
	if s == nil {
		return nil
	}
	cuts := []int{0}
	for _, v := range s.separate(s.valleys()) {
		cuts = append(cuts, v.middle(s))
	}
	cuts = append(cuts, len(s.x)-1)
	var modes []Mode
	for i, to := range cuts[1:] {
		m := stretch{cuts[i], to}
		modes = append(modes, Mode{s.median(m), s.share(m), math.Exp(s.x[m.from]), math.Exp(s.x[m.to])})
	}
	return modes
}

// A tautString is a distribution function at knots, and the string through its band.
type tautString struct {
	x, f  []float64 // logarithms of the knots, and the share of values below
	n     float64
	bends []int // knots, the first and the last among them
	y     []float64
}

// newTautString returns nil if there are no values.
func newTautString(bins []Bin) *tautString {
	s := &tautString{}
	var full []Bin
	for _, b := range bins {
		if b.Count > 0 {
			full = append(full, b)
			s.n += float64(b.Count)
		}
	}
	if len(full) == 0 {
		return nil
	}
	reach := stepOf(full, s.n)
	below := int64(0)
	for i, b := range full {
		lo, hi := b.Lo-reach/2, b.Hi+reach/2
		if i > 0 {
			lo = max(b.Lo-reach, (full[i-1].Hi+b.Lo)/2)
		}
		if i < len(full)-1 {
			hi = min(b.Hi+reach, (b.Hi+full[i+1].Lo)/2)
		}
		s.knot(max(lo, hi*leastLog), below)
		below += b.Count
		s.knot(hi, below)
	}
	s.pull()
	return s
}

// leastLog bounds the logarithmic width of a bin that begins at 0.
const leastLog = 1 / (math.E * math.E)

// knot adds a knot at v with so many values below, or replaces the last one there.
func (s *tautString) knot(v float64, below int64) {
	x, f := math.Log(v), float64(below)/s.n
	if last := len(s.x) - 1; last > 0 && x <= s.x[last] {
		s.f[last] = f
		return
	}
	s.x, s.f = append(s.x, x), append(s.f, f)
}

// stepOf is the median over n values of the gap above the bin of each: the step of values
// that come in steps, next to nothing of others.
func stepOf(full []Bin, n float64) float64 {
	type gap struct{ width, count float64 }
	gaps := []gap{{}}
	for i, b := range full[:len(full)-1] {
		gaps = append(gaps, gap{max(0, full[i+1].Lo-b.Hi), float64(b.Count)})
	}
	slices.SortFunc(gaps, func(a, b gap) int { return cmp.Compare(a.width, b.width) })
	left := (n - float64(full[len(full)-1].Count)) / 2
	for _, g := range gaps {
		if left -= g.count; left <= 0 {
			return g.width
		}
	}
	return 0
}

// band returns the bounds of the string at knot i: a standard deviation and a value.
func (s *tautString) band(i int) (lo, hi float64) {
	f := s.f[i]
	if i == 0 || i == len(s.f)-1 {
		return f, f
	}
	half := math.Sqrt(f*(1-f)/s.n) + 1/s.n
	return max(0, f-half), min(1, f+half)
}

// pull finds the bends of the string, each where the band leaves no straight way on.
func (s *tautString) pull() {
	s.bends, s.y = []int{0}, []float64{s.f[0]}
	for at, y := 0, s.f[0]; at < len(s.x)-1; {
		least, most := math.Inf(-1), math.Inf(1)
		below, above := at, at // the knots that bind from below and above
		bend, next := len(s.x)-1, s.f[len(s.x)-1]
		for i := at + 1; i < len(s.x); i++ {
			lo, hi := s.band(i)
			d := s.x[i] - s.x[at]
			up, down := (lo-y)/d, (hi-y)/d
			if up > most {
				_, next = s.band(above)
				bend = above
				break
			}
			if down < least {
				next, _ = s.band(below)
				bend = below
				break
			}
			if up >= least {
				least, below = up, i
			}
			if down <= most {
				most, above = down, i
			}
		}
		at, y = bend, next
		s.bends, s.y = append(s.bends, at), append(s.y, y)
	}
}

type stretch struct{ from, to int }

func (s *tautString) share(p stretch) float64 { return s.f[p.to] - s.f[p.from] }

func (s *tautString) width(p stretch) float64 { return s.x[p.to] - s.x[p.from] }

// middle is the knot nearest to the middle of the stretch.
func (p stretch) middle(s *tautString) int {
	half := (s.x[p.from] + s.x[p.to]) / 2
	best := p.from
	for i := p.from; i <= p.to; i++ {
		if math.Abs(s.x[i]-half) < math.Abs(s.x[best]-half) {
			best = i
		}
	}
	return best
}

func (s *tautString) median(p stretch) float64 {
	half := (s.f[p.from] + s.f[p.to]) / 2
	for i := p.from + 1; i <= p.to; i++ {
		if s.f[i] >= half {
			part := (half - s.f[i-1]) / (s.f[i] - s.f[i-1])
			return math.Exp(s.x[i-1] + part*(s.x[i]-s.x[i-1]))
		}
	}
	return math.Exp(s.x[p.to])
}

// valleys are the stretches where the string is flatter than on both sides.
func (s *tautString) valleys() []stretch {
	slope := func(i int) float64 { return (s.y[i] - s.y[i-1]) / (s.x[s.bends[i]] - s.x[s.bends[i-1]]) }
	var vs []stretch
	for i := 2; i < len(s.bends)-1; i++ {
		if slope(i) < slope(i-1) && slope(i) < slope(i+1) {
			vs = append(vs, stretch{s.bends[i-1], s.bends[i]})
		}
	}
	return vs
}

// separate leaves the valleys that count and have enough values between them. The weakest
// goes first, as its neighbors then gain values.
func (s *tautString) separate(vs []stretch) []stretch {
	evidence := make([]float64, len(vs))
	for i := range vs {
		evidence[i] = s.evidence(vs, i)
	}
	need := 3*math.Log(min(s.n, float64(len(s.x)))) - math.Log(modeError)
	for len(vs) > 0 {
		worst := 0
		for i := range vs {
			if evidence[i] < evidence[worst] {
				worst = i
			}
		}
		if evidence[worst] >= need {
			if worst = s.smallest(vs, evidence); worst < 0 {
				return vs
			}
		}
		vs, evidence = slices.Delete(vs, worst, worst+1), slices.Delete(evidence, worst, worst+1)
		for i := max(worst-1, 0); i < min(worst+1, len(vs)); i++ {
			evidence[i] = s.evidence(vs, i)
		}
	}
	return vs
}

// evidence is minus the log probability of so empty a valley i; 0 if it is not deep.
func (s *tautString) evidence(vs []stretch, i int) float64 {
	v := vs[i]
	from, to := 0, len(s.x)-1
	if i > 0 {
		from = vs[i-1].middle(s)
	}
	if i < len(vs)-1 {
		to = vs[i+1].middle(s)
	}
	left, right := 0.0, 0.0
	for _, b := range s.bends {
		switch {
		case b >= from && b < v.from:
			left = max(left, s.denser(stretch{b, v.from}, v))
		case b > v.to && b <= to:
			right = max(right, s.denser(stretch{v.to, b}, v))
		}
	}
	return min(left, right)
}

// denser is minus the logarithm of Chernoff's bound of the probability of so many values
// in p, if p is no denser than v.
func (s *tautString) denser(p, v stretch) float64 {
	in, all := s.share(p), s.share(p)+s.share(v)
	wide := s.width(p) / (s.width(p) + s.width(v))
	if in == 0 || s.share(v)/s.width(v) > mostValley*in/s.width(p) {
		return 0
	}
	got := in / all
	kl := got * math.Log(got/wide)
	if got < 1 {
		kl += (1 - got) * math.Log((1-got)/(1-wide))
	}
	return s.n * all * kl
}

// smallest returns the valley by which to join a mode of too few values to another, the
// weaker beside it, or -1.
func (s *tautString) smallest(vs []stretch, evidence []float64) int {
	from := 0
	for i := range len(vs) + 1 {
		to := len(s.f) - 1
		if i < len(vs) {
			to = vs[i].middle(s)
		}
		if s.share(stretch{from, to}) < leastModeFrac {
			if i == 0 || i < len(vs) && evidence[i] < evidence[i-1] {
				return i
			}
			return i - 1
		}
		from = to
	}
	return -1
}
