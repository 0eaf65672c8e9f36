package html

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/chart"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/tables"
	"github.com/dynolab/dyno/internal/report/words"
)

// Of more settings than these a picture shows the first; its table has all.
const (
	mostLines   = 10
	mostBars    = 20
	mostChanges = 300 // rows of all metrics
)

func moreInTable(settings, most int) []string {
	if settings <= most {
		return nil
	}
	return []string{fmt.Sprintf("The picture shows the first %d settings; the table has all %d.", most, settings)}
}

// mostName is the number of characters that a picture has for a setting's name.
const mostName = 40

// called leaves out of a setting's name what all settings have in common.
func (v *pageView) called(i int) string {
	s := slices.DeleteFunc(slices.Clone(v.Settings[i].Setting), func(l dyno.Level) bool {
		return !slices.ContainsFunc(v.Settings, func(other compare.Setting) bool { return !slices.Contains(other.Setting, l) })
	})
	if len(s) == 0 {
		s = v.Settings[i].Setting
	}
	return tame(s.Label(), mostName)
}

// Seconds prints times as axes have them.
func Seconds(x float64) string { return axis("-sec")(x) }

// axis prints numbers of a metric as axes and tips have them: three digits, without
// zeros at the end.
func axis(metric string) chart.Format {
	return func(x float64) string {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return "?"
		}
		sc := layout.ScaleOf(metric, x)
		y := x / sc.Factor
		decimals := 0
		if a := math.Abs(y); a > 0 && a < 100 {
			decimals = min(max(2-int(math.Floor(math.Log10(a))), 0), 6)
		}
		text := strconv.FormatFloat(y, 'f', decimals, 64)
		if strings.Contains(text, ".") {
			text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
		}
		if text = layout.UnsignZero(text); sc.Unit == "" || text == "0" && sc.Unit != "%" {
			return text
		}
		return text + " " + sc.Unit
	}
}

// change shows the comparison with the baseline, or the figures of a single setting.
func (v *pageView) change() []block {
	switch {
	case v.Trials == 0 || len(v.Rows) == 0:
		return nil
	case len(v.Settings) == 1:
		return tucked(v.show(v.Values(), true))
	}
	sections := v.Changes()
	first := sections[0]
	var out []block
	if groups := v.intervals(); groups != nil {
		summary := "Table"
		if len(v.Settings) == 2 && len(v.Metrics(false)) > 0 {
			summary = "Table, with all other metrics"
		}
		b := v.svg("change", "Primary metrics against "+tame(v.SettingName(0), mostCell), v.showsChanges(),
			chart.Intervals(groups, v.Negligible), &first, append(first.Notes, moreInTable(len(v.Settings), v.changesShown())...)...)
		b.Figure.Summary = summary
		out = append(out, b)
	} else {
		out = v.show(first, true)
	}
	for _, s := range sections[1:] {
		out = append(out, tucked(v.show(s, true))...)
	}
	return out
}

func (v *pageView) showsChanges() string {
	return fmt.Sprintf("Each mark is a change and the line through it its 95%% interval: left of 0 is lower than the baseline, right of 0 is higher. "+
		"Changes within the shaded band of ±%s count as no change.", dyno.Fraction(v.Negligible))
}

// changesShown returns the number of settings in the picture of changes, with the baseline.
func (v *pageView) changesShown() int { return 1 + mostChanges/max(1, len(v.Metrics(true))) }

// intervals groups by metric if there are more than two settings.
func (v *pageView) intervals() []chart.Group {
	var groups []chart.Group
	if len(v.Settings) == 2 {
		groups = []chart.Group{{Title: v.called(1) + " against " + v.called(0)}}
	}
	most := v.changesShown()
	for _, m := range v.Metrics(true) {
		at := len(groups) - 1
		if len(v.Settings) > 2 {
			groups = append(groups, chart.Group{Title: tame(words.MetricNoun(m.Name), mostName)})
			at++
		}
		sc := v.RowScale(m.Name)
		for i := 1; i < min(len(v.Settings), most); i++ {
			x, ok := v.Settings[i].Versus[m.Name]
			if _, measured := v.Settings[i].Values[m.Name]; !ok || !measured {
				continue
			}
			label := v.called(i)
			if len(v.Settings) == 2 {
				label = tame(words.MetricNoun(m.Name), mostName)
			}
			text := strings.Join(strings.Fields(v.Delta(i, m.Name, sc)+" "+layout.Interval(x.Lo, x.Hi)+" "+tables.Word(x)), " ")
			mark := chart.Mark(x.Verdict)
			if x.Verdict == compare.Differs { // which has no better side
				mark = chart.Plain
			}
			groups[at].Rows = append(groups[at].Rows, chart.Interval{
				Label: label, Ratio: x.Ratio, Lo: x.Lo, Hi: x.Hi, Mark: mark, Better: m.Better, Text: text,
			})
		}
	}
	return slices.DeleteFunc(groups, func(g chart.Group) bool { return len(g.Rows) == 0 })
}

// pooledHistograms has nil for a setting without all of its counts.
func (v *pageView) pooledHistograms() ([]*hist.Histogram, bool) {
	all, found := make([]*hist.Histogram, len(v.Settings)), false
	for i := range v.Settings {
		h := hist.New()
		for _, r := range v.trials[v.Settings[i].Setting.String()] {
			h.Merge(r.Latency)
		}
		if h.Count() > 0 && h.Whole() {
			all[i], found = h, true
		}
	}
	return all, found
}

