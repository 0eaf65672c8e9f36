package gcmodel

import (
	"cmp"
	"math"
	"slices"
)

// A Model predicts from what was measured. Its zero value knows nothing.
type Model struct {
	windows []*facts
	cached  float64 // bytes of a cycle of 16 MiB that the pacer counts and the program does not allocate
	price   float64 // what a collection costs, by what the runtime books
	priceSD float64 // standard deviation of that
}

// Fit makes a model of windows that were measured with the same service and load. Windows without a
// collection say nothing. With two settings or more it knows what a collection costs beside
// what the runtime books, by the CPU time of requests at different numbers of collections.
func Fit(ws ...Window) *Model {
	ws = slices.DeleteFunc(slices.Clone(ws), func(w Window) bool { return len(w.Cycles) == 0 || !(w.Requests > 0) })
	m := &Model{cached: cached(ws)}
	for _, w := range ws {
		m.windows = append(m.windows, study(w, m.cached))
	}
	m.price, m.priceSD = price(m.windows)
	return m
}

// mostCached bounds what Ps may have cached.
const mostCached = 4 * MiB

// cached is what the pacer counts of a cycle of 16 MiB beyond what is allocated. It counts a span of which a P takes
// hold as a whole, each time anew (runtime/mcache.go, refill): some 1 MiB, so that it is much of a short
// cycle. Windows with many short cycles know it best.
func cached(ws []Window) float64 {
	sum, weights := 0.0, 0.0
	for i := range ws {
		n, counted := float64(len(ws[i].Cycles)), ws[i].counted()
		if by := counted - ws[i].Alloc/n; !math.IsNaN(by) && ws[i].Left == 0 {
			weight := n * n / (counted * counted) // the window begins and ends within a cycle
			sum += weight * by / classes(counted)
			weights += weight
		}
	}
	if weights == 0 {
		return 0
	}
	return min(max(sum/weights, 0), mostCached)
}

// classes is how what is cached grows with the bytes of a cycle, 1 at 16 MiB: in a longer one spans of rarer sizes are
// used, too. The exponent is fitted to workloads.
func classes(bytes float64) float64 { return math.Pow(min(bytes, 64*MiB)/(16*MiB), 0.4) }

// The price of a collection by the CPU time that the runtime books for it, idle Ps included. Sweeping, write
// barriers and cold caches are booked as the program's. It was 0.9 to 1.4 in workloads of several
// kinds (doc/method/predictions.md).
const (
	usualPrice  = 1.1
	leastPrice  = 0.8
	mostPrice   = 2.5
	priceSpread = 0.2 // standard deviation over workloads
)

// price is what a collection costs by what is booked for it, with its standard deviation: that of workloads in general, and what
// a regression of the CPU time of a request on its collections' adds. The noise of launches says how much that is.
func price(ws []*facts) (price, sd float64) {
	var xs, ys, noise []float64
	for _, w := range ws {
		if x, y := w.GCCPU/w.Requests, w.CPU/w.Requests; x > 0 && y > 0 {
			xs, ys, noise = append(xs, x), append(ys, y), append(noise, launchCPU*y/math.Sqrt(w.launches()))
		}
	}
	prior := 1 / (priceSpread * priceSpread)
	mx, my := mean(xs), mean(ys)
	xy, xx, variance := 0.0, 0.0, 0.0
	for i := range xs {
		xy += (xs[i] - mx) * (ys[i] - my)
		xx += (xs[i] - mx) * (xs[i] - mx)
		variance += (xs[i] - mx) * (xs[i] - mx) * noise[i] * noise[i]
	}
	if len(xs) < 2 || xx == 0 {
		return usualPrice, priceSpread
	}
	weight := xx * xx / variance
	price = (prior*usualPrice + weight*xy/xx) / (prior + weight)
	return min(max(price, leastPrice), mostPrice), 1 / math.Sqrt(prior+weight)
}

func mean(xs []float64) (m float64) {
	for _, x := range xs {
		m += x / float64(len(xs))
	}
	return m
}

