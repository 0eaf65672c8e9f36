package gobench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/subject"
)

// blocks runs one block after the other. The random choices in a block depend only on the seed, the block,
// the benchmarks that are open, and their numbers of launches and pairs.
func (w *Run) blocks(ctx context.Context, sink func(*dyno.Result) error) error {
	finished := 0 // benchmarks in all blocks
	began, expected := time.Now(), measuring(w.open())
	for block := 1; w.e.Bench.Blocks == 0 || block <= w.e.Bench.Blocks; block++ {
		open := w.open()
		if len(open) == 0 || w.late(block) {
			break
		}
		start := time.Now()
		rng := w.e.Rand(uint64(block))
		w.step(Step{Phase: "link", Block: block, Benchmarks: len(open)})
		paths, err := w.layout(ctx, rng, open)
		if err != nil {
			return err
		}
		linked := time.Since(start)
		times := moreLaunches(linked, open)
		expected = linked + time.Duration(times)*measuring(open)
		found := map[*pairing][]dyno.Benchmark{} // of each setting
		for done, i := range rng.Perm(len(open)) {
			if w.late(block) {
				break
			}
			w.step(Step{Phase: "block", Block: block, Benchmarks: len(open), Done: done, Expected: expected})
			if found[open[i]], err = w.bench(ctx, rng, open[i], paths, times); err != nil {
				return err
			}
		}
		if len(found) == 0 {
			break
		}
		finished += len(found)
		if err := w.sinkBlock(block, start, open, found, sink); err != nil {
			return err
		}
		if w.Open != nil && w.e.Bench.Blocks == 0 {
			needed := w.Open(block)
			for _, p := range w.pairings {
				p.over = p.over || !needed(p.pkg, p.name)
			}
		}
	}
	if finished == 0 {
		least := cmp.Or(w.e.Bench.Blocks, w.Least, 1)
		needed := time.Duration(w.e.Bench.Duration) - w.end.Sub(began) + time.Duration(least)*expected
		return fmt.Errorf("run benchmarks: builds and the survey took all of the %v (consider: about %v, enough for %d blocks, or fewer benchmarks with --bench)", w.e.Bench.Duration, max(needed.Round(time.Second), time.Second), least)
	}
	return nil
}

// moreLaunches multiplies the launches of open benchmarks, so that a block is worth the time of its
// link.
func moreLaunches(linked time.Duration, open []*pairing) int {
	return min(mostMoreLaunches, max(1, int(worthLinking*linked/max(measuring(open), 1))))
}

// measuring estimates how long the launches of open benchmarks take in a block.
func measuring(open []*pairing) (d time.Duration) {
	for _, p := range open {
		launch := p.pace.launch
		for _, l := range p.in {
			launch += max(processStart, l.start) // which is longer on a busy machine
		}
		d += time.Duration(p.pace.launches) * launch
	}
	return d
}

// layout links what the open benchmarks need, in an order of functions that all settings share and
// each block renews.
func (w *Run) layout(ctx context.Context, rng *rand.Rand, open []*pairing) (map[*subject.TestPackage]string, error) {
	seed := 1 + rng.Uint32N(math.MaxInt32) // 0 is the linker's own order
	wanted := map[*subject.TestPackage]bool{}
	for _, p := range open {
		for _, l := range p.in {
			wanted[l.p] = true
		}
	}
	return w.links(ctx, func(p *subject.TestPackage) bool { return wanted[p] },
		func(ctx context.Context, p *subject.TestPackage) (string, error) { return w.Link(ctx, p, seed) })
}

// sinkBlock hands over one result of each setting, with the time of the whole block.
func (w *Run) sinkBlock(block int, start time.Time, open []*pairing, found map[*pairing][]dyno.Benchmark, sink func(*dyno.Result) error) error {
	elapsed := time.Since(start)
	for i, s := range w.sides {
		r := w.result(s, block, "", start)
		r.Elapsed = elapsed
		for _, p := range open {
			if bs := found[p]; bs != nil {
				r.Benchmarks = append(r.Benchmarks, bs[i])
			}
		}
		r.Warnings = w.fresh(s)
		if err := sink(r); err != nil {
			return err
		}
	}
	return nil
}

