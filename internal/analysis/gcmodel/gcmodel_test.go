package gcmodel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// A program allocates and is collected as the runtime would (commit, trigger, endCycle of mgcpacer.go): it
// keeps live bytes, allocates alloc bytes a second and marks scan bytes a second with a quarter of
// its Ps. It is the truth that the model does not see.
type program struct {
	live, noise  float64 // the live heap of a cycle, bytes, and its relative deviation
	stacks       float64
	alloc, scan  float64
	overhead     float64 // memory beside the heap
	cost         float64 // CPU seconds of a collection, by bytes marked
	seconds      float64
	cpuBeside    float64 // CPU seconds a second that are not of collections
	wholeMiB     bool
	growth       float64 // of the live heap, by the second
	swing        float64 // of the live heap, with a period of 8 s
	requestsRate float64
}

func (p program) run(s Setting, seed uint64) Window {
	r := rand.New(rand.NewPCG(seed, 1))
	p.alloc, p.requestsRate, p.cpuBeside = s.rate()*p.alloc, s.rate()*p.requestsRate, s.rate()*p.cpuBeside
	w := Window{Setting: s, Procs: 2, Elapsed: p.seconds, Requests: p.requestsRate * p.seconds, Overhead: p.overhead}
	runways := make([]float64, 4)
	marked := p.live * s.scale()
	for t := 0.0; t < p.seconds; {
		live := s.scale() * p.live * (1 + p.noise*r.NormFloat64() + p.growth*t + p.swing*math.Sin(2*math.Pi*t/8))
		goal := math.Inf(1)
		if !math.IsInf(s.GOGC, 1) {
			goal = max(marked+(marked+p.stacks)*s.GOGC/100, 4*MiB*s.GOGC/100)
		}
		limited := false
		if s.Limit > 0 {
			x := s.Limit - p.overhead
			if x -= max(0.03*x, MiB); x < goal {
				goal, limited = max(x, marked), true
			}
		}
		if !limited {
			goal = max(goal, marked+MiB)
		}
		room := goal - marked
		lo := marked + 0.7*room
		hi := max(marked+0.95*room, goal-4*MiB)
		trigger := min(max(goal-slices.Max(runways), lo), hi)
		slower := math.Pow(room/(40*MiB), 0.1) // less of the heap is in the CPU's caches
		natural := slower * p.alloc * (live + p.stacks) / p.scan
		black := min(natural, max(goal-trigger, 64<<10)*1.02)
		runways = append(runways[1:], natural)
		end := trigger + black
		mark := slower * (live + p.stacks) / p.scan
		t += max((end-marked)/p.alloc, mark)
		if t > p.seconds {
			break
		}
		w.Cycles = append(w.Cycles, Cycle{Trigger: trigger, End: end, Marked: live + black, Goal: goal, Mark: mark, Exact: true})
		w.GCCPU += slower * p.cost * (live + p.stacks)
		w.HeapPeak = max(w.HeapPeak, end)
		marked = live + black
	}
	w.Alloc = p.alloc * p.seconds
	w.CPU = p.cpuBeside*p.seconds + 1.2*w.GCCPU
	w.Mapped = w.HeapPeak + p.overhead
	w.RSSPeak = w.Mapped + 9*MiB
	if p.wholeMiB {
		for i := range w.Cycles {
			c := &w.Cycles[i]
			for _, x := range []*float64{&c.Trigger, &c.End, &c.Goal} {
				*x = (math.Floor(*x/MiB) + 0.5) * MiB
			}
			c.Exact = false
		}
	}
	return w
}

var service = program{
	live: 40 * MiB, noise: 0.01, stacks: 2 * MiB, alloc: 100 * MiB, scan: 600 * MiB, overhead: 8 * MiB,
	cost: 0.5e-9, seconds: 60, cpuBeside: 0.8, requestsRate: 1000,
}

