package compare

import (
	"math"
	"slices"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/stats"
)

// The errors allowed to the two families of comparisons. The primary metrics
// are what experiments are made for; all others are looked at because they are
// there, so that a change among them needs stronger evidence. With the functions
// (1 %, profiles.Alpha) and leaks (0.1 % for each setting of a run that looks for them) it is 5 %: the
// chance that a report of two settings that do not differ calls anything changed.
const (
	PrimaryAlpha = 0.035
	OtherAlpha   = 0.003
)

// A Versus is one row of a setting compared with the baseline's, within
// blocks. Numbers that cannot be said are NaN.
type Versus struct {
	Ratio, Lo, Hi float64       // setting over baseline, with its 95 % interval, which holds whenever it is looked at; NaN where a value is zero
	P             float64       // adjusted for the family, and holds whenever it is looked at; Verdict rests on it
	Diff          float64       // setting minus baseline, mean over blocks, in the metric's base unit
	Verdict       stats.Verdict // Unclear where there is nothing to compare
	MoreBlocks    int           // that would settle an unclear verdict, roughly; 0 if that cannot be said
	Note          Reason        // why there is nothing to compare though it was measured; else the zero value

	Comparison stats.Comparison // what thresholds are judged by: with P before it was adjusted, SD, and the number N of blocks
	Gate       stats.Comparison // of a primary metric of a service, what a gate judges it by; else the zero value
	ByBlock    map[int]float64  // of the time of a benchmark: the log ratio in each block that has one
}

// compare fills in values, and compares them. Metrics without a direction have values only.
func (t *Table) compare(good map[int][]*dyno.Result) {
	type comparison struct {
		setting int
		metric  dyno.Metric
		note    Reason
		stats.Comparison
		gate stats.Comparison
	}
	var all []*comparison
	families := map[bool][]*stats.Comparison{} // by Metric.Primary
	for _, row := range t.Rows {
		m := row.Metric
		blocks, every := t.blocks(good, m.Name, false), t.blocks(good, m.Name, true)
		for i := range t.Settings {
			trials := column(blocks, i)
			saturated := len(trials) == 0
			if saturated { // a figure to see, though none counts
				trials = column(every, i)
			}
			if len(trials) > 0 {
				s := stats.Summarize(trials)
				t.Settings[i].Values[m.Name] = Summary{s.Center, s.Lo, s.Hi, trials, saturated}
			}
		}
		if m.Better == 0 {
			continue
		}
		for j, c := range stats.Compare(blocks) {
			x := &comparison{setting: j + 1, metric: m, note: t.note(j+1, m, blocks, good), Comparison: c}
			cut := censored(j+1, m.Name, good)
			if cut.Kind == "" {
				cut = unsettled(j+1, m.Name, good)
			}
			if cut.Kind != "" {
				x.note, x.Comparison = cut, stats.Compare([][]float64{{math.NaN(), math.NaN()}})[0]
			} else if m.Primary {
				x.gate = t.gate(blocks, j+1)
			}
			all = append(all, x)
			families[m.Primary] = append(families[m.Primary], &x.Comparison)
		}
	}
	for _, family := range families {
		stats.Adjust(family)
	}
	for _, c := range all {
		rule := t.rule(OtherAlpha, c.metric)
		if c.metric.Primary {
			rule.Alpha = PrimaryAlpha
		}
		t.Settings[c.setting].Versus[c.metric.Name] = Versus{
			c.Ratio, c.Lo, c.Hi, c.Adjusted, c.Diff, c.Verdict(rule), c.More(rule), c.note, c.Comparison, c.gate, nil,
		}
	}
}

