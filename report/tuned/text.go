package tuned

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/analysis/gcmodel"
	"github.com/dynolab/dyno/report/layout"
	"github.com/dynolab/dyno/report/words"
	"github.com/dynolab/dyno/tune"
)

const (
	cpu    = "cpu-sec/req"
	memory = "rss-peak-B"
	tail   = "p99-sec"
)

// Text is what dyno tune prints: a screen, the recommendation first.
func Text(r *Report, o layout.Options) string {
	var b strings.Builder
	fold := func(text string) { b.WriteString(layout.Fold(text, "", "  ", o.Columns())) }
	fold(r.first())
	for _, line := range r.second() {
		fold(line)
	}
	b.WriteByte('\n')
	about := "goal: " + r.goal() + "; a change has to gain " + percent(r.Margin)
	if len(r.Constraints) > 0 {
		about += "; subject to " + constraints(r.Constraints)
	}
	fold(about)
	if r.Load != "" {
		fold(r.Load)
	}
	for _, s := range []*layout.Section{r.measured(), r.foretold(), r.ratios(), r.headroom()} {
		if s != nil {
			s.Text(&b, o.Columns(), o.Color)
		}
	}
	if last := r.last(); len(last) > 0 {
		b.WriteByte('\n')
		for _, line := range last {
			fold(line)
		}
	}
	return b.String()
}

// first is the recommendation.
func (r *Report) first() string {
	if r.Best == nil {
		return fmt.Sprintf("%s: keep what you have, %s.", r.Name, r.Problem.Today)
	}
	return fmt.Sprintf("%s: set %s.", r.Name, r.change())
}

func (r *Report) change() string {
	return short(Changed(r.Problem.Today, r.Best.Setting))
}

// short spells a setting for people: a profile by its purpose.
func short(s dyno.Setting) string {
	var parts []string
	for _, l := range s {
		if l.Factor == "build" && strings.HasPrefix(l.Value, "-pgo=/") {
			parts = append(parts, "build=-pgo=default.pgo")
			continue
		}
		parts = append(parts, spell(l))
	}
	return strings.Join(parts, " ")
}

// second is the proof, or why nothing is recommended.
func (r *Report) second() (lines []string) {
	if x := r.Best; x != nil {
		proof := ""
		if r.Why == tune.Allowed {
			proof = fmt.Sprintf("Today's %s breaks what it is subject to; of the settings that were measured and keep it, this is the best.", r.Problem.Today)
		} else {
			proof = fmt.Sprintf("%s, measured side by side in %s.", r.gain(x), layout.Count(x.Blocks, "block"))
		}
		lines = append(lines, proof)
		if beside := r.beside(x); beside != "" {
			lines = append(lines, beside)
		}
		return lines
	}
	return append(lines, r.keep())
}

// gain says by how much an option is better, with the interval that decided.
func (r *Report) gain(x *tune.Option) string {
	what, ratio := r.noun(), func(gain float64) float64 { return 1 - gain }
	if r.Goal.Metric.Better > 0 {
		ratio = func(gain float64) float64 { return 1 + gain }
	}
	lo, hi := ratio(x.Lo), ratio(x.Hi)
	return fmt.Sprintf("It changes %s by %s, %s", what, layout.Change(ratio(x.Gain)), layout.Interval(min(lo, hi), max(lo, hi)))
}