// What was measured at GOGC=100 tells what comes of other settings, to within what a window of a minute
// can know.
func TestPredict(t *testing.T) {
	for name, p := range map[string]program{
		"plain":     service,
		"whole MiB": func() program { p := service; p.wholeMiB = true; return p }(),
		"stacks":    func() program { p := service; p.stacks = 30 * MiB; return p }(),
		"slow mark": func() program { p := service; p.scan = 400 * MiB; return p }(),
	} {
		t.Run(name, func(t *testing.T) {
			m := Fit(p.run(Setting{GOGC: 100}, 1))
			for _, s := range []Setting{
				{GOGC: 100}, {GOGC: 50}, {GOGC: 200}, {GOGC: 300}, {GOGC: Off, Limit: 90 * MiB}, {GOGC: Off, Limit: 140 * MiB}, {GOGC: 100, Limit: 80 * MiB}, {GOGC: 100, Live: 1.25},
				{GOGC: 50, Rate: 1.3}, {GOGC: 200, Rate: 0.7}, {GOGC: 200, Rate: 0.7, Live: 1.2}, {GOGC: Off, Limit: 90 * MiB, Rate: 1.3},
			} {
				got, w := m.Predict(s), p.run(s, 2)
				n := w.Requests
				for what, x := range map[string]struct {
					e       Estimate
					want    float64
					percent float64
				}{
					"collections": {got.Cycles, float64(len(w.Cycles)) / n, 6},
					"GC CPU":      {got.GCCPU, w.GCCPU / n, 6},
					"CPU":         {got.CPU, w.CPU / n, 3},
					"heap peak":   {got.HeapPeak, w.HeapPeak, 4},
					"RSS peak":    {got.RSSPeak, w.RSSPeak, 4},
				} {
					if off := 100 * (x.e.Value/x.want - 1); math.Abs(off) > x.percent {
						t.Errorf("%+v: %s is %.4g, and %.4g was predicted: %+.1f%%", s, what, x.want, x.e.Value, off)
					}
					if x.want < x.e.Lo || x.want > x.e.Hi {
						t.Errorf("%+v: %s is %.4g, outside of %.4g to %.4g", s, what, x.want, x.e.Lo, x.e.Hi)
					}
				}
				if s.Live == 0 && len(got.Doubts) > 0 {
					t.Errorf("%+v: doubts %q", s, got.Doubts)
				}
				if limited := s.Limit > 0; got.Limited != limited {
					t.Errorf("%+v: limited %v", s, got.Limited)
				}
			}
		})
	}
}

// Each doubt is raised where it is due.
func TestDoubts(t *testing.T) {
	with := func(change func(*program)) program { p := service; change(&p); return p }
	for _, c := range []struct {
		p    program
		s    Setting
		want Doubt
	}{
		{with(func(p *program) { p.seconds = 4 }), Setting{GOGC: 200}, FewCycles},
		{with(func(p *program) { p.live = 3 * MiB }), Setting{GOGC: 200}, SmallHeap},
		{with(func(p *program) { p.growth = 0.01 }), Setting{GOGC: 200}, Phases},
		{with(func(p *program) { p.swing = 0.5 }), Setting{GOGC: 200}, Phases},
		{with(func(p *program) { p.cost = 5e-9 }), Setting{GOGC: 100}, MuchGC},
		{service, Setting{GOGC: 20}, MuchGC},
		{with(func(p *program) { p.scan = 100 * MiB }), Setting{GOGC: 200}, Clamped},
		{service, Setting{GOGC: Off, Limit: 54 * MiB}, NearCliff},
		{service, Setting{GOGC: 2000}, FarAway},
		{with(func(p *program) { p.overhead = math.NaN() }), Setting{GOGC: Off, Limit: 100 * MiB}, NoOverhead},
	} {
		if c.want == MuchGC && c.s.GOGC == 20 {
			c.p.cost = 1.5e-9
		}
		got := Fit(c.p.run(Setting{GOGC: 100}, 1)).Predict(c.s).Doubts
		if !slices.Contains(got, c.want) {
			t.Errorf("%+v: doubts %q, want %q among them", c.s, got, c.want)
		}
	}
}