// censored says why a latency has no verdict: a trial lacks it because requests timed out
// or were never sent. These rank as the slowest, so the trials that are left are the better.
func censored(i int, metric string, good map[int][]*dyno.Result) Reason {
	if !dyno.IsLatency(metric) {
		return Reason{}
	}
	for _, r := range slices.Concat(good[i], good[0]) {
		_, known := r.Values.Get(metric)
		_, all := r.Values.Get("max-sec") // is missing for the same reason, and never because there were few requests
		failures, _ := r.Values.Get("failures")
		unsent, _ := r.Values.Get("unsent")
		if !known && !all && failures+unsent > 0 && dyno.Counts(r, metric) {
			return Reason{Kind: ReasonNotCompared, Trial: r.Trial.N}
		}
	}
	return Reason{}
}

// unlike is the ratio of two numbers of requests from which on memory that still grows is that of other work.
const unlike = 1.05

// unsettled says why a peak of memory has no verdict: in most trials of a setting it still grew when the load ended, and the settings
// answered different numbers of requests. So it tells how far each had come, not what each takes.
func unsettled(i int, metric string, good map[int][]*dyno.Result) Reason {
	if metric != "rss-peak-B" && metric != "rss-mean-B" {
		return Reason{}
	}
	grows := false
	var requests [2]float64
	for j, rs := range [][]*dyno.Result{good[0], good[i]} {
		var answered []float64
		growing := 0
		for _, r := range rs {
			answered = append(answered, float64(r.Sent.Requests))
			if slices.ContainsFunc(r.Warnings, func(w dyno.Warning) bool { return w.Kind == dyno.WarnUnsettled }) {
				growing++
			}
		}
		grows, requests[j] = grows || 2*growing > len(rs), stats.Median(answered)
	}
	if grows && max(requests[0], requests[1]) > unlike*min(requests[0], requests[1]) {
		return Reason{Kind: ReasonUnsettled}
	}
	return Reason{}
}

// blocks returns the values of a metric, blocks in rows and settings in columns; NaN where a
// trial has none, or, unless all are wanted, none that counts.
func (t *Table) blocks(good map[int][]*dyno.Result, metric string, all bool) [][]float64 {
	var numbers []int
	for _, rs := range good {
		for _, r := range rs {
			numbers = append(numbers, r.Trial.Block)
		}
	}
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	rows := make([][]float64, len(numbers))
	for b := range rows {
		rows[b] = make([]float64, len(t.Settings))
		for i := range rows[b] {
			rows[b][i] = math.NaN()
		}
	}
	for i, rs := range good {
		for _, r := range rs {
			if v, ok := r.Values.Get(metric); ok && (all || dyno.Counts(r, metric)) {
				b, _ := slices.BinarySearch(numbers, r.Trial.Block)
				rows[b][i] = v
			}
		}
	}
	return rows
}

func column(blocks [][]float64, i int) (xs []float64) {
	for _, row := range blocks {
		if !math.IsNaN(row[i]) {
			xs = append(xs, row[i])
		}
	}
	return xs
}

// A Saturation is a trial in which the generator itself was the limit, so that
// its response times say nothing about the service.
type Saturation struct {
	Trial  int    `json:"trial"`  // position in the plan
	Reason string `json:"reason"` // as dyno.Sent has it
}

func saturations(rs []*dyno.Result) []Saturation {
	var ss []Saturation
	for _, r := range rs {
		if r.Sent.Saturated != "" {
			ss = append(ss, Saturation{r.Trial.N, r.Sent.Saturated})
		}
	}
	return ss
}

// note says why a metric has no verdict, if saturation has left too few trials.
func (t *Table) note(i int, m dyno.Metric, blocks [][]float64, good map[int][]*dyno.Result) Reason {
	pairs := 0
	for _, row := range blocks {
		if !math.IsNaN(row[0]) && !math.IsNaN(row[i]) {
			pairs++
		}
	}
	if pairs >= 2 { // fewer have no p-value
		return Reason{}
	}
	for _, r := range slices.Concat(good[i], good[0]) {
		if _, measured := r.Values.Get(m.Name); measured && !dyno.Counts(r, m.Name) {
			return Reason{Kind: ReasonNotCompared, Said: r.Sent.Saturated}
		}
	}
	return Reason{}
}
