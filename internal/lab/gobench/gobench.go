// Package gobench runs benchmarks of Go test binaries: it surveys them, lets the processes of all
// settings take turns of a sample, block after block, and takes profiles.
//
// It owns the length and order of samples, launches and blocks. Package subject builds test
// binaries, and Bencher.Open judges which benchmarks need more blocks.
package gobench

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
	"github.com/dynolab/dyno/internal/needs"
	"github.com/dynolab/dyno/internal/subject"
	"github.com/dynolab/dyno/internal/subject/guard"
)

// A Bencher runs the blocks of an experiment with a Bench. [Open] gives it the hands of this
// machine.
type Bencher struct {
	// Tests and Link are those of subject.Builder.
	Tests func(ctx context.Context, s dyno.Subject, patterns []string) ([]*subject.TestPackage, error)
	Link  func(ctx context.Context, p *subject.TestPackage, seed uint32) (path string, err error)
	Start func(ctx context.Context, path string, o Options) (Turns, error) // the function Start, and Once is RunOnce
	Once  func(ctx context.Context, path string, o Options, stdout io.Writer) (status string, err error)
	// Source returns what the source of a benchmark says, by its Printed name, as far as it is
	// known even with an error.
	Source func(ctx context.Context, p *subject.TestPackage) (func(printed string) dyno.BenchSource, error)
	// SameCode returns the benchmark functions of packages that settings of different revisions have, by import path. It may be nil.
	SameCode func(ctx context.Context, settings [][]*subject.TestPackage) (map[string]Functions, error)
	// Needs starts what the tests of a setting need, for the whole run, and returns their environment. It may be nil.
	Needs func(ctx context.Context, t *dyno.Trial) (env map[string]string, warnings dyno.Warnings, err error)
	Lost  func() error      // says which of them has ended by itself, and its last lines; nil if none has
	CPUs  func(n int) []int // guard.PinnedCPUs; nil means that no process is pinned

	// Open tells after each block which benchmarks need more, and how many it may take to say how they differ, 0 if that is too far
	// away; nil means that all need more. It is not asked where the experiment has a number of blocks.
	Open func(block int) func(pkg, name string) (open bool, lacks int)
	// Least is the fewest blocks that can tell a change. A run divides its time by them, and without
	// Bench.Duration and a number of blocks has them however long they take.
	Least int
	// Before are the results of a run that is resumed; it has some.
	Before []*dyno.Result
	// Sum says what the tests of a setting are compiled to. It may be nil.
	Sum   func(ctx context.Context, tests []*subject.TestPackage) (string, error)
	Dir   func(n int) (string, error) // makes the directory for the files of trial n, for Profile
	Watch func(Step)                  // told of each step; it may be nil
}

// Open returns a Bencher that works on this machine; b builds the test binaries and stays the caller's. After release no
// server that benchmarks need is left.
func Open(b *subject.Builder) (bencher *Bencher, release func() error) {
	keeper := &needs.Keeper{Build: b.Build}
	return &Bencher{
		Needs: keeper.Environment, Lost: keeper.Ended,
		Tests: b.Tests, Link: b.Link, Once: RunOnce, CPUs: guard.PinnedCPUs,
		Start: func(ctx context.Context, path string, o Options) (Turns, error) {
			p, err := Start(ctx, path, o)
			if err != nil {
				return nil, err // and no Turns that hold a nil *Process
			}
			return p, nil
		},
	}, keeper.Close
}

// Turns is a [Process].
type Turns interface {
	Begin(ctx context.Context, printed string, parts []string, benchtime string, count, results int) (Batch, error)
	Turn(ctx context.Context, n int) (Batch, error)
	Next(ctx context.Context) (Batch, error)
	End(ctx context.Context) (totals, error)
	Base() totals // of the process before its first benchmark
	Close()
}

// A Step is how far a run has come, for Bencher.Watch.
type Step struct {
	Phase      string // "build", "compare code", "needs", "survey", "link", "block" or "profile"
	Block      int    // from 1; 0 before the blocks
	Benchmarks int    // open in this block; in a survey, and of profiles, times the settings and repeats
	Done       int    // of them

	Expected time.Duration // that this block may take, with its links, or the least that those after the first do; 0 while it is not known

	Last  string  // the last measured benchmark; "" before the first
	Ratio float64 // its time in the second setting over that in the first, from one launch
}

