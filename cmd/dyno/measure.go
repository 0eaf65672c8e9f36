package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/cmd/dyno/progress"
	"github.com/dynolab/dyno/cmd/dyno/remote"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/lab"
	"github.com/dynolab/dyno/lab/look"
	"github.com/dynolab/dyno/plan/flags"
	"github.com/dynolab/dyno/report"
	"github.com/dynolab/dyno/report/export"
	"github.com/dynolab/dyno/report/layout"
	"github.com/dynolab/dyno/report/words"
	"github.com/dynolab/dyno/store"
	"github.com/dynolab/dyno/subject/awake"
	"github.com/dynolab/dyno/subject/guard"
)

// measureInto makes a run directory after the subjects are built, unless it goes on with
// one.
func measureInto(cmd *cobra.Command, e *dyno.Experiment, o *outFlags, dir *store.Dir) error {
	if err := o.check(cmd, e); err != nil {
		return err
	}
	hands, release, err := openLab(cmd, e)
	if err != nil {
		return err
	}
	if dir == nil {
		noteUnhidden(cmd, e)
		if err = o.chooseLoad(cmd, hands, e); err == nil {
			dir, err = o.create(e)
		}
		if err != nil {
			return errors.Join(err, release())
		}
	}
	defer dir.Close()
	if o.more > 0 {
		if err := dir.WritePlan(); err != nil {
			return errors.Join(err, release())
		}
	}
	err = fill(cmd, hands, e, o, dir)
	if err == nil && len(e.Profile) > 0 && hands.Sources != nil { // while worktrees of revisions are here
		err = findings.KeepOfService(dir, func(setting string) map[string]string {
			for _, s := range e.Levels() {
				if s.String() == setting {
					return hands.Sources(cmd.Context(), e.Trial(s).Subject)
				}
			}
			return nil
		})
	}
	return o.conclude(cmd, dir, errors.Join(err, release()))
}

// chooseLoad chooses what a plan leaves open of its load.
func (o *outFlags) chooseLoad(cmd *cobra.Command, hands *lab.Lab, e *dyno.Experiment) error {
	if !look.Open(e) || cmd.Flags().Changed("warmup") {
		return nil
	}
	notef(cmd, "a look at the service chooses the load, as neither its length (-d, -n) nor its warm-up (-w) is said")
	temp := guard.TempName(os.TempDir())
	scratch, err := guard.Start(guard.Job{Scratch: []string{temp}}, guard.IO{})
	if err != nil {
		return err
	}
	defer scratch.Stop(0)
	c, err := look.Choose(cmd.Context(), hands, e, temp)
	if err == nil {
		notef(cmd, "%s", c.Why)
		c.Apply(&e.Load)
		o.looked = c.Why
	}
	return err
}

// noteUnhidden warns of secrets that are too short to be kept out of the run directory.
func noteUnhidden(cmd *cobra.Command, e *dyno.Experiment) {
	for _, name := range store.Unhidden(e) {
		notef(cmd, "the value of %s has fewer than 6 characters, so it stays readable in the run directory", name)
	}
}

// fill runs the trials that a run directory lacks.
func fill(cmd *cobra.Command, hands *lab.Lab, e *dyno.Experiment, o *outFlags, dir *store.Dir) error {
	noteLosses(cmd, dir)
	missing := dir.Missing()
	hands.Dir, hands.Keep = dir.TrialDir, dir.WriteRequests
	hands.Skip = func(n int) bool { return !slices.Contains(dir.Missing(), n) }
	var failed [3]error
	hands.Alone = func(why string) { failed[0] = dir.SetAlone(why) }
	hands.Awake = func(since string) { failed[2] = dir.SetAwake(since) }
	if err := hands.Keeper.Resume(dir.Run.Awake); err != nil {
		hands.Awake(fmt.Sprintf("%s; not since this session: %v", dir.Run.Awake, err))
	} else if since := hands.Keeper.Since(); since != "" {
		hands.Awake(since)
	}
	hands.Over = func(ended dyno.Ended) { failed[1] = dir.SetEnded(ended) }
	err := conduct(cmd, hands, e, o, e.Planned()-len(missing), dir.Brief, dir.Add)
	return errors.Join(err, failed[0], failed[1], failed[2])
}