// Predict predicts a setting. Of several windows the nearer ones weigh more.
func (m *Model) Predict(s Setting) Prediction {
	if len(m.windows) == 0 {
		return unknown(s)
	}
	type part struct {
		Prediction
		weight float64
	}
	var parts []part
	total := 0.0
	for _, f := range m.windows {
		p, bytes := m.from(f, s)
		far := math.Abs(math.Log(bytes / f.allocated()))
		w := 1 / ((far + 0.02) * (far + 0.02)) * float64(len(f.Cycles))
		parts = append(parts, part{p, w})
		total += w
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.weight, a.weight) })
	p := parts[0].Prediction // its doubts are those of the nearest
	for _, e := range []func(*Prediction) *Estimate{
		func(p *Prediction) *Estimate { return &p.Cycles }, func(p *Prediction) *Estimate { return &p.GCCPU },
		func(p *Prediction) *Estimate { return &p.CPU }, func(p *Prediction) *Estimate { return &p.HeapPeak },
		func(p *Prediction) *Estimate { return &p.RSSPeak }, func(p *Prediction) *Estimate { return &p.Marking },
	} {
		log, lo, hi, sum := 0.0, 0.0, 0.0, 0.0
		for i := range parts {
			x := e(&parts[i].Prediction)
			if w := parts[i].weight / total; x.Value > 0 {
				log += w * math.Log(x.Value)
				lo += w * math.Log(x.Lo/x.Value)
				hi += w * math.Log(x.Hi/x.Value)
				sum += w
			}
		}
		if to := e(&p); sum > 0 {
			v := math.Exp(log / sum)
			*to = Estimate{v, v * math.Exp(lo/sum), v * math.Exp(hi/sum)}
		}
	}
	return p
}

func unknown(s Setting) Prediction {
	e := Estimate{math.NaN(), math.NaN(), math.NaN()}
	return Prediction{Setting: s, Cycles: e, GCCPU: e, CPU: e, HeapPeak: e, RSSPeak: e, Marking: e, Doubts: []Doubt{FewCycles}}
}

// never predicts a setting without collections, whose heap grows as long as the window lasts.
func (m *Model) never(f *facts, s Setting) Prediction {
	peak := s.scale()/f.scale()*mean(f.live) + f.allocated()*float64(len(f.Cycles))/f.launches()
	p := Prediction{Setting: s, Doubts: f.doubts(s, &replayed{}, 0, math.Inf(1))}
	sd := f.spreads(p.Doubts, &replayed{})
	p.CPU = around((f.CPU-m.priceOf(f)*f.GCCPU)/f.Requests, math.Hypot(sd.cpu, m.priceSD*f.GCCPU/f.CPU))
	p.HeapPeak = around(peak, sd.heap)
	p.RSSPeak = around(f.RSSPeak+(peak-f.heapPeak())*(1+f.slope), sd.rss)
	return p
}

// work is how much more than in the window is marked in a collection.
func (f *facts) work(s Setting) float64 {
	live := max(mean(f.live), leastRunway)
	return (s.scale()/f.scale()*live + f.stacks) / (live + f.stacks)
}

// alloc is what is allocated while the heap grows by some bytes, as the pacer counts.
func (m *Model) alloc(bytes float64) float64 {
	return max(bytes-m.cached*classes(bytes), bytes/4)
}

// allocated is what the heap grew by from one collection to the next.
func (f *facts) allocated() float64 { return f.whole.bytes * f.bytes }

