package versions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/lab/gobench"
	"github.com/dynolab/dyno/internal/pattern"
	"github.com/dynolab/dyno/internal/subject"
)

// Code tells versions apart by the code that one benchmark runs in them.
type Code struct {
	Hands *gobench.Bencher
	tests map[int][]*subject.TestPackage // of versions no two of which run the same
}

// Like compiles the tests of a version, and returns the first of those before in which the benchmark runs the same code; else v itself, once
// the benchmark has run there. t is how it is built.
func (c *Code) Like(ctx context.Context, t *dyno.Trial, pkg, name string, v int) (int, error) {
	tests, err := c.Hands.Tests(ctx, t.Subject, []string{pkg})
	if err != nil {
		return 0, err
	}
	if _, err := c.Hands.Sum(ctx, tests); err != nil { // it does not compile
		return 0, err
	}
	function, _, _ := strings.Cut(name, "/")
	for _, w := range slices.Sorted(maps.Keys(c.tests)) {
		if t.Subject.Prepare != "" || c.tests[w][0].Go != tests[0].Go { // what is generated may differ, and what else is compiled
			break
		}
		same, err := c.Hands.SameCode(ctx, [][]*subject.TestPackage{c.tests[w], tests})
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		if err == nil && slices.Contains(same[pkg].Same, "Benchmark"+function) {
			return w, nil
		}
	}
	if err := c.tryOut(ctx, t, tests[0], name); err != nil {
		return 0, err
	}
	if c.tests == nil {
		c.tests = map[int][]*subject.TestPackage{}
	}
	c.tests[v] = tests
	return v, nil
}

// tryTime is the most that a benchmark may take to be tried out.
const tryTime = time.Minute

// tryOut runs the benchmark for as long as a survey does. If it fails in one of several versions, or does not exist there, no block could be
// measured.
func (c *Code) tryOut(ctx context.Context, t *dyno.Trial, p *subject.TestPackage, name string) error {
	if len(t.Subject.Needs) > 0 { // which a run starts
		return nil
	}
	path, err := c.Hands.Link(ctx, p, 0)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, tryTime, fmt.Errorf("%s has no result after %v", name, tryTime))
	defer cancel()
	var out strings.Builder
	_, err = c.Hands.Once(ctx, path, gobench.Options{
		Dir: p.Dir, Env: t.Subject.Env, Args: append(slices.Clone(t.Subject.Args), "-test.run=^$", "-test.bench="+pattern.Of(name), "-test.benchtime=100ms"),
	}, &out)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return errors.New(strings.Join(strings.Fields(err.Error()), " "))
	case !strings.Contains(out.String(), " ns/op"):
		return fmt.Errorf("%s has no result there", name)
	}
	return nil
}
