package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/dynolab/dyno/eval/internal/program"
)

// figures are what is known of one run, by name. As a generator reports them,
// "p50", "p90", "p99" and "p99.9" are percentiles of its latency in
// milliseconds and "unsent" is a count; what it does not report is missing.
type figures map[string]float64

// get is NaN for what is missing.
func (f figures) get(name string) float64 {
	if v, ok := f[name]; ok {
		return v
	}
	return math.NaN()
}

// runs are the figures of rounds, by generator. A run that failed has none.
type runs map[string][]figures

// median is over the rounds that have the figure, and NaN if none has.
func (rs runs) median(name, key string) float64 { return median(rs.all(name, key)) }

func (rs runs) all(name, key string) []float64 {
	var vs []float64
	for _, f := range rs[name] {
		if v, ok := f[key]; ok {
			vs = append(vs, v)
		}
	}
	return vs
}

// ratios are those of two generators' figures, round by round.
func (rs runs) ratios(name, base, key string) []float64 {
	var vs []float64
	for i, f := range rs[name] {
		if i < len(rs[base]) {
			if v := f.get(key) / rs[base][i].get(key); !math.IsNaN(v) {
				vs = append(vs, v)
			}
		}
	}
	return vs
}

func median(vs []float64) float64 {
	s := slices.Sorted(slices.Values(vs))
	n := len(s)
	if n == 0 {
		return math.NaN()
	}
	return (s[(n-1)/2] + s[n/2]) / 2
}

// A column of a table shows the median of one figure.
type column struct{ head, key, format string }

// print writes a line for each name, aligned: names to the left, the rest to
// the right.
func (rs runs) print(w io.Writer, names []string, columns ...column) {
	lines := [][]string{{""}}
	for _, c := range columns {
		lines[0] = append(lines[0], c.head)
	}
	for _, name := range names {
		line := []string{name}
		for _, c := range columns {
			line = append(line, number(c.format, rs.median(name, c.key)))
		}
		lines = append(lines, line)
	}
	widths := make([]int, len(columns)+1)
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], len(cell))
		}
	}
	for _, line := range lines {
		fmt.Fprintf(w, "  %-*s", widths[0], line[0])
		for i, cell := range line[1:] {
			fmt.Fprintf(w, "  %*s", widths[i+1], cell)
		}
		fmt.Fprintln(w)
	}
}

func number(format string, v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	return fmt.Sprintf(format, v)
}

// judge holds a figure against a goal. One that is missing, because a run failed or
// the other generator is not installed, does not meet it.
func judge(g *program.Goals, goal, format string, v float64, met bool) {
	goal = strings.TrimSpace(goal)
	if math.IsNaN(v) {
		g.Blank(goal)
		return
	}
	g.Judge(goal, strings.TrimSpace(number(format, v)), met)
}
