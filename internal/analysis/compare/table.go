// Package compare makes the one comparison table: rows × settings, where a row is
// a metric of a service or a unit of a benchmark, with the verdict of each cell, the
// thresholds that were judged, and the causes of changes.
//
// It owns which results count, what is compared with what, and the shape of
// summary.json. The arithmetic of medians, intervals and verdicts is package stats';
// the words are package words'. It reads no files.
package compare

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/analysis/exectrace"
	"github.com/dynolab/dyno/internal/analysis/leak"
	"github.com/dynolab/dyno/internal/analysis/placement"
	"github.com/dynolab/dyno/internal/analysis/profiles"
	"github.com/dynolab/dyno/internal/analysis/slow"
	"github.com/dynolab/dyno/internal/analysis/tail"
	"github.com/dynolab/dyno/internal/analysis/timeline"
)

// Options say how to tabulate. The zero value tabulates everything.
type Options struct {
	Name       string              // of the experiment, for the heading
	Settings   []dyno.Setting      // in the order of the table, the baseline first; none means in order of first appearance
	About      []string            // what was measured and how, a line each, for the heading
	Negligible *dyno.Fraction      // changes smaller than this are "same"; nil means dyno.DefaultNegligible
	Planned    int                 // trials; if more than there are results, the table warns that it is partial
	Places     Places              // functions that changed in profiles; nil if none was taken
	CPU        []profiles.CPUShare // what the CPU was used for, by the profiles of it
	Doubts     []Doubt             // of the caller
	Tails      map[int]*tail.Trial // by number of the trial, of those of which single requests are known
	Growths    map[int]*leak.Growth
	Steadiness map[int]*timeline.Steadiness
	Thresholds []dyno.Threshold
	Primary    []string // names of the metrics that decide; nil means those of dyno.Metrics that are primary
	Separate   bool     // blocks were not run side by side, as in runs that were labelled with Label
	Uses       []Use    // of the subject and its needs
	Sequential bool     // the run decides itself how many blocks it takes, as dyno.Experiment.Sequential, and was not extended
}

// A Kind says what the rows of a table are.
type Kind string

const (
	OfService    Kind = "service"    // metrics of a service
	OfBenchmarks Kind = "benchmarks" // units of benchmarks
)

// A Table is what a run found: rows × settings, the baseline first. The cells
// are in the settings, by the keys of rows.
type Table struct {
	Kind       Kind
	Name       string
	About      []string
	Settings   []Setting
	Rows       []Row
	Trials     int                 // that finished; if 0, nothing was measured and every figure is missing
	Planned    int                 // trials, or as many as there are results
	Blocks     int                 // of a service: with at least one finished trial; of benchmarks: finished in every setting
	Negligible float64             // changes smaller than this are "same"; 0 means none is
	Looks      []int               // of benchmarks: numbers of blocks after which one may end; none if the number of blocks is given
	Sequential bool                // as Options.Sequential
	Separate   bool                // as Options.Separate
	Profiled   bool                // there are profiles, that told causes where
	CPU        []profiles.CPUShare // what the CPU was used for; nil if no profile tells
	Doubts     []Doubt             // what the reader must see, those of the caller last
	Failed     []*dyno.Result
	Uses       []Use             // who asks whom
	Places     *placement.Places // nil if all was on this machine
	Thresholds []Judgement       // each threshold of each row that it is about and each setting, in the order of the plan

	ran int // blocks of a service, those without a finished trial too

	Bench // what only benchmarks have
}

// A Row is what is compared over the settings: a metric of the service, or a
// unit of a benchmark.
type Row struct {
	dyno.Metric            // or the unit, such as sec/op; Better is 0 if unknown
	Key         string     // of the row's cells in Setting.Values and Setting.Versus; of a service the metric's name
	Benchmark   *Benchmark // whose unit it is; nil of a service
}

