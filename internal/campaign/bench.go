package campaign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/pitfall"
	"github.com/dynolab/dyno/internal/campaign/progress"
	"github.com/dynolab/dyno/internal/lab/gobench"
	"github.com/dynolab/dyno/internal/safe"
	"github.com/dynolab/dyno/internal/store"
	"github.com/dynolab/dyno/internal/subject"
	"github.com/dynolab/dyno/internal/subject/samecode"
)

// BenchHands do the work of dyno bench.
type BenchHands struct {
	Bencher *gobench.Bencher
	Run     func(ctx context.Context, e *dyno.Experiment, sink func(*dyno.Result) error) (BenchRun, error)
	Close   func() error
}

// A BenchRun is a *gobench.Run.
type BenchRun interface {
	Profile(ctx context.Context, wanted []dyno.Benchmark, sink func(*dyno.Result) error) error
	Locate(setting, file string) string
}

// OpenBench is replaced by tests.
var OpenBench = func() (*BenchHands, error) {
	builder, err := subject.NewBuilder("")
	if err != nil {
		return nil, err
	}
	bencher, release := gobench.Open(builder)
	h := &BenchHands{Bencher: bencher, Close: func() error { return errors.Join(release(), builder.Close()) }}
	h.Bencher.Source = func(ctx context.Context, p *subject.TestPackage) (func(string) dyno.BenchSource, error) {
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
	h.Bencher.SameCode = func(ctx context.Context, settings [][]*subject.TestPackage) (map[string]gobench.Functions, error) {
		return sameCode(ctx, builder, settings)
	}
	h.Bencher.Sum = func(ctx context.Context, tests []*subject.TestPackage) (string, error) {
		compiled, err := builder.Compiled(ctx, tests)
		sum := samecode.Sum(compiled)
		if tree, terr := builder.Tree(ctx, tests[0]); terr == nil { // else it is in no repository
			sum += tree.State()
		}
		return sum, err
	}
	h.Bencher.Least = compare.FewestBenchBlocks()
	h.Run = func(ctx context.Context, e *dyno.Experiment, sink func(*dyno.Result) error) (BenchRun, error) {
		return h.Bencher.Run(ctx, e, sink)
	}
	return h, nil
}

// Benchmarks measures benchmarks, and profiles those that changed. The run directory is made with the first result unless one is resumed,
// and keeps baseline, a file of results, if it is not "". It is nil if nothing was measured; else the caller closes it.
func (c *Campaign) Benchmarks(ctx context.Context, run *Run, baseline string, resumed *store.Dir) (dir *store.Dir, err error) {
	dir = resumed
	hands := c.benches
	if hands == nil {
		if hands, err = OpenBench(); err != nil {
			return dir, err
		}
		defer func() { err = errors.Join(err, hands.Close()) }()
	}
	e := run.Plan
	all := e.Resolved()
	p := progress.NewBench(c.Stderr, e.Bench)
	defer func() { p.Finish(err == nil) }()
	open := func() error {
		if dir != nil {
			return nil
		}
		if dir, err = c.Create(run); err == nil && baseline != "" {
			err = keepBaseline(dir, baseline)
		}
		return err
	}
	begun := resumed == nil || len(resumed.Brief()) == 0
	sink := func(r *dyno.Result) error {
		err := open()
		if err == nil && !begun && r.Trial.For != dyno.ForProfile {
			begun, err = true, keepResumed(resumed, e.Bench)
		}
		if err != nil {
			return err
		}
		return dir.Add(r)
	}
	table := func() *compare.Table { return compare.TabulateBenchmarks(&all, dir.Results()) }
	hands.Bencher.Watch, hands.Bencher.Before = p.See, nil
	if resumed != nil {
		hands.Bencher.Before = resumed.Results()
	}
	hands.Bencher.Dir = func(n int) (string, error) {
		if err := open(); err != nil {
			return "", err
		}
		return dir.TrialDir(n)
	}
	enough := false
	hands.Bencher.Open = func(block int) func(pkg, name string) (bool, int) {
		switch {
		case dir == nil:
			return func(string, string) (bool, int) { return true, 0 }
		case run.Enough != nil:
			enough = run.Enough(block)
			return func(string, string) (bool, int) { return !enough, 0 }
		}
		return table().Open
	}
	measured, err := hands.Run(ctx, e, sink)
	if err == nil && dir == nil {
		err = errors.New("no benchmark was measured")
	} else if err == nil {
		err = endBenchmarks(dir, table(), enough)
	}
	if err != nil || len(e.Profile) == 0 || len(e.Levels()) < 2 {
		return dir, err
	}
	t := table()
	chosen, left := profiledOnes(t, run.Enough != nil)
	if left > 0 {
		p.Note("dyno profiles the %d largest changes and leaves out %d (consider: --bench, for one of them)", len(chosen), left)
	}
	if len(chosen) == 0 {
		return dir, nil
	}
	if err := measured.Profile(ctx, chosen, sink); err != nil {
		return dir, err
	}
	return dir, findings.KeepSources(dir, t, dir.Results(), measured.Locate)
}

// profiledMost bounds the time: a benchmark takes six seconds of each setting.
const profiledMost = 5

// profiledOnes are those that changed, or all, with the greatest change first. left is how many more there are.
func profiledOnes(t *compare.Table, all bool) (chosen []dyno.Benchmark, left int) {
	change := func(b *compare.Benchmark) (most float64) {
		for i := 1; i < len(t.Settings); i++ {
			most = max(most, t.ChangedBy(b, i))
		}
		return most
	}
	changed := slices.DeleteFunc(slices.Clone(t.Benchmarks), func(b *compare.Benchmark) bool { return change(b) == 0 && !all })
	slices.SortStableFunc(changed, func(a, b *compare.Benchmark) int { return cmp.Compare(change(b), change(a)) })
	kept := min(len(changed), profiledMost)
	for _, b := range changed[:kept] {
		chosen = append(chosen, dyno.Benchmark{Package: b.Package, Name: b.Name})
	}
	return chosen, len(changed) - kept
}

// keepBaseline copies the file, so that the directory alone makes the report again.
func keepBaseline(dir *store.Dir, file string) error {
	data, err := safe.Benchmarks.ReadFile(file)
	if err != nil {
		return err
	}
	return dir.WriteFile(findings.BaselineFile, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}