// percentiles are evenly spaced on the scale of 1/(1-q), as HdrHistogram prints them.
func percentiles(requests int64) []float64 {
	var qs []float64
	for n := 1.0; n <= float64(requests); n *= 1.1 {
		qs = append(qs, 1-1/n)
	}
	return append(qs, 1-1/float64(max(requests, 1)))
}

// distribution shows the response times of all requests together: percentiles and histograms.
func (v *pageView) distribution() []block {
	hs, ok := v.pooledHistograms()
	if !ok {
		return nil
	}
	var lines []chart.Line
	var shown []int // settings
	var most int64
	for i, h := range hs {
		if h == nil {
			continue
		}
		most = max(most, h.Count())
		if shown = append(shown, i); len(lines) == mostLines {
			continue
		}
		l := chart.Line{Name: v.called(i)}
		for _, q := range percentiles(h.Count()) {
			l.X, l.Y = append(l.X, q), append(l.Y, h.Quantile(q).Seconds())
		}
		lines = append(lines, l)
	}
	out := []block{v.svg("percentiles", "Percentiles of latency",
		"The share of successful requests that took at most a given time: each step to the right leaves a tenth of the remaining requests. All repeats together; not used for verdicts.",
		chart.Percentiles(lines, axis("-sec")), v.percentileTable(hs, most), moreInTable(len(shown), mostLines)...)}
	edges := v.edges(hs)
	if len(edges) < 2 {
		return out
	}
	var bars []chart.Histogram
	for _, i := range shown[:min(len(shown), mostBars)] {
		h := chart.Histogram{Name: v.called(i)}
		for _, e := range edges {
			h.Edges = append(h.Edges, float64(e)/1e9)
		}
		for _, b := range layout.Fill(layout.Spikes(hs[i]), edges) {
			h.Counts = append(h.Counts, float64(b.Count))
		}
		bars = append(bars, h)
	}
	return append(out, v.svg("histograms", "Histograms of latency",
		"The number of successful requests by latency, on the same scale for each setting. All repeats together.",
		chart.Histograms(bars, axis("-sec")), v.histogramTable(hs, edges), moreInTable(len(shown), mostBars)...))
}

func (v *pageView) percentileTable(hs []*hist.Histogram, requests int64) *layout.Section {
	var typical []float64
	qs := []float64{0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999}
	for len(qs) > 1 && float64(requests)*(1-qs[len(qs)-1]) < 0.5 {
		qs = qs[:len(qs)-1] // more than there are requests
	}
	labels := []string{"minimum"}
	for _, q := range qs {
		labels = append(labels, "p"+strconv.FormatFloat(100*q, 'f', -1, 32))
	}
	labels = append(labels, "maximum", "requests")
	for _, h := range hs {
		if h != nil {
			typical = append(typical, h.Quantile(0.5).Seconds(), h.Quantile(0.99).Seconds())
		}
	}
	sc := layout.ScaleOf("-sec", typical...)
	return &layout.Section{
		Title: "Percentiles of latency, " + sc.Unit,
		Grids: v.Study(labels, func(i, row int) string {
			h := hs[i]
			switch {
			case h == nil:
				return ""
			case row == 0:
				return sc.Format(h.Min().Seconds())
			case row <= len(qs):
				return sc.Format(h.Quantile(qs[row-1]).Seconds())
			case row == len(qs)+1:
				return sc.Format(h.Max().Seconds())
			}
			return strconv.FormatInt(h.Count(), 10)
		}),
	}
}

const histogramBins = 72

// edges have equal ratios where latencies span more than a factor of 4. They reach the
// slowest request, so that nothing is left out.
func (v *pageView) edges(hs []*hist.Histogram) (edges []int64) {
	lo, hi := int64(math.MaxInt64), int64(0)
	for _, h := range hs {
		if h != nil {
			lo, hi = min(lo, h.Min().Nanoseconds()), max(hi, h.Max().Nanoseconds())
		}
	}
	lo, hi = max(lo, 1), max(hi, lo+1)
	for n := range histogramBins + 1 {
		f := float64(n) / histogramBins
		e := int64(math.Round(float64(lo) + f*float64(hi+1-lo)))
		if !layout.Linear(lo, hi) {
			e = int64(math.Round(float64(lo) * math.Pow(float64(hi+1)/float64(lo), f)))
		}
		if len(edges) == 0 || e > edges[len(edges)-1] {
			edges = append(edges, e)
		}
	}
	return edges
}

func (v *pageView) histogramTable(hs []*hist.Histogram, edges []int64) *layout.Section {
	var coarse []int64
	for n, e := range edges {
		if n%6 == 0 || n == len(edges)-1 {
			coarse = append(coarse, e)
		}
	}
	counts := make([][]layout.Bin, len(hs))
	var labels []string
	for n := range len(coarse) - 1 {
		labels = append(labels, axis("-sec")(float64(coarse[n])/1e9)+" – "+axis("-sec")(float64(coarse[n+1])/1e9))
	}
	for i, h := range hs {
		if h != nil {
			counts[i] = layout.Fill(layout.Spikes(h), coarse)
		}
	}
	return &layout.Section{
		Title: "Requests by latency",
		Grids: v.Study(labels, func(i, row int) string {
			if c := counts[i]; c != nil {
				return strconv.FormatInt(c[row].Count, 10)
			}
			return ""
		}),
	}
}
