// Package bisecting searches for the version of a program that changed a metric, for dyno bisect and dyno track. Package bisect thinks; here its
// questions meet builds, git and the report.
package bisecting

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/bisect"
	"github.com/dynolab/dyno/internal/campaign"
	"github.com/dynolab/dyno/internal/campaign/versions"
	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/dynolab/dyno/internal/report/bisected"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/store"
)

// Flags are those of a bisection, as given.
type Flags struct {
	Good, Bad string
	Metric    string
	Error     string
	Alive     int
	All       bool
	Open      bool // merges that are the answer
}

// A Bisection looks for the version that changed a metric.
type Bisection struct {
	*campaign.Campaign
	bisect.Search
	Record *store.Record
	Dir    string // "" for a new one below dyno-runs

	list   *versions.List
	code   versions.Code      // of benchmarks
	opened map[int]*Bisection // merges, by version; nil if none is to be opened
}

// New checks what is asked for, and lists the versions. e is the plan, with its secrets.
func New(ctx context.Context, c *campaign.Campaign, r *store.Record, e *dyno.Experiment, dir string, o Flags) (*Bisection, error) {
	s := &e.Subject
	chance, err := dyno.ParseFraction(o.Error)
	switch {
	case e.Bench == nil && !s.Source():
		return nil, flags.Mistakef("bisect builds versions of a service, but %s is already built (consider: its package, or MODULE@v1.0.0..v1.2.0)", s)
	case len(e.Levels()) > 1:
		return nil, flags.Mistakef("bisect varies the version alone, but the plan has %d settings (consider: a plan without vary)", len(e.Levels()))
	case e.Slice > 0 || e.On.Kubernetes != nil || e.Load.Command != "" || e.Load.None:
		return nil, flags.Mistakef("bisect launches each version on this machine, with dyno's own load (consider: a plan without slice, on and load.command)")
	case err != nil || chance <= 0 || chance >= 0.5:
		return nil, flags.Mistakef("--error %s: want a share, for example 5%%", o.Error)
	case o.Alive < 3 || o.Alive > 6:
		return nil, flags.Mistakef("--alive %d: want 3 to 6", o.Alive)
	case o.Open && s.Module != "":
		return nil, flags.Mistakef("--all-parents opens merges, and released versions have none (consider: the package in a clone)")
	}
	metric := ""
	if o.Metric != "" && e.Bench != nil {
		if metric, err = unitOf(o.Metric); err != nil {
			return nil, err
		}
	} else if o.Metric != "" {
		m, err := dyno.MetricOf(dyno.ThresholdName(o.Metric), e.MetricNames())
		if err != nil || m.Better == 0 {
			return nil, flags.Mistakef("--metric %s: want a metric with a direction, such as cpu_per_req (consider: dyno help metrics)", o.Metric)
		}
		metric = m.Name
	}
	b := &Bisection{Campaign: c, Record: r, Dir: dir}
	if o.Open {
		b.opened = map[int]*Bisection{}
	}
	b.Metric, b.Most, b.Error, b.All = metric, o.Alive, float64(chance), o.All
	if s.Module != "" {
		b.list, err = versions.Published(ctx, e, o.Good, o.Bad)
	} else {
		b.list, err = versions.Commits(ctx, e, o.Good, o.Bad)
	}
	if err != nil {
		return nil, err
	}
	all := b.list.All
	if last := all[len(all)-1]; last.ID != "" && r.Dir() == "" { // so that a later session means the same, whatever was committed meanwhile
		r.Flags["good"], r.Flags["bad"] = []string{all[0].ID}, []string{last.ID}
	}
	own := *e
	own.Factors, own.Settings, own.Thresholds, own.Repeats, own.Within = nil, nil, nil, 0, 0 // of one run; here each takes what it needs
	b.Plan = &own
	if e.Bench != nil {
		own.Profile = nil
		bench := *e.Bench // each run takes the blocks that it needs
		bench.Blocks, bench.Resumed, own.Bench = 0, nil, &bench
	}
	b.among()
	b.Tell = func(format string, args ...any) { fmt.Fprintf(c.Stderr, format+"\n", args...) }
	return b, nil
}

