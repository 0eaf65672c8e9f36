package gobench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/pattern"
	"github.com/dynolab/dyno/internal/subject"
)

// A survey of a benchmark takes some 0.3 s, if an iteration is short against that.
const (
	// In this -test.benchtime testing itself finds out how fast a benchmark is. Two samples are
	// taken: the first may include what is done once.
	surveyRamp = 2 * time.Millisecond
	// All surveys together take about surveyFrac of the time. The long sample is a third of one, and at most 0.1 s, which resolves 0.5 %.
	surveyFrac, surveyLong = 0.1, 0.1
	surveyFew, surveyFews  = 8, 4        // short samples have an eighth of the iterations; four are taken
	surveyCalls            = 4           // so often testing calls a benchmark for surveyRamp
	commandSec             = 0.004       // that it takes to begin a benchmark, with what testing collects
	surveyOnce             = 1.0         // a slower iteration, in seconds, gets no runs for collections and goroutines alone
	surveyTimed            = 10.0        // it gets them up to here if the source has a set-up that is timed
	surveyGrow             = 10          // how many times more iterations follow if hardly any time is theirs
	surveyGrace            = 0.005       // seconds outside the timer that say nothing
	surveyQuiet            = time.Minute // how long a binary may print nothing, or a tenth of Bench.Duration if longer
	surveyDeaths           = 50          // how often a test binary may die before its survey is given up
)

// discover finds the benchmarks of every setting by running each once, and pairs them. A duration that was asked for ends it, too.
func (w *Run) discover(ctx context.Context) error {
	if w.least == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, w.end)
		defer cancel()
	}
	err := w.discoverAll(ctx)
	if errors.Is(err, context.DeadlineExceeded) && !time.Now().Before(w.end) {
		return fmt.Errorf("find benchmarks: %v ran out before each had run once (consider: a longer duration, or fewer benchmarks with --bench)", time.Duration(w.e.Bench.Duration))
	}
	return err
}

