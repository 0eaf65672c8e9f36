// Package findings reads a run directory and makes of it all that reports, pages and
// gates need: the table, the profiles, traces, pictures and baselines of the run, and
// what is left out, and why.
//
// It owns which files of a directory are read for what. The arithmetic is in the
// packages of analysis, the words are in package words; it prints nothing.
package findings

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/benchstat"
	"github.com/dynolab/dyno/internal/analysis/certify"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/profiles"
	"github.com/dynolab/dyno/internal/store"
)

// Options say how to read a run. The zero value reads it as its plan says.
type Options struct {
	Base   string   // the setting that others are compared with; "" means the plan's first
	Serves []string // prefixes of functions whose goroutines are requests in execution traces, beside those of net/http
}

// Findings are what is known of a run of a service or of benchmarks.
type Findings struct {
	Dir     *store.Dir // nil of a run that wrote nothing
	Plan    *dyno.Experiment
	Table   *compare.Table
	Results []*dyno.Result  // the last of each trial, in the order of trials
	Notes   []compare.Doubt // parts of a service's run that are left out, and why; for benchmarks see Table.Doubts

	Certificate *certify.Certificate // of the service, as the run began; nil if there was none
	Expired     []certify.Expiry     // why it does not hold for the run; nil if it does

	// Only of benchmarks:
	Whys    []profiles.BenchWhy // of those that changed, in the order of the table
	Against *benchstat.Tables   // the only setting against the baseline file; nil without one
}

// Read reads a run directory, also while the run goes on. Files that cannot be read are left
// out with a note or warning. The error is that of comparing benchmarks with the baseline,
// for which bench.txt must be written before.
func Read(dir *store.Dir, o Options) (*Findings, error) {
	f := &Findings{Dir: dir, Plan: dir.Run.Plan, Results: dir.Results()}
	if f.Plan.Bench != nil {
		f.Table = compare.TabulateBenchmarks(f.Plan, f.Results)
		f.Table.Doubts = append(f.Table.Doubts, dirDoubts(dir)...)
		f.readWhys()
		return f, f.readBaseline()
	}
	opt := options(f.Plan, f.Results, dir.Run.Alone)
	if dir.Run.Looked != "" {
		opt.About = append(opt.About, dir.Run.Looked)
	}
	if since := dir.Run.Awake; since != "" {
		opt.About = append(opt.About, dyno.KeptAwake(since))
	}
	if i := slices.IndexFunc(opt.Settings, func(s dyno.Setting) bool { return s.String() == o.Base }); o.Base != "" && i > 0 {
		opt.Settings = slices.Concat(opt.Settings[i:i+1], opt.Settings[:i], opt.Settings[i+1:])
	}
	switch {
	case len(f.Plan.More) > 0:
	case dir.Run.Ended != "":
		opt.Planned = 0 // no more than there are
	case opt.Sequential:
		opt.Planned = f.Plan.MostCompared()
	}
	opt.Tails = f.tails()
	opt.Growths = f.growths()
	opt.Steadiness = f.steadiness()
	f.Notes = append(f.Notes, dirDoubts(dir)...)
	addCauses(&opt, profilesByKind(&opt, dir, f.Results), opt.Settings[0].String())
	f.Table = tabulate(f.Results, opt)
	f.attribute(o.Serves)
	f.certificate()
	return f, nil
}

// dirDoubts are what was wrong with run directories when they were opened.
func dirDoubts(dirs ...*store.Dir) (ds []compare.Doubt) {
	for _, dir := range dirs {
		for _, note := range dir.Notes() {
			ds = append(ds, compare.Doubt{Kind: dyno.WarnRunDir, Said: []string{note}})
		}
	}
	return ds
}

// Decided reports whether a run that decides itself how many blocks it takes needs no more,
// see [compare.Table.Decided].
func Decided(e *dyno.Experiment, results []*dyno.Result, d compare.Demands) bool {
	return compare.Tabulate(results, options(e, results, "")).Decided(d)
}

// Unwritten are the findings of a run of a service that has no directory.
func Unwritten(e *dyno.Experiment, results []*dyno.Result) *Findings {
	return &Findings{Plan: e, Results: results, Table: tabulate(results, options(e, results, ""))}
}

