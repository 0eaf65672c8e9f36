package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/subject"
)

// A Bencher runs the blocks of an experiment with a Bench. Its hands are those of
// package subject; tests bring their own.
type Bencher struct {
	// Tests is subject.Builder.Tests, Link its Link, and LinkSurvey its LinkSurvey,
	// whose binary also has BenchmarkDynoSurvey, which runs after all others and
	// tells totals of its process so far.
	Tests      func(ctx context.Context, s dyno.Subject, patterns []string) ([]*subject.TestPackage, error)
	Link       func(ctx context.Context, p *subject.TestPackage, seed uint32) (path string, err error)
	LinkSurvey func(ctx context.Context, p *subject.TestPackage) (path string, err error)
	// Start is subject.StartBench, and Once is subject.RunBench: its status is "" if
	// the program did not start, and its error tells how it ended if not well.
	Start func(ctx context.Context, path string, o subject.BenchOptions) (BenchTurns, error)
	Once  func(ctx context.Context, path string, o subject.BenchOptions, stdout io.Writer) (status string, err error)
	// Source returns what tells of a benchmark what its source says, by its Printed name,
	// as far as it is known even if it fails; nil means that no source is read.
	Source func(ctx context.Context, p *subject.TestPackage) (func(printed string) dyno.BenchSource, error)
	// CPUs is BenchCPUs; nil means that no process is pinned.
	CPUs func(n int) []int
	// Open tells which benchmarks need more blocks, after each block; nil means all.
	// Where the experiment has a number of blocks it is not asked.
	Open func(block int) func(pkg, name string) bool
	// Least are the blocks that are run however long they take, where the experiment
	// has no Bench.Duration: with fewer nothing could be told. Where it has a number of
	// blocks, it is all of them.
	Least int
	// Dir makes the directory for the files of trial n. Only Profile needs it.
	Dir func(n int) (string, error)
	// Watch is told what is done, for progress; nil means nobody watches.
	Watch func(BenchStep)

	run *benchRun // the last one, for Profile
}

// BenchTurns is a [subject.BenchProcess].
type BenchTurns interface {
	Turn(ctx context.Context, n int) (line string, err error)
	Close()
}

// A BenchStep is one step of the work, for progress.
type BenchStep struct {
	Phase      string // "build", "survey", "link", "block" or "profile"
	Block      int    // from 1; 0 before the blocks
	Benchmarks int    // open in this block; in a survey, and of profiles, times the settings and repeats
	Done       int    // of them
}

// A benchRun is one run of a Bencher.
type benchRun struct {
	*Bencher
	e        *dyno.Experiment // resolved
	cpus     []int            // that processes are pinned to
	sides    []*benchSide     // of each setting, the baseline first
	pairings []*pairing       // in the order of the survey
	trials   int              // that have a number
	died     error            // how the first test binary ended that is not known to have shown all its benchmarks
	end      time.Time        // of Bench.Duration
	least    int              // blocks that are run after it, too
}

// A benchSide is one setting.
type benchSide struct {
	trial    dyno.Trial
	packages []*subject.TestPackage
	leaves   []*benchLeaf // benchmarks that have results of their own
	names    []string     // of those, and of others that have not the level of dyno.BenchFactor
	warnings []string
}

// A benchLeaf is a benchmark under one setting.
type benchLeaf struct {
	dyno.Survey
	p     *subject.TestPackage
	procs int     // GOMAXPROCS of its processes
	fixed float64 // seconds of each call that are timed, and not of its iterations: a set-up without ResetTimer
	grows float64 // seconds of each iteration that are not timed, as between StopTimer and StartTimer
}

// A pairing is a benchmark in all settings.
type pairing struct {
	pkg, name string
	in        []*benchLeaf // of each setting
	pace      pace
	over      bool // it failed, or needs no more blocks
}

// Run builds, surveys and measures, and gives each finished result to sink: first
// one ForSurvey of each setting, then of every block one for each setting.
//
// It ends when no benchmark is open, after Bench.Blocks, or when Bench.Duration,
// which counts from the call, is over; the Least blocks come before the end of its
// default. The time is looked at between benchmarks: a block that is cut off by it is
// kept for the benchmarks that were measured in all settings. If ctx ends, Run returns
// its cause and the block under way is lost. A benchmark that fails is left out of the
// blocks after, and the rest go on; what cannot be built is an error. A *dyno.PlanError
// says that the plan means no benchmark.
func (b *Bencher) Run(ctx context.Context, e *dyno.Experiment, sink func(*dyno.Result) error) error {
	w, err := b.begin(e)
	if err != nil {
		return err
	}
	if err := w.build(ctx); err != nil {
		return err
	}
	if err := w.survey(ctx); err != nil {
		return err
	}
	b.run = w
	for _, s := range w.sides {
		r := w.result(s, 0, dyno.ForSurvey, time.Now())
		r.Warnings = s.warnings
		for _, l := range s.leaves {
			r.Surveys = append(r.Surveys, l.Survey)
		}
		if err := sink(r); err != nil {
			return err
		}
	}
	if !slices.ContainsFunc(w.pairings, func(p *pairing) bool { return !p.over }) {
		return w.noneRuns()
	}
	return w.blocks(ctx, sink)
}

