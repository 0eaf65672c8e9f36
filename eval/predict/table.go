//go:build linux

package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/dynolab/dyno/eval/internal/program"
)

// A figure is one quantity of a row.
type figure struct {
	name     string
	estimate func(*row) estimate
	real     func(*row) float64
	// The goals, in percent: the median of errors at GOGC, at limits, and their 90th percentile.
	gogc, limit, p90 float64
}

var figures = []figure{
	{"collections", func(r *row) estimate { return r.prediction.Cycles }, func(r *row) float64 { return r.real.Cycles / r.real.Requests }, 6, 12, 15},
	{"GC CPU", func(r *row) estimate { return r.prediction.GCCPU }, func(r *row) float64 { return known(r.real.GCCPU) / r.real.Requests }, 12, 12, 30},
	{"CPU", func(r *row) estimate { return r.prediction.CPU }, func(r *row) float64 { return known(r.real.CPU) / r.real.Requests }, 0, 0, 0},
	{"heap peak", func(r *row) estimate { return r.prediction.HeapPeak }, func(r *row) float64 { return r.real.HeapPeak }, 0, 0, 0},
	{"RSS peak", func(r *row) estimate { return r.prediction.RSSPeak }, func(r *row) float64 { return r.real.RSSPeak }, 3, 3, 10},
}

// guide is the number of collections per request by the formula of the Go GC guide: as many bytes are
// allocated from one to the next as GOGC takes of what was marked.
func (r *row) guide() float64 {
	if r.prediction.Limit > 0 {
		return math.NaN()
	}
	was := r.base.Cycles / r.base.Requests
	return was * known(r.base.GOGC) / known(r.real.GOGC)
}

// always are doubts with which nothing is said of a prediction.
var always = []string{"few-cycles", "small-heap", "phases", "clamped", "no-overhead"}

// sort is the table in which a figure of a row counts.
func (r *row) sort(figure string) string {
	has := func(doubts ...string) bool {
		return slices.ContainsFunc(r.Doubts, func(d string) bool { return slices.Contains(doubts, d) })
	}
	switch {
	case has(always...), has("short-marks") && figure == "GC CPU":
		return "flagged"
	case has("near-cliff") || r.Spiral:
		return "near the cliff"
	case has("much-gc", "far-away"):
		return "flagged"
	case r.again:
		return "same again"
	case r.Limited:
		return "limits"
	}
	return "GOGC"
}

// errorOf is what was predicted by what was measured, less 1, in percent.
func errorOf(e estimate, real float64) float64 { return 100 * (known(e.Value)/real - 1) }

func covered(e estimate, real float64) bool { return known(e.Lo) <= real && real <= known(e.Hi) }

func printRows(w io.Writer, x workload, rows []row) {
	if len(rows) == 0 {
		return
	}
	b := rows[0].base
	const mib = 1 << 20
	fmt.Fprintf(w, "\n%s: %d collections of a live heap of %.1f MiB, peaks %.0f (heap) and %.0f MiB (resident), collection %.0f %% of the CPU time\n",
		x.name, int(b.Cycles), b.Live/mib, b.HeapPeak/mib, b.RSSPeak/mib, 100*known(b.GCCPU)/known(b.CPU))
	fmt.Fprintf(w, "  %-30s %-14s", "setting", "")
	for _, f := range figures {
		fmt.Fprintf(w, " %14s", f.name)
	}
	fmt.Fprintf(w, " %8s\n", "guide")
	for i := range rows {
		r := &rows[i]
		fmt.Fprintf(w, "  %-30s %-14s", r.prediction.Setting, r.sort(""))
		for _, f := range figures {
			real, mark := f.real(r), " "
			if !covered(f.estimate(r), real) {
				mark = "!"
			}
			fmt.Fprintf(w, " %13s%s", fmt.Sprintf("%+.1f %%", errorOf(f.estimate(r), real)), mark)
		}
		if naive := r.guide(); !math.IsNaN(naive) {
			fmt.Fprintf(w, " %+6.0f %%", 100*(naive/(r.real.Cycles/r.real.Requests)-1))
		}
		fmt.Fprintf(w, "  %s\n", strings.Join(r.Doubts, ", "))
	}
}

