package tuned

import (
	"fmt"
	"math"
	"slices"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/gcmodel"
	"github.com/dynolab/dyno/internal/findings/predict"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/words"
	"github.com/dynolab/dyno/internal/tune"
)

// measured is every setting that was measured, with CPU time against memory, and p99.
func (r *Report) measured() *layout.Section {
	if len(r.Options) == 0 {
		return nil
	}
	base := r.Rounds[0].Table.Settings[0].Values
	sizes := []float64{base[memory].Center}
	for _, x := range r.Options {
		sizes = append(sizes, x.Values[memory].Center)
	}
	size := layout.ScaleOf(memory, sizes...)
	g := layout.Grid{
		Cols: []layout.Column{{Left: true}, {}, {}, {}, {}, {}, {Keep: 1}, {Left: true}},
		Head: [][]string{{"", "gain", "interval", "cpu/req", "rss-peak", "", "p99", ""}},
	}
	add := func(name string, values map[string]compare.Summary, gain, interval, cpu, change, tail, note string, mark layout.Mark) {
		row := layout.Cells(name, gain, interval, cpu, figure(size, values, memory), change, tail, note)
		row[0].Mark, row[7].Mark = mark, mark
		g.Rows = append(g.Rows, layout.Row{Cells: row})
	}
	note := "today's"
	if !r.TodayOnFront() {
		note += ", beaten"
	}
	plain := func(metric string) string { return figure(layout.ScaleOf(metric, base[metric].Center), base, metric) }
	add(r.Problem.Today.String(), base, "", "", plain(cpu), "", plain(tail), note, layout.Plain)
	beaten := !r.TodayOnFront()
	for _, x := range r.Options {
		note, mark := r.note(x)
		beaten = beaten || !x.Front
		change := func(metric string) string {
			if v, ok := x.Versus(metric); ok && !math.IsNaN(v.Ratio) {
				return layout.Change(v.Ratio)
			}
			return "?"
		}
		add(short(Changed(r.Problem.Today, x.Setting)), x.Values, signed(x.Gain), blocksOr(x), change(cpu), change(memory), change(tail), note, mark)
	}
	var blocks []string
	for _, x := range r.Rounds {
		blocks = append(blocks, fmt.Sprint(x.Table.Blocks))
	}
	title := fmt.Sprintf("Measured side by side, in %s blocks", words.List(blocks))
	if beaten {
		title += " (beaten: another has a better median of CPU time, memory or p99, and no worse one)"
	}
	return &layout.Section{Title: title, Grids: []layout.Grid{g}}
}

// blocksOr is the interval of an option, or why it has none.
func blocksOr(x *tune.Option) string {
	if math.IsNaN(x.Lo) {
		return "in " + layout.Count(x.Blocks, "block")
	}
	return interval(x.Lo, x.Hi)
}

func (r *Report) note(x *tune.Option) (note string, mark layout.Mark) {
	switch {
	case x == r.Best:
		return "recommended", layout.Good
	case x.Fails():
		return "breaks " + broken(x), layout.Plain
	case !x.Keeps():
		return "may break " + broken(x), layout.Plain
	case !x.Front:
		return "beaten", layout.Plain
	}
	return "", layout.Plain
}

func figure(s layout.Scale, values map[string]compare.Summary, metric string) string {
	v, ok := values[metric]
	if !ok {
		return "?"
	}
	return s.With(v.Center)
}

// foretold sets what was predicted beside what was measured.
func (r *Report) foretold() *layout.Section {
	g := layout.Grid{
		Cols: []layout.Column{{Left: true}, {}, {}, {}, {}},
		Head: [][]string{{"", "cpu/req: predicted", "measured", "rss-peak: predicted", "measured"}},
	}
	outside := false
	for _, x := range r.Options {
		p := x.Prediction
		if p == nil || math.IsNaN(p.CPU.Value) || p.CPU.Value == 0 {
			continue
		}
		row := layout.Cells(short(Changed(r.Problem.Today, x.Setting)))
		for _, m := range []struct {
			metric   string
			e, today gcmodel.Estimate
		}{{cpu, p.CPU, r.Today.CPU}, {memory, p.RSSPeak, r.Today.RSSPeak}} {
			v, ok := x.Versus(m.metric)
			base := m.today.Value
			got := "?"
			if ok && !math.IsNaN(v.Ratio) {
				if got = layout.Change(v.Ratio); v.Hi < m.e.Lo/base || v.Lo > m.e.Hi/base {
					got, outside = got+" !", true
				}
			}
			row = append(row, layout.Cells(layout.Change(m.e.Value/base)+" "+layout.Interval(m.e.Lo/base, m.e.Hi/base), got)...)
		}
		g.Rows = append(g.Rows, layout.Row{Cells: row})
	}
	if len(g.Rows) == 0 {
		return nil
	}
	title := "Predicted before, from today's setting alone (90% intervals)"
	if outside {
		title += "; !: surely outside"
	}
	return &layout.Section{Title: title, Grids: []layout.Grid{g}}
}