// A second setting tells what a collection costs beside what the runtime books, the more the more collection and launches
// there are.
func TestPrice(t *testing.T) {
	p := service
	p.cost = 2e-9
	run := func(gogc float64, launches int) Window {
		w := p.run(Setting{GOGC: gogc}, 1)
		w.CPU += 0.3 * w.GCCPU // 1.5 in all
		w.Launches = launches
		return w
	}
	one, two, many := Fit(run(100, 1)), Fit(run(100, 1), run(400, 1)), Fit(run(100, 25), run(400, 25))
	if one.price != usualPrice || two.price < 1.15 || many.price < two.price+0.05 || many.price > 1.52 {
		t.Errorf("a collection costs %.2f, %.2f and %.2f times what is booked, want 1.5 at last", one.price, two.price, many.price)
	}
	wide, narrow := one.Predict(Setting{GOGC: 50}).CPU, many.Predict(Setting{GOGC: 50}).CPU
	if narrow.Hi/narrow.Lo >= wide.Hi/wide.Lo {
		t.Errorf("the interval is %v with two settings, and %v with one", narrow, wide)
	}
}

// The cliff is where the pacer has hardly any room left, and larger for a larger live heap.
func TestCliff(t *testing.T) {
	m := Fit(service.run(Setting{GOGC: 100}, 1))
	least := m.Cliff(Off, 1)
	if least < service.live+service.overhead || least > 1.3*(service.live+service.overhead) {
		t.Errorf("the cliff is at %.1f MiB", least/MiB)
	}
	if !m.Predict(Setting{GOGC: Off, Limit: 0.97 * least}).Spiral || m.Predict(Setting{GOGC: Off, Limit: 1.1 * least}).Spiral {
		t.Error("the spiral is not below the cliff alone")
	}
	if more := m.Cliff(Off, 1.5); more < least+0.4*service.live {
		t.Errorf("with half as much live heap more it is at %.1f MiB", more/MiB)
	}
	if never := m.Predict(Setting{GOGC: Off}); never.Cycles.Hi != 0 || never.HeapPeak.Value < service.alloc*service.seconds || never.Spiral {
		t.Errorf("without collections: %+v", never)
	}
	if !math.IsNaN(Fit().Cliff(Off, 1)) || !math.IsNaN(Fit().Predict(Setting{GOGC: 50}).Cycles.Value) {
		t.Error("a model of nothing knows something")
	}
}

// What cannot be is never predicted: a negative CPU time where the runtime's clock counted waiting for a CPU, or no figure at
// all far below the live heap.
func TestPredictionsArePossible(t *testing.T) {
	w := service.run(Setting{GOGC: 25}, 1)
	w.GCCPU = 1.4 * w.CPU
	w.Filling = math.NaN()
	m := Fit(w)
	if least := m.Cliff(Off, 1); least > 2*(service.live+service.overhead) { // a clock that counts waiting makes no spiral
		t.Errorf("the cliff is at %.1f MiB", least/MiB)
	}
	for _, s := range []Setting{{GOGC: 100}, {GOGC: 1600}, {GOGC: Off, Limit: MiB}, {GOGC: Off, Limit: 60 * MiB}, {GOGC: 0}} {
		p := m.Predict(s)
		for what, e := range map[string]Estimate{"collections": p.Cycles, "CPU": p.CPU, "heap peak": p.HeapPeak, "RSS peak": p.RSSPeak} {
			if !(e.Value > 0 && e.Lo > 0 && e.Lo <= e.Value && e.Value <= e.Hi) || math.IsInf(e.Hi, 1) {
				t.Errorf("%+v: %s is %+v", s, what, e)
			}
		}
	}
}

// Under a limit, slots that are yet to be filled count as memory beside the heap, so that marking begins earlier: there are
// more collections than with the same goal by GOGC.
func TestFilling(t *testing.T) {
	w := service.run(Setting{GOGC: 100}, 1)
	w.Filling = 0.9
	filled, plain := Fit(w).Predict(Setting{GOGC: Off, Limit: 90 * MiB}), Fit(service.run(Setting{GOGC: 100}, 1)).Predict(Setting{GOGC: Off, Limit: 90 * MiB})
	if more := filled.Cycles.Value / plain.Cycles.Value; more < 1.02 || more > 1.5 {
		t.Errorf("with slots to fill there are %.3f times as many collections", more)
	}
}
