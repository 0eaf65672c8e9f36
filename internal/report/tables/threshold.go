package tables

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/words"
)

// mostPassed is the number of passed thresholds that are listed. The number of others is the caller's choice.
const mostPassed = 20

// Refused says in one line why a table does not pass.
func Refused(t *compare.Table, r *compare.Refusal) string {
	comparisons := layout.Count(r.Count, "comparison")
	if t.Kind == compare.OfService {
		comparisons += " of primary metrics"
	}
	are := "are"
	if r.Count == 1 {
		are = "is"
	}
	switch r.Kind {
	case compare.RefusedWorse:
		return fmt.Sprintf("%s %s worse (--fail-worse)", comparisons, are)
	case compare.RefusedBroken:
		return r.Benchmark.Full() + " fails, but not in the baseline (--fail-worse)"
	case compare.RefusedUnclear:
		return Gate(t) + " (--strict)"
	case compare.RefusedUndecided:
		return fmt.Sprintf("%s %s unclear (--strict)", comparisons, are)
	}
	return Gate(t)
}

// Gate says in one line how the thresholds came out, and names at most three of
// those that failed; "" without thresholds.
func Gate(t *compare.Table) string {
	failed, unclear := t.Gate()
	all := layout.Count(len(t.Thresholds), "threshold")
	switch {
	case len(t.Thresholds) == 0:
		return ""
	case failed == 0 && unclear == 0:
		return all + " passed"
	case failed == 0:
		return fmt.Sprintf("%d of %s unclear, none failed", unclear, all)
	}
	v := NewView(t, math.MaxInt)
	var named []string
	for _, j := range t.Thresholds {
		if j.Outcome == compare.Failed && len(named) < 3 {
			what := v.judged(&j)
			if j.Benchmark != nil {
				what = j.Threshold.String() + " of " + what
			}
			named = append(named, what+" ("+v.Figure(&j)+")")
		}
	}
	if more := failed - len(named); more > 0 {
		named = append(named, fmt.Sprintf("and %d more", more))
	}
	return layout.Clean(fmt.Sprintf("%d of %s failed: %s", failed, all, strings.Join(named, ", ")))
}

// ThresholdTable lists judgements: the failed ones, the unclear ones, and the passed ones, with limits for
// the first two. Benchmarks are many, so their passed judgements are only counted.
func (v *View) ThresholdTable(mostFailed, mostUnclear int) (layout.Section, bool) {
	if len(v.Thresholds) == 0 {
		return layout.Section{}, false
	}
	bench := v.Kind == compare.OfBenchmarks
	g := layout.Grid{
		Cols: []layout.Column{{Left: true}, {Left: true}, {Left: true}, {Left: true}, {}, {Left: true, Keep: 2}, {Left: true, Keep: 1}},
		Head: [][]string{{"", "threshold", "benchmark", "setting", "found", "95% interval", "of"}},
	}
	most := map[compare.Outcome]int{compare.Failed: mostFailed, compare.Unclear: mostUnclear, compare.Passed: mostPassed}
	told := len(v.Settings) > 1
	if bench {
		most[compare.Passed] = 0
		told = len(v.Settings) > 2
	}
	if !told {
		g.Head[0][3] = ""
	}
	var notes []string
	for _, part := range []compare.Outcome{compare.Failed, compare.Unclear, compare.Passed} {
		n := 0
		for i := range v.Thresholds {
			j := &v.Thresholds[i]
			if j.Outcome != part {
				continue
			}
			if n++; n > most[part] {
				continue
			}
			setting := ""
			if j.Setting >= 0 && told {
				setting = v.SettingName(j.Setting)
			}
			g.Rows = append(g.Rows, layout.Row{Cells: []layout.Cell{
				outcome(j.Outcome), {Text: j.Threshold.String()}, {Text: v.JudgedBenchmark(j)}, {Text: setting}, {Text: v.Figure(j)}, {Text: v.Extent(j), Mark: layout.Faint}, {Text: v.Decider(j), Mark: layout.Faint},
			}})
		}
		if more := n - most[part]; more > 0 && most[part] > 0 {
			notes = append(notes, fmt.Sprintf("%s: %d more.", outcome(part).Text, more))
		}
	}
	notes = append(notes, v.reasons()...)
	if bench {
		v.fitNames(&g, 2)
	} else {
		g.Drop(2)
		g.Narrow(v.Width)
	}
	failed, unclear := v.Gate()
	s := layout.Section{Title: fmt.Sprintf("Thresholds: %d failed, %d unclear, %d passed", failed, unclear, len(v.Thresholds)-failed-unclear), Notes: notes}
	if len(g.Rows) > 0 {
		s.Grids = []layout.Grid{g}
	}
	return s, true
}

// outcome is the word of a threshold; the color says no more.
func outcome(o compare.Outcome) layout.Cell {
	switch o {
	case compare.Failed:
		return layout.Cell{Text: "FAILED", Mark: layout.Bad}
	case compare.Passed:
		return layout.Cell{Text: "passed", Mark: layout.Good}
	}
	return layout.Cell{Text: string(o)}
}

// JudgedBenchmark names the benchmark of a judgement; "" without one.
func (v *View) JudgedBenchmark(j *compare.Judgement) string {
	if j.Benchmark == nil {
		return ""
	}
	return v.Called(j.Benchmark)
}

// judged names a threshold and the setting that it was judged of; of benchmarks
// just the benchmark.
func (v *View) judged(j *compare.Judgement) string {
	switch {
	case v.Kind == compare.OfBenchmarks:
		return v.JudgedBenchmark(j)
	case j.Setting < 0 || len(v.Settings) == 1:
		return j.Threshold.String()
	}
	return j.Threshold.String() + " of " + v.Labels[j.Setting]
}

