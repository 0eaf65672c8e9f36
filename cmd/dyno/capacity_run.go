package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/capacity"
	"github.com/dynolab/dyno/lab"
	"github.com/dynolab/dyno/report"
	"github.com/dynolab/dyno/report/knee"
	"github.com/dynolab/dyno/store"
)

// A search measures the windows of a search for capacities.
type search struct {
	cmd        *cobra.Command
	flags      *capacityFlags
	plan       *dyno.Experiment // of every window; its settings are those without a rate
	settings   []dyno.Setting
	problem    capacity.Problem
	negligible float64
	notes      []string

	hands    *lab.Lab
	dir      *store.Dir
	trials   int
	parts    capacity.Parts // of the window under way
	searches []*capacity.Search
	failed   int   // trials in a row
	unkept   error // that the run does not say that loops kept the CPUs awake
}

// search is dyno capacity.
func (s *search) search() (err error) {
	hands, release, err := openLab(s.cmd, s.plan)
	if err != nil {
		return err
	}
	s.hands = hands
	out := &outFlags{dir: s.flags.dir}
	if out.dir == "" {
		if out.dir, err = store.NewPath(s.plan.Name+"-capacity", time.Now()); err != nil {
			return errors.Join(err, release())
		}
	}
	first := *s.plan
	first.Factors, first.Settings = nil, []dyno.Setting{rated(s.settings[0], s.problem.From)}
	if s.dir, err = out.create(&first); err != nil {
		return errors.Join(err, release())
	}
	defer s.dir.Close()
	s.dir.Run.Plan.Settings = nil
	hands.Dir, hands.Keep = s.dir.TrialDir, s.dir.WriteRequests
	s.parts.Objectives = s.problem.Objectives
	hands.Second = s.parts.Second
	hands.Awake = func(since string) {
		notef(s.cmd, "%s", dyno.KeptAwake(since))
		s.notes, s.unkept = append(s.notes, dyno.KeptAwake(since)), s.dir.SetAwake(since)
	}
	s.searches, err = capacity.Run(s.cmd.Context(), s.problem, len(s.settings), s.measure)
	return errors.Join(err, s.unkept, s.conclude(err), release())
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

// measure measures one window: a trial of the run, with the rate as a level. One that failed is measured again, unless the
// service died of the load, which is an answer.
func (s *search) measure(ctx context.Context, i int, rate float64, length time.Duration) (w capacity.Window, took time.Duration, err error) {
	began := time.Now()
	for ; ; rate *= 1.0001 {
		r, err := s.trial(ctx, rated(s.settings[i], rate), length)
		if err != nil {
			return w, 0, err
		}
		if r.Err == "" || r.Died {
			s.failed = 0
			w = s.problem.Read(r, rate, s.parts.Counts)
			s.tell(i, w, r)
			return w, time.Since(began), nil
		}
		fmt.Fprintf(s.cmd.ErrOrStderr(), "%s: failed: %s\n", r.Trial.Setting, r.Err)
		if s.failed++; s.failed >= mostFailed {
			return w, 0, fmt.Errorf("%d windows in a row failed, the last one: %s", mostFailed, r.Err)
		}
	}
}

// trial measures a setting that has a rate, and adds what it found to the run.
func (s *search) trial(ctx context.Context, setting dyno.Setting, length time.Duration) (*dyno.Result, error) {
	s.dir.Run.Plan.Settings = append(s.dir.Run.Plan.Settings, setting)
	if err := s.dir.WritePlan(); err != nil {
		return nil, err
	}
	s.trials++
	t := s.plan.Trial(setting)
	t.N, t.Block = s.trials, 1
	t.Load.Duration = dyno.Duration(length + capacity.Settle)
	t.Load.Seed = s.plan.Rand(uint64(t.N)).Uint64()
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
	return r, errors.Join(s.hands.Overridden(ctx, s.plan, r), s.dir.Add(r))
}

// tell prints a line about a window.
func (s *search) tell(i int, w capacity.Window, r *dyno.Result) {
	name := ""
	if len(s.settings) > 1 {
		name = s.settings[i].String()
	}
	if w.Died {
		fmt.Fprintln(s.cmd.ErrOrStderr(), r.Err)
	}
	fmt.Fprintln(s.cmd.ErrOrStderr(), knee.Progress(s.problem.Objectives, name, &w, r.Failures))
}

// conclude writes capacity.json and the reports of the run, and prints the result. failed is why the search did not come
// to its end.
func (s *search) conclude(failed error) error {
	if s.trials == 0 || !slices.ContainsFunc(s.searches, func(x *capacity.Search) bool { return len(x.Windows) > 0 }) {
		if failed == nil {
			return errors.New("no window was measured")
		}
		return nil
	}
	r := &knee.Report{
		Problem: s.problem, Settings: s.settings, Searches: s.searches, Negligible: s.negligible,
		Name: s.plan.Name, Dyno: version(), Made: time.Now(), Dir: s.dir.Path, Arrival: s.plan.Load.Arrival,
		Sessions: s.plan.Load.Session(), Interrupted: failed != nil, Notes: s.notes,
	}
	err := s.dir.WriteFile("capacity.json", func(w io.Writer) error { return report.JSON(w, r.Document()) })
	_, unread, unwritten := readAndWrite(s.dir)
	err = errors.Join(err, unread, unwritten)
	w := s.cmd.OutOrStdout()
	if s.flags.form() == "json" {
		return errors.Join(err, report.JSON(w, r.Document()))
	}
	if here, e := os.Getwd(); e == nil {
		if rel, e := filepath.Rel(here, r.Dir); e == nil && !strings.HasPrefix(rel, "..") {
			r.Dir = rel
		}
	}
	_, e := io.WriteString(w, knee.Text(r, lookOf(w)))
	return errors.Join(err, e)
}
