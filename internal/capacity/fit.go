package capacity

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// A fit is what windows say of one objective: the capacity c of
//
//	logit(share beyond the limit) = logit(allowed share) + slope · ln(rate / c).
//
// The tail of a queue's waiting time is exponential, with a rate that falls almost linearly as the load
// rises (Kingman), so the logarithm of the share is almost linear near the capacity. Further away than a
// factor of far the share only says on which side of the capacity a rate lies.
//
// Note: the share of a window is not the mean of independent requests: those of one busy period are slow
// together. So the deviance is divided by a dispersion, which is estimated (McCullagh and Nelder 1989, 4.5).
type fit struct {
	allowed    float64 // share
	limit      float64 // seconds; 0: the objective is not about time
	points     []point
	capacity   float64 // +Inf: all rates hold; 0: none does
	lo, hi     float64 // interval of 95 %
	slope      float64
	dispersion float64
	near       int // windows of which the share is not far from the allowed one
}

// far is the factor of the allowed share beyond which a window has only a side.
const far = 5

// Slopes that are possible: the share grows with the rate, by less than a step.
const (
	leastSlope = 2
	mostSlope  = 1000
)

// The slope has a prior: its logarithm is normal. A queue with one server has a slope of about ln(1/allowed)·ρ/(1-ρ),
// which is 20 for 99 % at ρ = 0.81. Without the prior, few windows that happen to lie well make
// the slope too steep and the interval too narrow.
const (
	usualSlope  = 20
	slopeSpread = 0.8
)

// reach is by what factor the rate of a window may differ from the capacity to say how the share depends
// on it; beyond, the line is another.
const reach = 1.35

type point struct {
	x     float64 // logarithm of the rate
	n, k  float64
	parts []Count
	sure  bool // most requests were beyond the limit, which no busy period explains
}

// newFit fits an objective to windows of it.
func newFit(ws []Window, i int, o Objective) *fit {
	f := &fit{allowed: o.Share, limit: o.Limit.Seconds(), capacity: math.Inf(1), hi: math.Inf(1), slope: usualSlope, dispersion: 5}
	for _, w := range ws {
		c := w.Whole[i]
		if w.Limited || c.N == 0 {
			continue
		}
		if w.Behind {
			c.Beyond = c.N
		}
		p := point{x: math.Log(w.Rate), n: c.N, k: min(c.Beyond, c.N*f.clamped(1)), sure: c.share() > 0.5 && o.Share <= 0.1}
		if len(w.Parts) > i {
			p.parts = w.Parts[i]
		}
		f.points = append(f.points, p)
	}
	if len(f.points) == 0 {
		return f
	}
	slices.SortStableFunc(f.points, func(a, b point) int { return cmp.Compare(a.x, b.x) })
	f.estimate()
	return f
}

// clamped is a share, or where it begins to be far.
func (f *fit) clamped(share float64) float64 {
	return min(max(share, f.allowed/far), min(f.allowed*far, (1+f.allowed)/2))
}

func (f *fit) share(x, c, slope float64) float64 {
	return f.clamped(1 / (1 + (1-f.allowed)/f.allowed*math.Exp(-slope*(x-c))))
}

// deviance is that of a capacity, the logarithm of which is c, and the slope that makes it least.
func (f *fit) deviance(points []point, c float64) (least, slope float64) {
	at := func(logSlope float64) float64 {
		slope, sum := math.Exp(logSlope), f.dispersion*sqr((logSlope-math.Log(usualSlope))/slopeSpread)
		for i := range points {
			p := &points[i]
			d := f.deviate(p.k, p.n, f.share(p.x, c, slope))
			switch {
			case p.sure:
				d *= f.dispersion
			case p.k > p.n*f.share(p.x, c, slope):
				d = f.contaminated(d)
			}
			sum += d
		}
		return sum
	}
	lo, hi := math.Log(leastSlope), math.Log(mostSlope)
	const steps = 9
	best := 0.0
	least = math.Inf(1)
	try := func(logSlope float64) float64 {
		d := at(logSlope)
		if d < least {
			least, best = d, logSlope
		}
		return d
	}
	for i := range steps + 1 {
		try(lo + (hi-lo)*float64(i)/steps)
	}
	const golden = 0.618
	from, to := max(best-(hi-lo)/steps, lo), min(best+(hi-lo)/steps, hi)
	a, b := to-golden*(to-from), from+golden*(to-from)
	atA, atB := try(a), try(b)
	for range 6 {
		if atA < atB {
			to, b, atB = b, a, atA
			a = to - golden*(to-from)
			atA = try(a)
		} else {
			from, a, atA = a, b, atB
			b = from + golden*(to-from)
			atB = try(b)
		}
	}
	return least, math.Exp(best)
}

// swell is how the variance grows with the expected number, in units of the allowed one: as their rate rises, busy
// periods last longer, so that slow requests come in larger clusters.
const swell = 4

// variance is that of a count of n requests, but for the dispersion.
func (f *fit) variance(n, share float64) float64 {
	return n * share * (1 + swell*share/f.allowed)
}

// deviance is that of a count k of n requests (of a negative binomial distribution, which has this variance).
func (f *fit) deviate(k, n, share float64) float64 {
	r, expected := n*f.allowed/swell, n*share
	d := -(k + r) * math.Log((k+r)/(expected+r))
	if k > 0 {
		d += k * math.Log(k/expected)
	}
	return 2 * d
}

// disturbed is the chance that something beside the service made requests of a window slow.
const disturbed = 0.1

