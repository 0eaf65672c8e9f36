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
	"strconv"
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
	began time.Time
	spent time.Duration // in stages
	load  string        // of the last stage
	live  float64       // true live heap of today's, in bytes; NaN if it is not known
	notes []string
}

// The shares of the whole time that stages take, and what headroom leaves of the others'.
const (
	todayShare     = 0.14
	candidateShare = 0.62
	withHeadroom   = 0.65
)

// Bounds of a launch's load where the plan gives none.
const (
	longestToday = 20 * time.Second
	longestTurns = 3 * time.Second
	shortest     = 600 * time.Millisecond
	aroundLaunch = 300 * time.Millisecond // that a launch and its end take
)

func (t *tuner) total() time.Duration {
	if t.flags.headroom {
		return time.Duration(float64(t.flags.total) * withHeadroom)
	}
	return t.flags.total
}

// most is how long a stage may take.
func (t *tuner) most(s tune.Stage) time.Duration {
	total := t.total()
	part := func(share float64) time.Duration { return time.Duration(share * float64(total)) }
	switch s {
	case tune.StageToday:
		return part(todayShare)
	case tune.StageCandidates:
		return min(part(candidateShare), total-t.spent)
	case tune.StageMore:
		return total - t.spent
	}
	return t.flags.total - t.spent
}

// stage is the plan of a stage.
func (t *tuner) stage(s tune.Stage, settings []dyno.Setting) *dyno.Experiment {
	e := *t.plan
	e.Name += " " + string(s)
	e.Settings = settings
	within := t.most(s).Truncate(100 * time.Millisecond)
	e.Within = dyno.Duration(within)
	given := e.Load.Requests+e.Load.RequestsPerClient > 0 || e.Load.Duration > 0 || e.Load.Rate.Length() > 0
	length := func(launches int, longest time.Duration) dyno.Duration {
		one := within/time.Duration(launches) - aroundLaunch - time.Duration(e.Load.Warmup)
		return dyno.Duration(max(min(one, longest), shortest).Truncate(100 * time.Millisecond))
	}
	switch s {
	case tune.StageToday:
		e.Repeats = 2
		if t.pgo {
			e.Profile, e.ProfileRepeats = []string{"cpu"}, 1
		}
		if !given {
			e.Load.Duration = length(2+len(e.Profile), longestToday)
		}
	case tune.StageHeadroom:
		e.Repeats = 6
		if !given {
			e.Load.Duration = length(4*len(settings), longestTurns)
		}
	default:
		e.Thresholds = t.problem.Limits()
		if !given {
			e.Load.Duration = length(12*len(settings), longestTurns)
		}
	}
	return &e
}

