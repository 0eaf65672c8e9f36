package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/analysis/pitfall"
	"github.com/dynolab/dyno/campaign/progress"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/lab/gobench"
	"github.com/dynolab/dyno/store"
	"github.com/dynolab/dyno/subject"
)

// benchHands do the work of dyno bench.
type benchHands struct {
	lab   *gobench.Bencher
	run   func(ctx context.Context, e *dyno.Experiment, sink func(*dyno.Result) error) (benchRun, error)
	close func() error
}

// A benchRun is a *gobench.Run.
type benchRun interface {
	Profile(ctx context.Context, wanted []dyno.Benchmark, sink func(*dyno.Result) error) error
	Locate(setting, file string) string
}

// openBench is replaced by tests.
var openBench = func() (*benchHands, error) {
	builder, err := subject.NewBuilder("")
	if err != nil {
		return nil, err
	}
	h := &benchHands{lab: gobench.Open(builder), close: builder.Close}
	h.lab.Source = func(ctx context.Context, p *subject.TestPackage) (func(string) dyno.BenchSource, error) {
		found, err := builder.Syntax(ctx, p)
		if err != nil {
			err = fmt.Errorf("read the source of %s: %w", p.ImportPath, err)
		}
		var packages []pitfall.Syntax
		for _, s := range found {
			packages = append(packages, pitfall.Syntax(s))
		}
		return pitfall.ReadSource(packages...), err
	}
	h.lab.Least = compare.FewestBenchBlocks()
	h.run = func(ctx context.Context, e *dyno.Experiment, sink func(*dyno.Result) error) (benchRun, error) {
		return h.lab.Run(ctx, e, sink)
	}
	return h, nil
}

// benchInto makes the run directory with the first result.
func benchInto(cmd *cobra.Command, e *dyno.Experiment, o *benchFlags) error {
	if err := o.out.check(cmd, e); err != nil {
		return err
	}
	if err := store.Free(o.out.dir); err != nil { // found before an hour of measuring
		return err
	}
	if e.Bench.Blocks == 0 && len(e.Levels()) == 1 {
		e.Bench.Blocks = aloneBlocks
	}
	noteDirty(cmd, e)
	hands, err := openBench()
	if err != nil {
		return err
	}
	dir, err := measureBench(cmd, hands, e, o)
	if dir == nil {
		return errors.Join(err, hands.close())
	}
	defer dir.Close()
	err = errors.Join(err, hands.close())
	if o.cache != "" && err == nil {
		err = fillCache(o.cache, dir)
	}
	err = o.out.conclude(cmd, campaignOf(cmd), dir, err)
	if !reported(err) && !errors.Is(err, errInterrupted) {
		return err
	}
	sayWhere(cmd, dir.Path, "")
	return err
}

// aloneBlocks are the samples that benchstat asks for, of one setting beside a file.
const aloneBlocks = 10

// measureBench also profiles what changed. dir is nil if nothing was measured.
func measureBench(cmd *cobra.Command, hands *benchHands, e *dyno.Experiment, o *benchFlags) (dir *store.Dir, err error) {
	all := e.Resolved()
	p := progress.NewBench(cmd.ErrOrStderr(), e.Bench)
	defer func() { p.Finish(err == nil) }()
	open := func() error {
		if dir != nil {
			return nil
		}
		if dir, err = campaignOf(cmd).Create(o.out.runOf(e)); err == nil && o.baseline != "" {
			err = keepBaseline(dir, o.baseline)
		}
		return err
	}
	sink := func(r *dyno.Result) error {
		if err := open(); err != nil {
			return err
		}
		return dir.Add(r)
	}
	table := func() *compare.Table { return compare.TabulateBenchmarks(&all, dir.Results()) }
	hands.lab.Watch = p.See
	hands.lab.Dir = func(n int) (string, error) {
		if err := open(); err != nil {
			return "", err
		}
		return dir.TrialDir(n)
	}
	hands.lab.Open = func(int) func(pkg, name string) bool {
		if dir == nil {
			return func(string, string) bool { return true }
		}
		return table().Open
	}
	measured, err := hands.run(cmd.Context(), e, sink)
	if err == nil && dir == nil {
		err = errors.New("no benchmark was measured")
	}
	if err != nil || len(e.Profile) == 0 || len(e.Levels()) < 2 {
		return dir, err
	}
	t := table()
	chosen, left := profiledOnes(t)
	if left > 0 {
		p.Note("dyno profiles the %d largest changes and leaves out %d (consider: --bench, for one of them)", len(chosen), left)
	}
	if len(chosen) == 0 {
		return dir, nil
	}
	if err := measured.Profile(cmd.Context(), chosen, sink); err != nil {
		return dir, err
	}
	return dir, findings.KeepSources(dir, t, dir.Results(), measured.Locate)
}

// profiledMost bounds the time: a benchmark takes six seconds of each setting.
const profiledMost = 5

// profiledOnes has the greatest change first. left is how many more changed.
func profiledOnes(t *compare.Table) (chosen []dyno.Benchmark, left int) {
	change := func(b *compare.Benchmark) (most float64) {
		for i := 1; i < len(t.Settings); i++ {
			most = max(most, t.ChangedBy(b, i))
		}
		return most
	}
	changed := slices.DeleteFunc(slices.Clone(t.Benchmarks), func(b *compare.Benchmark) bool { return change(b) == 0 })
	slices.SortStableFunc(changed, func(a, b *compare.Benchmark) int { return cmp.Compare(change(b), change(a)) })
	kept := min(len(changed), profiledMost)
	for _, b := range changed[:kept] {
		chosen = append(chosen, dyno.Benchmark{Package: b.Package, Name: b.Name})
	}
	return chosen, len(changed) - kept
}
