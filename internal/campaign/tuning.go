package campaign

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/gcmodel"
	"github.com/dynolab/dyno/internal/campaign/progress"
	"github.com/dynolab/dyno/internal/findings/predict"
	"github.com/dynolab/dyno/internal/lab"
	"github.com/dynolab/dyno/internal/report"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/tuned"
	"github.com/dynolab/dyno/internal/store"
	"github.com/dynolab/dyno/internal/tune"
)

// A Tuning measures the stages of a tuning, each in a run directory below Dir.
type Tuning struct {
	*Campaign
	tune.Schedule
	Common  *dyno.Experiment // the plan of every stage, without its settings
	Problem tune.Problem
	PGO     bool          // today's stage takes the profile of --try pgo
	Dir     string        // of the tuning; "" stands for a new one below dyno-runs
	Record  *store.Record // what was asked; one that was read is gone on with

	block time.Duration // that a setting's part of a block took in the last stage
	load  string        // of the last stage
	live  float64       // true live heap of today's, in bytes; NaN if it is not known
	notes []string
}

// Run tunes, and writes tune.json and the patch. With an error, which may be the context's, the report has the complete stages; it is
// nil if there are none.
func (t *Tuning) Run(ctx context.Context) (r *tuned.Report, err error) {
	if t.Dir, err = placeFor(t.Record, t.Dir); err != nil {
		return nil, err
	}
	for i, x := range t.Problem.Try {
		if x.Axis == "pgo" {
			t.Problem.Try[i].Levels = tune.PGO(t.profilePath())
		}
	}
	if err := t.Open(ctx, t.plan(tune.StageToday, []dyno.Setting{t.Problem.Today})); err != nil {
		os.Remove(t.Dir) // if it is empty
		return nil, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	if err := t.buildExtras(ctx); err != nil { // before anything is measured
		return nil, err
	}
	if err := t.keepRecord(t.Record, t.Dir); err != nil {
		return nil, err
	}
	o, err := tune.Run(ctx, t.Problem, tune.Hands{
		Fit:       func(ws []gcmodel.Window) tune.Model { return gcmodel.Fit(ws...) },
		Measure:   t.measure,
		Predicted: t.predicted,
	})
	r = t.report(o)
	if err == nil && t.Headroom {
		err = t.headroom(ctx, o, r)
	}
	r.Interrupted = err != nil
	if r.Base == nil || r.Base.Trials == 0 || errors.As(err, new(*lab.OverriddenError)) {
		return nil, err // which err says
	}
	return r, errors.Join(err, t.keep(r), t.conclude(r, err))
}

func (t *Tuning) plan(s tune.Stage, settings []dyno.Setting) *dyno.Experiment {
	return t.Plan(t.Common, &t.Problem, s, settings)
}

// buildExtras builds the programs of --try, but for pgo, whose profile is yet to be taken.
func (t *Tuning) buildExtras(ctx context.Context) error {
	settings := []dyno.Setting{t.Problem.Today}
	for _, x := range t.Problem.Try {
		if x.Axis != "pgo" {
			settings = append(settings, tune.With(t.Problem.Today, x.Levels...))
		}
	}
	if len(settings) == 1 {
		return nil
	}
	return t.prepare(ctx, t.hands, t.plan(tune.StageCandidates, settings))
}

func (t *Tuning) report(o *tune.Outcome) *tuned.Report {
	return &tuned.Report{
		Outcome: o, Name: t.Common.Name, Dyno: t.Version, Plan: store.Redacted(t.Record.Plan), Made: time.Now(), Dir: fromHere(t.Dir), Load: t.load,
		Notes: t.notes,
	}
}

// measure is one stage: a run directory, as dyno run makes one.
func (t *Tuning) measure(ctx context.Context, s tune.Stage, settings []dyno.Setting, enough func(*compare.Table, []*dyno.Result) bool) (m tune.Measured, err error) {
	e := t.plan(s, settings)
	if s == tune.StageToday && t.PGO {
		e.Profile, e.ProfileRepeats = []string{"cpu"}, 1
	}
	if err := lab.Check(e); err != nil {
		return m, err
	}
	if s == tune.StageMore && t.block*time.Duration(len(settings)*tune.FewestBlocks) > time.Duration(e.Within) {
		return m, tune.ErrNoTime
	}
	if s == tune.StageCandidates && len(t.Problem.Try) > 0 { // all others have the program of today's
		if err := t.prepare(ctx, t.hands, e); err != nil {
			return m, err
		}
	}
	t.load = e.Load.String()
	f, took, err := t.Step(ctx, Step{Name: tuned.Dirs[s], Plan: e, Enough: enough})
	t.Spent += took
	if f == nil {
		return m, err
	}
	m.Table, m.Results = f.Table, f.Results
	t.block = took / time.Duration(max(f.Table.Trials, 1))
	if err != nil {
		return m, err
	}
	return m, t.learn(s, f, &m)
}

// learn reads what only today's stage tells.
func (t *Tuning) learn(s tune.Stage, f *findings.Findings, m *tune.Measured) error {
	source, err := predict.Read(f.Dir, predict.Options{})
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
	if !t.PGO {
		return nil
	}
	for _, r := range f.Results {
		if r.Trial.For == dyno.ForProfile && r.Err == "" {
			return copyFile(t.profilePath(), f.Dir.TrialFile(r.Trial.N, "cpu.pb.gz"))
		}
	}
	return errors.New("no CPU profile was taken for --try pgo (consider: a tuning without pgo)")
}

func (t *Tuning) profilePath() string { return filepath.Join(t.Dir, "default.pgo") }

func copyFile(to, from string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}

// predicted writes predictions down before anything of them is measured, and says what it chose.
func (t *Tuning) predicted(s tune.Stage, o *tune.Outcome) error {
	if _, err := os.Stat(filepath.Join(t.Dir, tuned.Dirs[s])); err == nil {
		return nil // an earlier session did
	}
	r := t.report(o)
	name := "predictions.json"
	if s == tune.StageMore {
		name = "predictions-3.json"
	}
	if err := t.write(name, func(w io.Writer) error { return report.JSON(w, r.Predictions()) }); err != nil {
		return err
	}
	width, color := progress.Terminal(t.Stderr)
	columns := layout.Options{Width: width, Color: color}.Columns()
	fmt.Fprint(t.Stderr, tuned.Chosen(r, s, filepath.Join(t.Dir, name), columns))
	return nil
}

func (t *Tuning) write(name string, write func(io.Writer) error) error {
	path := filepath.Join(t.Dir, name)
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
func (t *Tuning) headroom(ctx context.Context, o *tune.Outcome, r *tuned.Report) error {
	cases := t.cases()
	m, err := t.measure(ctx, tune.StageHeadroom, o.HeadroomSettings(cases), nil)
	if m.Table != nil {
		r.Headroom = o.Headrooms(cases, m)
	}
	r.Notes = t.notes
	return err
}

// cases are those that can be measured.
func (t *Tuning) cases() []tune.Case {
	live := t.live
	switch {
	case math.IsNaN(live):
		t.notes = append(t.notes, "larger live heaps are left out: no collection measured today's")
	case !t.Common.Subject.Source() || bool(t.Common.Subject.NoInject):
		t.notes = append(t.notes, fmt.Sprintf("larger live heaps are left out: they need the injected probe, and %s has none", &t.Common.Subject))
		live = math.NaN()
	}
	return tune.Cases(t.Common, live)
}

// keep writes tune.json and the patch.
func (t *Tuning) keep(r *tuned.Report) error {
	err := t.write("tune.json", func(w io.Writer) error { return report.JSON(w, r.Document()) })
	if r.Best == nil {
		return err
	}
	for _, p := range tuned.Patches(r.Name, tuned.Changed(r.Problem.Today, r.Best.Setting), tuned.Reason(r)) {
		err = errors.Join(err, t.write(filepath.Join("patch", p.File), func(w io.Writer) error {
			_, err := io.WriteString(w, p.Text)
			return err
		}))
	}
	return err
}
