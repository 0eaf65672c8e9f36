package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/lab"
	"github.com/dynolab/dyno/report"
	"github.com/dynolab/dyno/store"
)

// outFlags say where results go and in which form they are printed.
type outFlags struct {
	dir    string
	format format
	json   bool
	strict bool       // what is unclear is an error
	steps  bool       // the result goes to the summary of GitHub's step too
	at     *store.Dir // that is reported on; nil if nothing was written
	serves []string   // prefixes of functions whose goroutines are requests, in execution traces
	otlp   otlpURL    // where live metrics go
	notes  []string   // of what was tabulated last: what is left out, and why
	base   string     // the setting that others are compared with; "" means the plan's first
}

func (o *outFlags) flags(fs *pflag.FlagSet, otherwise string) {
	fs.StringVar(&o.dir, "out", "", "the run `dir`ectory ("+otherwise+")")
	o.formatFlags(fs)
}

func (o *outFlags) formatFlags(fs *pflag.FlagSet) {
	o.format = "text"
	fs.Var(&o.format, "format", "of the result: "+strings.Join(formats[:len(formats)-1], ", ")+" or hgrm (of latency, for HdrHistogram's plotter)")
	fs.BoolVar(&o.json, "json", false, "short for --format json")
}

// create makes the run directory.
func (o *outFlags) create(run store.Run) (dir *store.Dir, err error) {
	if o.dir == "" {
		if o.dir, err = store.NewPath(run.Plan.Name, run.Started); err != nil {
			return nil, err
		}
	}
	return store.Create(o.dir, run)
}

// A format is a form in which results are printed.
type format string

func (f *format) String() string { return string(*f) }
func (f *format) Type() string   { return "name" }
func (f *format) Set(v string) error {
	if !slices.Contains(formats, v) {
		return fmt.Errorf("unknown format %q (want one of %s)", v, strings.Join(formats, ", "))
	}
	*f = format(v)
	return nil
}

// print writes a table to standard output.
func (o *outFlags) print(cmd *cobra.Command, t *compare.Table) error {
	w := cmd.OutOrStdout()
	switch {
	case o.json || o.format == "json":
		return report.JSON(w, t)
	case o.format == "markdown":
		return report.Markdown(w, t)
	}
	width, color := terminal(w)
	return report.Text(w, t, report.Options{Width: width, Color: color})
}

// printResults writes what an experiment's results are in the wanted form: of
// one trial of a load alone a summary, else the table.
func (o *outFlags) printResults(cmd *cobra.Command, e *dyno.Experiment, t *compare.Table, results []*dyno.Result) error {
	w := cmd.OutOrStdout()
	switch {
	case o.json:
	case o.format == "hgrm":
		if t.Trials == 0 {
			return nil // which is an error by itself
		}
		for _, warning := range report.Warnings(t) {
			fmt.Fprintf(cmd.ErrOrStderr(), "note: %s\n", warning)
		}
		return report.HGRM(w, results)
	case o.format == "text" && !e.Subject.Launched() && t.Planned == 1 && len(results) == 1 && seen(results[0]):
		width, color := terminal(w)
		look := report.Options{Width: width, Color: color}
		if err := report.Summary(w, results[0], t.About, look); err != nil {
			return err
		}
		return errors.Join(report.Hours(w, t, look), report.Thresholds(w, t, look))
	default:
		if done, err := o.printTable(cmd, t, results); done {
			return err
		}
	}
	return o.print(cmd, t)
}

// seen reports whether a trial came as far as to its first answer.
func seen(r *dyno.Result) bool {
	return r.Sent.Requests > 0 || len(r.Values) > 0
}

// check reports a form that the results cannot have, before they are measured.
func (o *outFlags) check(cmd *cobra.Command, e *dyno.Experiment) error {
	if f, ok := cmd.OutOrStdout().(*os.File); ok && o.format == "html" && !o.json && term.IsTerminal(int(f.Fd())) {
		return usagef("--format html is a page for a file, not for a terminal (consider: %s --format html ... > report.html)", cmd.CommandPath())
	}
	if n := len(e.Levels()); o.format == "hgrm" && !o.json && n > 1 {
		return usagef("--format hgrm shows one setting, and there are %d (consider: --format text, or the latency.hlog of each trial)", n)
	}
	return nil
}

// measureInto measures an experiment into a run directory, after the subjects
// are built.
func measureInto(cmd *cobra.Command, e *dyno.Experiment, o *outFlags, open func() (*store.Dir, error)) error {
	if err := o.check(cmd, e); err != nil {
		return err
	}
	hands, release, err := openLab(cmd, e)
	if err != nil {
		return err
	}
	dir, err := open()
	if err != nil {
		return errors.Join(err, release())
	}
	defer dir.Close()
	for _, note := range dir.Notes() {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: %s\n", note)
	}
	hands.Dir, hands.Skip, hands.Keep = dir.TrialDir, dir.Done, dir.WriteRequests
	err = conduct(cmd, hands, e, o, dir.Add)
	return finish(cmd, dir, o, errors.Join(err, release()))
}

