package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/analysis/gcmodel"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/findings/predict"
	"github.com/dynolab/dyno/lab"
	"github.com/dynolab/dyno/report"
	"github.com/dynolab/dyno/report/layout"
	"github.com/dynolab/dyno/report/tuned"
	"github.com/dynolab/dyno/store"
	"github.com/dynolab/dyno/tune"
)

// A tuner measures the stages of a tuning.
type tuner struct {
	cmd      *cobra.Command
	flags    *tuneFlags
	plan     *dyno.Experiment // of every stage, without its settings
	baseline dyno.Setting     // today's as the plan has it
	problem  tune.Problem
	pgo      bool

	hands *lab.Lab
	tune.Schedule
	block time.Duration // that a setting's part of a block took in the last stage
	load  string        // of the last stage
	live  float64       // true live heap of today's, in bytes; NaN if it is not known
	notes []string
}

// tune is dyno tune.
func (t *tuner) tune() (err error) {
	if t.flags.dir == "" {
		if t.flags.dir, err = store.NewPath(t.plan.Name+"-tune", time.Now()); err != nil {
			return err
		}
	} else if entries, err := os.ReadDir(t.flags.dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("directory %s is not empty (consider: another --out)", t.flags.dir)
	}
	if t.flags.dir, err = filepath.Abs(t.flags.dir); err != nil {
		return err
	}
	for i, x := range t.problem.Try {
		if x.Axis == "pgo" {
			t.problem.Try[i].Levels = pgoLevels(t.profilePath())
		}
	}
	hands, release, err := openLab(t.cmd, t.Plan(t.plan, &t.problem, tune.StageToday, []dyno.Setting{t.problem.Today}))
	if err != nil {
		os.Remove(t.flags.dir) // if it is empty
		return err
	}
	t.hands = hands
	if err := t.buildExtras(); err != nil { // before anything is measured
		return errors.Join(err, release())
	}
	o, err := tune.Run(t.cmd.Context(), t.problem, tune.Hands{
		Fit:       func(ws []gcmodel.Window) tune.Model { return gcmodel.Fit(ws...) },
		Measure:   t.measure,
		Predicted: t.predicted,
	})
	r := t.report(o)
	if err == nil && t.flags.headroom {
		err = t.headroom(o, r)
	}
	r.Interrupted = err != nil
	return errors.Join(err, t.conclude(r, err), release())
}

// buildExtras builds the programs of --try, but for pgo, whose profile is yet to be taken.
func (t *tuner) buildExtras() error {
	settings := []dyno.Setting{t.problem.Today}
	for _, x := range t.problem.Try {
		if x.Axis != "pgo" {
			settings = append(settings, tune.With(t.problem.Today, x.Levels...))
		}
	}
	if len(settings) == 1 {
		return nil
	}
	return prepare(t.cmd, t.hands, t.Plan(t.plan, &t.problem, tune.StageCandidates, settings))
}

func (t *tuner) report(o *tune.Outcome) *tuned.Report {
	return &tuned.Report{
		Outcome: o, Name: t.plan.Name, Dyno: version(), Made: time.Now(), Dir: t.flags.dir, Load: t.load, Notes: t.notes,
	}
}

// measure is one stage: a run directory, as dyno run makes one.
func (t *tuner) measure(ctx context.Context, s tune.Stage, settings []dyno.Setting, enough func(*compare.Table, []*dyno.Result) bool) (m tune.Measured, err error) {
	e := t.Plan(t.plan, &t.problem, s, settings)
	if s == tune.StageToday && t.pgo {
		e.Profile, e.ProfileRepeats = []string{"cpu"}, 1
	}
	o := &outFlags{dir: filepath.Join(t.flags.dir, tuned.Dirs[s])}
	if err := lab.Check(e); err != nil {
		return m, err
	}
	if s == tune.StageMore && t.block*time.Duration(len(settings)*tune.FewestBlocks) > time.Duration(e.Within) {
		return m, tune.ErrNoTime
	}
	if s == tune.StageCandidates && len(t.problem.Try) > 0 { // all others have the program of today's
		if err := prepare(t.cmd, t.hands, e); err != nil {
			return m, err
		}
	}
	t.load = e.Load.String()
	fmt.Fprintf(t.cmd.ErrOrStderr(), "%s: %s, at most %v\n", tuned.Dirs[s], layout.Count(len(settings), "setting"), e.Within)
	began := time.Now()
	defer func() { t.Spent += time.Since(began) }()
	dir, err := o.create(e)
	if err != nil {
		return m, err
	}
	defer dir.Close()
	if enough != nil {
		o.enough = func(int) bool {
			rs := dir.Brief()
			return enough(findings.Unwritten(e, rs).Table, rs)
		}
	}
	err = fill(t.cmd, t.hands, e, o, dir)
	if alike := (*lab.AlikeError)(nil); errors.As(err, &alike) { // its cure, --resume, does not exist for a tuning
		err = fmt.Errorf("%s: the first trials failed: %s", tuned.Dirs[s], alike.Err)
	}
	f, unread, unwritten := readAndWrite(dir)
	if unread != nil {
		return m, errors.Join(err, unread, unwritten)
	}
	m.Table, m.Results = f.Table, f.Results
	t.block = time.Since(began) / time.Duration(max(f.Table.Trials, 1))
	if err = errors.Join(err, unwritten); err != nil {
		return m, err
	}
	if f.Table.Trials == 0 {
		return m, findings.ErrNothing
	}
	return m, t.learn(s, dir, f, &m)
}

