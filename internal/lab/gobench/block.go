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
	"github.com/dynolab/dyno/internal/subject/driver"
)

// blocks runs one block after the other. The random choices in a block depend only on the seed, the block,
// the benchmarks that are open, and their numbers of launches and pairs.
func (w *Run) blocks(ctx context.Context, sink func(*dyno.Result) error) error {
	finished := 0 // benchmarks in all blocks
	began := time.Now()
	w.families()
	var expected time.Duration
	for block := w.first; w.most == 0 || block <= w.most; block++ {
		open := w.open()
		if len(open) == 0 || w.late(block) {
			break
		}
		open = w.favoured(open)
		start := time.Now()
		rng := w.e.Rand(uint64(block))
		w.step(Step{Phase: "link", Block: block, Benchmarks: len(open)})
		paths, err := w.layout(ctx, rng, open)
		if err != nil {
			return err
		}
		b := &blockRun{Run: w, rng: rng, block: block, open: open, all: len(open), paths: paths, linked: time.Since(start), found: map[*pairing][]dyno.Benchmark{}}
		w.linked = b.linked
		b.divide()
		if err = b.run(ctx); err != nil {
			return err
		}
		expected = b.linked
		for _, p := range open {
			pace := paceOf(p.in, time.Duration(w.e.Bench.Sample), longestSec, false)
			expected += pace.least()
		}
		if block == 1 {
			if err := w.sinkSurveys(sink); err != nil {
				return err
			}
		}
		if len(b.found) == 0 { // all take long, or left their family: which is known now
			continue
		}
		finished += len(b.found)
		if err := w.sinkBlock(block, start, open, b.found, sink); err != nil {
			return err
		}
		w.close(block)
	}
	if finished == 0 && len(w.Before) == 0 {
		least := cmp.Or(w.most, w.Least, 1)
		needed := time.Duration(w.e.Bench.Duration) - w.end.Sub(began) + time.Duration(least)*expected
		return fmt.Errorf("run benchmarks: builds and the survey took all of the %v (consider: about %v, enough for %d blocks, or fewer benchmarks with --bench)", w.e.Bench.Duration, max(needed.Round(time.Second), time.Second), least)
	}
	return nil
}

// A blockRun is one block while it runs.
type blockRun struct {
	*Run
	rng    *rand.Rand
	block  int
	open   []*pairing
	paths  map[*subject.TestPackage]string
	heavy  []unit        // of those that were open, what takes too long for every block
	linked time.Duration // what linking took
	time   time.Duration // that the block may take, if as many are wanted as can tell anything
	light  time.Duration // and of it what is not heavy
	found  map[*pairing][]dyno.Benchmark
	all    int // benchmarks, with the heavy ones
	done   int
	last   string // benchmark that was measured
	ratio  float64
}

// run launches each package in turn, and in it each of its open benchmarks.
func (b *blockRun) run(ctx context.Context) error {
	byPackage := map[string][]unit{}
	var packages []string
	for _, u := range units(b.open) {
		pkg := u[0].pkg
		if byPackage[pkg] == nil {
			packages = append(packages, pkg)
		}
		byPackage[pkg] = append(byPackage[pkg], u)
	}
	for launch, launches := 0, 1; launch < launches; launch++ {
		for _, i := range b.rng.Perm(len(packages)) {
			if err := b.launch(ctx, launch, byPackage[packages[i]]); err != nil {
				return err
			}
		}
		if launch == 0 {
			launches = b.launches()
		}
	}
	return b.runHeavy(ctx)
}

// launch measures units of one package in processes of every setting, in random order.
func (b *blockRun) launch(ctx context.Context, launch int, in []unit) error {
	var team []*surveyor // nil where none is alive
	defer func() { dismiss(team) }()
	for _, i := range b.rng.Perm(len(in)) {
		u := slices.DeleteFunc(slices.Clone(in[i]), func(p *pairing) bool { return p.over })
		if len(u) == 0 || b.late(b.block) {
			continue
		}
		if launch == 0 {
			b.step(Step{Phase: "block", Block: b.block, Benchmarks: b.all, Done: b.done, Expected: b.expected(), Last: b.last, Ratio: b.ratio})
			b.done += len(u)
		}
		samples, blamed := map[*pairing][][]dyno.Values{}, u
		failed, err := 0, error(nil)
		if team == nil {
			team, failed, err = b.assemble(ctx, u[0])
		}
		if err == nil && u[0].family != "" {
			samples, blamed, failed, err = b.together(ctx, u, team)
		} else if err == nil {
			samples[u[0]], failed, err = b.bench(ctx, u[0], team)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			dismiss(team)
			team = nil
			if b.Lost != nil {
				err = errors.Join(err, b.Lost())
			}
		}
		for _, p := range u {
			why := err
			if !slices.Contains(blamed, p) {
				why = nil
			}
			b.keep(launch, p, samples[p], failed, why)
			if p.family != "" && samples[p] == nil {
				p.leave()
			}
		}
	}
	return nil
}

