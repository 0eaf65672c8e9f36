package gcmodel

import (
	"math"
	"slices"
)

// Bounds outside of which a prediction has a doubt.
const (
	leastCycles = 15
	leastLive   = 16 * MiB
	mostGC      = 0.3  // of the CPU time
	mostSwing   = 0.12 // standard deviation of the live heap by its mean
	mostDrift   = 0.1  // of the live heap from the first half of the cycles to the second
	leastRoom   = 0.3  // from the marked heap to the goal of a limit, by the marked heap
	leastMark   = 3e-3 // CPU seconds of a collection
	farthest    = 5
)

// doubts lists why a prediction from the window may be wrong.
func (f *facts) doubts(s Setting, r *replayed, gc, bytes float64) (ds []Doubt) {
	add := func(d Doubt, is bool) {
		if is {
			ds = append(ds, d)
		}
	}
	far := bytes / f.allocated()
	add(FewCycles, len(f.Cycles) < leastCycles)
	add(SmallHeap, s.scale()/f.scale()*mean(f.live) < leastLive)
	add(Phases, f.phases())
	add(MuchGC, f.GCCPU/f.CPU > mostGC || gc > mostGC || math.IsNaN(f.CPU) && f.GCCPU > mostGC*f.Procs*f.Elapsed)
	add(ShortMarks, f.GCCPU/float64(len(f.Cycles)) < leastMark)
	add(Clamped, f.clamped && bytes > f.allocated())
	add(NearCliff, r.limited > 0.5 && r.least < leastRoom)
	add(FarAway, far > farthest || far < 1.0/farthest)
	add(NoOverhead, s.Limit > 0 && !(f.Overhead >= 0))
	return ds
}

// phases reports whether the live heap grew, or went up and down.
func (f *facts) phases() bool {
	n := len(f.live)
	if n < 4 {
		return false
	}
	sort := slices.Sorted(slices.Values(f.live))
	spread := (sort[n*9/10] - sort[n/10]) / 2.56 // as of a normal distribution
	m := mean(f.live)
	drift, each := 0.0, n/int(f.launches())
	for i := 0; each > 1 && i+each <= n; i += each { // in each launch, as far as they have as many cycles
		drift += (mean(f.live[i+each/2:i+each]) - mean(f.live[i:i+each/2])) / f.launches()
	}
	fuzz := 0.0
	if !f.Cycles[0].Exact {
		fuzz = MiB
	}
	return max(spread-fuzz, 0) > mostSwing*m || max(math.Abs(drift)-fuzz, 0) > mostDrift*m
}

// sampling is the standard error of the mean live heap, by its mean: how well the window knows it.
func (f *facts) sampling() float64 {
	m, sum := max(mean(f.live), leastRunway), 0.0
	for _, x := range f.live {
		sum += (x - m) * (x - m)
	}
	n := float64(len(f.live))
	return math.Sqrt(sum/n) / m / math.Sqrt(n)
}

// spread is the standard deviation of the logarithm of each error, beside what the window knows of itself.
type spread struct{ cycles, gcCPU, cpu, heap, rss float64 }

// The errors at settings that were not measured, as of workloads of several kinds (doc/method/predictions.md), with
// those of a launch from another taken off.
var (
	byGOGC  = spread{0.04, 0.13, 0.06, 0.035, 0.04}
	byLimit = spread{0.05, 0.16, 0.09, 0.045, 0.012}
	byCliff = spread{0.25, 0.3, 0.15, 0.08, 0.05}
)

// What two launches of the same setting differ by, as a standard deviation.
const (
	launchGC  = 0.1
	launchCPU = 0.03
)

// goalError is the standard deviation of the goal under a limit, by the goal. It makes an error of the cycles that is
// greater the less room there is.
const goalError = 0.03

// doubted is by how much each doubt widens the spread.
var doubted = map[Doubt]float64{FewCycles: 1.5, SmallHeap: 4, Phases: 3, MuchGC: 2, Clamped: 2, FarAway: 1.5, NoOverhead: 1.5}

// short is by how much ShortMarks widens the spread of the CPU time of collection.
const short = 3

func (f *facts) spreads(ds []Doubt, r *replayed) spread {
	s := byGOGC
	if r.limited > 0.5 {
		s = byLimit
		if r.least > 0 {
			s.cycles = math.Hypot(s.cycles, min(goalError*(1+1/r.least), byCliff.cycles))
		}
	}
	if slices.Contains(ds, NearCliff) {
		s = byCliff
	}
	by, gc := 1.0, 1.0
	for _, d := range ds {
		by = max(by, doubted[d])
		if d == ShortMarks {
			gc = short
		}
	}
	n := math.Sqrt(f.launches())
	return spread{by * s.cycles, gc * math.Hypot(by*s.gcCPU, launchGC/n), math.Hypot(by*s.cpu, launchCPU/n), by * s.heap, by * s.rss}
}