// A Setting is what was found of one setting. Of one without a finished trial
// nothing is known: it has no values, and its verdicts are all unclear.
type Setting struct {
	Setting  dyno.Setting       `json:"levels"`
	Baseline bool               `json:"baseline"`
	Trials   int                `json:"trials"`             // that finished; failed ones count for nothing
	Elapsed  time.Duration      `json:"-"`                  // their measured windows together
	Values   map[string]Summary `json:"values"`             // by Row.Key; only what was measured
	Pooled   *Pooled            `json:"pooled"`             // nil if no request was recorded; saturated trials are in it
	Memory   *Memory            `json:"memory"`             // nil if resident memory was not measured
	Resident *Resident          `json:"resident,omitempty"` // nil if there is no snapshot of its memory
	Tail     *tail.Setting      `json:"tail,omitempty"`     // nil if Options.Tails has none of its trials
	Leak     *leak.Leak         `json:"leak,omitempty"`     // nil if Options.Growths has none of its trials
	Steady   *timeline.Steady   `json:"steady,omitempty"`   // nil if there is nothing to say of it
	Versus   map[string]Versus  `json:"versus"`             // by Row.Key; empty for the baseline

	Why       []Why                  `json:"why,omitempty"`       // causes of the changes of primary metrics
	Functions []ChangedFunction      `json:"functions,omitempty"` // that surely changed though the total of their profile does not show it
	Saturated []Saturation           `json:"saturated,omitempty"` // trials in which the generator was the limit
	Trace     *exectrace.Attribution `json:"trace,omitempty"`     // of its first trial ForTrace; nil if absent. The caller fills it in
	Slow      *slow.Why              `json:"why-slow,omitempty"`  // where its slow requests spend their time, by its trials ForTrace; nil if absent. The caller fills it and the next in
	SlowMoved *slow.Change           `json:"why-moved,omitempty"` // why the percentile differs from the baseline's; nil if it cannot be said
	Single    *dyno.Result           `json:"-"`                   // the trial that finished, if it is the only one
}

// A Summary is one row of one setting, in the metric's base unit: of the
// trials that [Counts], unless Saturated; of benchmarks, of the blocks' medians.
type Summary struct {
	Center float64   // median of the trials
	Lo, Hi float64   // 95 % interval of the median; NaN if the trials are too few for one
	Trials []float64 // in the order of blocks

	Saturated bool // no trial counts: these are figures of the generator, not of the service
}

// Pooled describes all successful requests of all trials of a setting, in
// seconds. No verdict rests on it, as requests of one trial are not
// independent: a trial of bad luck is thousands of slow requests.
type Pooled struct {
	Requests int64       `json:"requests"`
	Mean     dyno.Number `json:"mean-sec"`
	Median   dyno.Number `json:"median-sec"` // NaN if the results came without their histograms
	Min      dyno.Number `json:"min-sec"`
	Max      dyno.Number `json:"max-sec"`
	Stddev   dyno.Number `json:"stddev-sec"`
	P90      dyno.Number `json:"p90-sec"` // NaN as Median, as the next two
	P99      dyno.Number `json:"p99-sec"`
	P999     dyno.Number `json:"p99.9-sec"`
}

// Memory is the highest resident memory over all trials of a setting.
type Memory struct {
	Highest dyno.Number `json:"rss-peak-B"` // bytes
	Diff    dyno.Number `json:"diff-B"`     // bytes more than the baseline's; NaN if that is unknown
	Frac    dyno.Number `json:"diff-frac"`  // Diff as a fraction of the baseline's; NaN if that is unknown
}

