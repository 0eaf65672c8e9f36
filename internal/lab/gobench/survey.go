package gobench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/subject"
)

// A survey of a benchmark takes some 0.3 s, if an iteration is short against that.
const (
	surveyName = "DynoSurvey" // this benchmark tells totals of its process
	// In this -test.benchtime testing itself finds out how fast a benchmark is. Two samples are
	// taken: the first may include what is done once.
	surveyRamp             = 2 * time.Millisecond
	surveyLong, surveyWall = 0.1, 0.4    // seconds of the long sample, which resolves 0.5 %, and its limit with what is not timed
	surveyFew, surveyFews  = 8, 4        // short samples have an eighth of the iterations; four are taken
	surveyOnce             = 1.0         // a slower iteration, in seconds, gets no runs for collections and goroutines alone
	surveyTimed            = 10.0        // it gets them up to here if the source has a set-up that is timed
	surveyGrow             = 10          // how many times more iterations follow if hardly any time is theirs
	surveyGrace            = 0.005       // seconds outside the timer that say nothing: the start of a process is known to milliseconds
	surveyQuiet            = time.Minute // how long a binary may print nothing, or a tenth of Bench.Duration if longer
	surveyDeaths           = 50          // how often a test binary may die before its survey is given up
)

// survey finds the benchmarks of every setting, pairs them, and measures them. A duration that was
// asked for ends it, too.
func (w *Run) survey(ctx context.Context) error {
	done, total := 0, 0
	if w.least == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, w.end)
		defer cancel()
	}
	err := w.surveyAll(ctx, &done, &total)
	if !errors.Is(err, context.DeadlineExceeded) || time.Now().Before(w.end) {
		return err
	}
	most := time.Duration(w.e.Bench.Duration)
	cure := "a longer duration, or fewer benchmarks with --bench"
	if done == 0 {
		return fmt.Errorf("survey benchmarks: %v ran out before any was measured (consider: %s)", most, cure)
	}
	return fmt.Errorf("survey benchmarks: %v ran out after %d of %d, before any comparison (consider: %s)", most, done, total, cure)
}

// surveyAll counts what is done of how many benchmarks, each under every setting.
func (w *Run) surveyAll(ctx context.Context, done, total *int) error {
	paths, err := w.links(ctx, func(*subject.TestPackage) bool { return true }, w.LinkSurvey)
	if err != nil {
		return err
	}
	for _, s := range w.sides {
		s.warnings = append(s.warnings, w.fresh(s)...)
	}
	w.step(Step{Phase: "survey"})
	for _, s := range w.sides {
		for _, p := range s.packages {
			tl := &teller{w: w, s: s, p: p, path: paths[p]}
			if err := tl.begin(ctx); err != nil {
				return err
			}
			if err := tl.discover(ctx); err != nil {
				return err
			}
		}
	}
	if err := w.pair(); err != nil {
		return err
	}
	*total = len(w.pairings) * len(w.sides)
	for _, s := range w.sides {
		for _, l := range s.leaves {
			w.step(Step{Phase: "survey", Benchmarks: *total, Done: *done})
			if l.Err == "" {
				if err := l.teller.measure(ctx, l); err != nil {
					return err
				}
			}
			*done++
		}
	}
	for _, p := range w.pairings {
		if slices.ContainsFunc(p.in, func(l *benchmark) bool { return l.Err != "" }) {
			p.over = true
			continue
		}
		p.pace = paceOf(p.in, time.Duration(w.e.Bench.Sample), turnsRuntime(w.e))
	}
	return nil
}

// A teller surveys one package under one setting.
type teller struct {
	w     *Run
	s     *side
	p     *subject.TestPackage
	path  string
	procs int // GOMAXPROCS, as testing prints it; known when a benchmark has run

	base  totals        // of a process that ran nothing else, to be taken off
	start time.Duration // until testing began its first benchmark
}

// totals are figures of a whole process, which BenchmarkDynoSurvey reports.
type totals struct{ goroutines, collections, gcSec float64 }

// begin runs BenchmarkDynoSurvey alone. If the binary lacks it, there are no totals; LinkSurvey has warned
// then.
func (t *teller) begin(ctx context.Context) error {
	out, err := t.once(ctx, "-test.v", "-test.bench="+patternOf(surveyName), "-test.benchtime=1x")
	if err != nil {
		return err
	}
	for _, r := range out.results {
		if r.Name == surveyName {
			t.base, t.start = totalsOf(r), out.first.Sub(out.begun)
			return nil
		}
	}
	if !out.ended {
		t.early("", out)
	}
	return nil
}

// early warns of a test binary that ended before it had run all.
func (t *teller) early(and string, out *output) {
	err := fmt.Errorf("survey %s: %sits test binary ended early: %s", t.p.ImportPath, and, out.why())
	t.s.warnings.AddOf(dyno.WarnSurvey, t.p.ImportPath, "%v", err)
	t.w.died = cmp.Or(t.w.died, fmt.Errorf("under %s: %w", t.s.trial.Setting.Label(), err))
}

func totalsOf(r timedResult) (t totals) {
	t.goroutines, _ = r.Values.Get("dyno-goroutines")
	t.collections, _ = r.Values.Get("dyno-gc-cycles")
	t.gcSec, _ = r.Values.Get("dyno-gc-sec")
	return t
}

