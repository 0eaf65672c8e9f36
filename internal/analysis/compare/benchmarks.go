package compare

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/pitfall"
	"github.com/dynolab/dyno/internal/stats"
)

// Bench is what only a table of benchmarks has.
type Bench struct {
	Benchmarks []*Benchmark        // in the order of the source
	Elapsed    time.Duration       // of measuring
	Error      float64             // chance of a false change, in one comparison
	Anytime    bool                // the run was resumed: its error allows for a look after any block
	Precision  float64             // half an interval that is narrow enough, as a fraction
	Pitfalls   []pitfall.Found     // in the order of Benchmarks
	SameCode   map[string][]string // benchmark functions that were not run, as they are the same code in all settings, by package

	// Comparisons that noise could make a change of: what never differed cannot, and B/s says again what sec/op says. Of so many without any
	// change, one or more would be called a change in at most FalseChance of runs, however they depend on one another (Bonferroni).
	Comparisons int
	FalseChance float64

	open map[benchKey]bool
}

// A Benchmark is what was found of one benchmark beside its rows.
type Benchmark struct {
	Package string           `json:"package"`
	Name    string           `json:"name"`
	Blocks  int              `json:"blocks"`  // in which it was measured, in two settings at least if there are two
	N       int64            `json:"n"`       // iterations of a sample, in the last block
	Pairs   int              `json:"pairs"`   // baseline samples paired with another setting; of a single setting, samples
	Settled bool             `json:"settled"` // more blocks would tell nothing more: changed, same, or precise enough
	Source  dyno.BenchSource `json:"-"`       // as the baseline's survey has it, or else another's
	Units   []Row            `json:"-"`       // its rows: sec/op first, then B/op, allocs/op, others by name
	Faults  []Fault          `json:"-"`       // why there are no numbers, or fewer, by setting
}

// Full is the benchmark's name with its package.
func (b *Benchmark) Full() string { return b.Package + "." + b.Name }

// A Fault says why a benchmark has no numbers, or fewer, in one setting.
type Fault struct {
	Setting int       `json:"-"` // place in Table.Settings
	Kind    FaultKind `json:"kind"`
	Said    string    `json:"said,omitempty"`   // what the benchmark, or the survey of it, printed
	Blocks  int       `json:"blocks,omitempty"` // of FaultBlocks: in so many of those that it was tried in
	Tried   int       `json:"tried,omitempty"`  // of FaultBlocks
}

// A FaultKind is what went wrong with a benchmark.
type FaultKind string

const (
	FaultFailed  FaultKind = "failed"  // in every block, or in its survey
	FaultBlocks  FaultKind = "blocks"  // in some blocks
	FaultSkipped FaultKind = "skipped" // by itself
	FaultMissing FaultKind = "missing" // the setting does not have it
)

type benchKey struct{ pkg, name string }

type benchRun struct {
	bench    dyno.Bench // with its defaults
	settings []dyno.Setting
	column   func(*dyno.Result) int // the place of a result's setting
	minor    []int                  // of each setting's Go 1.x; 0 if unknown
	data     []*benchData
	rule     stats.Rule
	looks    []int
	anytime  bool    // it was resumed: a look may have been after any block
	exact    float64 // half an interval that is narrow enough, as a log ratio
}

type benchData struct {
	benchKey
	surveys []*dyno.Survey      // by setting; nil where the survey did not see it
	blocks  [][]*dyno.Benchmark // that tried it, each by setting; nil where the setting has no result
	numbers []int               // of the blocks
}