// contaminated is the deviance of a window with more slow requests than expected. A disturbance only adds some, and
// how many is not known, so that one such window does not pull without bound.
func (f *fit) contaminated(d float64) float64 {
	return -2 * f.dispersion * math.Log((1-disturbed)*math.Exp(-d/2/f.dispersion)+disturbed)
}

// estimate looks for the capacity first among all windows, then among those near it.
func (f *fit) estimate() {
	points := f.points
	first, last := points[0].x, points[len(points)-1].x
	c := f.least(points, first-0.7, last+0.7)
	for range 2 {
		points = f.around(c)
		c = f.least(points, c-0.4, c+0.4)
	}
	var df float64
	for range 3 {
		c = f.least(points, c-0.2, c+0.2)
		_, f.slope = f.deviance(points, c)
		df = f.disperse(points, c)
	}
	c = f.least(points, c-0.02, c+0.02) // steps of 0.1 %
	d, slope := f.deviance(points, c)
	f.slope = slope
	f.capacity = math.Exp(c)
	most := f.dispersion * sqr(distuv.StudentsT{Sigma: 1, Nu: df}.Quantile(0.975))
	f.lo, f.hi = f.end(points, c, d+most, -1), f.end(points, c, d+most, 1)
	if c >= last && math.IsInf(f.hi, 1) {
		f.capacity = math.Inf(1)
	}
	if c <= first && f.lo == 0 {
		f.capacity = 0
	}
}

func sqr(x float64) float64 { return x * x }

// around are the windows near a capacity, and the next ones on both sides.
func (f *fit) around(c float64) (points []point) {
	lo, hi := -1, len(f.points)
	for i, p := range f.points {
		if p.x <= c {
			lo = i
		} else if hi == len(f.points) {
			hi = i
		}
	}
	for i, p := range f.points {
		if math.Abs(p.x-c) < math.Log(reach) || i == lo || i == hi {
			points = append(points, p)
		}
	}
	return points
}

// least looks for the capacity of the least deviance; where several are alike, it is in the middle of them.
func (f *fit) least(points []point, from, to float64) float64 {
	const steps = 40
	step := (to - from) / steps
	var ds [steps + 1]float64
	for i := range ds {
		ds[i], _ = f.deviance(points, from+step*float64(i))
	}
	d := slices.Min(ds[:])
	first, last := -1, 0
	for i := range ds {
		if ds[i] <= d+0.01 {
			if first < 0 {
				first = i
			}
			last = i
		} else if first >= 0 {
			break
		}
	}
	return from + step*float64(first+last)/2
}

// end is the end of the interval in a direction: 0 or +Inf if no rate is excluded.
func (f *fit) end(points []point, c, most float64, direction float64) float64 {
	in, out := 0.0, 0.001
	for {
		if d, _ := f.deviance(points, c+direction*out); d > most {
			break
		}
		if in, out = out, out*1.5; out > 1 {
			if direction < 0 {
				return 0
			}
			return math.Inf(1)
		}
	}
	for range 14 {
		middle := (in + out) / 2
		if d, _ := f.deviance(points, c+direction*middle); d > most {
			out = middle
		} else {
			in = middle
		}
	}
	return math.Exp(c + direction*out)
}

// disperse estimates by what factor counts vary more than those of independent requests, between parts of a
// window and between windows. It returns the degrees of freedom.
func (f *fit) disperse(points []point, c float64) (df float64) {
	within, parts, between, against := 0.0, 0.0, 0.0, 0
	f.near = 0
	residual := func(k, n, share float64) float64 { // of a disturbance, as far as it may count
		return min(sqr(k-n*share)/f.variance(n, share), f.dispersion*mostAgainst)
	}
	for i := range points {
		p := &points[i]
		share := f.share(p.x, c, f.slope)
		if f.clamped(share*1.001) == f.clamped(share) || f.clamped(share*0.999) == f.clamped(share) {
			if (p.k > p.n*f.allowed) != (share > f.allowed) { // it contradicts, as far as one window may
				between += residual(p.k, p.n, share)
				against++
			}
			continue
		}
		f.near++
		between += residual(p.k, p.n, share)
		for _, part := range p.parts {
			if part.N > 0 {
				within += residual(part.Beyond, part.N, share)
				parts++
			}
		}
	}
	f.dispersion = f.theory(math.Exp(c))
	if n := f.near + against; n > 2 {
		f.dispersion = max(f.dispersion, between/float64(n-2))
	}
	if parts > 0 {
		f.dispersion = max(f.dispersion, within/parts)
	}
	return float64(max(f.near-2, 0) + theoryWorth)
}

// mostAgainst is what a window or a second adds at most, in units of the dispersion so far. Were few that something disturbed
// to add all, nothing would be far from what is expected.
const mostAgainst = 10

// theoryWorth is how many degrees of freedom the dispersion by theory counts for.
const theoryWorth = 8

// theory is the least dispersion at a rate. A queue that is nearly full is a Brownian motion with a barrier: its waiting time is
// exponential, exp(-θt), and it forgets in a time of 2/(θδ), where δ is the share of time in which the server is idle; and
// the slope is θt/δ. So it forgets in 2·slope·t/(θt)², and the requests of that time are slow together.
// Long busy periods are rare, and few windows often have none: then the measured share is too small, and so is its
// dispersion. The factor is what simulated intervals need.
func (f *fit) theory(rate float64) float64 {
	const factor = 1.3
	tail := max(-math.Log(f.allowed), 3)
	together := factor * rate * 2 * min(f.slope, steep) * f.limit / sqr(tail)
	return max(1, together/(1+swell))
}

// steep is a slope beyond which no queue is the reason.
const steep = 60
