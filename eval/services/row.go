package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dynolab/dyno/eval/internal/program"
)

// How far dyno may be from the others.
const (
	memoryWithin = 0.05
	cyclesWithin = 0.02 // or one a trial, since both ends of a window cut
	loadWithin   = 0.10 // or dyno's and wrk's rounds overlap
)

// A row is what was found of one service.
type row struct {
	service
	build, verdict time.Duration // since dyno's start: the first subject was seen; dyno ended
	status         int
	summary        summary
	trials         []trial
	rounds         []round
	err            error
}

// memory is dyno's highest rss-peak-B of the trials whose process was seen, and the kernel's.
func (r row) memory() (dyno, kernel, off float64) {
	for _, t := range r.trials {
		if v, ok := t.Values["rss-peak-B"]; ok && t.Error == "" && t.peak > 0 {
			dyno, kernel = max(dyno, v), max(kernel, float64(t.peak))
			off = max(off, math.Abs(v/float64(t.peak)-1))
		}
	}
	return dyno, kernel, off
}

// cycles are the collections of the trials' windows, by dyno and by the runtime's trace.
func (r row) cycles() (dyno, trace float64, trials int) {
	for _, t := range r.trials {
		if v, ok := t.Values["gc-cycles"]; ok && t.Error == "" && t.cycles >= 0 {
			dyno, trace, trials = dyno+v, trace+float64(t.cycles), trials+1
		}
	}
	return dyno, trace, trials
}

func of(rs []round, f func(round) float64) []float64 {
	var vs []float64
	for _, r := range rs {
		vs = append(vs, f(r))
	}
	return vs
}

func median(vs []float64) float64 {
	if len(vs) == 0 {
		return math.NaN()
	}
	vs = slices.Sorted(slices.Values(vs))
	return (vs[(len(vs)-1)/2] + vs[len(vs)/2]) / 2
}

// agree reports whether the medians are near, or the ranges overlap.
func agree(a, b []float64) bool {
	return math.Abs(median(a)/median(b)-1) <= loadWithin || slices.Min(a) <= slices.Max(b) && slices.Min(b) <= slices.Max(a)
}

func (r row) judge(g *program.Goals) {
	memory := fmt.Sprintf("%s: peak memory of each trial within %.0f %% of VmHWM", r.name, memoryWithin*100)
	if _, kernel, off := r.memory(); kernel > 0 {
		g.Judge(memory, fmt.Sprintf("%.1f %%", off*100), off <= memoryWithin)
	} else {
		g.Blank(memory)
	}
	cycles := fmt.Sprintf("%s: collections within %.0f %% of gctrace, or one a trial", r.name, cyclesWithin*100)
	if dyno, trace, n := r.cycles(); n > 0 {
		off := math.Abs(dyno - trace)
		g.Judge(cycles, fmt.Sprintf("%.0f, %.0f", dyno, trace), off <= max(cyclesWithin*trace, float64(n)))
	} else {
		g.Blank(cycles)
	}
	for _, v := range []struct {
		name string
		of   func(figure) float64
	}{{"p50", func(f figure) float64 { return f.p50 }}, {"req/s", func(f figure) float64 { return f.rate }}} {
		goal := fmt.Sprintf("%s: %s within %.0f %% of wrk's, or rounds overlap", r.name, v.name, loadWithin*100)
		if len(r.rounds) == 0 {
			g.Blank(goal)
			continue
		}
		dyno := of(r.rounds, func(x round) float64 { return v.of(x.dyno) })
		wrk := of(r.rounds, func(x round) float64 { return v.of(x.wrk) })
		g.Judge(goal, fmt.Sprintf("%+.1f %%", (median(dyno)/median(wrk)-1)*100), agree(dyno, wrk))
	}
}

func printRows(w io.Writer, rows []row) {
	lines := [][]string{{"service", "version", "build s", "to verdict s", "memory MB dyno/VmHWM", "collections dyno/gctrace",
		"p50 ms dyno/wrk/hey", "req/s dyno/wrk/hey"}}
	for _, r := range rows {
		dyno, kernel, _ := r.memory()
		mine, trace, _ := r.cycles()
		p50 := func(f func(round) figure) float64 {
			return 1e3 * median(of(r.rounds, func(x round) float64 { return f(x).p50 }))
		}
		rate := func(f func(round) figure) float64 {
			return median(of(r.rounds, func(x round) float64 { return f(x).rate }))
		}
		byDyno, byWrk, byHey := func(x round) figure { return x.dyno }, func(x round) figure { return x.wrk }, func(x round) figure { return x.hey }
		lines = append(lines, []string{r.name, r.version, fmt.Sprintf("%.0f", r.build.Seconds()), fmt.Sprintf("%.0f", r.verdict.Seconds()),
			fmt.Sprintf("%.2f/%.2f", dyno/1e6, kernel/1e6), fmt.Sprintf("%.0f/%.0f", mine, trace),
			fmt.Sprintf("%.3f/%.3f/%.1f", p50(byDyno), p50(byWrk), p50(byHey)), fmt.Sprintf("%.0f/%.0f/%.0f", rate(byDyno), rate(byWrk), rate(byHey))})
	}
	fmt.Fprintln(w)
	printTable(w, lines)
	fmt.Fprintln(w)
	for _, r := range rows {
		if r.err != nil {
			fmt.Fprintf(w, "%s: %v\n", r.name, r.err)
			continue
		}
		fmt.Fprintf(w, "%s, %s=%s: exit status %d; %s\n", r.name, r.factor, strings.Join(r.levels, ","), r.status, r.summary.primary())
		for _, warning := range r.summary.Warnings {
			fmt.Fprintf(w, "  warning: %s\n", warning.Text)
		}
		for _, f := range r.summary.Failed {
			fmt.Fprintf(w, "  failed: %s\n", f.Error)
		}
	}
	fmt.Fprintln(w)
}

// printTable aligns all columns but the first two to the right.
func printTable(w io.Writer, lines [][]string) {
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, line := range lines {
		for i, cell := range line {
			if i < 2 {
				fmt.Fprintf(w, "%-*s  ", widths[i], cell)
			} else {
				fmt.Fprintf(w, "%*s  ", widths[i], cell)
			}
		}
		fmt.Fprintln(w)
	}
}
