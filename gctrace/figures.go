package gctrace

import (
	"maps"
	"math"
	"slices"
	"time"
)

// Figures are sums over collections.
type Figures struct {
	Collections int64
	Forced      int64         // by runtime.GC
	Missing     int64         // numbers that were left out
	Span        time.Duration // that the lines tell of: from the start of the process, or of its first collection if that is not number 1, to the end of its last
	Wall        time.Duration // in which a collection was under way
	CPU         time.Duration // that collections took from the program
	Assist      time.Duration // CPU time of goroutines that had to mark to be allowed to allocate
	Background  time.Duration // CPU time of workers that were set aside for marking
	Idle        time.Duration // CPU time of workers on Ps with nothing else to do; not in CPU
	Mark        time.Duration // wall clock time of marking, all together
	MarkMost    time.Duration // the longest
	SweepTerm   Stops
	MarkTerm    Stops
	Live        Size
	HeapStart   Size
	HeapEnd     Size
	Goal        Size

	capacity float64       // GOMAXPROCS × Span, seconds
	paced    time.Duration // between starts of collections
	paces    int64         // how many times that was
	short    int64         // collections whose stops tell how fine the clock is
	whole    int64         // of those, with stops of whole ticks of a coarse clock
}

// A Size is a size in bytes over collections. First, Last and Max are as told.
type Size struct {
	First, Last, Max float64
	sum              float64
	n                int64
}

// Mean is NaN if there was no size. Half a MiB is added where only whole MiB were told.
func (s *Size) Mean() float64 { return s.sum / float64(s.n) }

func (s *Size) add(x float64, exact bool) {
	if s.n == 0 {
		s.First = x
	}
	s.n++
	s.Last = x
	s.Max = max(s.Max, x)
	if !exact {
		x += 1 << 19
	}
	s.sum += x
}

// Frac is the collections' share of GOMAXPROCS × Span, NaN if Span is 0. The runtime's own is
// somewhat less: lines count a stop of the world from when it was asked for, the runtime from
// when each P stopped.
func (f *Figures) Frac() float64 { return f.CPU.Seconds() / f.capacity }

// Pace is the mean seconds between starts of collections, NaN if none followed another.
func (f *Figures) Pace() float64 { return f.paced.Seconds() / float64(f.paces) }

// PauseMax is the longest stop of the world.
func (f *Figures) PauseMax() time.Duration { return max(f.SweepTerm.Max, f.MarkTerm.Max) }

func (f *Figures) add(c *Cycle) {
	f.Collections++
	if c.Forced {
		f.Forced++
	}
	if coarse, told := c.coarse(); told {
		f.short++
		if coarse {
			f.whole++
		}
	}
	f.Wall += c.Wall()
	f.CPU += c.CPU()
	f.Assist += c.Assist
	f.Background += c.Background
	f.Idle += c.Idle
	f.Mark += c.Mark
	f.MarkMost = max(f.MarkMost, c.Mark)
	f.SweepTerm.add(c.SweepTerm)
	f.MarkTerm.add(c.MarkTerm)
	f.Live.add(c.Live, false)
	f.HeapStart.add(c.HeapStart, c.Paced)
	f.HeapEnd.add(c.HeapEnd, c.Paced)
	if c.Goal > 0 {
		f.Goal.add(c.Goal, c.Paced)
	}
}

// Stops are the lengths of the stops of the world at one end of collections.
type Stops struct {
	Max, Total time.Duration
	counts     map[time.Duration]int64
	n          int64
}

func (s *Stops) add(d time.Duration) {
	if s.counts == nil {
		s.counts = map[time.Duration]int64{}
	}
	s.counts[d]++
	s.n++
	s.Total += d
	s.Max = max(s.Max, d)
}

// Quantile is by nearest rank, 0 if there was no stop.
func (s *Stops) Quantile(q float64) time.Duration {
	rank := max(int64(math.Ceil(q*float64(s.n)-1e-9)), 1)
	for _, d := range slices.Sorted(maps.Keys(s.counts)) {
		if rank -= s.counts[d]; rank <= 0 {
			return d
		}
	}
	return s.Max
}

// A Value is a figure by its name in JSON, which ends in its unit.
type Value struct {
	Name  string
	Value float64
}

// Values are the known figures in the order of reports. requests were answered meanwhile; 0:
// not known.
func (f *Figures) Values(requests int64) []Value {
	var vs []Value
	put := func(name string, x float64) {
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			vs = append(vs, Value{name, x})
		}
	}
	sec := func(name string, d time.Duration) { put(name, d.Seconds()) }
	n := float64(f.Collections)
	put("collections", n)
	put("forced", float64(f.Forced))
	put("missing", float64(f.Missing))
	sec("span-sec", f.Span)
	put("gc-cpu-frac", f.Frac())
	sec("gc-total-sec", f.Wall)
	sec("gc-cpu-sec", f.CPU)
	put("pace-sec", f.Pace())
	if requests > 0 {
		put("requests", float64(requests))
		put("req/gc", float64(requests)/n)
	}
	for _, s := range []struct {
		name string
		size *Size
	}{{"heap-live", &f.Live}, {"heap-start", &f.HeapStart}, {"heap-end", &f.HeapEnd}, {"heap-goal", &f.Goal}} {
		if s.size.n > 0 {
			put(s.name+"-B", s.size.Mean())
			put(s.name+"-first-B", s.size.First)
			put(s.name+"-last-B", s.size.Last)
			put(s.name+"-max-B", s.size.Max)
		}
	}
	sec("pause-max-sec", f.PauseMax())
	sec("pause-total-sec", f.SweepTerm.Total+f.MarkTerm.Total)
	for _, p := range []struct {
		name string
		*Stops
	}{{"sweep-term", &f.SweepTerm}, {"mark-term", &f.MarkTerm}} {
		sec(p.name+"-p50-sec", p.Quantile(.5))
		sec(p.name+"-p90-sec", p.Quantile(.9))
		sec(p.name+"-p99-sec", p.Quantile(.99))
		sec(p.name+"-max-sec", p.Max)
		sec(p.name+"-total-sec", p.Total)
	}
	put("mark-sec", f.Mark.Seconds()/n)
	sec("mark-max-sec", f.MarkMost)
	sec("mark-total-sec", f.Mark)
	sec("assist-sec", f.Assist)
	sec("background-sec", f.Background)
	sec("idle-sec", f.Idle)
	return vs
}
