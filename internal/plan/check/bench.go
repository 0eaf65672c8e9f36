package check

import (
	"cmp"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
)

// benchFactors are the factors of a Bench beside environment variables, which
// hold for the build too.
var benchFactors = []string{"go", "build", dyno.BenchFactor}

func checkBench(e *dyno.Experiment) *dyno.PlanError {
	b := e.Bench
	for _, p := range b.Packages {
		if p == "" || strings.HasPrefix(p, "-") {
			return dyno.PlanErrorf("bad package %q", p).Of("bench", "packages")
		}
	}
	chance := *b.Resolved().Error
	if err := cmp.Or(
		wrong(chance <= 0 || chance > 0.5, "bench error", "error is %v (want more than 0 and at most 50%%)", chance),
		checkFactors(e),
	); err != nil {
		return err
	}
	for _, s := range e.Levels() {
		for _, l := range s {
			if !slices.Contains(benchFactors, l.Factor) && !dyno.OfSource(l.Factor) && !dyno.IsName(l.Factor) {
				return dyno.PlanErrorf("factor %s is not for benchmarks (want an environment variable, go, rev, version, dep:MODULE, build or bench)", l.Factor).Of("vary", l.Factor)
			}
			if l.Factor == dyno.BenchFactor && strings.Trim(l.Value, "/*") == "" {
				return dyno.PlanErrorf("bad level %q of bench (want an element of a benchmark's name, such as Pipeline1 or variant=slow)", l.Value).Of("vary", l.Factor)
			}
			if err := checkVersion(l); err != nil {
				return err
			}
		}
		t, err := e.Written(s)
		if err != nil {
			return err
		}
		if err := checkNeeds(e, &t); err != nil {
			return err
		}
	}
	return nil
}
