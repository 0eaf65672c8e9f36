package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/capacity"
	"github.com/dynolab/dyno/internal/plan/how"
	"github.com/dynolab/dyno/internal/report"
	"github.com/dynolab/dyno/internal/report/knee"
	"github.com/dynolab/dyno/internal/store"
)

// A Search measures the windows of a search for capacities, all in one run directory.
type Search struct {
	*Campaign
	Plan       *dyno.Experiment // of every window, as capacity.Problem.Plan makes it
	Settings   []dyno.Setting   // without a rate, the baseline first
	Problem    capacity.Problem
	Negligible float64       // differences of settings that are the same
	Path       string        // of the run directory; "" stands for a new one below dyno-runs
	Record     *store.Record // what was asked; one that was read is gone on with
	Notes      []string

	dir      *store.Dir
	trials   int
	left     map[string]int // trials by setting that an earlier session began, and no step has
	parts    capacity.Parts // of the window under way
	searches []*capacity.Search
	failed   int   // trials in a row
	unkept   error // that the run does not say that loops kept the CPUs awake
}

// Run searches, and writes capacity.json and the reports of the run. With an error, which may be the context's, the report has the
// windows so far; it is nil if there are none.
func (s *Search) Run(ctx context.Context) (r *knee.Report, err error) {
	resumed := s.Record.Dir() != ""
	if !resumed {
		if err := store.Free(s.Path); err != nil {
			return nil, err
		}
	}
	if err := s.Open(ctx, s.Plan); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if s.dir, err = s.directory(resumed); err != nil {
		return nil, err
	}
	defer s.dir.Close()
	s.hands.Dir, s.hands.Keep = s.dir.TrialDir, s.dir.WriteRequests
	s.parts.Objectives = s.Problem.Objectives
	s.hands.Second = s.parts.Second
	s.hands.Awake = func(since string) {
		s.Note("%s", how.KeptAwake(since))
		s.Notes, s.unkept = append(s.Notes, how.KeptAwake(since)), s.dir.SetAwake(since)
	}
	s.searches, err = capacity.Run(ctx, s.Problem, len(s.Settings), s.measure)
	cut := err
	err = errors.Join(err, s.unkept)
	if !slices.ContainsFunc(s.searches, func(x *capacity.Search) bool { return len(x.Windows) > 0 }) {
		if err == nil {
			err = errors.New("no window was measured")
		}
		return nil, err
	}
	r = &knee.Report{
		Problem: s.Problem, Settings: s.Settings, Searches: s.searches, Negligible: s.Negligible,
		Name: s.Plan.Name, Dyno: s.Version, Plan: store.Redacted(s.Record.Plan), Made: time.Now(), Dir: fromHere(s.dir.Path), Arrival: s.Plan.Load.Arrival,
		Sessions: s.Plan.Load.Session(), Interrupted: cut != nil, Notes: s.Notes,
	}
	err = errors.Join(err, s.dir.WriteFile("capacity.json", func(w io.Writer) error { return report.JSON(w, r.Document()) }))
	_, unread, unwritten := ReadAndWrite(s.dir)
	return r, errors.Join(err, unread, unwritten, s.conclude(r, cut))
}

// directory opens the run directory.
func (s *Search) directory(resumed bool) (dir *store.Dir, err error) {
	if resumed {
		if dir, err = store.Resume(s.Path); err != nil {
			return nil, err
		}
		if _, err := dir.Reveal(s.Secrets); err != nil {
			return nil, errors.Join(err, dir.Close())
		}
		s.trials, s.left = len(dir.Run.Plan.Settings), map[string]int{}
		for i, setting := range dir.Run.Plan.Settings {
			s.left[setting.String()] = i + 1
		}
		return dir, s.keepRecord(s.Record, s.Path)
	}
	if s.Path == "" {
		if s.Path, err = store.NewPath(s.Plan.Name+"-capacity", time.Now()); err != nil {
			return nil, err
		}
	}
	first := *s.Plan
	first.Factors, first.Settings = nil, []dyno.Setting{rated(s.Settings[0], s.Problem.From)}
	if dir, err = s.Create(&Run{Plan: &first, Path: s.Path}); err != nil {
		return nil, err
	}
	dir.Run.Plan.Settings = nil
	return dir, s.keepRecord(s.Record, s.Path)
}