// keep takes the samples of a launch, and after an error ends the benchmark. samples is nil where there are none.
func (b *blockRun) keep(launch int, p *pairing, samples [][]dyno.Values, failed int, err error) {
	if p.over = p.over || err != nil; err != nil && !p.surveyed {
		p.in[failed].Err = err.Error()
		return // its survey says it
	}
	if samples == nil && err == nil {
		return
	}
	bs := b.found[p]
	if bs == nil {
		bs = make([]dyno.Benchmark, len(p.in))
		for i := range bs {
			bs[i] = dyno.Benchmark{Package: p.pkg, Name: p.name}
		}
		b.found[p] = bs
	}
	for i := range bs {
		bs[i].N = p.n
		if samples != nil {
			bs[i].Launches = append(bs[i].Launches, samples[i])
		}
	}
	if err != nil {
		bs[failed].Err = err.Error()
	} else if launch == 0 {
		p.blocks++
		b.saw(p, samples)
	}
}

// saw keeps what one launch tells of a benchmark, for whoever watches.
func (b *blockRun) saw(p *pairing, samples [][]dyno.Values) {
	var ratios []float64
	for i := range samples[0] {
		if len(samples) < 2 {
			return
		}
		x, _ := samples[0][i].Get("sec/op")
		if y, ok := samples[1][i].Get("sec/op"); ok && x > 0 {
			ratios = append(ratios, y/x)
		}
	}
	if len(ratios) > 0 {
		b.last, b.ratio = p.name, middle(ratios)
	}
}

// assemble starts a process of each setting at the same time, as that takes some 40 ms and disturbs others. Which failed it says with an error.
func (b *blockRun) assemble(ctx context.Context, p *pairing) (team []*surveyor, failed int, err error) {
	limit := max(surveyQuiet, time.Duration(b.e.Bench.Duration)/10)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the test binary did not begin within %v", limit))
	defer cancel()
	team = make([]*surveyor, len(p.in))
	errs := make([]error, len(p.in))
	var wg sync.WaitGroup
	for _, i := range b.rng.Perm(len(p.in)) {
		l := p.in[i]
		wg.Go(func() {
			t, err := b.Start(ctx, b.paths[l.p], b.options(b.sides[i], l.p, "-test.run=^"+driver.Test+"$", "-test.bench=.", "-test.timeout=0"))
			if errs[i] = err; err == nil {
				team[i] = &surveyor{t: t, base: t.Base()}
			}
		})
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			dismiss(team)
			return nil, i, err
		}
	}
	return team, 0, nil
}

func dismiss(team []*surveyor) {
	var wg sync.WaitGroup
	for _, v := range team {
		if v != nil {
			wg.Go(v.t.Close)
		}
	}
	wg.Wait()
}

// bench lets the processes of a team take turns in one benchmark, and returns the samples of each. Before its first turns it is surveyed.
func (b *blockRun) bench(ctx context.Context, p *pairing, team []*surveyor) (samples [][]dyno.Values, failed int, err error) {
	if !p.surveyed {
		if failed, err = b.survey(ctx, p, team); err != nil {
			return nil, failed, err
		}
		if last := b.block == b.most; b.likely(p) > b.tooMuch(p) && len(b.open) > 1 && !last {
			return nil, 0, nil // it is heavy, and not known as that
		}
	}
	limit := hangLimit(p.pace.launch)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it was stopped after %v, but should take %v by its survey", limit.Round(time.Millisecond), p.pace.launch.Round(time.Millisecond)))
	defer cancel()
	pairs := p.pace.pairsIn(b.room(p))
	p.n = p.pace.n
	if !p.pace.alone {
		for _, i := range b.rng.Perm(len(team)) { // which is first may matter
			first, err := team[i].t.Begin(ctx, p.in[i].Printed, nil, p.pace.benchtime(), endlessCount, 1)
			if err == nil && first.Ended {
				err = noResult(first)
			}
			if err != nil {
				return nil, i, err
			}
		}
	}
	began := time.Now()
	if samples, failed, err = b.pairs(ctx, p, team, pairs); err != nil {
		return samples, failed, err
	}
	pair := time.Since(began) / time.Duration(len(samples[0]))
	if p.blocks == 0 {
		b.ratios = append(b.ratios, min(1, pair.Seconds()/p.pace.each.Seconds()))
	}
	p.discount(pair)
	if !p.pace.alone {
		for _, i := range b.rng.Perm(len(team)) {
			v := team[i]
			if v.base, err = v.t.End(ctx); err != nil {
				return nil, i, err
			}
		}
	}
	p.learn(samples)
	return samples, 0, nil
}