// Tabulate makes the table of rs. Failed trials are listed and otherwise left out; of a
// trial that was run again the last result counts. Settings that o does not list come last.
func Tabulate(rs []*dyno.Result, o Options) *Table {
	rs = dyno.LastOfEach(rs)
	t := &Table{
		Kind:       OfService,
		Name:       o.Name,
		Planned:    max(o.Planned, compared(rs)),
		Negligible: dyno.DefaultNegligible,
		About:      o.About,
		CPU:        o.CPU,
		Separate:   o.Separate,
		Sequential: o.Sequential,
		Uses:       o.Uses,
		Profiled:   o.Places != nil,
	}
	if o.Negligible != nil {
		t.Negligible = float64(*o.Negligible)
	}
	t.Places = placement.Of(rs)
	t.ran = blocksRun(rs)
	settings, column := columns(o.Settings, rs)
	for i, s := range settings {
		t.Settings = append(t.Settings, newSetting(i, s))
	}
	good := map[int][]*dyno.Result{} // by setting
	blocks := map[int]bool{}
	for _, r := range rs {
		if r.Err != "" {
			t.Failed = append(t.Failed, r)
			continue
		}
		if r.Trial.For != "" { // it was disturbed on purpose
			continue
		}
		i := column(r)
		good[i] = append(good[i], r)
		blocks[r.Trial.Block] = true
		t.Trials++
	}
	slices.SortStableFunc(t.Failed, func(a, b *dyno.Result) int { return cmp.Compare(a.Trial.N, b.Trial.N) }) // blocks of profiles have the numbers of others
	t.Blocks = len(blocks)
	t.Rows = rowsOf(rs, o.Primary)
	for i := range t.Settings {
		s := &t.Settings[i]
		s.Trials = len(good[i])
		for _, r := range good[i] {
			s.Elapsed += r.Elapsed
		}
		s.Pooled = pool(good[i])
		s.Tail = tail.Of(good[i], o.Tails)
		s.Leak = leak.Of(good[i], o.Growths)
		s.Steady = timeline.SteadyOf(good[i], o.Steadiness, t.Negligible)
		s.Saturated = saturations(good[i])
		if s.Trials == 1 {
			s.Single = good[i][0]
		}
	}
	t.memory(good)
	t.resident(good, rs)
	t.compare(good)
	t.judge(o.Thresholds, good)
	for i := range t.Settings {
		t.Settings[i].Why = t.why(i, o.Places)
		t.Settings[i].Functions = t.functions(i, o.Places)
	}
	finished := slices.DeleteFunc(slices.Clone(rs), func(r *dyno.Result) bool { return r.Err != "" })
	t.Doubts = slices.Concat(t.doubts(o), t.mixed(good), t.saturated(good), collect(finished), o.Doubts)
	return t
}

// columns lists the settings of a table, those given first, and says in which a result is.
func columns(given []dyno.Setting, rs []*dyno.Result) (settings []dyno.Setting, column func(*dyno.Result) int) {
	at := map[string]int{}
	add := func(s dyno.Setting) {
		if _, ok := at[s.String()]; !ok {
			at[s.String()] = len(settings)
			settings = append(settings, s)
		}
	}
	for _, s := range given {
		add(s)
	}
	for _, r := range rs {
		add(r.Trial.Setting)
	}
	return settings, func(r *dyno.Result) int { return at[r.Trial.Setting.String()] }
}

func newSetting(i int, s dyno.Setting) Setting {
	return Setting{Setting: s, Baseline: i == 0, Values: map[string]Summary{}, Versus: map[string]Versus{}}
}

// compared counts the results that are not of trials for something else.
func compared(rs []*dyno.Result) (n int) {
	for _, r := range rs {
		if r.Trial.For == "" {
			n++
		}
	}
	return n
}

// rowsOf lists the metrics that any result has: step by step, each in the order of
// dyno.Metrics, unknown ones last. primary is as Options.Primary.
func rowsOf(rs []*dyno.Result, primary []string) []Row {
	seen := map[string]bool{}
	var rows []Row
	for _, r := range rs {
		for _, v := range r.Values {
			if r.Err != "" || r.Trial.For != "" || seen[v.Metric] {
				continue
			}
			seen[v.Metric] = true
			m, ok := dyno.MetricByName(v.Metric)
			if !ok {
				m = dyno.Metric{Name: v.Metric}
			}
			if need, rest := dyno.NeedOf(m.Name); need != "" && m.Primary {
				m.Primary = works(rs, m.Name, rest)
			}
			if primary != nil {
				m.Primary = slices.Contains(primary, m.Name)
			}
			rows = append(rows, Row{Metric: m, Key: m.Name})
		}
	}
	slices.SortFunc(rows, func(a, b Row) int {
		sa, ra := dyno.Rank(a.Name)
		sb, rb := dyno.Rank(b.Name)
		unknown := len(dyno.Metrics)
		switch {
		case (ra == unknown) != (rb == unknown):
			return cmp.Compare(ra, rb)
		default:
			return cmp.Or(cmp.Compare(sa, sb), cmp.Compare(ra, rb), cmp.Compare(a.Name, b.Name))
		}
	})
	return rows
}

