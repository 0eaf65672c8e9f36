package predict

import (
	"errors"
	"io/fs"
	"math"
	"slices"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/analysis/gcmodel"
)

// half is added to a size of whole MiB, which is cut off.
const half = gcmodel.MiB / 2

// window reads the window of a trial.
func (rd *reader) window(r *dyno.Result, told gcmodel.Setting) (gcmodel.Window, error) {
	w := gcmodel.Window{Setting: told, Elapsed: ownTime(r).Seconds()}
	cs, err := findings.Collections(rd.dir, r)
	if err != nil {
		return w, err
	}
	cycles := make([]gcmodel.Cycle, len(cs)) // forced ones included
	var all, forced, idle float64            // CPU time
	w.Procs = rd.procs(r)
	for i := range cs {
		c := &cs[i]
		cycles[i] = cycleOf(c)
		cost := (c.Assist + c.Background).Seconds() + w.Procs*(c.SweepTerm+c.MarkTerm).Seconds()
		all += cost
		if c.Forced {
			forced += cost
			continue
		}
		w.Cycles = append(w.Cycles, cycles[i])
		idle += cycles[i].Idle
	}
	rd.collections += len(cs)
	w.Left = len(cs) - len(w.Cycles)
	rd.left += w.Left
	w.Requests = w.Elapsed / 60
	if rd.Per == Request {
		w.Requests = requests(r)
	}
	of := func(metric string) float64 {
		if v, ok := r.Values.Get(metric); ok {
			return v
		}
		return math.NaN()
	}
	n := requests(r) // 0 of what is watched without its load
	w.CPU = first(of("cpu-sec/req")*n, of("cpu-frac")*r.Elapsed.Seconds())
	w.GCCPU = first(of("gc-cpu-sec/req")*n, of("gc-cpu-frac")*w.CPU, all)
	if all > 0 {
		w.GCCPU *= 1 - forced/all
	}
	w.GCCPU += idle // which the metrics leave out
	w.Alloc = first(of("alloc-B/req")*n, allocated(cycles, func(i int) bool { return cs[i].N == cs[i-1].N+1 }))
	w.RSSPeak = of("rss-peak-B")
	w.HeapPeak = of("heap-peak-B")
	for _, c := range w.Cycles {
		w.HeapPeak = greater(w.HeapPeak, c.End)
	}
	return w, rd.mapped(r.Trial.N, &w)
}

// first is the first value that is known and not 0; else NaN.
func first(xs ...float64) float64 {
	for _, x := range xs {
		if x > 0 {
			return x
		}
	}
	return math.NaN()
}

// greater returns the greater of two values; either may be unknown.
func greater(x, y float64) float64 {
	if math.IsNaN(x) || y > x {
		return y
	}
	return x
}

// requests counts those by which values per request are divided, failed ones included; 0 if there were
// none or they are not known.
func requests(r *dyno.Result) float64 {
	each, ok := r.Values.Get("req/gc")
	cycles, _ := r.Values.Get("gc-cycles")
	if ok && cycles > 0 {
		return math.Round(each * cycles)
	}
	return float64(r.Sent.Requests)
}

// ownTime returns how long a trial had the load. A trial in turns has the turns of others in its window, but
// not in its rate.
func ownTime(r *dyno.Result) time.Duration {
	rate, ok := r.Values.Get("req/s")
	if r.Turns == 0 || !ok || rate <= 0 || r.Latency == nil {
		return r.Elapsed
	}
	return time.Duration(float64(r.Latency.Count()) / rate * float64(time.Second))
}

// procs returns GOMAXPROCS. Only the injected probe knows it surely.
func (rd *reader) procs(r *dyno.Result) float64 {
	if n, ok := r.Values.Get("gomaxprocs"); ok {
		return n
	}
	t := rd.dir.Run.Plan.Trial(rd.dir.Run.Plan.Levels()[rd.dir.Run.Plan.Place(r.Trial.Setting)])
	if n := gogcOf(t.Subject.Env["GOMAXPROCS"]); t.Subject.Env["GOMAXPROCS"] != "" && n >= 1 {
		return n
	}
	return float64(rd.dir.Run.Host.CPUs)
}

