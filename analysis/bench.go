package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/pitfall"
	"github.com/dynolab/dyno/stats"
)

// A BenchTable is what a run of benchmarks found.
type BenchTable struct {
	Name       string
	Settings   []dyno.Setting // the baseline first
	Blocks     int            // finished, in every setting
	Seconds    float64        // of measuring
	Error      float64        // chance of a false change, in one comparison
	Negligible float64
	Precision  float64
	Looks      []int            // numbers of blocks after which a benchmark may be settled; none if the number of blocks is given
	Rows       []BenchRow       // a benchmark each, in the order of the source
	Pitfalls   []pitfall.Found  // in the order of the rows
	Notes      []string         // about the run: warnings, what failed
	Thresholds []BenchJudgement // each threshold of each benchmark and setting, in the order of the plan

	// Comparisons that noise could make a change of: what never differed cannot, and
	// B/s says again what sec/op says. Of so many without any change, one or more
	// would be called a change in at most FalseChance of runs, however they depend on
	// one another (Bonferroni's inequality).
	Comparisons int
	FalseChance float64

	open map[benchKey]bool
}

// A BenchRow is one benchmark.
type BenchRow struct {
	Package, Name string
	Blocks        int              // in which it was measured, in two settings at least if there are two
	N             int64            // iterations of a sample, in the last block
	Pairs         int              // samples of the baseline that have one of another setting beside them; of a single setting, samples
	Settled       bool             // nothing more to be learned: changed, same, or precise enough
	Source        dyno.BenchSource // as the baseline's survey has it, or else another's
	Units         []BenchUnit      // sec/op first, then B/op, allocs/op, others by name
	Err           string
}

// A BenchUnit is one benchmark in one unit.
type BenchUnit struct {
	Unit    string
	Better  int             // as of dyno.Metric; 0 if nobody knows: then Better and Worse of a verdict only say that it changed
	Centers []stats.Summary // of each setting: of its blocks' medians, as BlockCenter makes them
	Versus  []BenchVersus   // of each setting but the first
}

// A BenchVersus is one comparison. Its Diff is that of the two centers where there
// is a Ratio, and else the estimate of the differences within blocks.
type BenchVersus struct {
	stats.Comparison
	Verdict stats.Verdict
}

type benchKey struct{ pkg, name string }

// benchRun is all results of a run of benchmarks, sorted.
type benchRun struct {
	e        *dyno.Experiment
	bench    dyno.Bench // with its defaults
	settings []dyno.Setting
	minor    []int // of each setting's Go 1.x; 0 if unknown
	data     []*benchData
	rule     stats.Rule
	looks    []int
	exact    float64 // half an interval that is narrow enough, as a log ratio
}

// benchData is what is known of one benchmark.
type benchData struct {
	benchKey
	surveys []*dyno.Survey      // by setting; nil if there is none
	blocks  [][]*dyno.Benchmark // of those it was tried in, by setting; nil if there is none
}

// BenchOf makes the table of a run from its results so far. Trials that failed do
// not count, as everywhere; a benchmark that failed in a trial counts with the
// samples that it has.
func BenchOf(e *dyno.Experiment, rs []*dyno.Result) *BenchTable {
	run := newBenchRun(e, rs)
	t := &BenchTable{
		Name: e.Name, Settings: run.settings, Error: float64(*run.bench.Error), Negligible: max(0, run.rule.Negligible),
		Precision: float64(*run.bench.Precision), Looks: run.looks, open: map[benchKey]bool{},
	}
	t.Blocks, t.Seconds = benchTime(rs, run.settings)
	for _, d := range run.data {
		row := run.row(d)
		if row.Blocks > 0 {
			row.Settled = run.settled(d, row.Units)
		}
		t.open[d.benchKey] = !row.Settled && !run.over(d)
		t.Rows = append(t.Rows, row)
	}
	t.count()
	t.Notes = benchNotes(rs)
	t.Pitfalls = run.pitfalls(t.Rows)
	t.judge(e.Thresholds)
	return t
}

// Open reports whether a benchmark needs more blocks: that changes at looks only,
// as who looks more often finds more. One that nobody knows yet does.
func (t *BenchTable) Open(pkg, name string) bool {
	open, known := t.open[benchKey{pkg, name}]
	return open || !known
}

// Worse counts the comparisons that became worse.
func (t *BenchTable) Worse() int { return t.verdicts(stats.Worse) }

// Undecided counts the comparisons that are unclear.
func (t *BenchTable) Undecided() int { return t.verdicts(stats.Unclear) }

// verdicts counts comparisons with a verdict, of units that have a better side; but not
// B/s where sec/op says the same.
func (t *BenchTable) verdicts(word stats.Verdict) (n int) {
	for i := range t.Rows {
		units := t.Rows[i].Units
		for _, u := range units {
			for k, v := range u.Versus {
				again := u.Unit == "B/s" && units[0].Unit == "sec/op" && units[0].Versus[k].Verdict == word
				if u.Better != 0 && v.N >= 2 && v.Verdict == word && !again {
					n++
				}
			}
		}
	}
	return n
}

// count fills in Comparisons.
func (t *BenchTable) count() {
	for i := range t.Rows {
		for _, u := range t.Rows[i].Units {
			for _, v := range u.Versus {
				if v.N >= 2 && u.Unit != "B/s" && (v.SD != 0 || v.Diff != 0) {
					t.Comparisons++
				}
			}
		}
	}
	t.FalseChance = min(1, float64(t.Comparisons)*t.Error)
}

