package predict

import (
	"math"
	"slices"

	"github.com/dynolab/dyno/internal/analysis/gcmodel"
)

// pool puts the trials of each setting together, in the order of settings. Requests, times and cycles
// are added; peaks are medians over trials, as a peak over all would be that of a longer window.
func (s *Source) pool(order []gcmodel.Setting) {
	for i, told := range order {
		if slices.ContainsFunc(order[:i], func(other gcmodel.Setting) bool { return same(told, other) }) {
			continue
		}
		var of []Window
		for _, w := range s.Trials {
			if same(w.Setting, told) {
				of = append(of, w)
			}
		}
		if len(of) > 0 {
			s.Pooled = append(s.Pooled, pooled(of))
		}
	}
}

func pooled(of []Window) Window {
	all := Window{Window: gcmodel.Window{Setting: of[0].Setting, Launches: len(of)}}
	each := func(value func(*Window) float64) (xs []float64) {
		for i := range of {
			xs = append(xs, value(&of[i]))
		}
		return xs
	}
	for i := range of {
		all.Cycles = append(all.Cycles, of[i].Cycles...)
		all.Trials = append(all.Trials, of[i].Trials...)
		all.Left += of[i].Left
	}
	all.Requests = sum(each(func(w *Window) float64 { return w.Requests }))
	all.Elapsed = sum(each(func(w *Window) float64 { return w.Elapsed }))
	all.Alloc = sum(each(func(w *Window) float64 { return w.Alloc }))
	all.CPU = sum(each(func(w *Window) float64 { return w.CPU }))
	all.GCCPU = sum(each(func(w *Window) float64 { return w.GCCPU }))
	all.Procs = median(each(func(w *Window) float64 { return w.Procs }))
	all.RSSPeak = median(each(func(w *Window) float64 { return w.RSSPeak }))
	all.HeapPeak = median(each(func(w *Window) float64 { return w.HeapPeak }))
	all.Mapped = median(each(func(w *Window) float64 { return w.Mapped }))
	all.Overhead = median(each(func(w *Window) float64 { return w.Overhead }))
	all.Filling = median(each(func(w *Window) float64 { return w.Filling }))
	return all
}

// sum scales for values that are not known; NaN if none is.
func sum(xs []float64) float64 {
	known := slices.DeleteFunc(slices.Clone(xs), math.IsNaN)
	total := 0.0
	for _, x := range known {
		total += x
	}
	return total / float64(len(known)) * float64(len(xs))
}

// median returns the median of the values that are known; NaN if there are none.
func median(xs []float64) float64 {
	xs = slices.DeleteFunc(slices.Clone(xs), math.IsNaN)
	if len(xs) == 0 {
		return math.NaN()
	}
	slices.Sort(xs)
	n := len(xs)
	return (xs[(n-1)/2] + xs[n/2]) / 2
}

// Live is the median of the live heap of a window's cycles, in bytes, without what was allocated while
// they were marked; NaN without cycles.
func (w *Window) Live() float64 {
	var xs []float64
	for _, c := range w.Cycles {
		xs = append(xs, max(0, c.Marked-(c.End-c.Trigger)))
	}
	return median(xs)
}

// Exact reports whether most sizes are to the byte.
func (w *Window) Exact() bool {
	n := 0
	for _, c := range w.Cycles {
		if c.Exact {
			n++
		}
	}
	return 2*n > len(w.Cycles)
}