// learn reads what only today's stage tells.
func (t *tuner) learn(s tune.Stage, dir *store.Dir, f *findings.Findings, m *tune.Measured) error {
	source, err := predict.Read(dir, predict.Options{})
	if err == nil {
		for _, w := range source.Pooled {
			m.Windows = append(m.Windows, w.Window)
		}
	} else if !errors.Is(err, predict.ErrNothing) {
		t.notes = append(t.notes, fmt.Sprintf("%s gives the model no data: %v", tuned.Dirs[s], err))
	}
	if s != tune.StageToday {
		return nil
	}
	if t.live = math.NaN(); err == nil {
		t.live = source.Pooled[0].Live()
	}
	if !t.pgo {
		return nil
	}
	for _, r := range f.Results {
		if r.Trial.For == dyno.ForProfile && r.Err == "" {
			return copyFile(t.profilePath(), dir.TrialFile(r.Trial.N, "cpu.pb.gz"))
		}
	}
	return errors.New("no CPU profile was taken for --try pgo (consider: a tuning without pgo)")
}

func pgoLevels(path string) dyno.Setting {
	return dyno.Setting{{Factor: "build", Value: "-pgo=" + path}}
}

func (t *tuner) profilePath() string { return filepath.Join(t.flags.dir, "default.pgo") }

func copyFile(to, from string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}

// predicted writes predictions down before anything of them is measured, and says what it chose.
func (t *tuner) predicted(s tune.Stage, o *tune.Outcome) error {
	r := t.report(o)
	name := "predictions.json"
	if s == tune.StageMore {
		name = "predictions-3.json"
	}
	if err := t.write(name, func(w io.Writer) error { return report.JSON(w, r.Predictions()) }); err != nil {
		return err
	}
	fmt.Fprint(t.cmd.ErrOrStderr(), tuned.Chosen(r, s, filepath.Join(t.flags.dir, name), lookOf(t.cmd.ErrOrStderr()).Columns()))
	return nil
}

func (t *tuner) write(name string, write func(io.Writer) error) error {
	path := filepath.Join(t.flags.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// headroom measures other days.
func (t *tuner) headroom(o *tune.Outcome, r *tuned.Report) error {
	cases := t.cases()
	m, err := t.measure(t.cmd.Context(), tune.StageHeadroom, o.HeadroomSettings(cases), nil)
	if m.Table != nil {
		r.Headroom = o.Headrooms(cases, m)
	}
	r.Notes = t.notes
	return err
}

// cases are those that can be measured.
func (t *tuner) cases() []tune.Case {
	live := t.live
	switch {
	case math.IsNaN(live):
		t.notes = append(t.notes, "larger live heaps are left out: no collection measured today's")
	case !t.plan.Subject.Source() || bool(t.plan.Subject.NoInject):
		t.notes = append(t.notes, fmt.Sprintf("larger live heaps are left out: they need the injected probe, and %s has none", &t.plan.Subject))
		live = math.NaN()
	}
	return tune.Cases(t.plan, live)
}

// conclude writes tune.json and the patch, and prints the result. failed is why the tuning did not come to its end.
func (t *tuner) conclude(r *tuned.Report, failed error) error {
	if r.Base == nil || r.Base.Trials == 0 || errors.As(failed, new(*lab.OverriddenError)) {
		return nil // which failed says
	}
	err := t.write("tune.json", func(w io.Writer) error { return report.JSON(w, r.Document()) })
	if r.Best != nil {
		for _, p := range tuned.Patches(t.plan.Name, tuned.Changed(r.Problem.Today, r.Best.Setting), tuned.Reason(r)) {
			err = errors.Join(err, t.write(filepath.Join("patch", p.File), func(w io.Writer) error {
				_, err := io.WriteString(w, p.Text)
				return err
			}))
		}
	}
	w := t.cmd.OutOrStdout()
	if t.flags.form() == "json" {
		return errors.Join(err, report.JSON(w, r.Document()))
	}
	if dir, e := os.Getwd(); e == nil {
		if rel, e := filepath.Rel(dir, r.Dir); e == nil && !strings.HasPrefix(rel, "..") {
			r.Dir = rel
		}
	}
	_, e := io.WriteString(w, tuned.Text(r, lookOf(w)))
	if failed != nil {
		fmt.Fprintf(t.cmd.ErrOrStderr(), "the tuning did not finish; its results so far are in %s\n", r.Dir)
	}
	return errors.Join(err, e)
}

// printPlan says what would be measured.
func (t *tuner) printPlan() error {
	w := t.cmd.OutOrStdout()
	e := t.Plan(t.plan, &t.problem, tune.StageToday, []dyno.Setting{t.problem.Today})
	text, err := findings.PlanText(e)
	if err != nil {
		return err
	}
	fmt.Fprint(w, tuned.Planned(t.problem))
	share := func(s tune.Stage) dyno.Duration { return dyno.Duration(t.Most(s).Round(time.Second)) }
	fmt.Fprintf(w, "%s: today's setting, %d launches, at most %v\n", tuned.Dirs[tune.StageToday], cmp.Or(e.Repeats, 1), share(tune.StageToday))
	fmt.Fprintf(w, "%s: today's and %s side by side, at most %v\n", tuned.Dirs[tune.StageCandidates],
		layout.Count(t.problem.Most+len(t.problem.Try), "other"), share(tune.StageCandidates))
	t.Spent = t.Most(tune.StageToday) + t.Most(tune.StageCandidates)
	fmt.Fprintf(w, "%s: if the results suggest another setting, at most %v\n", tuned.Dirs[tune.StageMore], share(tune.StageMore))
	if t.flags.headroom {
		t.Spent += t.Most(tune.StageMore)
		fmt.Fprintf(w, "%s: half and double the load, larger live heaps, at most %v\n", tuned.Dirs[tune.StageHeadroom], share(tune.StageHeadroom))
	}
	_, err = fmt.Fprintf(w, "\nthe plan of the first stage:\n\n%s", text)
	return err
}
