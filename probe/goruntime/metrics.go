package goruntime

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/gctrace"
	"github.com/dynolab/dyno/probe"
)

// Metrics reads runtime/metrics by the injected probe.
//
// /cpu/classes moves only when a cycle ends, and is wall-clock time of workers
// (runtime/mstats.go, cpuStats): too much on contended CPUs. Note: scaling it by the
// kernel's CPU time would be wrong, since the runtime counts blocking system calls as
// busy: a service that reads files would seem to collect less.
type Metrics struct{}

// metricIndex has the metrics that are read, and their places in a sample.
var metricIndex = map[string]int{}

func metric(name string) int {
	metricIndex[name] = len(metricIndex)
	return metricIndex[name]
}

var (
	mTime        = metric("time")               // nanoseconds
	mUser        = metric("cpu/user:seconds")   // of getrusage
	mSystem      = metric("cpu/system:seconds") // of getrusage
	mAllocBytes  = metric("/gc/heap/allocs:bytes")
	mAllocs      = metric("/gc/heap/allocs:objects")
	mTinyAllocs  = metric("/gc/heap/tiny/allocs:objects")
	mCycles      = metric("/gc/cycles/total:gc-cycles")
	mGCCPU       = metric("/cpu/classes/gc/total:cpu-seconds")
	mGCIdleCPU   = metric("/cpu/classes/gc/mark/idle:cpu-seconds")
	mGCAssistCPU = metric("/cpu/classes/gc/mark/assist:cpu-seconds")
	mProcs       = metric("/sched/gomaxprocs:threads")
	mMutexWait   = metric("/sync/mutex/wait/total:seconds")
	mLiveSum     = metric("gc/live-sum:bytes")       // of what each collection found live
	mLiveCount   = metric("gc/live-count:gc-cycles") // those collections
	mGoal        = metric("/gc/heap/goal:bytes")
	mHeap        = metric("/memory/classes/heap/objects:bytes")
	mTotal       = metric("/memory/classes/total:bytes")
	mReleased    = metric("/memory/classes/heap/released:bytes")
	mGoroutines  = metric("/sched/goroutines:goroutines")
)

const (
	pauseHistogram   = "/sched/pauses/total/gc:seconds" // Go 1.22
	latencyHistogram = "/sched/latencies:seconds"
)

// A sample is the scalars of one answer, NaN where that Go version has none.
type sample [19]float64

func parseSample(answer []byte) (sample, error) {
	var s sample
	for i := range s {
		s[i] = math.NaN()
	}
	for line := range bytes.Lines(answer) {
		name, rest, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
		i, ok := metricIndex[string(name)]
		if !ok {
			continue
		}
		var err error
		if s[i], err = parseScalar(rest); err != nil {
			return s, fmt.Errorf("parse metric %s: %w", name, err)
		}
	}
	if math.IsNaN(s[mTime]) {
		return s, errors.New("parse metrics: no time")
	}
	return s, nil
}

// parseScalar reads a number after its kind: "u 7" or "f 0.5".
func parseScalar(text []byte) (float64, error) {
	kind, number, _ := bytes.Cut(text, []byte(" "))
	switch string(kind) {
	case "u":
		u, err := strconv.ParseUint(string(number), 10, 64)
		return float64(u), err
	case "f":
		return strconv.ParseFloat(string(number), 64)
	}
	return 0, errors.New("not a number")
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
	begun               bool
	first, last         sample
	firstText, lastText []byte // the answers, for their histograms
	goroutinesMost      float64
	heapMost            float64
	points              probe.Points
}

func (w *runtimeWatch) sample(at time.Duration, answer []byte) error {
	s, err := parseSample(answer)
	if err != nil {
		return err
	}
	w.lastText = append(w.lastText[:0], answer...)
	if !w.begun {
		w.begun, w.first, w.firstText = true, s, bytes.Clone(answer)
	} else if sec := (s[mTime] - w.last[mTime]) / 1e9; sec > 0 {
		w.known("alloc-B/s", at, (s[mAllocBytes]-w.last[mAllocBytes])/sec)
	}
	w.known("heap-B", at, s[mHeap])
	w.known("mapped-B", at, s[mTotal]-s[mReleased])
	if s[mGoal] < gctrace.NoGoal {
		w.points.Add("heap-goal-B", at, s[mGoal])
	}
	w.known("goroutines", at, s[mGoroutines])
	if !math.IsNaN(s[mHeap]) {
		w.heapMost = max(w.heapMost, s[mHeap])
	}
	w.goroutinesMost = max(w.goroutinesMost, s[mGoroutines])
	w.last = s
	return nil
}

func (w *runtimeWatch) known(metric string, at time.Duration, v float64) {
	if !math.IsNaN(v) {
		w.points.Add(metric, at, v)
	}
}

func (w *runtimeWatch) reading() (probe.Reading, error) {
	var r probe.Reading
	value := func(metric string, v float64) {
		if !math.IsNaN(v) {
			r.Values = append(r.Values, dyno.Value{Metric: metric, Value: v})
		}
	}
	grown := func(i int) float64 { return w.last[i] - w.first[i] }
	value("cpu-sec", grown(mUser)+grown(mSystem))
	value("alloc-B", grown(mAllocBytes))
	// Tiny objects share a block and are counted apart; runtime.MemStats adds them.
	value("allocs", grown(mAllocs)+grown(mTinyAllocs))
	value("gc-cycles", grown(mCycles))
	value("gc-cpu-sec", max(0, grown(mGCCPU)-grown(mGCIdleCPU)))
	value("gc-assist-sec", grown(mGCAssistCPU))
	if sec := grown(mTime) / 1e9; sec > 0 {
		value("gc-capacity-frac", max(0, grown(mGCCPU)-grown(mGCIdleCPU))/(w.last[mProcs]*sec))
	}
	value("mutex-wait-sec", grown(mMutexWait))
	value("gomaxprocs", w.last[mProcs])
	value("goroutines", w.goroutinesMost)
	if w.heapMost > 0 {
		value("heap-peak-B", w.heapMost)
	}
	if n := grown(mLiveCount); n > 0 {
		value("heap-live-B", grown(mLiveSum)/n)
	}
	pauses, err1 := grownHistogram(w.firstText, w.lastText, pauseHistogram)
	waits, err2 := grownHistogram(w.firstText, w.lastText, latencyHistogram)
	if err := cmp.Or(err1, err2); err != nil {
		return probe.Reading{}, err
	}
	if pauses != nil {
		value("stw-max-sec", pauses.max())
		value("stw-total-sec", pauses.sum())
	}
	if waits.count() > 0 {
		value("sched-p99-sec", waits.quantile(0.99))
	}
	r.Series = w.points.List
	return r, nil
}