// measureOnly measures without a run directory.
func measureOnly(cmd *cobra.Command, e *dyno.Experiment, o *outFlags) error {
	if err := o.check(cmd, e); err != nil {
		return err
	}
	if o.format == "html" && !o.json {
		return usagef("--format html shows a run directory (consider: --out DIR)")
	}
	hands, release, err := openLab(cmd, e)
	if err != nil {
		return err
	}
	hands.Dir = func(int) (string, error) { return "", nil }
	var results []*dyno.Result
	// There is nothing to go on with later, so what a trial measured until it
	// was interrupted is shown now.
	hands.Interrupted = func(r *dyno.Result) {
		if r.Latency != nil && r.Latency.Count() > 0 {
			r.Err = ""
			r.Warnings.Add(dyno.WarnInterrupted, "the trial was interrupted: it is shown as far as it came")
			results = append(results, r)
		}
	}
	err = conduct(cmd, hands, e, o, func(r *dyno.Result) error {
		results = append(results, r)
		return nil
	})
	table := compare.Tabulate(results, options(e, results))
	err = errors.Join(err, release(), o.printResults(cmd, e, table, results), nothing(table))
	return o.end(cmd, table, err)
}

// end is the end of a command that measured: the result goes where it is
// wanted too, and if nothing else went wrong, thresholds decide.
func (o *outFlags) end(cmd *cobra.Command, t *compare.Table, err error) error {
	if o.steps {
		stepSummary(cmd.ErrOrStderr(), t)
	}
	if err != nil {
		return err
	}
	return o.gate(t)
}

// openLab builds the subjects of a plan. The caller releases the lab.
func openLab(cmd *cobra.Command, e *dyno.Experiment) (hands *lab.Lab, release func() error, err error) {
	hands, release, err = lab.Open()
	if err != nil {
		return nil, nil, err
	}
	if e.Subject.Source() {
		fmt.Fprintf(cmd.ErrOrStderr(), "building %s\n", e.Subject.String())
	}
	if err := hands.PrepareAll(cmd.Context(), e); err != nil {
		return nil, nil, errors.Join(err, release())
	}
	return hands, release, nil
}

// finish writes the files that are made from results, and reports: also after
// an interrupt or an error, whatever was measured by then.
func finish(cmd *cobra.Command, dir *store.Dir, o *outFlags, err error) error {
	results := dir.Results()
	ready := patience(cmd.ErrOrStderr(), "reading what was measured, for the report ...")
	table := tabulate(cmd, dir, o, results)
	err = errors.Join(err, conclude(dir, table, results, o.notes))
	ready()
	if errors.Is(err, errInterrupted) {
		fmt.Fprintf(cmd.ErrOrStderr(), "interrupted: the report is partial, with pictures in %s; go on with dyno run --resume %s\n",
			filepath.Join(dir.Path, pageFile), dir.Path)
	}
	o.at = dir
	err = errors.Join(err, o.printResults(cmd, dir.Run.Plan, table, results), nothing(table), missed(dir.Run.Plan, results))
	return o.end(cmd, table, err)
}

// patience asks for it with a line, if what is done until the caller says so takes
// long: millions of requests are read in seconds, in which nothing else is seen.
func patience(w io.Writer, line string) (ready func()) {
	said := make(chan struct{})
	timer := time.AfterFunc(2*time.Second, func() {
		fmt.Fprintln(w, line)
		close(said)
	})
	return func() {
		if !timer.Stop() {
			<-said
		}
	}
}

// conduct runs the trials, showing progress.
func conduct(cmd *cobra.Command, hands *lab.Lab, e *dyno.Experiment, o *outFlags, sink func(*dyno.Result) error) error {
	total, done := len(e.Trials()), 0
	for n := 1; hands.Skip != nil && n <= total; n++ {
		if hands.Skip(n) {
			done++
		}
	}
	if e.Slice > 0 { // one launch, and results when it is over
		total, done = 1, 0
	}
	p := newProgress(cmd.ErrOrStderr(), total, done)
	defer p.close()
	hands.Watch = p.begin
	defer o.otlp.follow(hands, e, p.note)()
	return hands.Run(cmd.Context(), e, func(r *dyno.Result) error {
		if e.Slice == 0 {
			p.end(r)
		}
		return sink(r)
	})
}