// fresh returns the warnings of builds and needs that were not told yet.
func (w *Run) fresh(s *side) (fresh dyno.Warnings) {
	all := slices.Clone(s.needs)
	for _, p := range s.packages {
		all = append(all, p.Warnings...)
	}
	for _, warning := range all {
		if !slices.Contains(w.told, warning) {
			w.told = append(w.told, warning)
			fresh = append(fresh, warning)
		}
	}
	return fresh
}

// bench runs times as many launches as the pace has, and returns what each setting has. If it fails in
// one of them, that one has Err, all keep the launches before, and the benchmark is over.
func (w *Run) bench(ctx context.Context, rng *rand.Rand, p *pairing, paths map[*subject.TestPackage]string, times int) ([]dyno.Benchmark, error) {
	bs := make([]dyno.Benchmark, len(p.in))
	for i := range bs {
		bs[i] = dyno.Benchmark{Package: p.pkg, Name: p.name, N: p.pace.n}
	}
	for range times * p.pace.launches {
		samples, failed, err := w.launch(ctx, rng, p, paths)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			if w.Lost != nil {
				err = errors.Join(err, w.Lost())
			}
			bs[failed].Err, p.over = err.Error(), true
			break
		}
		for i := range bs {
			bs[i].Launches = append(bs[i].Launches, samples[i])
		}
	}
	return bs, nil
}

// launch starts a process of each setting, lets them take turns, and returns the samples of each.
// With an error it says which setting failed.
//
// The first turn is random, and every other pair is the one before backwards: effects of a turn on the
// next, and a drift over two pairs, fall on all settings alike.
func (w *Run) launch(ctx context.Context, rng *rand.Rand, p *pairing, paths map[*subject.TestPackage]string) (samples [][]dyno.Values, failed int, err error) {
	limit := hangLimit(p.pace.launch)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it was stopped after %v, but should take %v by its survey", limit.Round(time.Millisecond), p.pace.launch.Round(time.Millisecond)))
	defer cancel()
	turns, failed, err := w.start(ctx, rng, p, paths)
	defer func() {
		var wg sync.WaitGroup
		for _, t := range turns {
			if t != nil {
				wg.Go(t.Close)
			}
		}
		wg.Wait()
	}()
	if err != nil {
		return nil, failed, err
	}
	samples = make([][]dyno.Values, len(p.in))
	var order []int
	began := time.Now()
	for pair := range p.pace.pairs {
		if pair >= fewestPairs && time.Since(began).Seconds() >= launchSec {
			break
		}
		if pair%2 == 0 {
			order = rng.Perm(len(p.in))
		} else {
			slices.Reverse(order)
		}
		for _, i := range order {
			v, err := turn(ctx, turns[i], p.in[i])
			if err != nil {
				return nil, i, err
			}
			samples[i] = append(samples[i], v)
		}
	}
	return samples, 0, nil
}

// hangLimit allows for a busy machine and for a benchmark slower than in its survey.
func hangLimit(expected time.Duration) time.Duration { return 20*expected + 10*time.Second }

// start starts a process of each setting at the same time, as that takes some 40 ms and disturbs
// others. Also after an error the caller closes those that were started.
func (w *Run) start(ctx context.Context, rng *rand.Rand, p *pairing, paths map[*subject.TestPackage]string) (turns []Turns, failed int, err error) {
	turns = make([]Turns, len(p.in))
	errs := make([]error, len(p.in))
	var wg sync.WaitGroup
	for _, i := range rng.Perm(len(p.in)) {
		l := p.in[i]
		wg.Go(func() {
			turns[i], errs[i] = w.Start(ctx, paths[l.p], w.options(w.sides[i], l.p, "-test.bench="+patternOf(l.Printed),
				fmt.Sprintf("-test.benchtime=%dx", p.pace.n), "-test.count=1000000000"))
		})
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			return turns, i, err
		}
	}
	return turns, 0, nil
}

// turn takes two samples and returns the second: the first was under way when the process was
// stopped, and warms up what the others have cooled down.
func turn(ctx context.Context, t Turns, l *benchmark) (dyno.Values, error) {
	r, err := t.Turn(ctx, 2)
	if err != nil {
		return nil, err
	}
	if name := nameOf(r.Name, l.procs); name != l.Printed {
		return nil, fmt.Errorf("read the result of a benchmark: got one of %s, not of %s", name, l.Printed)
	}
	if len(r.Values) == 0 {
		return nil, errors.New("read the result of a benchmark: it has no values")
	}
	return r.Values, nil
}
