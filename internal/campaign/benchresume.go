package campaign

import (
	"context"
	"slices"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/campaign/progress"
	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/dynolab/dyno/internal/store"
)

// ResumeBenchmarks goes on with a run of benchmarks, for so many more blocks; 0 if it goes on as it was planned. left is false if nothing is
// left to do.
func (c *Campaign) ResumeBenchmarks(ctx context.Context, run *Run, dir *store.Dir, more int) (left bool, err error) {
	if left, err = extendBenchmarks(dir, more); err != nil || !left {
		return left, err
	}
	if c.Secrets, err = progress.Secrets(dir.Hidden()); err != nil {
		return true, err
	}
	if run.Plan, err = dir.Reveal(c.Secrets); err == nil {
		err = dir.WritePlan()
	}
	if err == nil {
		_, err = c.Benchmarks(ctx, run, "", dir)
	}
	return true, err
}

// extendBenchmarks says in the plan that it is resumed.
func extendBenchmarks(dir *store.Dir, more int) (left bool, err error) {
	b := dir.Run.Plan.Bench
	done, spent := 0, map[int]time.Duration{}
	for _, r := range dir.Brief() {
		if r.Trial.For == "" {
			done = max(done, r.Trial.Block)
			spent[r.Trial.Block] = r.Elapsed
		}
	}
	planned := b.Planned()
	if more == 0 {
		t := compare.TabulateBenchmarks(dir.Run.Plan, dir.Results())
		open := slices.ContainsFunc(t.Benchmarks, func(x *compare.Benchmark) bool { return t.Open(x.Package, x.Name) })
		var took time.Duration
		for _, d := range spent {
			took += d
		}
		all := b.Resolved()
		if !open || planned > 0 && done >= planned || planned == 0 && took >= time.Duration(all.Duration) {
			return false, nil
		}
		if planned > b.Blocks { // what was added is not done
			more = planned - done
		}
	} else if done < planned {
		return false, flags.Mistakef("%d of %d blocks are not done (consider: --resume alone first)", planned-done, planned)
	}
	if done == 0 {
		return false, flags.Mistakef("no block is done (consider: a new dyno bench)")
	}
	b.Resumed = append(slices.Clone(b.Resumed), dyno.More{After: done, Blocks: more})
	return true, nil
}
