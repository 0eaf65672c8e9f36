// Package export writes runs in the formats of other programs: CSV, OpenMetrics, HdrHistogram
// and the Go benchmark format. It has no sentences.
package export

import (
	"encoding/csv"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/layout"
)

// csvColumns are the columns of CSV after the factors. Changes are fractions.
var csvColumns = []string{"metric", "unit", "median", "lo", "hi", "trials", "change_frac", "change_lo_frac", "change_hi_frac", "p", "verdict"}

// CSV writes a line for each metric of each setting: the setting as a whole and by
// factors, package and benchmark of a table of benchmarks, the median with its 95 % interval in the metric's unit, and the
// change against the baseline. Commas divide, points are decimal; what is not known
// is empty. The error is w's.
func CSV(w io.Writer, t *compare.Table) error {
	var factors []string
	for i := range t.Settings {
		for _, l := range t.Settings[i].Setting {
			if !slices.Contains(factors, l.Factor) {
				factors = append(factors, l.Factor)
			}
		}
	}
	head := []string{"setting"}
	for _, f := range factors {
		if slices.Contains([]string{"setting", "package", "benchmark"}, f) || slices.Contains(csvColumns, f) {
			f = "factor." + f
		}
		head = append(head, f)
	}
	if t.Kind == compare.OfBenchmarks {
		head = append(head, "package", "benchmark")
	}
	c := csv.NewWriter(w)
	Line(c, head, csvColumns)
	for i := range t.Settings {
		s := &t.Settings[i]
		lead := []string{s.Setting.String()}
		for _, f := range factors {
			lead = append(lead, "")
			for _, l := range s.Setting {
				if l.Factor == f {
					lead[len(lead)-1] = l.Value
				}
			}
		}
		for _, m := range t.Rows {
			x, ok := s.Values[m.Key]
			if !ok {
				continue
			}
			var of []string
			if m.Benchmark != nil {
				of = []string{m.Benchmark.Package, m.Benchmark.Name}
			}
			change := []string{"", "", "", "", ""}
			switch v, compared := s.Versus[m.Key]; {
			case s.Baseline && len(t.Settings) > 1:
				change[4] = "baseline"
			case compared:
				change = []string{Exact(v.Ratio - 1), Exact(v.Lo - 1), Exact(v.Hi - 1), Exact(v.P), string(v.Verdict)}
			}
			Line(c, lead, of, []string{m.Name, UnitName(m.Name), Exact(x.Center), Exact(x.Lo), Exact(x.Hi), strconv.Itoa(len(x.Trials))}, change)
		}
	}
	c.Flush()
	return c.Error()
}

// Line writes the cells of all parts, made harmless. Its error comes with Flush.
func Line(c *csv.Writer, parts ...[]string) {
	cells := slices.Concat(parts...)
	for i := range cells {
		cells[i] = Harmless(cells[i])
	}
	c.Write(cells)
}

// Harmless is text that a spreadsheet does not take for a formula: before one
// that would be, there is an apostrophe. Numbers stay numbers.
func Harmless(s string) string {
	if s == "" || !strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return s
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return s
	}
	return "'" + s
}

// Exact prints a number with all its digits, or "" if it is not a number.
func Exact(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return ""
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// UnitName is the unit that ends a metric's name, with what it is divided by:
// "sec", "B/req", "frac"; "" for a plain number.
func UnitName(metric string) string {
	label, steps := layout.UnitOf(metric)
	per := ""
	if i := strings.LastIndex(label, "/"); i >= 0 && !strings.HasSuffix(metric, "-sec") {
		per = label[i:]
	}
	switch steps[0].Unit {
	case "s":
		return "sec" + per
	case "GiB":
		return "B" + per
	case "%":
		return "frac"
	}
	return ""
}