// leastWork is the share of the CPU time of subject and needs from which a need's is primary: a cache that does hardly
// anything would only make other comparisons wider, and the run longer.
const leastWork = 0.1

// works reports whether the CPU time of a need is so much, all settings together.
func works(rs []*dyno.Result, metric, whole string) bool {
	its, all := 0.0, 0.0
	for _, r := range rs {
		for _, v := range r.Values {
			if need, rest := dyno.NeedOf(v.Metric); r.Err == "" && r.Trial.For == "" && (v.Metric == whole || need != "" && rest == whole) {
				all += v.Value
				if v.Metric == metric {
					its += v.Value
				}
			}
		}
	}
	return its >= leastWork*all
}

func pool(rs []*dyno.Result) *Pooled {
	all := hist.New()
	for _, r := range rs {
		all.Merge(r.Latency)
	}
	if all.Count() == 0 {
		return nil
	}
	quantile := func(q float64) dyno.Number { return dyno.Number(all.Quantile(q).Seconds()) }
	if all.Counts().TotalCount() != all.Count() {
		// The moments were read from results.jsonl, but of some trial not the
		// histogram: its file is missing.
		quantile = func(float64) dyno.Number { return dyno.Number(math.NaN()) }
	}
	return &Pooled{
		Requests: all.Count(), Mean: dyno.Number(all.Mean()), Median: quantile(0.5),
		Min: dyno.Number(all.Min().Seconds()), Max: dyno.Number(all.Max().Seconds()), Stddev: dyno.Number(all.Stddev()),
		P90: quantile(0.9), P99: quantile(0.99), P999: quantile(0.999),
	}
}

func (t *Table) memory(good map[int][]*dyno.Result) {
	for i := range t.Settings {
		highest := math.Inf(-1)
		for _, r := range good[i] {
			if v, ok := r.Values.Get("rss-peak-B"); ok {
				highest = max(highest, v)
			}
		}
		if math.IsInf(highest, -1) {
			continue
		}
		m := &Memory{dyno.Number(highest), dyno.Number(math.NaN()), dyno.Number(math.NaN())}
		t.Settings[i].Memory = m
		if base := t.Settings[0].Memory; base != nil {
			m.Diff = m.Highest - base.Highest
			m.Frac = m.Diff / base.Highest
		}
	}
}

// Ran counts the trials that were run to be compared, those that failed included.
func (t *Table) Ran() int { return t.Trials + compared(t.Failed) }

// Find is the place of the setting with this text, -1 if there is none.
func (t *Table) Find(setting string) int {
	return slices.IndexFunc(t.Settings, func(s Setting) bool { return s.Setting.String() == setting })
}

// FailedOf are the failed trials of setting i.
func (t *Table) FailedOf(i int) []*dyno.Result {
	other := func(r *dyno.Result) bool { return r.Trial.Setting.String() != t.Settings[i].Setting.String() }
	return slices.DeleteFunc(slices.Clone(t.Failed), other)
}

// Label returns copies of results whose settings begin with the level run=name, so that
// one table holds several runs with Options.Separate. Blocks are matched by number.
func Label(rs []*dyno.Result, name string) []*dyno.Result {
	labelled := make([]*dyno.Result, len(rs))
	for i, r := range rs {
		c := *r
		c.Trial.Setting = append(dyno.Setting{{Factor: "run", Value: name}}, r.Trial.Setting...)
		labelled[i] = &c
	}
	return labelled
}
