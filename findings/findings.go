// Package findings reads a run directory of dyno: the verdicts and intervals of a report as Go values.
//
// [Open] opens a directory that dyno run or dyno bench has written, and [Read] returns its [Findings]. The
// [Table] in them has a cell for each metric and setting, with its comparison with the baseline, and the
// thresholds that were judged. [Findings.Refuse] says whether the run passes, as the exit status of dyno does.
// Profiles, execution traces and pictures of response times are read by functions of their own.
//
// The types that a caller has to write have names here, such as [Versus]. Functions that take other types of
// packages below internal are for dyno itself, and may change.
//
// The package owns which files of a directory are read for what. The arithmetic is in the packages of analysis,
// the words are in package words. It prints nothing.
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
	"github.com/dynolab/dyno/internal/plan/how"
)

// Options say how to read a run. The zero value reads it as its plan says.
type Options struct {
	Base   string   // the baseline, such as "GOGC=100"; "" means the plan's first setting
	Serves []string // prefixes of functions whose goroutines handle requests, for execution traces, beside those of net/http and gRPC; or types of regions and tasks that are requests

	SlowerThan float64 // the quantile above which requests are slow, for execution traces; 0 means 0.99
	Keep       bool    // write what takes seconds to read into the run directory, for the next time
}

// Findings are what a run of a service or of benchmarks has shown.
type Findings struct {
	Dir     *Dir // nil if the run wrote nothing
	Plan    *dyno.Experiment
	Table   *Table
	Results []*dyno.Result  // the last result of each trial, in the order of trials
	Notes   []compare.Doubt // parts of a service's run that are left out, and why; those of benchmarks are in Table.Doubts

	Certificate *certify.Certificate // the service's, when the run began; nil if there was none
	Expired     []certify.Expiry     // why the certificate does not hold for the run; nil if it does

	// Only of benchmarks:
	Whys    []profiles.BenchWhy // what changed in the profiles of changed benchmarks, in the order of the table
	Against *benchstat.Tables   // the only setting compared with the baseline file; nil without such a file
}

// Read reads the results of a run directory, also while the run goes on. Files that cannot be read are left
// out with a note or a warning. Read fails only if benchmarks cannot be compared with their baseline file.
// That comparison reads bench.txt, which must have been written before.
func Read(dir *Dir, o Options) (*Findings, error) {
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
		opt.About = append(opt.About, how.KeptAwake(since))
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
	addStatements(&opt, f.Results, opt.Settings[0].String())
	f.Table = tabulate(f.Results, opt)
	f.attribute(o.Serves)
	f.whySlow(o)
	f.certificate()
	return f, nil
}

// dirDoubts returns what was wrong with run directories when they were opened.
func dirDoubts(dirs ...*Dir) (ds []compare.Doubt) {
	for _, dir := range dirs {
		for _, note := range dir.Notes() {
			ds = append(ds, compare.Doubt{Kind: dyno.WarnRunDir, Said: []string{note}})
		}
	}
	return ds
}

// Decided reports whether a run without a fixed number of blocks has enough of them, see
// [compare.Table.Decided].
func Decided(e *dyno.Experiment, results []*dyno.Result, d compare.Demands) bool {
	return compare.Tabulate(results, options(e, results, "")).Decided(d)
}

// Unwritten returns the findings of a run of a service that has no directory.
func Unwritten(e *dyno.Experiment, results []*dyno.Result) *Findings {
	return &Findings{Plan: e, Results: results, Table: tabulate(results, options(e, results, ""))}
}

// oneProgram returns a doubt for each setting that differs from the baseline only in the build, and ran the
// same program.
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

// options returns the options of a table; alone is the field of store.Run.
func options(e *dyno.Experiment, results []*dyno.Result, alone string) compare.Options {
	what := "subject: " + e.Subject.String()
	if ran := subjects(results); len(ran) > 0 {
		slices.Sort(ran)
		what += " (" + ShortCommits(ran) + ")"
	}
	base := e.Levels()[0]
	load := e.Trial(base).Load.String()
	for _, l := range base {
		if strings.HasPrefix(l.Factor, "load.") {
			load += "; " + l.Factor + " is varied"
		}
	}
	about := []string{what, load}
	if limits := e.Limits.String(); limits != "" {
		about = append(about, "limits: "+limits)
	}
	if needs := how.Needs(e); needs != "" {
		about = append(about, needs)
	}
	if where := e.On.String(); where != "" {
		about = append(about, where)
	}
	if e.Slice > 0 {
		about = append(about, how.Slices(e))
	}
	if slices.ContainsFunc(results, func(r *dyno.Result) bool { return r.Turns > 0 }) {
		about = append(about, how.Turns(e))
	}
	if e.Relink != nil && *e.Relink {
		about = append(about, how.Relinked)
	}
	if e.Awake != nil && *e.Awake {
		about = append(about, how.KeptAwake("as asked"))
	}
	if alone != "" {
		about = append(about, how.OneAfterTheOther(alone))
	}
	if order := how.Order(e); order != "" {
		about = append(about, order)
	}
	return compare.Options{
		Name: e.Name, About: about,
		Settings: e.Levels(), Negligible: e.Negligible, Planned: e.Compared(), Thresholds: e.Thresholds,
		Uses: usesOf(e), Sequential: e.Sequential() && len(e.More) == 0, Primary: e.PrimaryMetrics(), Doubts: oneProgram(e, results),
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

// longCommit matches a commit of git. Readers need only 12 digits of it.
var longCommit = regexp.MustCompile(`\b([0-9a-f]{12})[0-9a-f]{28}\b`)

// ShortCommits joins the descriptions of programs, with commits cut to 12 digits.
func ShortCommits(subjects []string) string {
	return longCommit.ReplaceAllString(strings.Join(subjects, "; "), "$1")
}

// Ran returns what was measured, such as the Go versions and revisions, in words.
func (f *Findings) Ran() string { return ShortCommits(subjects(f.Results)) }

// Refuse judges the run, with its comparison with a baseline file if it has one. It returns nil if the run
// passes.
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

// Median returns the median of a metric in a setting. It is NaN if the metric was not measured, or if dyno
// was the limit.
func Median(t *Table, setting, metric string) float64 {
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