// oneProgram are doubts about settings that differ from the baseline only in the build, and ran its program.
func oneProgram(e *dyno.Experiment, results []*dyno.Result) (ds []compare.Doubt) {
	ran := map[string]string{} // sums, by setting
	for _, r := range results {
		ran[r.Trial.Setting.String()] = r.Sum
	}
	settings := e.Levels()
	base := settings[0].String()
	for _, s := range settings[1:] {
		if sum := ran[s.String()]; sum != "" && sum == ran[base] && dyno.DifferInBuild(settings[0], s) {
			ds = append(ds, compare.Doubt{Kind: dyno.WarnOneProgram, Said: []string{base, s.String()}})
		}
	}
	return ds
}

// options are those of a table; alone is as store.Run has it.
func options(e *dyno.Experiment, results []*dyno.Result, alone string) compare.Options {
	what := "subject: " + e.Subject.String()
	if ran := subjects(results); len(ran) > 0 {
		slices.Sort(ran)
		what += " (" + ShortCommits(ran) + ")"
	}
	base := e.Levels()[0]
	how := e.Trial(base).Load.String()
	for _, l := range base {
		if strings.HasPrefix(l.Factor, "load.") {
			how += "; " + l.Factor + " is varied"
		}
	}
	about := []string{what, how}
	if limits := e.Limits.String(); limits != "" {
		about = append(about, "limits: "+limits)
	}
	if where := e.On.String(); where != "" {
		about = append(about, where)
	}
	if e.Slice > 0 {
		about = append(about, e.Slices())
	}
	if slices.ContainsFunc(results, func(r *dyno.Result) bool { return r.Turns > 0 }) {
		about = append(about, e.Turns())
	}
	if e.Relink != nil && *e.Relink {
		about = append(about, dyno.Relinked)
	}
	if e.Awake != nil && *e.Awake {
		about = append(about, dyno.KeptAwake("as asked"))
	}
	if alone != "" {
		about = append(about, dyno.OneAfterTheOther(alone))
	}
	if order := e.Order(); order != "" {
		about = append(about, order)
	}
	return compare.Options{
		Name: e.Name, About: about,
		Settings: e.Levels(), Negligible: e.Negligible, Planned: e.Compared(), Thresholds: e.Thresholds,
		Sequential: e.Sequential() && len(e.More) == 0, Primary: e.PrimaryMetrics(), Doubts: oneProgram(e, results),
	}
}

// subjects are the programs that were measured, in the order of their first trials.
func subjects(results []*dyno.Result) (ran []string) {
	for _, r := range results {
		if r.Subject != "" && !slices.Contains(ran, r.Subject) {
			ran = append(ran, r.Subject)
		}
	}
	return ran
}

// longCommit is a commit of git, of which 12 digits are enough for a reader.
var longCommit = regexp.MustCompile(`\b([0-9a-f]{12})[0-9a-f]{28}\b`)

// ShortCommits lists programs, with 12 digits of their commits.
func ShortCommits(subjects []string) string {
	return longCommit.ReplaceAllString(strings.Join(subjects, "; "), "$1")
}

// Ran says what was measured, such as the Go versions and revisions.
func (f *Findings) Ran() string { return ShortCommits(subjects(f.Results)) }

// Refuse judges the run with its comparison with a baseline file; nil if it passes.
func (f *Findings) Refuse(d compare.Demands) *compare.Refusal {
	d.Worse = worse(f.Against)
	return f.Table.Refuse(d)
}

// worse counts what is worse than in a baseline file, which may be nil.
func worse(t *benchstat.Tables) (n int) {
	if t == nil {
		return 0
	}
	for _, table := range t.Tables {
		for _, row := range table.Rows {
			for _, c := range row.Cells {
				if c != nil && c.Versus != nil && c.Versus.Changed() && float64(table.Better)*(c.Versus.Ratio-1) < 0 {
					n++
				}
			}
		}
	}
	return n
}

// Median is that of a metric in a setting; NaN if not measured, or if dyno was the limit.
func Median(t *compare.Table, setting, metric string) float64 {
	i := t.Find(setting)
	if i < 0 {
		return math.NaN()
	}
	v, ok := t.Settings[i].Values[metric]
	if !ok || v.Saturated {
		return math.NaN()
	}
	return v.Center
}