func (b *Bencher) begin(e *dyno.Experiment) (*benchRun, error) {
	if e.Bench == nil {
		return nil, errors.New("run benchmarks: the experiment has none")
	}
	all := e.Resolved()
	w := &benchRun{Bencher: b, e: &all, end: time.Now().Add(time.Duration(all.Bench.Duration))}
	if e.Bench.Duration == 0 {
		w.least = cmp.Or(all.Bench.Blocks, b.Least)
	}
	for _, s := range all.Levels() {
		w.sides = append(w.sides, &benchSide{trial: all.BenchTrial(s)})
	}
	if n := all.Bench.CPUs; n > 0 && b.CPUs != nil {
		w.cpus = b.CPUs(n)
		if len(w.cpus) < n {
			w.warn("benchmarks have %d CPUs, not %d: dyno may not use more here", len(w.cpus), n)
		}
	}
	return w, nil
}

// warn adds a doubt about the whole run.
func (w *benchRun) warn(format string, args ...any) {
	s := w.sides[0]
	s.warnings = append(s.warnings, fmt.Sprintf(format, args...))
}

// late reports whether there is no time for more of a block.
func (w *benchRun) late(block int) bool { return block > w.least && !time.Now().Before(w.end) }

func (w *benchRun) step(s BenchStep) {
	if w.Watch != nil {
		w.Watch(s)
	}
}

// noneRuns is the error where every benchmark failed.
func (w *benchRun) noneRuns() error {
	for _, s := range w.sides {
		for _, l := range s.leaves {
			if l.Err != "" {
				return fmt.Errorf("run benchmarks: none of %d succeeds; %s under %s: %s", len(w.pairings), l.Printed, s.trial.Setting.Label(), l.Err)
			}
		}
	}
	return errors.New("run benchmarks: there are none")
}

// result begins the result of a trial of a setting.
func (w *benchRun) result(s *benchSide, block int, purpose string, start time.Time) *dyno.Result {
	w.trials++
	r := &dyno.Result{Trial: s.trial, Start: start, Elapsed: time.Since(start)}
	r.Trial.N, r.Trial.Block, r.Trial.For = w.trials, block, purpose
	if len(s.packages) > 0 {
		r.Subject = strings.TrimSpace(s.packages[0].Go + " " + s.packages[0].Rev)
	}
	return r
}

// options are those of a process of the leaf's package under the setting.
func (w *benchRun) options(s *benchSide, p *subject.TestPackage, args ...string) subject.BenchOptions {
	return subject.BenchOptions{
		Dir: p.Dir, Env: s.trial.Subject.Env, CPUs: w.cpus,
		Args: slices.Concat([]string{"-test.run=^$", "-test.benchmem"}, s.trial.Subject.Args, args),
	}
}

// links links the packages that are wanted, two at a time, and returns the paths
// of the binaries. Settings that need no build of their own may share a package.
func (w *benchRun) links(ctx context.Context, want func(*benchSide, *subject.TestPackage) bool, link func(context.Context, *subject.TestPackage) (string, error)) (map[*subject.TestPackage]string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex // of paths
	paths := map[*subject.TestPackage]string{}
	two := make(chan struct{}, 2)
	var wg sync.WaitGroup
	for _, s := range w.sides {
		for _, p := range s.packages {
			mu.Lock()
			_, known := paths[p]
			if !known && want(s, p) {
				paths[p] = ""
			} else {
				known = true
			}
			mu.Unlock()
			if known {
				continue
			}
			two <- struct{}{}
			wg.Go(func() {
				defer func() { <-two }()
				if ctx.Err() != nil {
					return
				}
				path, err := link(ctx, p)
				if err != nil && ctx.Err() == nil {
					cancel(fmt.Errorf("under %s: %w", s.trial.Setting.Label(), err)) // which says what was built
				}
				mu.Lock()
				defer mu.Unlock()
				paths[p] = path
			})
		}
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return paths, nil
}
