package campaign

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/capacity"
	"github.com/dynolab/dyno/internal/plan/how"
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
	Record     *store.Record // what was asked; one that was read is resumed
	Notes      []string

	dir      *store.Dir
	trials   int
	left     map[string]int // numbers of trials that an earlier session began, by setting, unless a step has them
	parts    capacity.Parts // of the window under way
	searches []*capacity.Search
	failed   int // trials in a row
}

// Run searches, and writes the answer and the reports of the run. With an error, which may be the context's, the report has the
// windows so far; it is nil if there are none, or fewer than in an earlier session, whose answer stays.
func (s *Search) Run(ctx context.Context) (r *knee.Report, err error) {
	path, leave, err := s.enter(s.Record, s.Path)
	if err != nil {
		return nil, err
	}
	defer leave()
	s.Path = path
	if err := s.open(ctx, s.Plan); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.keepRecord(ctx, s.Path, s.Plan); err != nil {
		return nil, err
	}
	if s.dir, err = s.directory(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.dir.Close()) }()
	unkept := s.into(s.dir, func(since string) {
		s.Note("%s", how.KeptAwake(since))
		s.Notes = append(s.Notes, how.KeptAwake(since))
	})
	s.parts.Objectives = s.Problem.Objectives
	s.hands.Second = s.parts.Second
	s.searches, err = capacity.Run(ctx, s.Problem, len(s.Settings), s.measure)
	cut := err
	err = errors.Join(err, s.Close(), unkept()) // Close may say something of the loops, before the directory is closed
	if !slices.ContainsFunc(s.searches, func(x *capacity.Search) bool { return len(x.Windows) > 0 }) {
		return nil, cmp.Or(err, errors.New("no window was measured"))
	}
	if err := s.lacks(err); err != nil {
		return nil, err
	}
	r = &knee.Report{
		Problem: s.Problem, Settings: s.Settings, Searches: s.searches, Negligible: s.Negligible,
		Name: s.Plan.Name, Dyno: s.Version, Plan: store.Redacted(s.Record.Plan), Made: time.Now(), Dir: fromHere(s.dir.Path), Arrival: s.Plan.Load.Arrival,
		Sessions: s.Plan.Load.Session(), Interrupted: cut != nil, Notes: s.Notes,
	}
	_, unread, unwritten := ReadAndWrite(s.dir)
	return r, s.conclude(r, errors.Join(err, unread, unwritten))
}

// directory makes the run directory, or opens that of an earlier session. The record, which is there first, says whose it is.
func (s *Search) directory() (dir *store.Dir, err error) {
	if _, err := os.Stat(filepath.Join(s.Path, "run.json")); s.known > 0 || err == nil {
		return s.resumed()
	}
	first := *s.Plan
	first.Factors, first.Settings = nil, []dyno.Setting{rated(s.Settings[0], s.Problem.From)}
	if dir, err = s.Create(&Run{Plan: &first, Path: s.Path}); err != nil {
		return nil, err
	}
	dir.Run.Plan.Settings = nil
	return dir, nil
}

// resumed opens the directory of an earlier session.
func (s *Search) resumed() (*store.Dir, error) {
	dir, err := store.Resume(s.Path)
	if err != nil {
		return nil, err
	}
	if _, err := dir.Reveal(s.Secrets); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	s.trials, s.left = len(dir.Run.Plan.Settings), map[string]int{}
	for i, setting := range dir.Run.Plan.Settings {
		s.left[setting.String()] = i + 1
	}
	return dir, nil
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
		if err = json.Unmarshal(step.Seen, &w); err == nil {
			s.answered++
		}
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