func (w *Run) discoverAll(ctx context.Context) error {
	paths, err := w.links(ctx, func(*subject.TestPackage) bool { return true }, func(ctx context.Context, p *subject.TestPackage) (string, error) { return w.Link(ctx, p, 0) })
	if err != nil {
		return err
	}
	for _, s := range w.sides {
		s.warnings = append(s.warnings, w.fresh(s)...)
	}
	w.step(Step{Phase: "survey"})
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	lanes := w.lanes()
	for i, cpus := range lanes {
		wg.Go(func() {
			for j := i; j < len(w.sides); j += len(lanes) {
				s := w.sides[j]
				for _, p := range s.packages {
					tl := &teller{w: w, s: s, p: p, path: paths[p], cpus: cpus}
					if err := tl.discover(ctx); err != nil {
						cancel(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, s := range w.sides {
		w.died = cmp.Or(w.died, s.died)
	}
	if err := w.pair(); err != nil {
		return err
	}
	for _, p := range w.pairings {
		p.over = slices.ContainsFunc(p.in, func(l *benchmark) bool { return l.Err != "" })
	}
	return nil
}

// lanes are CPUs for processes that do not disturb each other much: as many as settings, or as there is room for.
func (w *Run) lanes() (lanes [][]int) {
	if len(w.cpus) == 0 {
		return [][]int{nil}
	}
	all := w.CPUs(len(w.cpus) * len(w.sides))
	for i := len(all); i >= len(w.cpus); i -= len(w.cpus) {
		lanes = append(lanes, all[i-len(w.cpus):i])
	}
	return lanes
}

// A teller finds the benchmarks of one package under one setting.
type teller struct {
	w     *Run
	s     *side
	p     *subject.TestPackage
	path  string
	cpus  []int
	procs int // GOMAXPROCS, as testing prints it; known when a benchmark has run
}

// early warns of a test binary that ended before it had run all.
func (t *teller) early(and string, out *output) {
	err := fmt.Errorf("survey %s: %sits test binary ended early: %s", t.p.ImportPath, and, out.why())
	t.s.warnings.AddOf(dyno.WarnSurvey, t.p.ImportPath, "%v", err)
	t.s.died = cmp.Or(t.s.died, fmt.Errorf("under %s: %w", t.s.trial.Setting.Label(), err))
}

// once runs the binary and reads what it prints, also if it fails or hangs.
func (t *teller) once(ctx context.Context, args ...string) (*output, error) {
	alive, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	quiet := max(surveyQuiet, time.Duration(t.w.e.Bench.Duration)/10)
	out := newOutput(t.procs, quiet, func() { cancel(fmt.Errorf("it printed nothing for %v and was stopped", quiet)) })
	defer out.timer.Stop()
	o := t.w.options(t.s, t.p, args...)
	o.CPUs = t.cpus
	status, err := t.w.Once(alive, t.path, o, out)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case alive.Err() != nil:
		err = context.Cause(alive)
	case status == "" && err != nil: // it did not start
		return nil, fmt.Errorf("survey %s under %s: %w", t.p.ImportPath, t.s.trial.Setting.Label(), err)
	}
	out.close(err)
	return out, nil
}

// discover runs every matching benchmark once, and again without those that ended the process.
func (t *teller) discover(ctx context.Context) error {
	level := levelOf(t.s.trial.Setting)
	skip := slices.Clone(t.w.same[t.p.ImportPath])
	for deaths := 1; ; deaths++ {
		args := []string{"-test.v", "-test.bench=" + t.w.e.Bench.Match, "-test.benchtime=1x"}
		if len(skip) > 0 {
			args = append(args, "-test.skip="+pattern.Skip(skip))
		}
		out, err := t.once(ctx, args...)
		if err != nil {
			return err
		}
		t.procs = cmp.Or(t.procs, out.procs)
		found := out.leaves()
		for _, l := range found {
			skip = append(skip, l.Printed)
			l.Package, l.Name, l.p, l.procs = t.p.ImportPath, l.Printed, t.p, cmp.Or(t.procs, 1)
			t.s.names = append(t.s.names, l.Printed)
			ok := true
			if level != "" {
				l.Name, ok = starred(l.Printed, level)
			}
			if ok {
				t.s.leaves = append(t.s.leaves, l)
			}
		}
		if out.ended {
			return t.readSource(ctx)
		}
		if len(found) == 0 || deaths == surveyDeaths {
			t.early("benchmarks may be missing, as ", out)
			return t.readSource(ctx)
		}
	}
}

func levelOf(s dyno.Setting) string {
	for _, l := range s {
		if l.Factor == dyno.BenchFactor {
			return l.Value
		}
	}
	return ""
}

// readSource comes before measuring, which needs to know how often a function is called.
func (t *teller) readSource(ctx context.Context) error {
	source, err := t.w.Source(ctx, t.p)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		t.s.warnings.AddOf(dyno.WarnSurvey, t.p.ImportPath, "%v", err)
	}
	for _, l := range t.s.leaves {
		if l.p == t.p {
			l.Source = source(l.Printed)
		}
	}
	return nil
}

// A surveyor measures a benchmark in one process, which must wait for it.
type surveyor struct {
	t    Turns
	l    *benchmark
	base totals  // of the process, at its last word
	room float64 // seconds that the survey may take
	long float64 // and of them the long sample
}

// survey fills in the survey of a benchmark that ran once, as far as there is time for. What it cannot find out, turns will.
func (v *surveyor) survey(ctx context.Context) error {
	l := v.l
	call := l.Sec*float64(l.N) + l.Outside // seconds that one takes at least
	left := v.room
	affords := func(calls, timed float64) bool { // seconds that are timed
		cost := commandSec + l.around + calls*call + timed
		ok := cost <= left
		if ok {
			left -= cost
		}
		return ok
	}
	ramp := timedResult{Result: Result{N: l.N, Values: dyno.Values{{Metric: "sec/op", Value: l.Sec}}}}
	benchtime, calls := surveyRamp.String(), float64(surveyCalls)
	if l.Sec >= surveyRamp.Seconds() {
		benchtime, calls = "1x", 1
	}
	if affords(calls, surveyRamp.Seconds()) {
		count := 1
		if affords(calls, surveyRamp.Seconds()) {
			count = 2 // the first may include what is done once
		}
		rs, _, _, err := v.sample(ctx, benchtime, count)
		if err != nil {
			return err
		}
		ramp = rs[len(rs)-1]
		l.take(ramp)
		if len(rs) > 1 {
			gap := ramp.at.Sub(rs[0].at)
			l.Outside = max(0, gap.Seconds()-float64(ramp.N)*l.Sec)
			l.Outside /= rampCalls(ramp.N)
		}
	}
	wall := l.Sec + l.Outside/float64(l.N) // of an iteration, and more if much is done once
	n := min(mostN, max(1, math.Ceil(min(v.long/l.sec(), 4*v.long/wall))))
	timed := l.Source.Timed != "" && l.Sec < surveyTimed
	if timed {
		n = max(n, 2) // to see whether it is the set-up that takes long
	}
	if l.Sec > surveyOnce && !timed || !affords(2, v.long) {
		return nil
	}
	all, outside, err := v.longSample(ctx, int64(n))
	if err != nil {
		return err
	}
	var few totals
	if l.N >= surveyFew && affords(2*surveyFews*l.Outside/max(call, nothingSec), v.long/2) {
		var rs []timedResult
		var began time.Time
		rs, few, began, err = v.sample(ctx, fmt.Sprintf("%dx", l.N/surveyFew), surveyFews)
		if err != nil {
			return err
		}
		l.takeFew(rs, rs[0].at.Sub(began).Seconds(), ramp, outside)
	}
	l.Goroutines = max(0, all.goroutines)
	l.Collections, l.GCFrac = l.collecting(all, few)
	told := l.Survey
	l.told = &told
	return nil
}

// rampCalls is how often testing calls a benchmark to find out n iterations: with 1, and then a hundred times as many at most
// (predictN in testing/benchmark.go).
func rampCalls(n int64) float64 { return 1 + math.Ceil(math.Log(float64(n))/math.Log(100)) }

// longSample takes the long sample, of n iterations. It doubles them or more until half of the time is
// theirs, and not that of what is done once. It returns what its process did, and the seconds that were not timed.
func (v *surveyor) longSample(ctx context.Context, n int64) (all totals, outside float64, err error) {
	l := v.l
	for start := time.Now(); ; {
		before, beforeN := l.Sec*float64(l.N), l.N
		rs, all, began, err := v.sample(ctx, fmt.Sprintf("%dx", n), 1)
		if err != nil {
			return all, 0, err
		}
		l.take(rs[0])
		wall := rs[0].at.Sub(began).Seconds()
		took := l.Sec * float64(l.N)
		marginal := max(nothingSec, (took-before)/float64(l.N-beforeN))
		if l.N <= beforeN || marginal*float64(l.N) >= took/2 || time.Since(start).Seconds() > v.room/2 || l.N >= mostN {
			return all, wall - took, nil
		}
		n = int64(min(mostN, surveyGrow*float64(l.N), max(2*float64(l.N), v.long/marginal)))
	}
}

// sample runs the benchmark to its end and returns its results and what its process did.
func (v *surveyor) sample(ctx context.Context, benchtime string, count int) (rs []timedResult, did totals, began time.Time, err error) {
	began = time.Now()
	b, err := v.t.Begin(ctx, v.l.Printed, nil, benchtime, count, endless)
	if err != nil {
		return nil, did, began, err
	}
	for _, r := range b.Results {
		if nameOf(r.Name, v.l.procs) == v.l.Printed {
			rs = append(rs, r)
		}
	}
	if len(rs) == 0 {
		return nil, did, began, noResult(b)
	}
	did, v.base = b.Totals.since(v.base), b.Totals
	return rs, did, began, nil
}

// noResult is the error of a benchmark that has none.
func noResult(b Batch) error {
	if strings.Contains(b.Said, "--- FAIL") {
		return fmt.Errorf("the benchmark did not run:\n%s", b.Said)
	}
	return errors.New("the benchmark was skipped, or none matches") // which, package testing does not say
}

func (l *benchmark) take(r timedResult) {
	l.N = r.N
	l.Sec, _ = r.Values.Get("sec/op")
	l.Bytes, _ = r.Values.Get("B/op")
	l.Allocs, _ = r.Values.Get("allocs/op")
}

// takeFew stores the median of samples with few iterations. From three lengths it tells what is done once in
// each call: these samples, the ramp, and the long sample, whose process spent outside seconds outside of the
// timer. first are the seconds until the first short sample. What that took longer than the others is done
// once in a process, as with sync.Once.
func (l *benchmark) takeFew(rs []timedResult, first float64, ramp timedResult, outside float64) {
	var secs, gaps []float64 // gaps without what was timed
	for i, r := range rs {
		sec, _ := r.Values.Get("sec/op")
		secs = append(secs, sec)
		if i > 0 {
			gaps = append(gaps, r.at.Sub(rs[i-1].at).Seconds()-sec*float64(r.N))
		}
	}
	untimed := 0.0 // of one sample
	if len(gaps) > 0 {
		slices.Sort(gaps)
		untimed = gaps[0] // where there is more, something else ran
		if once := first - secs[0]*float64(rs[0].N) - gaps[len(gaps)/2]; once > surveyGrace {
			outside -= once
		}
	}
	slices.Sort(secs)
	l.FewN, l.FewSec = rs[0].N, secs[len(secs)/2]
	rampSec, _ := ramp.Values.Get("sec/op")
	l.fixed = l.Sec * float64(l.N) // at most
	for n, sec := range map[int64]float64{l.FewN: secs[0], ramp.N: rampSec} {
		if n < l.N {
			l.fixed = min(l.fixed, max(0, sec-l.Sec)/(1/float64(n)-1/float64(l.N)))
		}
	}
	calls := l.calls(l.N)
	one := (calls - 1) * (l.fixed + l.sec()) // of the call that testing begins with, which it does not tell
	l.Outside = max(0, untimed-one) / calls
	if more := outside - one - calls*l.Outside - surveyGrace; more > 0 {
		l.grows = more / float64(l.N-l.FewN)
		l.Outside = max(0, l.Outside-(float64(l.FewN)+calls-1)*l.grows/calls)
	}
}

// collecting returns the number of collections in the long sample and their share of its time.
// Package testing forces a collection before every call of the benchmark function, which takes CPU time. A set-up may collect,
// too. If F is that of one sample and C what iterations did in the long one, the totals of the long sample (all) and of the short ones (few) are
//
//	all = F + C    few = surveyFews·(F + C/surveyFew)
//
// so that C = (surveyFews·all − few) / (surveyFews − surveyFews/surveyFew). What
// iterations allocate limits C, which holds collections of a set-up too.
func (l *benchmark) collecting(all, few totals) (cycles, frac float64) {
	c := func(all, few float64) float64 {
		return max(0, (surveyFews*all-few)/(surveyFews-float64(surveyFews)/surveyFew))
	}
	cycles, sec := c(all.collections, few.collections), c(all.gcSec, few.gcSec)
	if few == (totals{}) { // there are no short samples
		cycles = all.collections
		sec = max(0, all.gcSec) * cycles / max(1, cycles+l.calls(l.N))
	}
	if most := l.Bytes * float64(l.N) / leastHeap; cycles > most {
		sec, cycles = sec*most/cycles, most
	}
	cycles = math.Round(cycles)
	if timed := l.Sec * float64(l.N); timed > 0 && cycles > 0 {
		frac = sec / timed
	}
	return cycles, frac
}
