package campaign

import (
	"context"
	"slices"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/campaign/progress"
	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/dynolab/dyno/internal/store"
)

// ResumeBenchmarks goes on with a run of benchmarks, for so many more blocks; 0 if it goes on as it was planned. left is false if nothing is
// left to do.
func (c *Campaign) ResumeBenchmarks(ctx context.Context, run *Run, dir *store.Dir, more int) (left bool, err error) {
	next, left, err := nextBlocks(dir, more)
	if err != nil || !left {
		return left, err
	}
	if c.Secrets, err = progress.Secrets(dir.Hidden()); err != nil {
		return true, err
	}
	stored, err := dir.Reveal(c.Secrets)
	if err != nil {
		return true, err
	}
	plan, bench := *stored, *stored.Bench
	bench.Resumed = append(slices.Clone(bench.Resumed), next)
	plan.Bench, run.Plan = &bench, &plan
	_, err = c.Benchmarks(ctx, run, "", dir)
	return true, err
}

// fillBenchmarks runs the blocks that a step lacks.
func (c *Campaign) fillBenchmarks(ctx context.Context, run *Run, dir *store.Dir) error {
	if len(dir.Brief()) == 0 {
		_, err := c.Benchmarks(ctx, run, "", dir)
		return err
	}
	left, err := c.ResumeBenchmarks(ctx, run, dir, 0)
	profiled := slices.ContainsFunc(dir.Brief(), func(r *dyno.Result) bool { return r.Trial.For == dyno.ForProfile })
	if left || err != nil || len(run.Plan.Profile) == 0 || profiled {
		return err
	}
	run.Enough = func(int) bool { return true } // it was cut off when its blocks were done
	_, err = c.Benchmarks(ctx, run, "", dir)
	return err
}

// nextBlocks are those that a run goes on with.
func nextBlocks(dir *store.Dir, more int) (next dyno.More, left bool, err error) {
	b := dir.Run.Plan.Bench
	done, planned := doneBlocks(dir), b.Planned()
	switch ended := dir.Run.Ended != ""; {
	case more == 0 && (ended || planned > 0 && done >= planned):
		return next, false, nil
	case more > 0 && !ended && done < planned:
		return next, false, flags.Mistakef("%d of %d blocks are not done (consider: --resume alone first)", planned-done, planned)
	case more == 0 && planned > b.Blocks: // what was added is not done
		more = planned - done
	}
	return dyno.More{After: max(1, done), Blocks: more}, true, nil
}

func doneBlocks(dir *store.Dir) (done int) {
	for _, r := range dir.Brief() {
		if r.Trial.For == "" {
			done = max(done, r.Trial.Block)
		}
	}
	return done
}

// keepResumed keeps that a run was resumed, now that it has something new.
func keepResumed(dir *store.Dir, b *dyno.Bench) error {
	dir.Run.Plan.Bench.Resumed = b.Resumed
	return dir.SetEnded("")
}

// endBenchmarks keeps why a run ended by itself, if that was before its last block; enough says that its caller ended it.
func endBenchmarks(dir *store.Dir, t *compare.Table, enough bool) error {
	if planned := dir.Run.Plan.Bench.Planned(); planned > 0 && doneBlocks(dir) >= planned {
		return nil
	}
	open := func(b *compare.Benchmark) bool {
		open, _ := t.Open(b.Package, b.Name)
		return open
	}
	if !enough && slices.ContainsFunc(t.Benchmarks, open) {
		return dir.SetEnded(dyno.EndedTime)
	}
	return dir.SetEnded(dyno.EndedDecided)
}
