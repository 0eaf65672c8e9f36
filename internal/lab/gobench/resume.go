package gobench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
)

// before takes from the results of a run that is resumed where it goes on, and how much of its time is left.
func (w *Run) before() {
	spent := map[int]time.Duration{} // by block
	for _, r := range w.Before {
		w.trials = max(w.trials, r.Trial.N)
		if r.Trial.For != "" {
			continue
		}
		w.first = max(w.first, r.Trial.Block+1)
		spent[r.Trial.Block] = r.Elapsed
	}
	w.left = time.Duration(w.e.Bench.Duration)
	for _, d := range spent {
		w.left -= d
	}
	if n := len(w.e.Bench.Resumed); n > 0 && w.e.Bench.Resumed[n-1].Blocks > 0 { // so many more were asked for, however long they take
		w.least = w.most
	}
}

// sums finds what the tests of each setting are compiled to. In a run that is resumed, they have to be what they were.
func (w *Run) sums(ctx context.Context) error {
	for _, s := range w.sides {
		if w.Sum != nil {
			sum, err := w.Sum(ctx, s.packages)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err == nil { // else the build will say what is wrong
				s.sum = sum
			}
		}
		for _, r := range w.Before {
			if r.Trial.Setting.String() != s.trial.Setting.String() || r.Trial.For != dyno.ForSurvey {
				continue
			}
			now := s.built()
			// A commit has one content. Where it is checked out is in what is compiled, and may differ.
			dirty := strings.HasSuffix(now, "+dirty") && r.Sum != s.sum
			if r.Subject != now || dirty {
				return fmt.Errorf("the tests under %s are not those of the blocks before: of %s now, of %s then (consider: a new dyno bench)", s.trial.Setting.Label(), now, r.Subject)
			}
		}
	}
	return nil
}

// resume brings the benchmarks of a run that is resumed to where they were.
func (w *Run) resume() {
	if len(w.Before) == 0 {
		return
	}
	for _, p := range w.pairings {
		in := map[int]int{} // results by block
		for _, r := range w.Before {
			at := slices.IndexFunc(r.Benchmarks, func(b dyno.Benchmark) bool { return b.Package == p.pkg && b.Name == p.name })
			if at < 0 || r.Trial.For != "" {
				continue
			}
			p.over = p.over || r.Benchmarks[at].Err != ""
			if in[r.Trial.Block]++; in[r.Trial.Block] == len(w.sides) {
				p.blocks++
			}
		}
	}
	w.close(w.first - 1)
	w.end = time.Now().Add(w.left) // builds are not a part of it
}

// close ends the benchmarks that need no more blocks, after a block.
func (w *Run) close(block int) {
	if w.Open == nil || w.most > 0 {
		return
	}
	needed := w.Open(block)
	for _, p := range w.open() {
		open, lacks := needed(p.pkg, p.name)
		p.over, p.lacks = !open, lacks
	}
}
