package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/dynolab/dyno/analysis"
)

// thresholds lists what was judged: what failed, then what is unclear, of each at most
// so many; what passed is counted.
func (v *benchView) thresholds(most int) (section, bool) {
	g := grid{
		cols: []column{{left: true}, {left: true}, {left: true}, {left: true}, {}, {left: true, keep: 2}, {left: true, keep: 1}},
		head: [][]string{{"", "threshold", "benchmark", "setting", "found", "95% interval", "of"}},
	}
	if len(v.Settings) <= 2 {
		g.head[0][3] = ""
	}
	var notes, reasons []string
	named := map[string][]string{}
	for _, want := range []analysis.Outcome{analysis.Failed, analysis.Unclear} {
		n := 0
		for i := range v.Thresholds {
			j := &v.Thresholds[i]
			if j.Outcome != want {
				continue
			}
			if n++; n > most {
				continue
			}
			setting := ""
			if j.Setting >= 0 && len(v.Settings) > 2 {
				setting = v.name(j.Setting)
			}
			g.rows = append(g.rows, row{cells: []cell{
				outcome(want), {text: j.Threshold.String()}, {text: v.judgedOf(j)}, {text: setting}, {text: v.as.figure(&j.Judgement)}, {v.as.extent(&j.Judgement), faint}, {ofBlocks(&j.Judgement), faint},
			}})
			if text := why(&j.Judgement); text != "" {
				if named[text] == nil {
					reasons = append(reasons, text)
				}
				named[text] = append(named[text], v.judgedOf(j))
			}
		}
		if more := n - most; more > 0 {
			notes = append(notes, fmt.Sprintf("%s: %d more.", outcome(want).text, more))
		}
	}
	for _, text := range reasons {
		names := slices.Compact(named[text])
		if more := len(names) - mostPitfall; more > 1 {
			names = append(names[:mostPitfall:mostPitfall], fmt.Sprintf("%d more", more))
		}
		notes = append(notes, strings.TrimPrefix(clean(list(names)+": "+text+"."), ": "))
	}
	v.fit(&g, 2)
	failed, unclear := v.Gate()
	s := section{title: fmt.Sprintf("Thresholds: %d failed, %d unclear, %d passed", failed, unclear, len(v.Thresholds)-failed-unclear), notes: notes}
	if len(g.rows) > 0 {
		s.grids = []grid{g}
	}
	return s, len(v.Thresholds) > 0
}

// ofBlocks says what decided.
func ofBlocks(j *analysis.Judgement) string {
	switch {
	case j.NoData:
		return ""
	case j.Threshold.Change:
		return count(j.Trials, "block")
	}
	return "median of " + count(j.Trials, "block")
}

// judgedOf names the benchmark of a judgement, "" if there is none.
func (v *benchView) judgedOf(j *analysis.BenchJudgement) string {
	return v.called(&analysis.BenchRow{Package: j.Package, Name: j.Name})
}

// BenchJUnit writes thresholds as [JUnit] does: a test suite for each setting, a test
// case for each threshold of each benchmark; without thresholds a test case for each
// benchmark, an error if it failed. The error is w's.
func BenchJUnit(w io.Writer, t *analysis.BenchTable, strict bool) error {
	v := newBenchView(t, math.MaxInt)
	all := junitSuites{Name: orDyno(t.Name), Time: fmt.Sprintf("%.3f", max(0, t.Seconds))}
	suites := make([][]junitCase, len(t.Settings)+1)
	for i := range t.Thresholds {
		j := &t.Thresholds[i]
		c := v.as.junitCase(&j.Judgement, ofBlocks(&j.Judgement), strict)
		if name := v.judgedOf(j); j.Name != "" {
			c.Name += " of " + name
		}
		suites[j.Setting+1] = append(suites[j.Setting+1], c)
	}
	if len(t.Thresholds) == 0 {
		for n := range t.Rows {
			r := &t.Rows[n]
			c := junitCase{Name: v.called(r), Out: "measured in " + count(r.Blocks, "block")}
			if r.Err != "" || len(r.Units) == 0 {
				line, _, _ := strings.Cut(r.Err, "\n")
				c.Out, c.Error = "", &junitFault{line, "no data", r.Err}
			}
			suites[0] = append(suites[0], c)
		}
	}
	for i, cases := range suites {
		name := "run"
		if i > 0 {
			name = v.label(i - 1)
		}
		all.add(name, cases, 0)
	}
	data, err := xml.MarshalIndent(&all, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, data)
	return err
}