// tune is dyno tune.
func (t *tuner) tune() (err error) {
	t.began = time.Now()
	if t.flags.dir == "" {
		if t.flags.dir, err = store.NewPath(t.plan.Name+"-tune", t.began); err != nil {
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
	hands, release, err := openLab(t.cmd, t.stage(tune.StageToday, []dyno.Setting{t.problem.Today}))
	if err != nil {
		os.Remove(t.flags.dir) // if it is empty
		return err
	}
	t.hands = hands
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

func (t *tuner) report(o *tune.Outcome) *tuned.Report {
	return &tuned.Report{
		Outcome: o, Name: t.plan.Name, Dyno: version(), Made: time.Now(), Dir: t.flags.dir, Load: t.load, Notes: t.notes,
	}
}

// measure is one stage: a run directory, as dyno run makes one.
func (t *tuner) measure(ctx context.Context, s tune.Stage, settings []dyno.Setting, enough func(*compare.Table, []*dyno.Result) bool) (m tune.Measured, err error) {
	e := t.stage(s, settings)
	o := &outFlags{dir: filepath.Join(t.flags.dir, tuned.Dirs[s])}
	if err := lab.Check(e); err != nil {
		return m, err
	}
	if s == tune.StageCandidates && len(t.problem.Try) > 0 { // all others have the program of today's
		if err := prepare(t.cmd, t.hands, e); err != nil {
			return m, err
		}
	}
	t.load = e.Load.String()
	fmt.Fprintf(t.cmd.ErrOrStderr(), "%s: %s, at most %v\n", tuned.Dirs[s], layout.Count(len(settings), "setting"), e.Within)
	began := time.Now()
	defer func() { t.spent += time.Since(began) }()
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
	f, unread, unwritten := readAndWrite(dir)
	if unread != nil {
		return m, errors.Join(err, unread, unwritten)
	}
	m.Table, m.Results = f.Table, f.Results
	if err = errors.Join(err, unwritten); err != nil {
		return m, err
	}
	if f.Table.Trials == 0 {
		return m, errNothing
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
		t.notes = append(t.notes, fmt.Sprintf("%s tells the model nothing: %v", tuned.Dirs[s], err))
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
	return errors.New("no CPU profile was taken, as --try pgo takes one (consider: without pgo)")
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

func (t *tuner) cases() (cases []tune.Case) {
	load := t.plan.Load.Resolved()
	scaled := func(kind tune.CaseKind, by float64) {
		l := dyno.Level{Factor: "load.concurrency", Value: strconv.Itoa(max(int(math.Round(float64(load.Concurrency)*by)), 1))}
		if load.Rate.Open() {
			rate := make(dyno.Rate, len(load.Rate))
			for i, s := range load.Rate {
				rate[i] = dyno.Stage{From: s.From * by, To: s.To * by, Over: s.Over}
			}
			l = dyno.Level{Factor: "load.rate", Value: rate.String()}
		}
		cases = append(cases, tune.Case{Kind: kind, Levels: dyno.Setting{l}})
	}
	scaled(tune.HalfLoad, 0.5)
	scaled(tune.DoubleLoad, 2)
	switch {
	case math.IsNaN(t.live):
		t.notes = append(t.notes, "larger live heaps are left out, as no collection tells how large today's is")
	case !t.plan.Subject.Source() || bool(t.plan.Subject.NoInject):
		t.notes = append(t.notes, fmt.Sprintf("larger live heaps are left out: they need the injected probe, and %s has none", &t.plan.Subject))
	default:
		for kind, share := range map[tune.CaseKind]float64{tune.Live25: 0.25, tune.Live50: 0.5} {
			cases = append(cases, tune.Case{Kind: kind, Levels: dyno.Setting{{Factor: "DYNO_BALLAST", Value: strconv.FormatInt(int64(share*t.live), 10)}}})
		}
		if cases[2].Kind != tune.Live25 {
			cases[2], cases[3] = cases[3], cases[2]
		}
	}
	return cases
}

// conclude writes tune.json and the patch, and prints the result. failed is why the tuning did not come to its end.
func (t *tuner) conclude(r *tuned.Report, failed error) error {
	if r.Base == nil || r.Base.Trials == 0 {
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
		fmt.Fprintf(t.cmd.ErrOrStderr(), "interrupted: what was measured is in %s\n", r.Dir)
	}
	return errors.Join(err, e)
}

// printPlan says what would be measured.
func (t *tuner) printPlan() error {
	w := t.cmd.OutOrStdout()
	e := t.stage(tune.StageToday, []dyno.Setting{t.problem.Today})
	text, err := findings.PlanText(e)
	if err != nil {
		return err
	}
	fmt.Fprint(w, tuned.Planned(t.problem))
	share := func(s tune.Stage) dyno.Duration { return dyno.Duration(t.most(s).Round(time.Second)) }
	fmt.Fprintf(w, "%s: today's setting, %d launches, at most %v\n", tuned.Dirs[tune.StageToday], cmp.Or(e.Repeats, 1), share(tune.StageToday))
	fmt.Fprintf(w, "%s: today's and %s beside it, at most %v\n", tuned.Dirs[tune.StageCandidates],
		layout.Count(t.problem.Most+len(t.problem.Try), "other"), share(tune.StageCandidates))
	t.spent = t.most(tune.StageToday) + t.most(tune.StageCandidates)
	fmt.Fprintf(w, "%s: if what was measured names another setting, at most %v\n", tuned.Dirs[tune.StageMore], share(tune.StageMore))
	if t.flags.headroom {
		t.spent = t.total()
		fmt.Fprintf(w, "%s: half and double the load, larger live heaps, at most %v\n", tuned.Dirs[tune.StageHeadroom], share(tune.StageHeadroom))
	}
	_, err = fmt.Fprintf(w, "\nthe plan of the first:\n\n%s", text)
	return err
}