// among makes the versions of the list those that are searched.
func (b *Bisection) among() {
	for _, v := range b.list.All {
		b.Versions = append(b.Versions, v.Level)
	}
	b.Build = b.build
	if b.Plan.Bench != nil {
		b.Build = b.compile
	}
	if b.opened != nil {
		b.Branch = b.open
	}
}

// open makes the search among the commits that a version merges. It is nil if there are none, or they cannot be searched, as a note says.
func (b *Bisection) open(ctx context.Context, v int) (*bisect.Search, error) {
	good, bad, err := b.list.Merged(ctx, v)
	if err == nil && good == "" {
		return nil, nil
	}
	var list *versions.List
	if err == nil {
		list, err = versions.Commits(ctx, b.Plan, good, bad)
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		b.list.Notes = append(b.list.Notes, unopened(b.Versions[v].Value, err))
		return nil, nil
	}
	n := &Bisection{Campaign: b.Campaign, Record: b.Record, list: list, opened: map[int]*Bisection{}}
	n.Problem = b.Problem
	n.Versions = nil
	n.among()
	b.opened[v] = n
	return &n.Search, nil
}

func unopened(merge string, why error) string {
	return fmt.Sprintf("%s is a merge whose commits dyno cannot search: %s.", merge, firstLine(why))
}

func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}

// build makes a version, and says which program it is.
func (b *Bisection) build(ctx context.Context, v int) (string, error) {
	return b.Program(ctx, b.Plan, dyno.Setting{b.Versions[v]})
}

// Print says what would be measured.
func (b *Bisection) Print(w io.Writer) error {
	text, err := findings.PlanText(b.Subjects())
	if err != nil {
		return err
	}
	passed := ""
	if b.list.Passed > 0 {
		passed = fmt.Sprintf(", %d of which cannot have changed the program", b.list.Passed)
	}
	fmt.Fprintf(w, "%s%s:\n\n", layout.Count(len(b.list.All)-1+b.list.Passed, b.unit()), passed)
	for i, v := range b.list.All {
		end := map[int]string{0: "good", len(b.list.All) - 1: "bad"}[i]
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("%-4s  %s  %s", end, v.Level.Value, v.Title), " "))
	}
	fmt.Fprintf(w, "\n%s\n\nthe plan of the first run:\n\n%s", b.forecast(), text)
	return nil
}

// forecast says how long it takes.
func (b *Bisection) forecast() string {
	n, looks := len(b.Versions)-1, 0
	if n == 1 {
		return "one " + b.unit() + " can have changed it: a run of the ends, and one of them alone, of at most six minutes each, and their builds"
	}
	for gap := float64(len(b.Versions) - 1); gap > 1; gap /= float64(b.Most - 1) {
		looks++
	}
	text := fmt.Sprintf("%s can have changed it: a run of the ends, %d to %s between them, and one or two of a pair alone, of at most six minutes each, and their builds", layout.Count(n, b.unit()), looks, layout.Count(2*looks+3, "run"))
	if b.opened != nil && slices.ContainsFunc(b.list.All, func(v versions.Version) bool { return len(v.Parents) > 1 }) {
		text += "; the commits of a merge are a search of their own"
	}
	return text
}

// Run asks, and writes the answer. With an error, which may be the context's, the report has what is known so far; it is nil if there is
// nothing, or less than in an earlier session.
func (b *Bisection) Run(ctx context.Context) (campaign.Answer, string, error) {
	b.Note("%s", b.forecast())
	return b.Campaign.Ask(ctx, &b.Search, b.Record, b.Dir, func(dir string, cut bool) campaign.Answer {
		return b.report(ctx, dir, cut)
	})
}