// learn takes the speed of turns for that of the survey, where they have as many iterations or more, or where something else must have run
// in the survey.
func (p *pairing) learn(samples [][]dyno.Values) {
	for i, l := range p.in {
		var secs []float64
		for _, v := range samples[i] {
			if sec, ok := v.Get("sec/op"); ok {
				secs = append(secs, sec)
			}
		}
		if len(secs) == 0 {
			continue
		}
		if sec := middle(secs); l.N <= p.n || 2*sec < l.sec() {
			l.Collections *= float64(p.n) / float64(l.N)
			l.N, l.Sec, p.stale = p.n, sec, true
		}
	}
}

// discount lowers what is taken for the set-up of each call, where pairs are quicker: it was done once in a process, or something else ran
// in the survey.
func (p *pairing) discount(pair time.Duration) {
	over := (p.pace.each - pair).Seconds()
	if over < overFrac*p.pace.each.Seconds() {
		return
	}
	samples := 2.0 // of each setting in a pair
	if p.pace.alone {
		samples = 1
	}
	for _, l := range p.in {
		l.Outside = max(0, l.Outside-over/samples/float64(len(p.in))/l.calls(p.n))
	}
	p.stale = true
}

// overFrac is what a pair may take less than it should before the set-up is doubted.
const overFrac = 0.2

// endlessCount is a -test.count that is never reached.
const endlessCount = 1000000000

// surveyRoom is how many seconds the survey of a benchmark in one setting may take.
func (w *Run) surveyRoom() float64 {
	return surveyFrac * time.Duration(w.e.Bench.Duration).Seconds() / float64(len(w.sides)*len(w.pairings))
}

// survey surveys a benchmark in every setting, and finds its pace.
func (b *blockRun) survey(ctx context.Context, p *pairing, team []*surveyor) (failed int, err error) {
	room := b.surveyRoom()
	for _, i := range b.rng.Perm(len(team)) {
		v := team[i]
		const patience = 20 * time.Second
		quiet := max(surveyQuiet, time.Duration(b.e.Bench.Duration)/10) + patience
		ctx, cancel := context.WithTimeoutCause(ctx, quiet, fmt.Errorf("it was stopped after %v", quiet))
		v.l, v.room, v.long = p.in[i], room, min(surveyLong, room/3)
		err := v.survey(ctx)
		cancel()
		if err != nil {
			return i, err
		}
	}
	p.surveyed = true
	b.repace(p)
	return 0, nil
}

// pairs are turns of all settings. The first is random, and every other pair is the one before backwards: effects of a turn on the
// next, and a drift over two pairs, fall on all settings alike.
func (b *blockRun) pairs(ctx context.Context, p *pairing, team []*surveyor, most int) (samples [][]dyno.Values, failed int, err error) {
	samples = make([][]dyno.Values, len(team))
	var order []int
	began := time.Now()
	for pair := range most {
		if pair >= fewestPairs && time.Since(began).Seconds() >= launchSec {
			break
		}
		if pair%2 == 0 {
			order = b.rng.Perm(len(team))
		} else {
			slices.Reverse(order)
		}
		for _, i := range order {
			v, err := turn(ctx, team[i], p.in[i], &p.pace)
			if err != nil {
				return nil, i, err
			}
			samples[i] = append(samples[i], v)
		}
	}
	return samples, 0, nil
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

// hangLimit allows for a busy machine and for a benchmark slower than in its survey.
func hangLimit(expected time.Duration) time.Duration { return 20*expected + 10*time.Second }

// turn returns the sample of a turn. Of two samples it is the second: the first was under way when the process was
// stopped, and warms up what the others have cooled down. A long sample is one that begins in the turn.
func turn(ctx context.Context, v *surveyor, l *benchmark, p *pace) (dyno.Values, error) {
	var b Batch
	var err error
	if p.alone {
		b, err = v.t.Begin(ctx, l.Printed, nil, p.benchtime(), 1, endless)
		v.base = b.Totals
	} else {
		b, err = v.t.Turn(ctx, 2)
	}
	if err != nil {
		return nil, err
	}
	if len(b.Results) == 0 {
		return nil, noResult(b)
	}
	r := b.Results[len(b.Results)-1]
	if name := nameOf(r.Name, l.procs); name != l.Printed {
		return nil, fmt.Errorf("read the result of a benchmark: got one of %s, not of %s", name, l.Printed)
	}
	if len(r.Values) == 0 {
		return nil, errors.New("read the result of a benchmark: it has no values")
	}
	return r.Values, nil
}

func middle(xs []float64) float64 {
	slices.Sort(xs)
	return xs[len(xs)/2]
}
