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
	if left, err = extendBenchmarks(dir, more); err != nil || !left {
		return left, err
	}
	if c.Secrets, err = progress.Secrets(dir.Hidden()); err != nil {
		return true, err
	}
	if run.Plan, err = dir.Reveal(c.Secrets); err == nil {
		_, err = c.Benchmarks(ctx, run, "", dir)
	}
	return true, err
}

// extendBenchmarks says in the plan that it is resumed. The first result that is new keeps that.
func extendBenchmarks(dir *store.Dir, more int) (left bool, err error) {
	b := dir.Run.Plan.Bench
	done := 0
	for _, r := range dir.Brief() {
		if r.Trial.For == "" {
			done = max(done, r.Trial.Block)
		}
	}
	planned := b.Planned()
	switch ended := dir.Run.Ended != ""; {
	case more == 0 && (ended || planned > 0 && done >= planned):
		return false, nil
	case more > 0 && !ended && done < planned:
		return false, flags.Mistakef("%d of %d blocks are not done (consider: --resume alone first)", planned-done, planned)
	case more == 0 && planned > b.Blocks: // what was added is not done
		more = planned - done
	}
	b.Resumed = append(slices.Clone(b.Resumed), dyno.More{After: max(1, done), Blocks: more})
	return true, nil
}

// endBenchmarks keeps why a run ended by itself.
func endBenchmarks(dir *store.Dir, t *compare.Table) error {
	for _, b := range t.Benchmarks {
		if t.Open(b.Package, b.Name) {
			return dir.SetEnded(dyno.EndedTime)
		}
	}
	return dir.SetEnded(dyno.EndedDecided)
}