// report is what was found, also inside of merges.
func (b *Bisection) report(ctx context.Context, dir string, cut bool) *bisected.Report {
	r := &bisected.Report{
		Answer: b.Answer, Passed: b.list.Passed, Unit: b.unit(), Notes: slices.Clone(b.list.Notes), Error: b.Error, Opened: map[int]*bisected.Report{},
		Name: b.Plan.Name, Dyno: b.Version, Plan: store.Redacted(b.Record.Plan), Made: time.Now(), Dir: dir, Interrupted: cut}
	for _, v := range b.list.All {
		r.Versions = append(r.Versions, bisected.Version{Name: v.Level.Value, Title: v.Title, Date: v.Date, Files: v.Files})
	}
	if b.Answer.PairRun != "" {
		b.explain(ctx, r)
	}
	for _, v := range slices.Sorted(maps.Keys(b.opened)) {
		n := b.opened[v]
		switch why := n.Answer.Why; {
		case why != nil && n.Answer.Begun():
			r.Notes = append(r.Notes, fmt.Sprintf("The search among the commits that %s merges ended early: %s.", b.Versions[v].Value, firstLine(why)))
		case why != nil:
			r.Notes = append(r.Notes, unopened(b.Versions[v].Value, why))
		}
		if n.Answer.Begun() {
			r.Opened[v] = n.report(ctx, dir, !n.Done)
			r.Opened[v].Merge = b.Versions[v].Value
		}
	}
	return r
}

// explain adds which function accounts for the change: by the profiles of the pair, or by the source of what takes time.
func (b *Bisection) explain(ctx context.Context, r *bisected.Report) {
	ctx = context.WithoutCancel(ctx) // git answers at once, also after an interrupt
	a := &b.Answer
	if b.opened[a.Hi] == nil {
		r.Inside[0], r.Inside[1], _ = b.list.Merged(ctx, a.Hi)
	}
	touched, known, _ := b.list.Touched(ctx, a.Lo, a.Hi, a.Name != "") // what git does not say is not known
	r.Known = known
	for _, f := range touched {
		r.Touched = append(r.Touched, bisected.Func(f))
	}
	kind := profileOf(a.Metric)
	dir, err := store.Read(filepath.Join(r.Dir, a.PairRun))
	if err != nil || kind == "" {
		return
	}
	if diff, err := findings.FunctionsOf(dir, a.Benchmark(), kind); err == nil {
		r.Profiled = true
		r.Function = bisected.FunctionOf(diff, r.Touched, a.Pair.Diff > 0)
	}
}

// profileOf is the profile that measures a metric, "" if none does.
func profileOf(metric string) string {
	switch metric {
	case "cpu-sec/req", "sec/op":
		return "cpu"
	case "alloc-B/req", "allocs/req", "B/op", "allocs/op":
		return "allocs"
	}
	return ""
}

// Undecided reports whether two versions differ, and none between them is shown to have changed the metric.
func (b *Bisection) Undecided() bool {
	return b.Answer.Kind == bisect.Undecided || slices.ContainsFunc(b.Answer.More, func(a bisect.Answer) bool { return a.Kind == bisect.Undecided })
}

// unit is what versions are called.
func (b *Bisection) unit() string {
	if b.Versions[0].Factor == "rev" {
		return "commit"
	}
	return "version"
}

// unitOf is the unit of benchmarks that a flag names, such as sec_per_op.
func unitOf(name string) (string, error) {
	units := []string{"sec/op", "B/op", "allocs/op", "B/s"}
	m, err := dyno.MetricOf(dyno.ThresholdName(name), units)
	if err != nil || !slices.Contains(units, m.Name) {
		return "", flags.Mistakef("--metric %s: want one of sec_per_op, allocs_per_op, B_per_op and B_per_s", name)
	}
	return m.Name, nil
}

// compile makes the tests of a version, once it is known which benchmark is looked at, and says which code that runs.
func (b *Bisection) compile(ctx context.Context, v int) (string, error) {
	y := &b.Answer.Yardstick
	if y.Name == "" {
		return "", nil
	}
	t, mistake := b.Plan.Written(dyno.Setting{b.Versions[v]})
	if mistake != nil {
		return "", mistake
	}
	b.code.Hands = b.Bencher()
	like, err := b.code.Like(ctx, &t, y.Package, y.Name, v)
	if err != nil {
		return "", err
	}
	return "as in " + b.Versions[like].Value, nil
}