// TabulateBenchmarks makes the table of a run of benchmarks from its results so far. Trials that failed do not count; a benchmark that
// failed counts with its samples.
func TabulateBenchmarks(e *dyno.Experiment, rs []*dyno.Result) *Table {
	run := newBenchRun(e, rs)
	t := &Table{Kind: OfBenchmarks, Name: e.Name, Negligible: max(0, run.rule.Negligible), Planned: max(e.Compared(), compared(rs))}
	t.Error, t.Precision, t.Looks, t.Anytime, t.open = float64(*run.bench.Error), float64(*run.bench.Precision), run.looks, run.anytime, map[benchKey]bool{}
	for i, s := range run.settings {
		t.Settings = append(t.Settings, newSetting(i, s))
	}
	t.Blocks, t.Elapsed = benchTime(rs, run.settings)
	for _, d := range run.data {
		b := run.benchmark(t, d)
		if b.Blocks > 0 {
			b.Settled = run.settled(d, b.Units)
		}
		t.open[d.benchKey] = !b.Settled && !run.over(d)
		t.Benchmarks = append(t.Benchmarks, b)
		t.Rows = append(t.Rows, b.Units...)
	}
	for _, row := range t.Rows {
		for i := 1; i < len(t.Settings); i++ {
			if v := t.Versus(row, i); v != nil && row.Name != "B/s" && (v.Comparison.SD != 0 || v.Diff != 0) {
				t.Comparisons++
			}
		}
	}
	t.FalseChance = min(1, float64(t.Comparisons)*t.Error)
	t.outcomes(dyno.LastOfEach(rs), run.column)
	t.Pitfalls = run.pitfalls(t.Benchmarks)
	t.judge(e.Thresholds, nil)
	return t
}

// outcomes counts the trials that finished, and keeps failures and warnings.
func (t *Table) outcomes(rs []*dyno.Result, column func(*dyno.Result) int) {
	seen := map[dyno.Warning]bool{}
	for _, r := range rs {
		if r.SameCode != nil {
			t.SameCode = r.SameCode
		}
		for _, w := range r.Warnings {
			if !seen[w] {
				t.Doubts = append(t.Doubts, Doubt{Kind: w.Kind, About: w.Of, Said: []string{w.Text}})
				seen[w] = true
			}
		}
		if r.Err != "" {
			t.Failed = append(t.Failed, r)
			continue
		}
		if r.Trial.For == "" {
			s := &t.Settings[column(r)]
			s.Trials++
			s.Elapsed += r.Elapsed
			t.Trials++
		}
	}
}

// Open reports whether a benchmark needs more blocks, as one that is not known yet does.
// That changes at looks only: who looks more often finds more.
//
// It lacks as many as settle its sec/op in one setting more, if estimate and deviation stay as they are; 0 if that is too many to say.
func (t *Table) Open(pkg, name string) (open bool, lacks int) {
	rule := stats.Rule{Alpha: t.Error, Negligible: cmp.Or(t.Negligible, -1)}
	for i := range t.Settings {
		v := t.Settings[i].Versus[pkg+"."+name+" sec/op"] // the zero value lacks nothing
		if more := v.Comparison.More(rule); more > 0 && (lacks == 0 || more < lacks) {
			lacks = more
		}
	}
	open, known := t.open[benchKey{pkg, name}]
	return open || !known, lacks
}

// verdicts counts the comparisons with a verdict, without B/s where sec/op says the same.
func (t *Table) verdicts(word stats.Verdict) (n int) {
	for _, row := range t.Rows {
		for i := 1; i < len(t.Settings); i++ {
			if v := t.Versus(row, i); row.Better != 0 && v != nil && v.Verdict == word && !t.Echoes(row, i) {
				n++
			}
		}
	}
	return n
}

// Versus is the comparison of a row in setting i; nil if it was not measured in
// two blocks of both sides.
func (t *Table) Versus(row Row, i int) *Versus {
	if v, ok := t.Settings[i].Versus[row.Key]; ok && v.Comparison.N >= 2 {
		return &v
	}
	return nil
}

// Echoes reports whether a row repeats the verdict of sec/op in setting i, as B/s does.
func (t *Table) Echoes(row Row, i int) bool {
	if row.Name != "B/s" || row.Benchmark == nil || row.Benchmark.Units[0].Name != "sec/op" {
		return false
	}
	return t.Settings[i].Versus[row.Key].Verdict == t.Settings[i].Versus[row.Benchmark.Units[0].Key].Verdict
}

// Fewer counts the benchmarks with fewer blocks than least, of all that do not fail; most is how many blocks any has.
func (t *Table) Fewer(least int) (few, all, most int) {
	for _, b := range t.Benchmarks {
		most = max(most, b.Blocks)
		if len(b.Faults) > 0 {
			continue
		}
		if all++; b.Blocks < least {
			few++
		}
	}
	return few, all, most
}