func measureOnly(cmd *cobra.Command, e *dyno.Experiment, o *outFlags) error {
	if err := o.check(cmd, e); err != nil {
		return err
	}
	if o.form() == "html" {
		return flags.Mistakef("--format html needs a run directory (consider: --out DIR)")
	}
	hands, release, err := openLab(cmd, e)
	if err != nil {
		return err
	}
	hands.Dir, hands.Awake = func(int) (string, error) { return "", nil }, nil
	var results []*dyno.Result
	hands.Alone = func(string) { results = slices.DeleteFunc(results, (*dyno.Result).Beside) }
	// An interrupted trial is shown, as it cannot be gone on with.
	hands.Interrupted = func(r *dyno.Result) {
		if r.Latency != nil && r.Latency.Count() > 0 {
			r.Err = ""
			r.Warnings.Add(dyno.WarnInterrupted, "the trial was interrupted: its results are partial")
			results = append(results, r)
		}
	}
	all := func() []*dyno.Result { return results }
	err = conduct(cmd, hands, e, o, 0, all, func(r *dyno.Result) error {
		results = append(results, r)
		return nil
	})
	return o.end(cmd, findings.Unwritten(e, results), errors.Join(err, release()))
}

// openLab builds the subjects of a plan. The caller releases the lab.
func openLab(cmd *cobra.Command, e *dyno.Experiment) (hands *lab.Lab, release func() error, err error) {
	hands, remove, err := remote.Open(cmd.Context(), e, version())
	if err != nil {
		return nil, nil, err
	}
	if err := prepare(cmd, hands, e); err != nil {
		return nil, nil, errors.Join(err, remove())
	}
	hands.Awake = func(since string) { notef(cmd, "%s", dyno.KeptAwake(since)) }
	if hands.Keeper, err = awake.For(e); err != nil {
		return nil, nil, errors.Join(err, remove())
	}
	return hands, func() error {
		if hands.Keeper.Stop() && hands.Awake != nil {
			hands.Awake(strings.TrimPrefix(hands.Keeper.Since()+"; they ended before the run did", "; "))
		}
		return remove()
	}, nil
}

// prepare builds the subjects of a plan that are not yet built.
func prepare(cmd *cobra.Command, hands *lab.Lab, e *dyno.Experiment) (err error) {
	if e.Subject.Source() {
		b := progress.NewBuild(cmd.ErrOrStderr(), e.Subject.String())
		hands.Building = b.Step
		err = hands.PrepareAll(cmd.Context(), e)
		b.Close()
	} else {
		err = hands.PrepareAll(cmd.Context(), e)
	}
	if err != nil {
		return err
	}
	base := e.Levels()[0].String()
	for _, s := range hands.OneProgram(cmd.Context(), e) {
		notef(cmd, "%s", words.OneProgram(base, s.String()))
	}
	for _, name := range hands.Unnamed(cmd.Context(), e) {
		notef(cmd, "%s", words.Unnamed(name))
	}
	return nil
}

// conduct runs the trials that are left, and shows the progress. known is the number of trials
// that finished before, results are all that finished, sink gets a new one.
func conduct(cmd *cobra.Command, hands *lab.Lab, e *dyno.Experiment, o *outFlags, known int, results func() []*dyno.Result, sink func(*dyno.Result) error) error {
	endDecided(hands, e, compare.Demands{NotWorse: o.failWorse}, results)
	if o.enough != nil {
		hands.Enough = o.enough
	}
	p := progress.NewTrials(cmd.ErrOrStderr(), e, known, hands.Least)
	defer p.Close()
	hands.Watch = p.Begin
	keep := hands.Alone
	hands.Alone = func(why string) {
		if p.Note("settings run one after the other: %s", why); keep != nil {
			keep(why)
		}
	}
	told := hands.Awake
	hands.Awake = func(since string) {
		if p.Note("%s", dyno.KeptAwake(since)); told != nil {
			told(since)
		}
	}
	hands.Void = func(r *dyno.Result, again bool) { p.Note("%s", words.Void(r, again)) }
	defer o.otlp.Follow(hands, e, version(), p.Note)()
	return hands.Run(cmd.Context(), e, func(r *dyno.Result) error {
		err := sink(r)
		if e.Slice == 0 && (err == nil || errors.Is(err, store.ErrLost)) { // it is kept
			p.End(r)
		}
		return err
	})
}

// endDecided lets a run that decides itself how many blocks it takes end by its results so far.
func endDecided(hands *lab.Lab, e *dyno.Experiment, demands compare.Demands, results func() []*dyno.Result) {
	hands.Least = demands.Least()
	hands.Enough = func(int) bool { return findings.Decided(e, results(), demands) }
}

// create makes the run directory.
func (o *outFlags) create(e *dyno.Experiment) (dir *store.Dir, err error) {
	all := e.Resolved()
	run := store.Run{
		Dyno: version(), Started: time.Now(), Command: os.Args, Plan: &all, Host: thisHost(e), Looked: o.looked,
	}
	for _, s := range e.Levels() {
		run.Settings = append(run.Settings, s.String())
	}
	if o.dir == "" {
		if o.dir, err = store.NewPath(all.Name, run.Started); err != nil {
			return nil, err
		}
	}
	if dir, err = store.Create(o.dir, run); err != nil {
		return nil, err
	}
	return dir, copyCertificate(e, dir)
}

