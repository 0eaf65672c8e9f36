package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/dynolab/dyno/analysis"
)

// mostPassed is how many thresholds that passed are listed; of those that did not,
// all are.
const mostPassed = 20

// Thresholds writes the section on thresholds as Text has it, for a reader who is
// shown a [Summary]; nothing if there are none. The error is w's.
func Thresholds(w io.Writer, t *analysis.Table, o Options) error {
	var b strings.Builder
	if s, ok := newView(t, o.width()).thresholds(math.MaxInt, math.MaxInt); ok {
		s.text(&b, o.width(), o.Color)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Gate says in one line how the thresholds came out, and names at most three of
// those that failed; "" if there are none.
func Gate(t *analysis.Table) string {
	failed, unclear := t.Gate()
	all := count(len(t.Thresholds), "threshold")
	switch {
	case len(t.Thresholds) == 0:
		return ""
	case failed == 0 && unclear == 0:
		return all + " passed"
	case failed == 0:
		return fmt.Sprintf("%d of %s unclear, none failed", unclear, all)
	}
	v := newView(t, math.MaxInt)
	var named []string
	for _, j := range t.Thresholds {
		if j.Outcome == analysis.Failed && len(named) < 3 {
			named = append(named, v.judged(&j)+" ("+v.figure(&j)+")")
		}
	}
	if more := failed - len(named); more > 0 {
		named = append(named, fmt.Sprintf("and %d more", more))
	}
	return clean(fmt.Sprintf("%d of %s failed: %s", failed, all, strings.Join(named, ", ")))
}

// thresholds lists what was judged: what failed, what is unclear, what passed; of
// the first two at most so many.
func (v *view) thresholds(mostFailed, mostUnclear int) (section, bool) {
	g := grid{
		cols: []column{{left: true}, {left: true}, {left: true}, {}, {left: true, keep: 2}, {left: true, keep: 1}},
		head: [][]string{{"", "threshold", "setting", "found", "95% interval", "of"}},
	}
	if len(v.Settings) <= 1 {
		g.head[0][2] = ""
	}
	var notes []string
	for _, part := range []struct {
		outcome analysis.Outcome
		most    int
	}{{analysis.Failed, mostFailed}, {analysis.Unclear, mostUnclear}, {analysis.Passed, mostPassed}} {
		n := 0
		for i := range v.Thresholds {
			j := &v.Thresholds[i]
			if j.Outcome != part.outcome {
				continue
			}
			if n++; n > part.most {
				continue
			}
			setting := ""
			if j.Setting >= 0 && len(v.Settings) > 1 {
				setting = v.name(j.Setting)
			}
			g.rows = append(g.rows, row{cells: []cell{
				outcome(j.Outcome), {text: j.Threshold.String()}, {text: setting}, {text: v.figure(j)}, {v.extent(j), faint}, {of(j), faint},
			}})
		}
		if more := n - part.most; more > 0 {
			notes = append(notes, fmt.Sprintf("%s: %d more.", outcome(part.outcome).text, more))
		}
	}
	notes = append(notes, v.reasons()...)
	g.narrow(v.width)
	failed, unclear := v.Gate()
	title := fmt.Sprintf("Thresholds: %d failed, %d unclear, %d passed", failed, unclear, len(v.Thresholds)-failed-unclear)
	return section{title: title, grids: []grid{g}, notes: notes}, len(v.Thresholds) > 0
}

// outcome is the word of a threshold; the color says no more.
func outcome(o analysis.Outcome) cell {
	switch o {
	case analysis.Failed:
		return cell{"FAILED", bad}
	case analysis.Passed:
		return cell{"passed", good}
	}
	return cell{text: string(o)}
}

// judged names a threshold and the setting that it was judged of.
func (v *view) judged(j *analysis.Judgement) string {
	if j.Setting < 0 || len(v.Settings) == 1 {
		return j.Threshold.String()
	}
	return j.Threshold.String() + " of " + v.Settings[j.Setting].Setting.Label()
}

// figure is what was found, with its unit.
func (v *view) figure(j *analysis.Judgement) string {
	switch {
	case math.IsNaN(j.Value):
		return "no data"
	case j.Threshold.Change:
		return change(1 + j.Value)
	}
	return scaleOf(j.Metric, j.Value, j.Lo, j.Hi).with(j.Value)
}

// extent is the interval of what was found, without its unit.
func (v *view) extent(j *analysis.Judgement) string {
	if math.IsNaN(j.Lo) || math.IsNaN(j.Hi) {
		return ""
	}
	if j.Threshold.Change {
		return interval(1+j.Lo, 1+j.Hi)
	}
	sc := scaleOf(j.Metric, j.Value, j.Lo, j.Hi)
	return "[" + sc.format(j.Lo) + ", " + sc.format(j.Hi) + "]"
}

// of says what decided.
func of(j *analysis.Judgement) string {
	switch {
	case j.NoData:
		return ""
	case j.Threshold.Change:
		return count(j.Trials, "block")
	case j.Trial > 0 && j.Trials > 1:
		return fmt.Sprintf("trial %d, worst of %d", j.Trial, j.Trials)
	case j.Trials == 1:
		return "1 trial"
	}
	return fmt.Sprintf("median of %d trials", j.Trials)
}

// why is all that is to be said of a threshold beside its figure, or "".
func why(j *analysis.Judgement) string {
	parts := slices.Clone(j.Reasons)
	if j.MoreBlocks > 0 {
		parts = append(parts, fmt.Sprintf("about %s would settle it", count(j.MoreBlocks, "more block")))
	} else if j.Outcome == analysis.Unclear && j.Threshold.Change && j.Close {
		parts = append(parts, "the interval reaches across the limit, and no number of blocks is likely to settle it")
	}
	return strings.Join(parts, "; ")
}

// reasons are the notes on thresholds, those that are alike once.
func (v *view) reasons() []string {
	var order []string
	of := map[string][]string{}
	for i := range v.Thresholds {
		j := &v.Thresholds[i]
		text := why(j)
		if text == "" {
			continue
		}
		if of[text] == nil {
			order = append(order, text)
		}
		of[text] = append(of[text], v.judged(j))
	}
	for n, text := range order {
		names := of[text]
		if more := len(names) - 5; more > 1 {
			names = append(names[:5:5], fmt.Sprintf("%d more", more))
		}
		order[n] = clean(fmt.Sprintf("%s: %s.", list(names), text))
	}
	return order
}