// from predicts a setting from one window, and the bytes from one collection to the next.
func (m *Model) from(f *facts, s Setting) (Prediction, float64) {
	if math.IsInf(s.GOGC, 1) && s.Limit == 0 {
		return m.never(f, s), f.Alloc / f.launches()
	}
	k := f.work(s)
	r := f.replay(s)
	bytes := r.bytes * f.bytes
	k *= r.slower
	n := float64(len(f.Cycles))
	cycles := n * m.alloc(f.allocated()) / m.alloc(bytes)
	if f.Left > 0 && f.Alloc > 0 {
		cycles = f.Alloc / m.alloc(bytes)
	}
	mark := k * f.meanOf(func(c *Cycle) float64 { return c.Mark })
	p := Prediction{Setting: s, Limited: r.limited > 0.5}
	elapsed := f.Elapsed / s.rate() // the same requests take so long
	p.Spiral = r.least < spiralRoom || cycles*mark > spiralShare*elapsed || f.limited(k*cycles/n*s.rate())
	if p.Spiral && mark > 0 {
		cycles = min(cycles, elapsed/mark)
	}
	peak := r.peak(max(cycles/f.launches(), 1)) * f.peak
	gc := k * f.GCCPU * cycles / n
	price := m.priceOf(f)
	cpu := f.CPU + price*(gc-f.GCCPU)
	rss := f.RSSPeak + (peak-f.heapPeak())*(1+f.slope)
	if full := scavenged*s.Limit + f.RSSPeak - f.Mapped; p.Limited && full > rss {
		rss = full
	}
	p.Doubts = f.doubts(s, &r, gc/cpu, bytes)
	sd := f.spreads(p.Doubts, &r)
	count := 0.41 * math.Hypot(1/n, 1/max(cycles, 1)) // a window begins and ends somewhere between two collections
	some := f.sampling()
	p.Cycles = around(cycles/f.Requests, math.Hypot(math.Hypot(sd.cycles, count), some))
	p.GCCPU = around(gc/f.Requests, math.Hypot(math.Hypot(sd.gcCPU, count), some))
	p.CPU = around(cpu/f.Requests, math.Hypot(math.Hypot(sd.cpu, rateCPU*math.Log(s.rate())), min(m.priceSD*math.Abs(gc-f.GCCPU)/cpu, mostPriceError)))
	p.HeapPeak = around(peak, math.Hypot(sd.heap, some))
	p.RSSPeak = around(rss, math.Hypot(sd.rss, some*peak/rss))
	p.Marking = around(min(cycles*mark/elapsed, 1), math.Hypot(sd.gcCPU, count))
	return p, bytes
}

// scavenged is which part of a limit is mapped at most: beyond, the runtime returns free memory at once
// (reduceExtraPercent of runtime/mgcscavenge.go).
const scavenged = 0.953

// limited reports whether the runtime's limiter (runtime/mgclimit.go) would hold collection back, if it takes so many times the
// CPU time of the window: half of all Ps, marking by idle ones not counted. The limiter leaves out idle Ps, too, but their time
// is not known, and CPU time says nothing of it where threads wait for a CPU.
func (f *facts) limited(times float64) bool {
	idle := 0.0
	for i := range f.Cycles {
		idle += f.Cycles[i].Idle
	}
	return times*(f.GCCPU-idle) > 0.5*f.Procs*f.Elapsed
}

const (
	spiralRoom  = 0.05 // the goal is so little above the marked heap
	spiralShare = 0.8  // a collection is under way so much of the time
)

// rateCPU is by how much the CPU time of a request changes with the rate, as a power: work that comes with time is charged to fewer
// requests at a low rate. It is assumed, not fitted.
const rateCPU = 0.15

// mostPriceError is what an error of the price can do to the CPU time at most, as a logarithm.
const mostPriceError = 0.7

// mostShare is which part of the CPU time collection can have taken. The runtime books more where threads wait for a CPU:
// its clock is that of the wall.
const mostShare = 0.9

// priceOf is the price in a window.
func (m *Model) priceOf(f *facts) float64 {
	if most := mostShare * f.CPU / f.GCCPU; m.price > most {
		return most
	}
	return m.price
}

func (f *facts) meanOf(x func(*Cycle) float64) float64 {
	sum := 0.0
	for i := range f.Cycles {
		sum += x(&f.Cycles[i])
	}
	return sum / float64(len(f.Cycles))
}

// around is an interval of 90 % about a value, sd being the standard deviation of its logarithm.
func around(v, sd float64) Estimate {
	by := math.Exp(1.645 * sd)
	return Estimate{v, v / by, v * by}
}

// Cliff returns the smallest GOMEMLIMIT in bytes under which a GOGC is no spiral, with the live heap
// scaled by a factor, 0 for 1; NaN if it is not known.
func (m *Model) Cliff(gogc, live float64) float64 {
	if len(m.windows) == 0 {
		return math.NaN()
	}
	lo, hi := float64(MiB), 0.0
	for _, f := range m.windows {
		hi = max(hi, 4*Setting{Live: live}.scale()*(f.heapPeak()+f.overhead()))
	}
	for hi-lo > MiB/4 {
		limit := (lo + hi) / 2
		if m.Predict(Setting{GOGC: gogc, Limit: limit, Live: live}).Spiral {
			lo = limit
		} else {
			hi = limit
		}
	}
	return hi
}