// rated is a setting with a rate.
func rated(setting dyno.Setting, rate float64) dyno.Setting {
	return append(slices.Clip(setting), dyno.Level{Factor: "load.rate", Value: strconv.FormatFloat(rate, 'g', -1, 64)})
}

// mostAgain is how often a window is measured again that is void, such as after the loss of a generator, and mostFailed
// how many may fail in a row.
const (
	mostAgain  = 2
	mostFailed = 3
)

// measure measures one window, unless an earlier session did.
func (s *Search) measure(ctx context.Context, i int, rate float64, length time.Duration) (w capacity.Window, took time.Duration, err error) {
	name := rated(s.Settings[i], rate).String()
	if step, err := s.before(name); err != nil {
		return w, 0, err
	} else if step != nil {
		delete(s.left, name)
		err = json.Unmarshal(step.Seen, &w)
		return w, seconds(step.Took), err
	}
	if w, took, err = s.window(ctx, i, rate, length); err == nil {
		err = s.did(name, took, w)
	}
	return w, took, err
}

// window is a trial of the run, with the rate as a level. One that failed is measured again, unless the service died of the load,
// which is an answer.
func (s *Search) window(ctx context.Context, i int, rate float64, length time.Duration) (w capacity.Window, took time.Duration, err error) {
	began := time.Now()
	for ; ; rate *= 1.0001 {
		r, err := s.trial(ctx, rated(s.Settings[i], rate), length)
		if err != nil {
			return w, 0, err
		}
		if r.Err == "" || r.Died {
			s.failed = 0
			w = s.Problem.Read(r, rate, s.parts.Counts)
			s.tell(i, w, r)
			return w, time.Since(began), nil
		}
		fmt.Fprintf(s.Stderr, "%s: failed: %s\n", r.Trial.Setting, r.Err)
		if s.failed++; s.failed >= mostFailed {
			return w, 0, fmt.Errorf("%d windows in a row failed, the last one: %s", mostFailed, r.Err)
		}
	}
}

// trial measures a setting that has a rate, and adds what it found to the run. A trial that an earlier session began is done again.
func (s *Search) trial(ctx context.Context, setting dyno.Setting, length time.Duration) (*dyno.Result, error) {
	n, began := s.left[setting.String()]
	if delete(s.left, setting.String()); !began {
		s.dir.Run.Plan.Settings = append(s.dir.Run.Plan.Settings, setting)
		if err := s.dir.WritePlan(); err != nil {
			return nil, err
		}
		s.trials++
		n = s.trials
	}
	t := s.Plan.Trial(setting)
	t.N, t.Block = n, 1
	t.Load.Duration = dyno.Duration(length + capacity.Settle)
	t.Load.Seed = s.Plan.Rand(uint64(t.N)).Uint64()
	var r *dyno.Result
	for range mostAgain + 1 {
		s.parts.Counts = nil
		if r = s.hands.Trial(ctx, t); !r.Void || ctx.Err() != nil {
			break
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s.hands.Saw(r)
	return r, errors.Join(s.hands.Overridden(ctx, s.Plan, r), s.dir.Add(r))
}

// tell prints a line about a window.
func (s *Search) tell(i int, w capacity.Window, r *dyno.Result) {
	name := ""
	if len(s.Settings) > 1 {
		name = s.Settings[i].String()
	}
	if w.Died {
		fmt.Fprintln(s.Stderr, r.Err)
	}
	fmt.Fprintln(s.Stderr, knee.Progress(s.Problem.Objectives, name, &w, r.Failures))
}
