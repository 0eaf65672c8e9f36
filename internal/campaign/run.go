package campaign

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/campaign/progress"
	"github.com/dynolab/dyno/internal/lab"
	"github.com/dynolab/dyno/internal/lab/look"
	"github.com/dynolab/dyno/internal/lab/otlp"
	"github.com/dynolab/dyno/internal/plan/how"
	"github.com/dynolab/dyno/internal/report"
	"github.com/dynolab/dyno/internal/report/certified"
	"github.com/dynolab/dyno/internal/report/words"
	"github.com/dynolab/dyno/internal/store"
	"github.com/dynolab/dyno/internal/subject/guard"
)

// A Run is one execution of a plan.
type Run struct {
	Plan     *dyno.Experiment
	Path     string      // of the run directory; "" stands for a new one below dyno-runs, and Create sets it
	Look     bool        // a look at the service may choose what the plan leaves open of its load
	Extended bool        // the plan of the directory that is resumed has more blocks than it says
	NotWorse bool        // the run goes on until a gate can judge what is worse
	OTLP     otlp.Target // where live metrics go

	// Enough says after a block of a run that decides itself how many blocks it takes whether it ends; nil means when its
	// primary verdicts are decided.
	Enough func(block int) bool

	looked string // what was chosen of the load
}

// Measure builds the subjects, makes a run directory unless one is resumed, and fills it. The directory is nil if no trial
// was begun; else the caller closes it.
func (c *Campaign) Measure(ctx context.Context, r *Run, resumed *store.Dir) (dir *store.Dir, err error) {
	if resumed == nil { // found before a build
		if err := store.Free(r.Path, "--resume"); err != nil {
			return nil, err
		}
	}
	if err = c.Open(ctx, r.Plan); err == nil {
		defer func() { err = errors.Join(err, c.Close()) }()
		dir, err = c.begin(ctx, r, resumed)
	}
	if err != nil {
		if resumed != nil {
			err = errors.Join(err, resumed.Close())
		}
		return nil, err
	}
	if err = c.Fill(ctx, r, dir); err != nil || len(r.Plan.Profile) == 0 || c.hands.Sources == nil {
		return dir, err
	}
	return dir, findings.KeepOfService(dir, func(setting string) map[string]string { // while worktrees of revisions are here
		for _, s := range r.Plan.Levels() {
			if s.String() == setting {
				return c.hands.Sources(ctx, r.Plan.Trial(s).Subject)
			}
		}
		return nil
	})
}

// begin returns the directory of a run whose subjects are built: resumed, or a new one if that is nil.
func (c *Campaign) begin(ctx context.Context, r *Run, resumed *store.Dir) (*store.Dir, error) {
	if resumed != nil {
		if r.Extended {
			return resumed, resumed.WritePlan()
		}
		return resumed, nil
	}
	for _, name := range store.Unhidden(r.Plan) {
		c.Note("the value of %s has fewer than 6 characters, so it stays readable in the run directory", name)
	}
	if err := c.chooseLoad(ctx, r); err != nil {
		return nil, err
	}
	return c.Create(r)
}

// chooseLoad chooses what a plan leaves open of its load.
func (c *Campaign) chooseLoad(ctx context.Context, r *Run) error {
	if !r.Look || !look.Open(r.Plan) {
		return nil
	}
	c.Note("a look at the service chooses the load, as neither its length (-d, -n) nor its warm-up (-w) is said")
	temp := guard.TempName(os.TempDir())
	scratch, err := guard.Start(guard.Job{Scratch: []string{temp}}, guard.IO{})
	if err != nil {
		return err
	}
	defer scratch.Stop(0)
	choice, err := look.Choose(ctx, c.hands, r.Plan, temp)
	if err == nil {
		c.Note("%s", choice.Why)
		choice.Apply(&r.Plan.Load)
		r.looked = choice.Why
	}
	return err
}

// Create makes the run directory.
func (c *Campaign) Create(r *Run) (dir *store.Dir, err error) {
	all := r.Plan.Resolved()
	run := store.Run{
		Dyno: c.Version, Started: time.Now(), Command: os.Args, Plan: &all, Host: ThisHost(r.Plan), Looked: r.looked,
	}
	for _, s := range r.Plan.Levels() {
		run.Settings = append(run.Settings, s.String())
	}
	if r.Path == "" {
		if r.Path, err = store.NewPath(all.Name, run.Started); err != nil {
			return nil, err
		}
	}
	if c.record == nil || r.Path != c.record.Dir() { // where its record is
		if err := store.Free(r.Path, ""); err != nil {
			return nil, err
		}
	}
	if dir, err = store.Make(r.Path, run, c.Secrets); err != nil {
		return nil, err
	}
	if err = copyCertificate(r.Plan, dir); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return dir, nil
}