// A Run is one run of benchmarks. Bencher.Run makes it; Profile takes profiles of what changed.
type Run struct {
	*Bencher
	e        *dyno.Experiment    // resolved
	cpus     []int               // that processes are pinned to
	sides    []*side             // of each setting, the baseline first
	pairings []*pairing          // in the order of the survey
	trials   int                 // that have a number
	died     error               // how the first test binary ended that is not known to have shown all its benchmarks
	told     dyno.Warnings       // of builds and needs
	same     map[string][]string // benchmark functions that are the same code in all settings, by import path, without "Benchmark"
	end      time.Time           // of Bench.Duration
	least    int                 // blocks that are run after it, too
	most     int                 // blocks of the run; 0 if there is no number
	first    int                 // block that is run now
	left     time.Duration       // of a run that is resumed
	ratios   []float64           // of benchmarks that took turns: what a pair took the first time, of what its survey says; at most 1
	longest  float64             // seconds of a sample, at most; 0 if there is time for longestSec
	whole    bool                // all benchmarks are in every block
	linked   time.Duration       // what the links of the last block took
	credit   time.Duration       // that what takes long has left of its part of the time
}

// A side is one setting.
type side struct {
	trial    dyno.Trial
	env      map[string]string // of the tests
	needs    dyno.Warnings
	packages []*subject.TestPackage
	leaves   []*benchmark // benchmarks that have results of their own
	names    []string     // of those, and of others that have not the level of dyno.BenchFactor
	warnings dyno.Warnings
	sum      string // what the tests are compiled to, if that is known
	died     error  // how the first test binary ended that is not known to have shown all its benchmarks
}

type benchmark struct {
	dyno.Survey
	p       *subject.TestPackage
	procs   int          // GOMAXPROCS of its processes
	fixed   float64      // seconds of each call that are timed, and not of its iterations: a set-up without ResetTimer
	told    *dyno.Survey // what the survey found, before turns told more
	sharers int          // benchmarks that run together, for which what is around them runs once
	around  float64      // seconds of what runs before the benchmark begins, as the benchmark that it is a part of
	grows   float64      // seconds of each iteration that are not timed, as between StopTimer and StartTimer
}

// A pairing is a benchmark in all settings.
type pairing struct {
	pkg, name string
	in        []*benchmark // of each setting
	surveyed  bool
	blocks    int    // in which it was measured
	n         int64  // iterations of a sample, in the last
	stale     bool   // its pace does not know what its last turns told
	family    string // the benchmark around it, if all that are parts of it are measured in one run; else ""
	pace      pace
	lacks     int  // blocks, as Bencher.Open says
	over      bool // it failed, or needs no more blocks
}

// Run builds, surveys and measures, and gives each finished result to sink: one ForSurvey of each
// setting, then one of each setting for every block. The returned Run can take profiles.
//
// It ends when no benchmark is open, after Bench.Planned blocks, or when Bench.Duration is over, but not before
// Least blocks where that is its default. A block that is cut off keeps the benchmarks done in all
// settings. If ctx ends, Run returns its cause and loses the current block. A benchmark that fails is
// left out of later blocks. A *dyno.PlanError says that the plan means no benchmark.
func (b *Bencher) Run(ctx context.Context, e *dyno.Experiment, sink func(*dyno.Result) error) (*Run, error) {
	w := b.begin(e)
	if err := w.build(ctx); err != nil {
		return nil, err
	}
	if err := w.sums(ctx); err != nil {
		return nil, err
	}
	if err := w.leaveOut(ctx); err != nil {
		return nil, err
	}
	if err := w.needed(ctx); err != nil {
		return nil, err
	}
	if err := w.discover(ctx); err != nil {
		return nil, err
	}
	if w.resume(); len(w.Before) > 0 && len(w.open()) == 0 {
		return w, nil
	}
	if len(w.open()) == 0 {
		if err := w.sinkSurveys(sink); err != nil || len(w.pairings) == 0 {
			return w, err
		}
		return nil, w.noneRuns()
	}
	return w, w.blocks(ctx, sink)
}