// common returns the candidate whose limit is a share of the reserved memory, which may be today's setting. It returns nil
// if there is none.
func (r *Report) common(ratio, gogc float64) *tune.Candidate {
	today := tune.Candidate{Setting: r.Problem.Today, Collector: r.Collector, Ratio: ratio, Prediction: &r.Today}
	if gogc == r.Collector.GOGC && r.Model != nil && r.Collector.Limit == tune.LimitOf(ratio, r.Reserved) {
		return &today
	}
	for _, c := range r.Candidates {
		if c.Ratio == ratio && c.Collector.GOGC == gogc {
			return c
		}
	}
	return nil
}

// ratios are the common guesses inside a container's limit.
func (r *Report) ratios() *layout.Section {
	if r.Reserved == 0 {
		return nil
	}
	g := layout.Grid{Cols: []layout.Column{{Left: true}, {Left: true}, {}, {}, {Left: true}}, Head: [][]string{{"GOMEMLIMIT", "", "cpu/req", "rss-peak", ""}}}
	idle := 0
	for _, ratio := range tune.CommonRatios {
		for _, gogc := range []float64{r.Collector.GOGC, gcmodel.Off} {
			c := r.common(ratio, gogc)
			if c == nil || c.Prediction == nil || gogc == gcmodel.Off && seen(g, c) {
				continue
			}
			if !c.Prediction.Limited && !c.Prediction.Spiral && gogc != gcmodel.Off {
				idle++
				continue
			}
			p := c.Prediction
			g.Rows = append(g.Rows, layout.Row{Cells: layout.Cells(share(c), "GOGC="+predict.GOGC(c.Collector), layout.Change(p.CPU.Value/r.Today.CPU.Value),
				layout.ScaleOf(memory, p.RSSPeak.Value).With(p.RSSPeak.Value), r.remark(c))})
		}
	}
	if len(g.Rows) == 0 {
		return nil
	}
	title := fmt.Sprintf("Common shares of the reserved %s, predicted", dyno.Size(r.Reserved))
	if idle > 0 {
		title += fmt.Sprintf(" (with GOGC=%s, %d of %d limits are not reached)", predict.GOGC(r.Collector), idle, len(tune.CommonRatios))
	}
	return &layout.Section{Title: title, Grids: []layout.Grid{g}}
}

func share(c *tune.Candidate) string {
	return percent(c.Ratio) + " = " + dyno.Size(c.Collector.Limit).String()
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
		return "a spiral: collections run back to back"
	case slices.Contains(p.Doubts, gcmodel.NearCliff):
		return "near the cliff: little room to allocate"
	case c.Breaks:
		return "breaks a constraint"
	case !p.Limited:
		return "the limit is not reached: GOGC decides"
	case c.Strained:
		return "may break a constraint"
	case c.Tight:
		return "no room for a live heap 25% larger"
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
			add("", "recommended", h.Best, h.BestFailed, signed(h.Gain), interval(h.Lo, h.Hi))
		}
	}
	return &layout.Section{Title: "Other loads and live heaps, measured (95% intervals)", Grids: []layout.Grid{g}}
}

// seen reports whether a candidate is in the last row already, as where GOGC is off today.
func seen(g layout.Grid, c *tune.Candidate) bool {
	n := len(g.Rows)
	return n > 0 && g.Rows[n-1].Cells[0].Text == share(c) && g.Rows[n-1].Cells[1].Text == "GOGC="+predict.GOGC(c.Collector)
}