func newBenchRun(e *dyno.Experiment, rs []*dyno.Result) *benchRun {
	run := &benchRun{e: e, looks: stats.BenchLooks}
	all := e.Resolved()
	if all.Bench == nil { // results without their plan
		all.Bench = &dyno.Bench{}
	}
	run.bench = all.Bench.Resolved()
	if run.bench.Blocks > 0 {
		run.looks = nil
	}
	run.exact = math.Log1p(float64(*run.bench.Precision))
	run.rule = stats.Rule{Alpha: float64(*run.bench.Error), Negligible: float64(*all.Negligible)}
	if run.rule.Negligible == 0 {
		run.rule.Negligible = -1
	}
	at := map[string]int{}
	column := func(s dyno.Setting) int {
		i, ok := at[s.String()]
		if !ok {
			i = len(run.settings)
			at[s.String()] = i
			run.settings = append(run.settings, s)
		}
		return i
	}
	for _, s := range e.Levels() {
		column(s)
	}
	rs = lastOfEach(rs)
	for _, r := range rs {
		column(r.Trial.Setting)
	}
	run.minor = make([]int, len(run.settings))
	for _, r := range rs {
		if i := column(r.Trial.Setting); run.minor[i] == 0 {
			run.minor[i] = goMinor(r)
		}
	}
	run.collect(rs, column)
	return run
}

// collect sorts surveys and benchmarks by name. The order is that of the surveys,
// which is the source's; packages stay together.
func (run *benchRun) collect(rs []*dyno.Result, column func(dyno.Setting) int) {
	at := map[benchKey]*benchData{}
	packages := map[string]int{}
	find := func(pkg, name string) *benchData {
		k := benchKey{pkg, name}
		if at[k] == nil {
			at[k] = &benchData{benchKey: k, surveys: make([]*dyno.Survey, len(run.settings))}
			run.data = append(run.data, at[k])
			if _, ok := packages[pkg]; !ok {
				packages[pkg] = len(packages)
			}
		}
		return at[k]
	}
	for i := range run.settings {
		for _, r := range rs {
			if r.Trial.For != dyno.ForSurvey || column(r.Trial.Setting) != i {
				continue
			}
			for j := range r.Surveys {
				s := &r.Surveys[j]
				find(s.Package, s.Name).surveys[i] = s
			}
		}
	}
	last := map[*benchData]int{} // the block that the last row is of
	for _, r := range rs {
		if r.Trial.For != "" || r.Err != "" {
			continue
		}
		for j := range r.Benchmarks {
			b := &r.Benchmarks[j]
			d := find(b.Package, b.Name)
			if block, ok := last[d]; !ok || block != r.Trial.Block {
				last[d] = r.Trial.Block
				d.blocks = append(d.blocks, make([]*dyno.Benchmark, len(run.settings)))
			}
			d.blocks[len(d.blocks)-1][column(r.Trial.Setting)] = b
		}
	}
	slices.SortStableFunc(run.data, func(a, b *benchData) int { return cmp.Compare(packages[a.pkg], packages[b.pkg]) })
}

// benchTime counts the blocks that were finished in all settings, and the time from
// the first beginning to the last end of the results of each block.
func benchTime(rs []*dyno.Result, settings []dyno.Setting) (blocks int, seconds float64) {
	type span struct {
		from, to time.Time
		good     map[string]bool
	}
	spans := map[int]*span{}
	for _, r := range lastOfEach(rs) {
		if r.Trial.For != "" {
			continue
		}
		s := spans[r.Trial.Block]
		if s == nil {
			s = &span{r.Start, r.Start, map[string]bool{}}
			spans[r.Trial.Block] = s
		}
		if r.Start.Before(s.from) {
			s.from = r.Start
		}
		if end := r.Start.Add(r.Elapsed); end.After(s.to) {
			s.to = end
		}
		if r.Err == "" {
			s.good[r.Trial.Setting.String()] = true
		}
	}
	var total time.Duration // a sum of seconds would depend on the order
	for _, s := range spans {
		total += s.to.Sub(s.from)
		if len(s.good) == len(settings) {
			blocks++
		}
	}
	return blocks, total.Seconds()
}

// benchNotes are the warnings of all results and what failed, each once.
func benchNotes(rs []*dyno.Result) (notes []string) {
	var failed []string
	blocks := map[string][]string{}
	for _, r := range lastOfEach(rs) {
		for _, w := range r.Warnings {
			if !slices.Contains(notes, w) {
				notes = append(notes, w)
			}
		}
		if r.Err == "" {
			continue
		}
		what := "a block"
		if r.Trial.For != "" {
			what = "the trial for its " + r.Trial.For
		}
		key := fmt.Sprintf("%s: %s failed: %s", r.Trial.Setting.Label(), what, r.Err)
		if blocks[key] == nil {
			failed = append(failed, key)
		}
		blocks[key] = append(blocks[key], fmt.Sprint(r.Trial.Block))
	}
	for _, key := range failed {
		if n := len(blocks[key]); n > 1 {
			key += fmt.Sprintf(" (%d times: in blocks %s)", n, strings.Join(blocks[key], ", "))
		}
		notes = append(notes, key)
	}
	return notes
}
