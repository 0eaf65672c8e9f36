package goruntime

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/gctrace"
	"github.com/dynolab/dyno/internal/probe"
)

// Metrics reads runtime/metrics by the injected probe.
//
// /cpu/classes moves only when a cycle ends, and is wall-clock time of workers
// (runtime/mstats.go, cpuStats): too much on contended CPUs. Note: scaling it by the
// kernel's CPU time would be wrong, since the runtime counts blocking system calls as
// busy: a service that reads files would seem to collect less.
type Metrics struct{}

// Names in an answer, of runtime/metrics or of the injected probe itself.
const (
	mTime        = "time"               // nanoseconds
	mUser        = "cpu/user:seconds"   // of getrusage
	mSystem      = "cpu/system:seconds" // of getrusage
	mAllocBytes  = "/gc/heap/allocs:bytes"
	mAllocs      = "/gc/heap/allocs:objects"
	mTinyAllocs  = "/gc/heap/tiny/allocs:objects"
	mCycles      = "/gc/cycles/total:gc-cycles"
	mGCCPU       = "/cpu/classes/gc/total:cpu-seconds"
	mGCIdleCPU   = "/cpu/classes/gc/mark/idle:cpu-seconds"
	mGCAssistCPU = "/cpu/classes/gc/mark/assist:cpu-seconds"
	mProcs       = "/sched/gomaxprocs:threads"
	mGOGC        = "/gc/gogc:percent"
	mLimit       = "/gc/gomemlimit:bytes"
	mMutexWait   = "/sync/mutex/wait/total:seconds"
	mLiveSum     = "gc/live-sum:bytes"       // of what each collection found live
	mLiveCount   = "gc/live-count:gc-cycles" // those collections
	mGoal        = "/gc/heap/goal:bytes"
	mHeap        = "/memory/classes/heap/objects:bytes"
	mTotal       = "/memory/classes/total:bytes"
	mReleased    = "/memory/classes/heap/released:bytes"
	mFree        = "/memory/classes/heap/free:bytes"
	mGoroutines  = "/sched/goroutines:goroutines"

	pauseHistogram   = "/sched/pauses/total/gc:seconds" // Go 1.22
	latencyHistogram = "/sched/latencies:seconds"
)

// A sample is the numbers of an answer by their names, without histograms.
type sample map[string]float64

// of is NaN where that Go version has no such number.
func (s sample) of(name string) float64 {
	if v, ok := s[name]; ok {
		return v
	}
	return math.NaN()
}

// inForce are the settings of the runtime.
func (s sample) inForce() dyno.Setting { return dyno.InForce(s.of(mGOGC), s.of(mLimit), s.of(mProcs)) }

// parseSample reads lines such as "NAME u 7" and "NAME f 0.5".
func parseSample(answer []byte) (sample, error) {
	s := sample{}
	for line := range bytes.Lines(answer) {
		name, rest, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
		kind, text, _ := bytes.Cut(rest, []byte(" "))
		if string(kind) == "h" {
			continue
		}
		v, err := strconv.ParseFloat(string(text), 64)
		if err != nil {
			return nil, fmt.Errorf("parse metric %s: %w", name, err)
		}
		s[string(name)] = v
	}
	return s, nil
}

func (Metrics) Watch(ctx context.Context, t probe.Target) (probe.Reading, error) {
	if t.Socket == "" {
		return probe.Reading{}, errors.New("watch runtime metrics: the subject has no injected probe (consider: a subject built from source)")
	}
	c := &Client{Socket: t.Socket}
	defer c.Close()
	w := runtimeWatch{points: probe.Points{Sample: t.Sample}}
	err := probe.Watch(ctx, t, func(at time.Duration) error {
		// Exact stops the world, and is needed at both ends only, where
		// allocations would be counted late.
		command := "metrics brief"
		if at == 0 || ctx.Err() != nil {
			command = "metrics exact"
		}
		answer, err := c.Ask(command)
		if err != nil {
			return err
		}
		return w.sample(at, answer)
	})
	if err != nil {
		return probe.Reading{}, fmt.Errorf("watch runtime metrics: %w", err)
	}
	return w.reading()
}