// beside says what the option does to the metrics that the goal is not about.
func (r *Report) beside(x *tune.Option) string {
	var parts []string
	for _, metric := range []string{cpu, memory, tail} {
		v, ok := x.Versus(metric)
		if ok && metric != r.Goal.Metric.Name && !math.IsNaN(v.Ratio) {
			parts = append(parts, fmt.Sprintf("%s %s %s", words.Noun(metric), layout.Change(v.Ratio), layout.Interval(v.Lo, v.Hi)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "Beside that: " + strings.Join(parts, ", ") + "."
}

func (r *Report) noun() string {
	if r.Goal.Sum() {
		return "the sum of CPU time and memory"
	}
	return words.Noun(r.Goal.Metric.Name)
}

func (r *Report) goal() string {
	if r.Goal.Sum() {
		return fmt.Sprintf("the least sum of CPU time per request and peak memory, where 1%% of memory may cost %g%% of CPU time", r.Goal.Price)
	}
	text := r.Goal.String()
	if stands := r.Goal.Stands(); stands != r.Goal.Metric.Name {
		text += fmt.Sprintf(" (not predicted: candidates were chosen by %s, and measured)", dyno.ThresholdName(stands))
	}
	return text
}

func (r *Report) keep() string {
	tried := layout.Count(len(r.Options), "other setting")
	switch r.Why {
	case tune.NoneBetter:
		return fmt.Sprintf("None of the %s that were measured beside it gains %s of %s: that is sure.", tried, percent(r.Margin), r.noun())
	case tune.Constrained:
		var why []string
		for _, x := range r.Options {
			if x.Proven && !x.Keeps() {
				why = append(why, fmt.Sprintf("%s does not surely keep %s", short(Changed(r.Problem.Today, x.Setting)), broken(x)))
			}
		}
		return "What is better may not be had: " + words.List(why) + "."
	case tune.NoneAllowed:
		return "It breaks what it is subject to, and no setting that was measured surely keeps all of it (consider: another constraint, or more memory)."
	case tune.NotMeasured:
		if r.Interrupted {
			return "Nothing was measured beside it, as this was interrupted."
		}
		return "Nothing was measured beside it."
	}
	best := (*tune.Option)(nil)
	for _, x := range r.Options {
		if !x.Vain && !x.Fails() && (best == nil || x.Gain > best.Gain) {
			best = x
		}
	}
	if best == nil || math.IsNaN(best.Gain) {
		return "What was measured cannot tell (consider: a longer --total)."
	}
	return fmt.Sprintf("No setting is shown to gain %s of %s. %s may: its gain is %s %s (consider: a longer --total).", percent(r.Margin), r.noun(),
		short(Changed(r.Problem.Today, best.Setting)), signed(best.Gain), interval(best.Lo, best.Hi))
}

// broken lists the constraints that an option does not surely keep.
func broken(x *tune.Option) string {
	var ts []dyno.Threshold
	for _, j := range x.Judgements {
		if j.Outcome != compare.Passed {
			ts = append(ts, j.Threshold)
		}
	}
	return constraints(ts)
}

func constraints(ts []dyno.Threshold) string {
	var parts []string
	for _, t := range ts {
		parts = append(parts, t.String())
	}
	return words.List(parts)
}

func percent(x float64) string { return dyno.Fraction(x).String() }

func signed(gain float64) string { return layout.Change(1 + gain) }

func interval(lo, hi float64) string { return layout.Interval(1+lo, 1+hi) }

// measured is the front: every setting that was measured, with CPU time against memory, and p99.
func (r *Report) measured() *layout.Section {
	if len(r.Options) == 0 {
		return nil
	}
	base := r.Rounds[0].Table.Settings[0].Values
	scales := map[string]layout.Scale{}
	var metrics []string
	for _, m := range []string{cpu, memory, tail} {
		values := []float64{base[m].Center}
		for _, x := range r.Options {
			values = append(values, x.Values[m].Center)
		}
		if scales[m] = layout.ScaleOf(m, values...); slices.Max(values) > 0 {
			metrics = append(metrics, m)
		}
	}
	g := layout.Grid{Cols: []layout.Column{{Left: true}, {}, {}}, Head: [][]string{{"", "gain", "interval"}}}
	for _, m := range metrics {
		label, _ := layout.UnitOf(m)
		g.Cols, g.Head[0] = append(g.Cols, layout.Column{}, layout.Column{}), append(g.Head[0], label, "")
	}
	g.Cols, g.Head[0] = append(g.Cols, layout.Column{Left: true}, layout.Column{Left: true}), append(g.Head[0], "", "")
	today := layout.Cells("today's: "+r.Problem.Today.String(), "", "")
	for _, m := range metrics {
		today = append(today, layout.Cells(figure(scales[m], base, m), "")...)
	}
	front := ""
	if r.TodayOnFront() {
		front = "front"
	}
	g.Rows = append(g.Rows, layout.Row{Cells: append(today, layout.Cells(front, "")...)})
	for _, x := range r.Options {
		g.Rows = append(g.Rows, layout.Row{Cells: r.option(x, metrics, scales)})
	}
	what := "CPU time and memory"
	if slices.Contains(metrics, tail) {
		what = "CPU time, memory and p99"
	}
	var blocks []string
	for _, x := range r.Rounds {
		blocks = append(blocks, fmt.Sprint(x.Table.Blocks))
	}
	return &layout.Section{Title: fmt.Sprintf("Measured side by side in %s blocks; front: no other is better in one of %s, and worse in none", words.List(blocks), what), Grids: []layout.Grid{g}}
}

func figure(s layout.Scale, values map[string]compare.Summary, metric string) string {
	v, ok := values[metric]
	if !ok {
		return "?"
	}
	return s.With(v.Center)
}

func (r *Report) option(x *tune.Option, metrics []string, scales map[string]layout.Scale) []layout.Cell {
	mark := layout.Plain
	if x == r.Best {
		mark = layout.Good
	}
	row := []layout.Cell{{Text: short(Changed(r.Problem.Today, x.Setting)), Mark: mark}, {Text: signed(x.Gain)}, {Text: interval(x.Lo, x.Hi)}}
	for _, m := range metrics {
		change := ""
		if v, ok := x.Versus(m); ok && !math.IsNaN(v.Ratio) {
			change = layout.Change(v.Ratio)
		}
		row = append(row, layout.Cells(figure(scales[m], x.Values, m), change)...)
	}
	front, note := "", ""
	if x.Front {
		front = "front"
	}
	switch {
	case x == r.Best:
		note = "recommended"
	case x.Fails():
		note = "breaks " + broken(x)
	case !x.Keeps():
		note = "may break " + broken(x)
	}
	return append(row, layout.Cells(front, note)...)
}

// foretold sets what was predicted beside what was measured.
func (r *Report) foretold() *layout.Section {
	g := layout.Grid{
		Cols: make([]layout.Column, 7),
		Head: [][]string{{"", "cpu/req predicted", "", "measured", "rss-peak predicted", "", "measured"}},
	}
	g.Cols[0].Left = true
	for _, x := range r.Options {
		p := x.Prediction
		if p == nil || math.IsNaN(p.CPU.Value) || p.CPU.Value == 0 {
			continue
		}
		row := layout.Cells(short(Changed(r.Problem.Today, x.Setting)))
		for _, m := range []struct {
			metric string
			e      gcmodel.Estimate
			today  gcmodel.Estimate
		}{{cpu, p.CPU, r.Today.CPU}, {memory, p.RSSPeak, r.Today.RSSPeak}} {
			v, ok := x.Versus(m.metric)
			base := m.today.Value
			got, mark := "?", layout.Plain
			if ok && !math.IsNaN(v.Ratio) {
				if got = layout.Change(v.Ratio); v.Hi < m.e.Lo/base || v.Lo > m.e.Hi/base {
					got, mark = got+" outside", layout.Bad
				}
			}
			row = append(row, layout.Cell{Text: layout.Change(m.e.Value / base)}, layout.Cell{Text: layout.Interval(m.e.Lo/base, m.e.Hi/base)}, layout.Cell{Text: got, Mark: mark})
		}
		g.Rows = append(g.Rows, layout.Row{Cells: row})
	}
	if len(g.Rows) == 0 {
		return nil
	}
	return &layout.Section{Title: "Predicted from today's setting alone, before they were measured (intervals of 90%)", Grids: []layout.Grid{g}}
}

// ratios are the common guesses inside a container's limit.
func (r *Report) ratios() *layout.Section {
	if r.Reserved == 0 {
		return nil
	}
	g := layout.Grid{Cols: make([]layout.Column, 5), Head: [][]string{{"GOMEMLIMIT", "", "cpu/req", "rss-peak", ""}}}
	g.Cols[4].Left = true
	for _, ratio := range tune.CommonRatios {
		for _, gogc := range []float64{r.Collector.GOGC, gcmodel.Off} {
			i := slices.IndexFunc(r.Candidates, func(c *tune.Candidate) bool { return c.Ratio == ratio && c.Collector.GOGC == gogc })
			if i < 0 || r.Candidates[i].Prediction == nil {
				continue
			}
			c := r.Candidates[i]
			p := c.Prediction
			note := r.remark(c)
			g.Rows = append(g.Rows, layout.Row{Cells: layout.Cells(percent(ratio)+" = "+dyno.Size(c.Collector.Limit).String(), "GOGC="+spellGOGC(gogc),
				layout.Change(p.CPU.Value/r.Today.CPU.Value), layout.ScaleOf(memory, p.RSSPeak.Value).With(p.RSSPeak.Value), note)})
			if math.IsInf(r.Collector.GOGC, 1) {
				break
			}
		}
	}
	if len(g.Rows) == 0 {
		return nil
	}
	return &layout.Section{Title: fmt.Sprintf("The common shares of the %s that are reserved, as predicted", dyno.Size(r.Reserved)), Grids: []layout.Grid{g}}
}

func spellGOGC(gogc float64) string {
	if math.IsInf(gogc, 1) {
		return "off"
	}
	return fmt.Sprint(gogc)
}

// remark says why a common share is not recommended, or that it was measured.
func (r *Report) remark(c *tune.Candidate) string {
	for _, x := range r.Options {
		if x.Setting.String() == c.Setting.String() {
			if x == r.Best {
				return "recommended"
			}
			return "measured: " + signed(x.Gain) + " " + interval(x.Lo, x.Hi)
		}
	}
	p := c.Prediction
	switch {
	case p.Spiral:
		return "a spiral: collections follow one another"
	case slices.Contains(p.Doubts, gcmodel.NearCliff):
		return "near the cliff: little is left to allocate in"
	case c.Breaks:
		return "breaks a constraint"
	case !p.Limited:
		return "the limit is not reached: GOGC decides"
	case c.Strained:
		return "may break a constraint"
	}
	return ""
}

var cases = map[tune.CaseKind]string{
	tune.HalfLoad: "half the load", tune.DoubleLoad: "double the load", tune.Live25: "live heap +25%", tune.Live50: "live heap +50%",
}

// headroom is what was measured on other days.
func (r *Report) headroom() *layout.Section {
	if len(r.Headroom) == 0 {
		return nil
	}
	g := layout.Grid{Cols: make([]layout.Column, 8), Head: [][]string{{"", "", "cpu/req", "rss-peak", "p99", "gain", "interval", ""}}}
	g.Cols[0].Left, g.Cols[1].Left, g.Cols[7].Left = true, true, true
	for _, h := range r.Headroom {
		add := func(name, who string, values map[string]compare.Summary, failed bool, rest ...string) {
			row := layout.Cells(name, who)
			for _, m := range []string{cpu, memory, tail} {
				row = append(row, layout.Cell{Text: figure(layout.ScaleOf(m, values[m].Center), values, m)})
			}
			note := ""
			if failed {
				note = "trials failed"
			}
			row = append(row, layout.Cells(rest...)...)
			g.Rows = append(g.Rows, layout.Row{Cells: append(row, layout.Cell{Text: note, Mark: layout.Bad})})
		}
		add(cases[h.Kind], "today's", h.Today, h.TodayFailed, "", "")
		if r.Best != nil {
			add("", r.change(), h.Best, h.BestFailed, signed(h.Gain), interval(h.Lo, h.Hi))
		}
	}
	return &layout.Section{Title: "Other days, measured (intervals of 95%)", Grids: []layout.Grid{g}}
}

// last says where it turns bad, what to do, and what is left out.
func (r *Report) last() (lines []string) {
	if text := r.cliff(); text != "" {
		lines = append(lines, text)
	}
	if r.Best != nil {
		lines = append(lines, fmt.Sprintf("The change: %s; %s/patch has it for env, docker, kubernetes and systemd.", r.change(), r.Dir))
		if text := explained(r.Best.Axis); text != "" {
			lines = append(lines, text)
		}
	}
	if doubts := r.doubts(); doubts != "" {
		lines = append(lines, doubts)
	}
	for _, note := range r.Notes {
		lines = append(lines, "Note: "+note)
	}
	if len(r.Rounds) > 0 {
		lines = append(lines, fmt.Sprintf("More: dyno report %s/%s", r.Dir, Dirs[r.Rounds[len(r.Rounds)-1].Stage]))
	}
	return lines
}

func (r *Report) cliff() string {
	var parts []string
	for _, c := range r.Cliffs {
		if math.IsNaN(c.Limit) {
			return ""
		}
		live := "today's live heap"
		if c.Live > 1 {
			live = fmt.Sprintf("one larger by %.0f%%", (c.Live-1)*100)
		}
		parts = append(parts, fmt.Sprintf("%s for %s", layout.ScaleOf(memory, c.Limit).With(c.Limit), live))
	}
	if len(parts) == 0 {
		return ""
	}
	return "Where it turns bad: a GOMEMLIMIT below " + strings.Join(parts, ", ") + " makes collections follow one another."
}

// explained says what an axis beside the collector does.
func explained(axis string) string {
	switch axis {
	case "GOMAXPROCS":
		return "GOMAXPROCS bounds the threads that run Go code, and with them what collection may take at a time."
	case "pgo":
		return "PGO builds by the CPU profile that was taken of today's setting: copy default.pgo beside the main package, where go build finds it."
	case "go":
		return "Another Go version builds the service: compiler, runtime and standard library change together."
	case "GOEXPERIMENT":
		return "GOEXPERIMENT switches a part of the runtime or compiler when the service is built."
	}
	return ""
}

// Doubts names why all predictions may be wrong.
func (r *Report) doubts() string {
	if r.Model == nil {
		return "Nothing could be predicted, as no collections are known; the settings that were measured are guesses."
	}
	var parts []string
	for _, d := range r.Today.Doubts {
		parts = append(parts, words.PredictionDoubt(d))
	}
	if len(parts) == 0 {
		return ""
	}
	return "Predictions may be wrong, as " + words.List(parts) + "."
}

// Reason is why the recommended setting is, in one line for the head of a patch.
func Reason(r *Report) string {
	return fmt.Sprintf("dyno tune %s, %s: %s; %s", r.Made.Format("2006-01-02"), r.Name, r.change(), strings.TrimSuffix(r.second()[0], "."))
}

// Chosen says what is to be measured and what is expected of it, before it is.
func Chosen(r *Report, s tune.Stage, path string, columns int) string {
	var b strings.Builder
	g := layout.Grid{Cols: make([]layout.Column, 4), Head: [][]string{{"", "cpu/req", "rss-peak", "gain"}}}
	g.Cols[0].Left = true
	for _, c := range slices.Concat(r.Candidates, r.Refitted) {
		p := c.Prediction
		if c.Chosen != s || p == nil || math.IsNaN(c.Gain.Value) {
			continue
		}
		g.Rows = append(g.Rows, layout.Row{Cells: layout.Cells(short(Changed(r.Problem.Today, c.Setting)), layout.Change(p.CPU.Value/r.Today.CPU.Value),
			layout.Change(p.RSSPeak.Value/r.Today.RSSPeak.Value), signed(c.Gain.Value)+" "+interval(c.Gain.Lo, c.Gain.Hi))})
	}
	b.WriteString(layout.Fold(fmt.Sprintf("%s were predicted at %s and are in %s; to be measured:", layout.Count(len(r.Candidates), "setting"),
		r.Made.Format("15:04:05"), path), "", "  ", columns))
	if len(g.Rows) > 0 {
		g.Text(&b, false)
	}
	return b.String()
}

// Planned says what is looked for, for --print.
func Planned(p tune.Problem) string {
	r := Report{Outcome: &tune.Outcome{Problem: p}}
	var b strings.Builder
	fmt.Fprintf(&b, "today's setting: %s\ngoal: %s\n", p.Today, r.goal())
	if len(p.Constraints) > 0 {
		fmt.Fprintf(&b, "subject to: %s\n", constraints(p.Constraints))
	}
	fmt.Fprintf(&b, "a change has to gain %s\n", percent(p.Margin))
	tried := "GOGC from 25 to 1600"
	if p.Reserved > 0 {
		tried += fmt.Sprintf("; limits of 50 to 95%% of the %s that are reserved, also with GOGC=off", dyno.Size(p.Reserved))
	}
	fmt.Fprintf(&b, "predicted: %s\n", tried)
	for _, x := range p.Try {
		fmt.Fprintf(&b, "tried besides: %s\n", short(x.Levels))
	}
	b.WriteByte('\n')
	return b.String()
}