// thisHost is this machine, with the go command that builds what e measures.
func thisHost(e *dyno.Experiment) store.Host {
	h := store.Host{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()}
	h.Name, _ = os.Hostname()
	if e.Subject.Source() || e.Bench != nil {
		h.Go = goVersion(context.Background(), e.Subject.Dir)
	}
	h.Kernel, h.CPU, h.Memory = lab.Describe()
	return h
}

// pageFile is the report of a run that opens in a browser.
const pageFile = "report.html"

// A run directory that was removed is looked at again after removal, the time that a large
// one takes to go, and written again mostRemovals times at most.
const (
	removal      = 500 * time.Millisecond
	mostRemovals = 10
)

// conclude writes the reports of a run directory, also after an interrupt or an error.
func (o *outFlags) conclude(cmd *cobra.Command, dir *store.Dir, err error) error {
	lost := dir.Rescue()
	reading := progress.Reading(cmd.ErrOrStderr())
	f, e, wrote := readAndWrite(dir)
	for range mostRemovals { // it can go while it is written, and a removal may still be under way
		if errors.Is(lost, store.ErrLost) {
			time.Sleep(removal)
		}
		now := dir.Rescue()
		if now == lost {
			break
		}
		lost = now
		f, e, wrote = readAndWrite(dir)
	}
	if errors.Is(err, store.ErrLost) { // which has been said
		lost = nil
	}
	err = errors.Join(err, lost, wrote)
	reading.Close()
	if e != nil {
		return errors.Join(err, e)
	}
	if alike := (*lab.AlikeError)(nil); errors.As(err, &alike) && o.form() == "text" { // and the progress has shown it
		return errors.New(alike.Rest())
	}
	switch {
	case !errors.Is(err, errInterrupted):
	case f.Plan.Bench != nil:
		fmt.Fprintln(cmd.ErrOrStderr(), "interrupted: the report covers the complete blocks")
	default:
		fmt.Fprintf(cmd.ErrOrStderr(), "interrupted: the report is partial, with pictures in %s; resume with dyno run --resume %s\n",
			filepath.Join(dir.Path, pageFile), dir.Path)
	}
	return o.end(cmd, f, errors.Join(err, f.Missed()))
}

// readAndWrite reads a run directory and writes its reports into it.
func readAndWrite(dir *store.Dir) (f *findings.Findings, unread, unwritten error) {
	unwritten = writeBenchFile(dir) // a baseline is compared with it
	if f, unread = findings.Read(dir, findings.Options{}); unread == nil {
		unwritten = errors.Join(unwritten, writeReports(dir, f))
	}
	return f, unread, unwritten
}

func (o *outFlags) end(cmd *cobra.Command, f *findings.Findings, err error) error {
	noteLeftOut(cmd, f)
	err = errors.Join(err, o.print(cmd, f), f.Nothing())
	if o.steps {
		tellGitHub(cmd, f)
	}
	if err != nil {
		return err
	}
	if text := words.Spared(f.Table); o.failWorse && text != "" {
		notef(cmd, "%s", text)
	}
	return o.gate(f)
}

// noteLeftOut leaves out the directory's own notes, which were printed when it was opened.
func noteLeftOut(cmd *cobra.Command, f *findings.Findings) {
	known := func(d compare.Doubt) bool { return d.Kind == dyno.WarnRunDir }
	for _, text := range words.Doubts(nil, slices.DeleteFunc(slices.Clone(f.Notes), known)) {
		notef(cmd, "%s", text)
	}

}

// writeBenchFile writes the baseline first, which benchstat takes for its base.
func writeBenchFile(dir *store.Dir) error {
	place := map[string]int{}
	for i, s := range dir.Run.Plan.Levels() {
		place[s.String()] = i
	}
	results := slices.SortedStableFunc(slices.Values(dir.Results()), func(a, b *dyno.Result) int {
		return place[a.Trial.Setting.String()] - place[b.Trial.Setting.String()]
	})
	return dir.WriteFile(findings.BenchFile, func(w io.Writer) error {
		h := dir.Run.Host
		fmt.Fprintf(w, "goos: %s\ngoarch: %s\ncpu: %s\n", h.OS, h.Arch, cmp.Or(h.CPU, "unknown"))
		return export.Bench(w, results, dir.Run.Plan.Name)
	})
}

// writeReports writes summary.json, the page, and the patch of a deployment.
func writeReports(dir *store.Dir, f *findings.Findings) error {
	write := func(name, format string) error {
		return dir.WriteFile(name, func(w io.Writer) error { return report.Write(w, f, format, layout.Options{}) })
	}
	err := errors.Join(write("summary.json", "json"), write(pageFile, "html"))
	if patch := report.Patch(f); patch != "" {
		err = errors.Join(err, dir.WriteFile("deployment.patch.yaml", func(w io.Writer) error { _, err := io.WriteString(w, patch); return err }))
	}
	return err
}