type runtimeWatch struct {
	first, last         sample
	firstText, lastText []byte // the answers, for their histograms
	goroutinesMost      float64
	heapMost            float64
	inForce             probe.InForce
	points              probe.Points
}

func (w *runtimeWatch) sample(at time.Duration, answer []byte) error {
	s, err := parseSample(answer)
	if err != nil {
		return err
	}
	if _, ok := s[mTime]; !ok {
		return errors.New("parse metrics: no time")
	}
	w.lastText = append(w.lastText[:0], answer...)
	if w.first == nil {
		w.first, w.firstText = s, bytes.Clone(answer)
	} else if sec := (s[mTime] - w.last[mTime]) / 1e9; sec > 0 {
		w.known("alloc-B/s", at, (s.of(mAllocBytes)-w.last.of(mAllocBytes))/sec)
	}
	w.known("heap-B", at, s.of(mHeap))
	mapped := s.of(mTotal) - s.of(mReleased)
	w.known("mapped-B", at, mapped)
	// What GOMEMLIMIT has to leave room for beside the heap (runtime/mgcpacer.go, memoryLimitHeapGoal).
	w.known("overhead-B", at, mapped-s.of(mFree)-s.of(mHeap))
	if s.of(mGoal) < gctrace.NoGoal {
		w.points.Add("heap-goal-B", at, s[mGoal])
	}
	w.known("goroutines", at, s.of(mGoroutines))
	w.inForce.Add(s.inForce())
	w.heapMost = max(w.heapMost, s[mHeap])
	w.goroutinesMost = max(w.goroutinesMost, s.of(mGoroutines))
	w.last = s
	return nil
}

func (w *runtimeWatch) known(metric string, at time.Duration, v float64) {
	if !math.IsNaN(v) {
		w.points.Add(metric, at, v)
	}
}

func (w *runtimeWatch) reading() (probe.Reading, error) {
	pauses, err1 := grownHistogram(w.firstText, w.lastText, pauseHistogram)
	waits, err2 := grownHistogram(w.firstText, w.lastText, latencyHistogram)
	if err := cmp.Or(err1, err2); err != nil {
		return probe.Reading{}, err
	}
	grown := func(name string) float64 { return w.last.of(name) - w.first.of(name) }
	gcCPU := max(0, grown(mGCCPU)-grown(mGCIdleCPU))
	values := dyno.Values{
		{Metric: "cpu-sec", Value: grown(mUser) + grown(mSystem)},
		{Metric: "alloc-B", Value: grown(mAllocBytes)},
		// Tiny objects share a block and are counted apart; runtime.MemStats adds them.
		{Metric: "allocs", Value: grown(mAllocs) + grown(mTinyAllocs)},
		{Metric: "gc-cycles", Value: grown(mCycles)},
		{Metric: "gc-cpu-sec", Value: gcCPU},
		{Metric: "gc-assist-sec", Value: grown(mGCAssistCPU)},
		{Metric: "gc-capacity-frac", Value: gcCPU / (w.last.of(mProcs) * (grown(mTime) / 1e9))},
		{Metric: "mutex-wait-sec", Value: grown(mMutexWait)},
		{Metric: "gomaxprocs", Value: w.last.of(mProcs)},
		{Metric: "goroutines", Value: w.goroutinesMost},
		{Metric: "heap-live-B", Value: grown(mLiveSum) / grown(mLiveCount)},
		{Metric: "stw-max-sec", Value: pauses.max()},
		{Metric: "stw-total-sec", Value: pauses.sum()},
		{Metric: "sched-p99-sec", Value: waits.quantile(0.99)},
	}
	if w.heapMost > 0 {
		values = append(values, dyno.Value{Metric: "heap-peak-B", Value: w.heapMost})
	}
	return probe.Reading{Values: finite(values), Series: w.points.List, InForce: w.inForce}, nil
}

// finite leaves out what is not known.
func finite(values dyno.Values) dyno.Values {
	return slices.DeleteFunc(values, func(v dyno.Value) bool { return math.IsNaN(v.Value) || math.IsInf(v.Value, 0) })
}