// Figure returns the judged value with its unit.
func (v *View) Figure(j *compare.Judgement) string {
	switch {
	case math.IsNaN(j.Value):
		return "no data"
	case j.Threshold.Change:
		return layout.Change(1 + j.Value)
	}
	return layout.ScaleOf(j.Metric, j.Value, j.Lo, j.Hi).With(j.Value)
}

// Extent is the interval of what was found, without its unit.
func (v *View) Extent(j *compare.Judgement) string {
	if j.Threshold.Change {
		return layout.Interval(1+j.Lo, 1+j.Hi)
	}
	return layout.ScaleOf(j.Metric, j.Value, j.Lo, j.Hi).Interval(j.Lo, j.Hi)
}

// Decider says what decided.
func (v *View) Decider(j *compare.Judgement) string {
	switch {
	case j.NoData:
		return ""
	case j.Threshold.Change:
		return layout.Count(j.Trials, "block")
	case v.Kind == compare.OfBenchmarks:
		return "median of " + layout.Count(j.Trials, "block")
	case j.Trial > 0 && j.Trials > 1:
		return fmt.Sprintf("trial %d, worst of %d", j.Trial, j.Trials)
	case j.Trials == 1:
		return "1 trial"
	}
	return fmt.Sprintf("median of %d trials", j.Trials)
}

// reason says why a threshold was judged as it was.
func (v *View) reason(j *compare.Judgement, r *compare.Reason) string {
	setting := func() string { return v.Labels[r.Setting] }
	switch r.Kind {
	case compare.ReasonUnknown:
		return r.Said
	case compare.ReasonNotCompared, compare.ReasonUnsettled:
		return words.NotCompared(*r)
	case compare.ReasonNoBenchmark:
		return "no benchmark has " + j.Metric
	case compare.ReasonNoSetting:
		return "there is no setting to judge"
	case compare.ReasonNoTrial:
		return "it has no finished trial"
	case compare.ReasonNotMeasured:
		text := j.Metric + " was not measured"
		if j.Benchmark != nil && len(j.Benchmark.Faults) > 0 {
			text += "; " + v.Faults(j.Benchmark)
		}
		return text
	case compare.ReasonSaturated:
		return fmt.Sprintf("dyno may itself have been the limit: %s (consider: %s)", r.Said, words.SaturationCure)
	case compare.ReasonNoLatency:
		return fmt.Sprintf("trial %d has no %s: requests that timed out or were never sent rank as the slowest, or there were too few requests", r.Trial, j.Metric)
	case compare.ReasonWorstUnknown:
		return fmt.Sprintf("the worst trial counts, and %s is unknown for %d of %d trials", j.Metric, r.N, r.Of)
	case compare.ReasonFewBlocks:
		return fmt.Sprintf("it takes two blocks with both settings, and there are %d", r.N)
	case compare.ReasonZero:
		return fmt.Sprintf("a value is zero, so there is no ratio (consider: a limit on %s itself)", j.Threshold.Name)
	case compare.ReasonFailedTrials:
		return fmt.Sprintf("%d of its %d trials failed (not included)", r.N, r.Of)
	case compare.ReasonNotCounted:
		return fmt.Sprintf("%d of %d trials of %s do not count, because dyno may itself have been the limit", r.N, r.Of, setting())
	case compare.ReasonLacking:
		return fmt.Sprintf("%d of %d trials of %s have no %s", r.N, r.Of, setting(), j.Metric)
	case compare.ReasonClose:
		return "close: the median's 95% interval crosses the limit"
	case compare.ReasonNotSure:
		if v.Kind == compare.OfBenchmarks {
			return "beyond the limit, but not surely"
		}
		return "beyond the limit, but not surely, given the number of changes judged"
	case compare.ReasonPartial:
		return "only " + words.Partial(v.Table, r.N, r.Of)
	case compare.ReasonZeroSame:
		return fmt.Sprintf("values are zero, so there is no ratio and no sure change (consider: a limit on %s itself)", j.Threshold.Name)
	case compare.ReasonZeroChanged:
		return "values are zero, so the change has no interval"
	case compare.ReasonNoInterval:
		return fmt.Sprintf("%d blocks are too few for an interval", r.N)
	}
	return string(r.Kind)
}

// WhyJudged is all that is to be said of a threshold beside its figure, or "".
func (v *View) WhyJudged(j *compare.Judgement) string {
	var parts []string
	for i := range j.Reasons {
		parts = append(parts, v.reason(j, &j.Reasons[i]))
	}
	if j.MoreBlocks > 0 {
		parts = append(parts, fmt.Sprintf("about %s would settle it", layout.Count(j.MoreBlocks, "more block")))
	} else if j.Outcome == compare.Unclear && j.Threshold.Change && j.Close {
		parts = append(parts, "the interval crosses the limit, and more blocks are unlikely to settle it")
	}
	return strings.Join(parts, "; ")
}

// mostNamed is the number of thresholds, or of benchmarks, that a reason names.
const mostNamed = 5

// reasons are the notes on thresholds, those that are alike once.
func (v *View) reasons() []string {
	var order []string
	of := map[string][]string{}
	for i := range v.Thresholds {
		j := &v.Thresholds[i]
		text := v.WhyJudged(j)
		if text == "" {
			continue
		}
		if of[text] == nil {
			order = append(order, text)
		}
		if name := v.judged(j); !slices.Contains(of[text], name) {
			of[text] = append(of[text], name)
		}
	}
	for n, text := range order {
		names := first(of[text], mostNamed)
		order[n] = strings.TrimPrefix(layout.Clean(fmt.Sprintf("%s: %s.", words.List(names), text)), ": ")
	}
	return order
}