// commit is a git commit, of which 12 digits are enough for a reader.
var commit = regexp.MustCompile(`\b([0-9a-f]{12})[0-9a-f]{28}\b`)

// options are those of a table of the experiment's own results.
func options(e *dyno.Experiment, results []*dyno.Result) compare.Options {
	what := "subject: " + e.Subject.String()
	var ran []string
	for _, r := range results {
		if r.Subject != "" && !slices.Contains(ran, r.Subject) {
			ran = append(ran, r.Subject)
		}
	}
	if len(ran) > 0 {
		slices.Sort(ran)
		what += " (" + commit.ReplaceAllString(strings.Join(ran, "; "), "$1") + ")"
	}
	base := e.Levels()[0]
	i := slices.IndexFunc(e.Trials(), func(t dyno.Trial) bool { return t.Setting.String() == base.String() })
	how := e.Trials()[i].Load.String()
	for _, l := range base {
		if strings.HasPrefix(l.Factor, "load.") {
			how += "; " + l.Factor + " is varied"
		}
	}
	about := []string{what, how}
	if limits := e.Limits.String(); limits != "" {
		about = append(about, "limits: "+limits)
	}
	if e.Slice > 0 {
		about = append(about, e.Slices())
	}
	return compare.Options{
		Name: e.Name, About: about,
		Settings: e.Levels(), Negligible: e.Negligible, Planned: e.Compared(), Thresholds: e.Thresholds,
	}
}

// pageFile is the report of a run that opens in a browser.
const pageFile = "report.html"

// conclude writes the files of a run directory that are made from its results.
func conclude(dir *store.Dir, t *compare.Table, results []*dyno.Result, left []string) error {
	return errors.Join(
		dir.WriteFile("summary.json", func(w io.Writer) error { return report.JSON(w, t) }),
		dir.WriteFile("bench.txt", func(w io.Writer) error {
			h := dir.Run.Host
			fmt.Fprintf(w, "goos: %s\ngoarch: %s\ncpu: %s\n", h.OS, h.Arch, cmp.Or(h.CPU, "unknown"))
			return report.Bench(w, baselineFirst(dir.Run.Plan, results), dir.Run.Plan.Name)
		}),
		concludePage(dir, t, results, left),
	)
}

// concludePage writes the report of a run directory. On a full disk there is all that
// it is made of, as that was synced before.
func concludePage(dir *store.Dir, t *compare.Table, results []*dyno.Result, left []string) error {
	err := dir.WriteFile(pageFile, func(w io.Writer) error { return writePage(w, dir, t, results, left) })
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("%w; what was measured is whole (consider: dyno report %s --format html > FILE, on another disk)", err, dir.Path)
	}
	return err
}

// baselineFirst returns results in the order of settings: benchstat takes what
// comes first in the file as its base.
func baselineFirst(e *dyno.Experiment, results []*dyno.Result) []*dyno.Result {
	place := map[string]int{}
	for i, s := range e.Levels() {
		place[s.String()] = i
	}
	return slices.SortedStableFunc(slices.Values(results), func(a, b *dyno.Result) int {
		return place[a.Trial.Setting.String()] - place[b.Trial.Setting.String()]
	})
}

// errNothing: no data is a failure, never a pass.
var errNothing = errors.New("no trial finished")

// missed is an error if the plan wants profiles or traces, all the trials for
// them were run, and none brought one.
func missed(e *dyno.Experiment, results []*dyno.Result) error {
	for _, want := range []struct {
		purpose string
		wanted  bool
	}{{dyno.ForProfile, len(e.Profile) > 0}, {dyno.ForTrace, e.Trace > 0}} {
		ran, taken := 0, 0
		for _, r := range results {
			if r.Trial.For == want.purpose {
				ran++
				if r.Err == "" {
					taken++
				}
			}
		}
		if want.wanted && ran > 0 && taken == 0 {
			return fmt.Errorf("no %s was taken: all trials for it failed", want.purpose)
		}
	}
	return nil
}

func nothing(t *compare.Table) error {
	if t.Trials > 0 {
		return nil
	}
	return errNothing
}

// describe says what run.json says of a run.
func describe(e *dyno.Experiment, command []string) store.Run {
	all := e.Resolved()
	run := store.Run{
		Dyno: version(), Started: time.Now(), Command: command, Plan: &all,
		Host: store.Host{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()},
	}
	run.Host.Name, _ = os.Hostname()
	for _, s := range e.Levels() {
		run.Settings = append(run.Settings, s.String())
	}
	if e.Subject.Source() {
		out, _ := exec.Command("go", "env", "GOVERSION").Output()
		run.Host.Go = strings.TrimSpace(string(out))
	}
	run.Host.Kernel, run.Host.CPU, run.Host.Memory = lab.Describe()
	return run
}