// sinkSurveys hands over the result ForSurvey of each setting.
func (w *Run) sinkSurveys(sink func(*dyno.Result) error) error {
	for i, s := range w.sides {
		r := w.result(s, 0, dyno.ForSurvey, time.Now())
		if i == 0 {
			r.SameCode = w.same
		}
		r.Warnings, r.Sum = s.warnings, s.sum
		for _, l := range s.leaves {
			if l.told == nil {
				l.told = &l.Survey
			}
			r.Surveys = append(r.Surveys, *l.told)
		}
		if err := sink(r); err != nil {
			return err
		}
	}
	return nil
}

func (b *Bencher) begin(e *dyno.Experiment) *Run {
	all := e.Resolved()
	w := &Run{Bencher: b, e: &all, first: 1, most: all.Bench.Planned(), end: time.Now().Add(time.Duration(all.Bench.Duration))}
	if e.Bench.Duration == 0 {
		w.least = cmp.Or(w.most, b.Least)
	}
	w.before()
	for _, s := range all.Levels() {
		w.sides = append(w.sides, &side{trial: all.Trial(s)})
	}
	if n := all.Bench.CPUs; n > 0 && b.CPUs != nil {
		w.cpus = b.CPUs(n)
		if len(w.cpus) < n {
			w.sides[0].warnings.Add(dyno.WarnBenchCPUs, "benchmarks have %d CPUs, not %d: dyno may not use more here", len(w.cpus), n)
		}
	}
	return w
}

// needed starts what the tests of each setting need.
func (w *Run) needed(ctx context.Context) error {
	for _, s := range w.sides {
		s.env = s.trial.Subject.Env
		if len(s.trial.Subject.Needs) == 0 || w.Needs == nil {
			continue
		}
		w.step(Step{Phase: "needs"})
		var err error
		if s.env, s.needs, err = w.Needs(ctx, &s.trial); err != nil {
			return fmt.Errorf("%s: %w", s.trial.Setting.Label(), err)
		}
	}
	return nil
}

// open returns the benchmarks that did not fail and need more blocks.
func (w *Run) open() []*pairing {
	return slices.DeleteFunc(slices.Clone(w.pairings), func(p *pairing) bool { return p.over })
}

func (w *Run) late(block int) bool { return block > w.least && !time.Now().Before(w.end) }

func (w *Run) step(s Step) {
	if w.Watch != nil {
		w.Watch(s)
	}
}

func (w *Run) noneRuns() error {
	for _, s := range w.sides {
		for _, l := range s.leaves {
			if l.Err != "" {
				return fmt.Errorf("run benchmarks: all %d failed; %s under %s: %s", len(w.pairings), l.Printed, s.trial.Setting.Label(), l.Err)
			}
		}
	}
	return errors.New("run benchmarks: no benchmark found")
}

func (w *Run) result(s *side, block int, purpose string, start time.Time) *dyno.Result {
	w.trials++
	r := &dyno.Result{Trial: s.trial, Start: start, Elapsed: time.Since(start)}
	r.Trial.N, r.Trial.Block, r.Trial.For = w.trials, block, purpose
	r.Subject = s.built()
	return r
}

// built is the toolchain and the revision of the tests.
func (s *side) built() string {
	if len(s.packages) == 0 {
		return ""
	}
	return strings.TrimSpace(s.packages[0].Go + " " + s.packages[0].Rev)
}

func (w *Run) options(s *side, p *subject.TestPackage, args ...string) Options {
	return Options{
		Dir: p.Dir, Env: s.env, CPUs: w.cpus,
		Args: slices.Concat([]string{"-test.run=^$", "-test.benchmem"}, s.trial.Subject.Args, args),
	}
}