// once runs the survey's binary and reads what it prints, also if it fails or hangs.
func (t *teller) once(ctx context.Context, args ...string) (*output, error) {
	alive, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	quiet := max(surveyQuiet, time.Duration(t.w.e.Bench.Duration)/10)
	out := newOutput(t.procs, quiet, func() { cancel(fmt.Errorf("it printed nothing for %v and was stopped", quiet)) })
	defer out.timer.Stop()
	status, err := t.w.Once(alive, t.path, t.w.options(t.s, t.p, args...), out)
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
	var skip []string
	for deaths := 1; ; deaths++ {
		args := []string{"-test.v", "-test.bench=" + t.w.e.Bench.Match, "-test.benchtime=1x"}
		if len(skip) > 0 {
			args = append(args, "-test.skip="+skipPattern(skip))
		}
		out, err := t.once(ctx, args...)
		if err != nil {
			return err
		}
		t.procs = cmp.Or(t.procs, out.procs)
		found := out.leaves()
		for _, l := range found {
			skip = append(skip, l.Printed)
			l.Package, l.Name, l.p, l.teller, l.procs = t.p.ImportPath, l.Printed, t.p, t, cmp.Or(t.procs, 1)
			l.start = min(t.start, out.first.Sub(out.begun)) // the first process of a binary also reads it from the disk
			if l.Printed == surveyName {
				continue
			}
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

// measure fills in the survey of a benchmark that ran once.
func (t *teller) measure(ctx context.Context, l *benchmark) error {
	ramp, _, err := t.sample(ctx, l, "-test.bench="+patternOf(l.Printed), "-test.benchtime="+surveyRamp.String(), "-test.count=2")
	if err != nil || ramp == nil {
		return err
	}
	last := ramp[len(ramp)-1]
	l.take(last)
	gap := last.at.Sub(ramp[0].at)
	wall := gap.Seconds() / float64(last.N) // of an iteration, and more if much is done once
	l.Outside = max(0, gap.Seconds()-float64(last.N)*l.Sec)
	if last.N > 1 {
		l.Outside /= 2 // testing called it more often than that, if it was too quick
	}
	n := min(mostN, max(1, math.Ceil(min(surveyLong/l.sec(), surveyWall/wall))))
	if l.Source.Timed != "" && l.Sec < surveyTimed {
		n = max(n, 2) // to see whether it is the set-up that takes long
	} else if l.Sec > surveyOnce {
		return nil
	}
	all, outside, err := t.long(ctx, l, int64(n))
	if err != nil || l.Err != "" {
		return err
	}
	var few totals
	if l.N >= surveyFew {
		var rs []timedResult
		began := time.Now()
		rs, few, err = t.sample(ctx, l, "-test.bench="+patternOf(l.Printed, surveyName),
			fmt.Sprintf("-test.benchtime=%dx", l.N/surveyFew), fmt.Sprintf("-test.count=%d", surveyFews))
		if err != nil || rs == nil {
			return err
		}
		l.takeFew(rs, (rs[0].at.Sub(began) - t.start).Seconds(), last, outside)
	}
	l.Goroutines = max(0, all.goroutines-t.base.goroutines)
	l.Collections, l.GCFrac = t.collecting(l, all, few)
	return nil
}

// long takes the long sample, of n iterations. It doubles them or more until half of the time is
// theirs, and not that of what is done once. It returns the totals of its process and the seconds that were not timed.
func (t *teller) long(ctx context.Context, l *benchmark, n int64) (all totals, outside float64, err error) {
	for {
		before, beforeN := l.Sec*float64(l.N), l.N
		began := time.Now()
		rs, after, err := t.sample(ctx, l, "-test.bench="+patternOf(l.Printed, surveyName), fmt.Sprintf("-test.benchtime=%dx", n))
		if err != nil || rs == nil {
			return after, 0, err
		}
		l.take(rs[0])
		wall := (rs[0].at.Sub(began) - t.start).Seconds()
		took := l.Sec * float64(l.N)
		marginal := max(nothingSec, (took-before)/float64(l.N-beforeN))
		if l.N <= beforeN || marginal*float64(l.N) >= took/2 || wall > 2*surveyWall || l.N >= mostN {
			return after, wall - took, nil
		}
		n = int64(min(mostN, surveyGrow*float64(l.N), max(2*float64(l.N), surveyLong/marginal)))
	}
}

// sample runs one benchmark and returns its results with the totals after the last. Without
// results, l.Err says why.
func (t *teller) sample(ctx context.Context, l *benchmark, args ...string) (rs []timedResult, after totals, err error) {
	out, err := t.once(ctx, args...)
	if err != nil {
		return nil, after, err
	}
	after = t.base // unless a result has totals of its own
	for _, r := range out.results {
		switch nameOf(r.Name, l.procs) {
		case l.Printed:
			rs = append(rs, r)
		case surveyName:
			after = totalsOf(r)
		}
	}
	if len(rs) == 0 || out.failed() != nil {
		l.Err = out.why()
		return nil, after, nil
	}
	return rs, after, nil
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
// Package testing forces a collection before every call of the benchmark function. With F forced
// collections in each sample and C others in the long one, the counts of the long sample (all)
// and of the short ones (few) are
//
//	all − base = F + C    few − base = surveyFews·(F + C/surveyFew)
//
// so that C = (surveyFews·(all−base) − (few−base)) / (surveyFews − surveyFews/surveyFew). What
// iterations allocate limits C, which holds collections of a set-up too.
func (t *teller) collecting(l *benchmark, all, few totals) (cycles, frac float64) {
	base := t.base
	c := func(all, few, base float64) float64 {
		return max(0, (surveyFews*(all-base)-(few-base))/(surveyFews-float64(surveyFews)/surveyFew))
	}
	cycles, sec := c(all.collections, few.collections, base.collections), c(all.gcSec, few.gcSec, base.gcSec)
	if l.FewN == 0 { // there are no short samples, and F is little against an iteration
		whole := all.collections - base.collections
		cycles = max(0, whole-l.calls(l.N))
		if whole > 0 {
			sec = max(0, all.gcSec-base.gcSec) * cycles / whole
		}
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