// Coarse counts the benchmarks whose intervals are of few blocks.
func (t *Table) Coarse() (n int) {
	for _, b := range t.Benchmarks {
		if b.Blocks >= stats.FewBlocks && b.Blocks < stats.RankBlocks {
			n++
		}
	}
	return n
}

// Broken is the first benchmark that was measured in the baseline and fails in another
// setting, or nil. A benchmark that skips itself, or is missing, does not count.
func (t *Table) Broken() *Benchmark {
	for _, b := range t.Benchmarks {
		for _, f := range b.Faults {
			switch {
			case f.Setting == 0 || f.Kind == FaultSkipped || f.Kind == FaultMissing:
			case b.Faults[0].Setting != 0 || b.Faults[0].Kind == FaultMissing:
				return b
			}
		}
	}
	return nil
}

// ChangedBy is the greatest change of a benchmark in setting i, of the units that
// profiles explain, as the logarithm of the ratio; 0 if nothing changed.
func (t *Table) ChangedBy(b *Benchmark, i int) (most float64) {
	for _, u := range b.Units {
		v := t.Versus(u, i)
		if v == nil || !slices.Contains(benchUnits, u.Name) || v.Verdict != stats.Better && v.Verdict != stats.Worse {
			continue
		}
		by := math.Abs(math.Log(v.Ratio))
		if math.IsNaN(by) || by == 0 { // from or to nothing
			by = 1
		}
		most = max(most, by)
	}
	return most
}

func newBenchRun(e *dyno.Experiment, rs []*dyno.Result) *benchRun {
	run := &benchRun{looks: stats.BenchLooks}
	all := e.Resolved()
	if all.Bench == nil { // results without their plan
		all.Bench = &dyno.Bench{}
	}
	run.bench = all.Bench.Resolved()
	run.anytime = len(run.bench.Resumed) > 0
	if run.bench.Blocks > 0 {
		run.bench.Blocks = run.bench.Planned()
		run.looks = nil
	}
	run.exact = math.Log1p(float64(*run.bench.Precision))
	run.rule = stats.Rule{Alpha: float64(*run.bench.Error), Negligible: float64(*all.Negligible)}
	if run.rule.Negligible == 0 {
		run.rule.Negligible = -1
	}
	rs = dyno.LastOfEach(rs)
	run.settings, run.column = columns(e.Levels(), rs)
	run.minor = make([]int, len(run.settings))
	for _, r := range rs {
		if i := run.column(r); run.minor[i] == 0 {
			run.minor[i] = goMinor(r)
		}
	}
	run.collect(rs)
	return run
}

// collect sorts surveys and benchmarks by name, in the order of the surveys; packages stay together.
func (run *benchRun) collect(rs []*dyno.Result) {
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
			if r.Trial.For != dyno.ForSurvey || run.column(r) != i {
				continue
			}
			for j := range r.Surveys {
				s := &r.Surveys[j]
				find(s.Package, s.Name).surveys[i] = s
			}
		}
	}
	for _, r := range rs {
		if r.Trial.For != "" || r.Err != "" {
			continue
		}
		for j := range r.Benchmarks {
			b := &r.Benchmarks[j]
			d := find(b.Package, b.Name)
			if n := len(d.numbers); n == 0 || d.numbers[n-1] != r.Trial.Block {
				d.blocks, d.numbers = append(d.blocks, make([]*dyno.Benchmark, len(run.settings))), append(d.numbers, r.Trial.Block)
			}
			d.blocks[len(d.blocks)-1][run.column(r)] = b
		}
	}
	slices.SortStableFunc(run.data, func(a, b *benchData) int { return cmp.Compare(packages[a.pkg], packages[b.pkg]) })
}

// benchTime counts the blocks that finished in all settings, and adds up the time from the
// first beginning to the last end of each block.
func benchTime(rs []*dyno.Result, settings []dyno.Setting) (blocks int, total time.Duration) {
	type span struct {
		from, to time.Time
		good     map[string]bool
	}
	spans := map[int]*span{}
	for _, r := range dyno.LastOfEach(rs) {
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
	for _, s := range spans {
		total += s.to.Sub(s.from)
		if len(s.good) == len(settings) {
			blocks++
		}
	}
	return blocks, total
}