// cycleOf is a collection of gc.csv. Its live heap may be exact where its other sizes are not.
func cycleOf(c *dyno.Collection) gcmodel.Cycle {
	g := gcmodel.Cycle{
		Trigger: c.HeapStart, End: c.HeapEnd, Marked: c.Live, Goal: c.Goal,
		Mark:   max(0, c.End-c.Start-c.SweepTerm-c.MarkTerm).Seconds(),
		Assist: c.Assist.Seconds(), Idle: c.Idle.Seconds(),
	}
	mend(&g, !whole(c.HeapStart) || !whole(c.HeapEnd))
	return g
}

// whole reports whether a size is of whole MiB, as no size to the byte is.
func whole(x float64) bool { return math.Mod(x, gcmodel.MiB) == 0 }

// mend adds to sizes what they lost on average when they were cut off to whole MiB.
func mend(c *gcmodel.Cycle, exact bool) {
	c.Exact = exact
	if whole(c.Marked) {
		c.Marked += half
	}
	if exact {
		return
	}
	c.Trigger += half
	c.End += half
	if c.Goal > 0 {
		c.Goal += half
	}
}

// allocated returns the bytes that the program allocated from the end of a collection to the end of the next,
// summed over cycles. The marked heap is what a collection leaves, so the new bytes are the heap at the end
// of the next one less that. next reports whether a cycle directly follows the one before it. The result is
// NaN without such a pair.
func allocated(cycles []gcmodel.Cycle, next func(i int) bool) float64 {
	sum, pairs := 0.0, 0.0
	for i := 1; i < len(cycles); i++ {
		if next(i) {
			sum += max(0, cycles[i].End-cycles[i-1].Marked)
			pairs++
		}
	}
	if pairs == 0 {
		return math.NaN()
	}
	return sum / pairs * float64(len(cycles))
}

// mapped reads what a limit counts: its most, and what of it lies beside the heap.
func (rd *reader) mapped(trial int, w *gcmodel.Window) error {
	w.Mapped, w.Overhead, w.Filling = math.NaN(), math.NaN(), math.NaN()
	ss, err := rd.dir.Series(trial, "mapped-B", "heap-B", "overhead-B")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	of := map[string]dyno.Series{}
	for _, s := range ss {
		of[s.Metric] = s
	}
	for _, v := range of["mapped-B"].Value {
		w.Mapped = greater(w.Mapped, v)
	}
	w.Overhead, w.Filling = overhead(w, of["mapped-B"], of["heap-B"], of["overhead-B"])
	return nil
}

// full is from which part of the range of heap sizes on the heap counts as nearly full. After a collection all is different:
// spans are yet to be swept.
const full = 0.5

// leastFull is the number of samples of a full heap that a regression needs.
const leastFull = 8

// overhead returns the memory beside a heap that is full, and filling, by which this memory falls for each
// byte that the heap grows. Both come from a regression line over samples, and are NaN if they are not known.
// Runs of before dyno sampled this memory have only the mapped memory, which includes free spans.
func overhead(w *gcmodel.Window, mapped, heap, beside dyno.Series) (overhead, filling float64) {
	at := map[time.Duration]float64{}
	for i, t := range heap.At {
		at[t] = heap.Value[i]
	}
	if len(at) == 0 {
		return math.NaN(), math.NaN()
	}
	lo, hi := slices.Min(heap.Value), slices.Max(heap.Value)
	var xs, ys []float64
	for i, t := range beside.At {
		if h, ok := at[t]; ok && h >= lo+full*(hi-lo) {
			xs, ys = append(xs, h), append(ys, beside.Value[i])
		}
	}
	if len(xs) >= leastFull {
		mx, my, slope := regress(xs, ys)
		end := 0.0
		for _, c := range w.Cycles {
			end += c.End / float64(len(w.Cycles))
		}
		slope = min(max(slope, -1), 0)
		return my + slope*(max(end, mx)-mx), -slope
	}
	if len(xs) > 0 {
		return median(ys), math.NaN()
	}
	least := math.NaN()
	for i, t := range mapped.At {
		if h, ok := at[t]; ok && h == hi {
			least = mapped.Value[i] - h
		}
	}
	return least, math.NaN()
}

// regress returns the means of xs and ys, and the slope of the regression line, 0 if xs are all the same.
func regress(xs, ys []float64) (mx, my, slope float64) {
	n := float64(len(xs))
	for i := range xs {
		mx += xs[i] / n
		my += ys[i] / n
	}
	xx, xy := 0.0, 0.0
	for i := range xs {
		xx += (xs[i] - mx) * (xs[i] - mx)
		xy += (xs[i] - mx) * (ys[i] - my)
	}
	if xx == 0 {
		return mx, my, 0
	}
	return mx, my, xy / xx
}