// links links the wanted packages, two at a time, and returns the paths of the binaries.
func (w *Run) links(ctx context.Context, want func(*subject.TestPackage) bool, link func(context.Context, *subject.TestPackage) (string, error)) (map[*subject.TestPackage]string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex // of paths
	paths := map[*subject.TestPackage]string{}
	two := make(chan struct{}, 2)
	var wg sync.WaitGroup
	var begun []*subject.TestPackage // settings that need no build of their own share a package
	for _, s := range w.sides {
		for _, p := range s.packages {
			if slices.Contains(begun, p) || !want(p) {
				continue
			}
			begun = append(begun, p)
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

// build finds the test packages that all settings have.
func (w *Run) build(ctx context.Context) error {
	w.step(Step{Phase: "build"})
	in := map[string]int{} // settings that have a package
	for _, s := range w.sides {
		found, err := w.Tests(ctx, s.trial.Subject, w.e.Bench.Packages)
		if err != nil {
			return fmt.Errorf("find the tests of %s under %s: %w", strings.Join(w.e.Bench.Packages, " "), s.trial.Setting.Label(), err)
		}
		s.packages = found
		for _, p := range found {
			in[p.ImportPath]++
		}
	}
	for _, s := range w.sides {
		s.packages = slices.DeleteFunc(s.packages, func(p *subject.TestPackage) bool {
			n := in[p.ImportPath]
			if n < len(w.sides) {
				s.warnings.AddOf(dyno.WarnLeftOut, p.ImportPath, "package %s is left out: it has tests in %d of %d settings", p.ImportPath, n, len(w.sides))
			}
			return n < len(w.sides)
		})
	}
	if len(w.sides[0].packages) == 0 {
		return &dyno.PlanError{
			Msg: fmt.Sprintf("no package of %s has tests in every setting", strings.Join(w.e.Bench.Packages, " ")),
			Key: []string{"bench", "packages"},
		}
	}
	return nil
}

// pair finds the benchmarks that every setting has, and leaves out the others.
func (w *Run) pair() error {
	paired := map[*benchmark]bool{}
	for _, first := range w.sides[0].leaves {
		p := &pairing{pkg: first.Package, name: first.Name}
		for _, s := range w.sides {
			// If two have one name with a "*" in it, the first is taken.
			i := slices.IndexFunc(s.leaves, func(l *benchmark) bool { return l.Package == p.pkg && l.Name == p.name })
			if i >= 0 && !paired[s.leaves[i]] {
				p.in = append(p.in, s.leaves[i])
			}
		}
		if len(p.in) < len(w.sides) {
			continue
		}
		w.pairings = append(w.pairings, p)
		for _, l := range p.in {
			paired[l] = true
		}
	}
	if len(w.pairings) == 0 && len(w.same) == 0 {
		return w.noPair()
	}
	for _, s := range w.sides {
		var out []string
		s.leaves = slices.DeleteFunc(s.leaves, func(l *benchmark) bool {
			if !paired[l] {
				out = append(out, l.Printed)
			}
			return !paired[l]
		})
		if len(out) > 0 {
			s.warnings.Add(dyno.WarnLeftOut, "left out, because not every setting has them: %s", some(out))
		}
	}
	return nil
}

// noPair is the mistake of a plan that compares nothing, unless a test binary ended too early.
func (w *Run) noPair() error {
	if w.died != nil {
		return w.died
	}
	var names []string
	for _, s := range w.sides {
		names = append(names, s.names...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	matching := ""
	if match := w.e.Bench.Match; match != "." {
		matching = fmt.Sprintf(" that matches %q", match)
	}
	there := fmt.Sprintf(" (there are %s)", some(names))
	mistake := &dyno.PlanError{Msg: fmt.Sprintf("no benchmark%s is in every setting%s", matching, there), Key: []string{"bench", "match"}}
	if len(names) == 0 {
		mistake.Msg = fmt.Sprintf("there is no benchmark%s in %s", matching, strings.Join(w.e.Bench.Packages, " "))
		return mistake
	}
	for _, s := range w.sides {
		if level := levelOf(s.trial.Setting); level != "" && len(s.leaves) == 0 {
			mistake.Msg, mistake.Key = fmt.Sprintf("no benchmark has %q as an element of its name%s", level, there), []string{"vary", dyno.BenchFactor}
			return mistake
		}
	}
	return mistake
}

func some(names []string) string {
	const most = 8
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