// copyCertificate puts the certificate of the service, if there is one, into a new run directory.
func copyCertificate(e *dyno.Experiment, dir *store.Dir) error {
	if e.Bench != nil || !e.Subject.Launched() || len(e.Levels()) < 2 {
		return nil
	}
	path, err := findings.CertificatePath(&e.Subject)
	if err != nil {
		return nil // without a home there is none
	}
	cert, err := findings.ReadCertificate(path)
	if err != nil {
		return nil // most services have none
	}
	err = dir.WriteFile(findings.CertificateFile, func(w io.Writer) error { return report.JSON(w, cert) })
	return errors.Join(err, dir.WriteFile(CertificatePage(findings.CertificateFile), (&certified.Report{Certificate: cert}).HTML))
}

// Fill runs the trials that a run directory lacks.
func (c *Campaign) Fill(ctx context.Context, r *Run, dir *store.Dir) error {
	unkept := c.into(dir, nil)
	hands, missing := c.hands, dir.Missing()
	hands.Skip = func(n int) bool { return !slices.Contains(dir.Missing(), n) }
	var failed [2]error
	hands.Alone = func(why string) { failed[0] = dir.SetAlone(why) }
	hands.Over = func(ended dyno.Ended) { failed[1] = dir.SetEnded(ended) }
	err := c.conduct(ctx, r, r.Plan.Planned()-len(missing), dir.Brief, dir.Add)
	return errors.Join(err, failed[0], failed[1], unkept())
}

// into makes a run directory the place of the results, and keeps the CPUs awake if a session before did. told is called if the CPUs are kept
// awake; it may be nil. unkept is why the run directory does not say so.
func (c *Campaign) into(dir *store.Dir, told func(since string)) (unkept func() error) {
	c.NoteLosses(dir)
	var failed error
	hands := c.hands
	hands.Dir, hands.Keep = dir.TrialDir, dir.WriteRequests
	hands.Awake = func(since string) {
		if failed = dir.SetAwake(since); told != nil {
			told(since)
		}
	}
	if err := hands.Keeper.Resume(dir.Run.Awake); err != nil {
		hands.Awake(fmt.Sprintf("%s; not since this session: %v", dir.Run.Awake, err))
	} else if since := hands.Keeper.Since(); since != "" {
		hands.Awake(since)
	}
	return func() error { return failed }
}

// Resumed is the plan with which a run directory is filled further: with its secrets, with launches as they were, and on its node.
func (c *Campaign) Resumed(dir *store.Dir) (*dyno.Experiment, error) {
	e := dir.Run.Plan
	if e.Turn == 0 || dir.Run.Alone != "" { // so were its launches, also those of a version without turns
		e.Alone = true
	}
	e, err := dir.Reveal(c.Secrets)
	if err != nil {
		return nil, err
	}
	own := *e // the stored plan names no node
	Stay(&own, dir.Brief())
	return &own, nil
}

// NoteLosses says what of a directory could not be read.
func (c *Campaign) NoteLosses(dir *store.Dir) {
	for _, text := range dir.Notes() {
		c.Note("%s", text)
	}
}

// MeasureOnly runs the plan of a campaign that is open, closes it, and writes nothing. With an error, which may be the context's, the
// results are those so far.
func (c *Campaign) MeasureOnly(ctx context.Context, r *Run) (results []*dyno.Result, err error) {
	hands := c.hands
	hands.Dir, hands.Awake = func(int) (string, error) { return "", nil }, nil
	hands.Alone = func(string) { results = slices.DeleteFunc(results, (*dyno.Result).Beside) }
	// An interrupted trial is shown, as it cannot be resumed.
	hands.Interrupted = func(r *dyno.Result) {
		if r.Latency != nil && r.Latency.Count() > 0 {
			r.Err = ""
			r.Warnings.Add(dyno.WarnInterrupted, "the trial was interrupted: its results are partial")
			results = append(results, r)
		}
	}
	err = c.conduct(ctx, r, 0, func() []*dyno.Result { return results }, func(r *dyno.Result) error {
		results = append(results, r)
		return nil
	})
	return results, errors.Join(err, c.Close())
}

// conduct runs the trials that are left, and shows the progress. known is the number of trials
// that finished before, results are all that finished, sink gets a new one.
func (c *Campaign) conduct(ctx context.Context, r *Run, known int, results func() []*dyno.Result, sink func(*dyno.Result) error) error {
	hands, e := c.hands, r.Plan
	endDecided(hands, e, compare.Demands{NotWorse: r.NotWorse}, results)
	if r.Enough != nil {
		hands.Enough = r.Enough
	}
	p := progress.NewTrials(c.Stderr, e, known, hands.Least)
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
		if p.Note("%s", how.KeptAwake(since)); told != nil {
			told(since)
		}
	}
	hands.Void = func(r *dyno.Result, again bool) { p.Note("%s", words.Void(r, again)) }
	defer r.OTLP.Follow(hands, e, c.Version, p.Note)()
	return hands.Run(ctx, e, func(r *dyno.Result) error {
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