// conclude prints the errors by table, and judges those that were not flagged.
func conclude(w io.Writer, goals *program.Goals, rows []row) {
	fmt.Fprintf(w, "\nerrors without their sign, in percent; covered: by the interval of 90 %%\n")
	fmt.Fprintf(w, "  %-15s %-12s %4s %8s %8s %8s %9s\n", "", "", "n", "median", "90th", "largest", "covered")
	all, inside, of := map[string][]float64{}, map[string]int{}, map[string]int{}
	for _, sort := range []string{"same again", "GOGC", "limits", "near the cliff", "flagged"} {
		for _, f := range figures {
			var errs []float64
			in := 0
			for i := range rows {
				if r := &rows[i]; r.sort(f.name) == sort {
					e := math.Abs(errorOf(f.estimate(r), f.real(r)))
					if math.IsNaN(e) { // nothing was predicted, or measured
						e = math.Inf(1)
					}
					errs = append(errs, e)
					if covered(f.estimate(r), f.real(r)) {
						in++
					}
				}
			}
			if len(errs) == 0 {
				continue
			}
			slices.Sort(errs)
			all[sort+f.name] = errs
			inside[sort] += in
			of[sort] += len(errs)
			fmt.Fprintf(w, "  %-15s %-12s %4d %8.1f %8.1f %8.1f %8.0f%%\n", sort, f.name, len(errs), quantile(errs, 0.5), quantile(errs, 0.9), errs[len(errs)-1], 100*float64(in)/float64(len(errs)))
		}
	}
	var naive []float64
	for i := range rows {
		if r := &rows[i]; r.sort("") == "GOGC" {
			naive = append(naive, math.Abs(100*(r.guide()/(r.real.Cycles/r.real.Requests)-1)))
		}
	}
	slices.Sort(naive)
	if len(naive) > 0 {
		fmt.Fprintf(w, "  %-15s %-12s %4d %8.1f %8.1f %8.1f\n", "GOGC", "by the guide", len(naive), quantile(naive, 0.5), quantile(naive, 0.9), naive[len(naive)-1])
	}
	fmt.Fprintln(w)
	for _, f := range figures {
		if f.p90 == 0 {
			continue
		}
		gogc, limit := all["GOGC"+f.name], all["limits"+f.name]
		judge(goals, fmt.Sprintf("%s at GOGC: median at most %.0f %%", f.name, f.gogc), gogc, 0.5, f.gogc)
		judge(goals, fmt.Sprintf("%s at limits: median at most %.0f %%", f.name, f.limit), limit, 0.5, f.limit)
		both := slices.Sorted(slices.Values(slices.Concat(gogc, limit)))
		judge(goals, fmt.Sprintf("%s: 90th percentile at most %.0f %%", f.name, f.p90), both, 0.9, f.p90)
	}
	for _, sort := range []string{"GOGC", "limits", "near the cliff"} {
		coverage(goals, sort, inside[sort], of[sort])
	}
}

// coverage judges how many of all intervals of a table contain what was measured.
func coverage(goals *program.Goals, sort string, inside, of int) {
	goal := sort + ": 87 to 93 % of the intervals contain it"
	if of == 0 {
		goals.Blank(goal)
		return
	}
	share := 100 * float64(inside) / float64(of)
	goals.Judge(goal, fmt.Sprintf("%.0f %% of %d", share, of), share >= 87 && share <= 93)
}

func judge(goals *program.Goals, goal string, errs []float64, q, most float64) {
	if len(errs) == 0 {
		goals.Blank(goal)
		return
	}
	x := quantile(errs, q)
	goals.Judge(goal, fmt.Sprintf("%.1f %%", x), x <= most)
}

// quantile is that of sorted values, of which there is one at least.
func quantile(xs []float64, q float64) float64 {
	return xs[min(int(q*float64(len(xs))), len(xs)-1)]
}
