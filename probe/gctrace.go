package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/dynolab/dyno"
)

// A Cycle is one garbage collection as GODEBUG=gctrace=1 tells it. Times are in
// seconds, and of two digits, as the runtime rounds them; sizes are in bytes,
// of whole MiB cut off, unless Paced. What each is, runtime/extern.go says.
type Cycle struct {
	At      time.Time // when its line arrived; zero from ParseTrace
	N       int       // counted by the runtime from 1
	Start   float64   // since the program began
	Percent float64   // of GOMAXPROCS × time since the program began that collections took, idle workers not counted

	SweepTerm float64 // stop of the world at the beginning, wall clock
	Mark      float64 // concurrent marking, wall clock
	MarkTerm  float64 // stop of the world at the end, wall clock

	// CPU time as the runtime accounts it, from the wall clock: of a worker
	// that waits for a CPU too.
	SweepTermCPU float64 // SweepTerm × Procs
	Assist       float64 // marking by goroutines that allocate
	Background   float64 // marking by dedicated and fractional workers
	Idle         float64 // marking on Ps that had nothing else to do
	MarkTermCPU  float64 // MarkTerm × Procs

	HeapStart float64 // heap when marking began
	HeapEnd   float64 // heap when marking ended
	Live      float64 // marked; never exact
	Goal      float64 // that the pacer wanted HeapEnd to stay below; 0 if there is none, as with GOGC=off
	Stacks    float64 // scanned; 0 up to Go 1.17
	Globals   float64 // scanned; 0 up to Go 1.17
	ScanWork  float64 // exact bytes of heap, stacks and globals scanned; 0 unless Paced
	Procs     int     // GOMAXPROCS
	Forced    bool    // by runtime.GC
	Paced     bool    // gcpacertrace=1 told HeapStart, HeapEnd and Goal to the byte
}

// CPU is the CPU time in seconds that the cycle took from the program: all but
// Idle, which is what the runtime's own percentage counts too
// (runtime/mgc.go, gcMarkTermination).
func (c *Cycle) CPU() float64 {
	return c.SweepTermCPU + c.Assist + c.Background + c.MarkTermCPU
}

// A pace is what a pacer line says of a cycle, before the cycle's own line. Of
// one that runtime.GC forced there is none.
type pace struct {
	ok                    bool
	scan, trig, end, goal float64
}

const (
	gcNumbers   = 18 // of a gc line
	oldNumbers  = 16 // of one up to Go 1.17
	paceNumbers = 10 // of the pacer's line at a cycle's end
)

// noGoal is where a goal in bytes is none: with GOGC=off and no memory limit it
// is the largest uint64 (runtime/mgcpacer.go, memoryLimitHeapGoal).
const noGoal = 1 << 60

// parse reads a complete trace line. Only a gc line gives a cycle; what a pacer
// line says is kept for it.
func (p *pace) parse(line []byte) (Cycle, bool) {
	var v [gcNumbers]float64
	n, sane := 0, true
	m := follow(0, line, func(num []byte) {
		x, err := strconv.ParseFloat(string(num), 64)
		if n < len(v) {
			v[n] = x
		}
		n++
		if n != paceNumbers || line[0] == 'g' { // cons/mark may be NaN, the others are counts and times
			sane = sane && err == nil && x >= 0 && x < math.MaxInt64
		}
	})
	if m.outcome != full || m.n != len(line) || !sane {
		return Cycle{}, false
	}
	if n == paceNumbers && bytes.HasPrefix(line, []byte("pacer: ")) {
		delta := v[8]
		if bytes.Contains(line, []byte("goal -")) { // a piece of its own
			delta = -delta
		}
		*p = pace{true, v[2] + v[3] + v[4], v[6], v[7], v[7] - delta}
	}
	if line[0] != 'g' {
		return Cycle{}, false
	}
	const ms, MiB = 1e-3, 1 << 20
	c := Cycle{
		N: int(v[0]), Start: v[1], Percent: v[2],
		SweepTerm: v[3] * ms, Mark: v[4] * ms, MarkTerm: v[5] * ms,
		SweepTermCPU: v[6] * ms, Assist: v[7] * ms, Background: v[8] * ms, Idle: v[9] * ms, MarkTermCPU: v[10] * ms,
		HeapStart: v[11] * MiB, HeapEnd: v[12] * MiB, Live: v[13] * MiB, Goal: v[14] * MiB,
		Forced: bytes.HasSuffix(line, []byte("(forced)\n")),
	}
	if n == oldNumbers {
		c.Procs = int(v[15])
	} else {
		c.Stacks, c.Globals, c.Procs = v[15]*MiB, v[16]*MiB, int(v[17])
	}
	if p.ok && math.Floor(p.goal/MiB) == v[14] { // else another cycle's, whose own line was lost
		c.Paced, c.ScanWork, c.HeapStart, c.HeapEnd, c.Goal = true, p.scan, p.trig, p.end, p.goal
	}
	if c.Goal >= noGoal {
		c.Goal = 0
	}
	*p = pace{}
	return c, true
}

// ParseTrace reads the collections from a program's standard error, or from
// what a Trace wrote of it, and skips all other text. The error is r's.
func ParseTrace(r io.Reader) ([]Cycle, error) {
	t := NewTrace(io.Discard, io.Discard)
	var cycles []Cycle
	buf := make([]byte, bufferSize) // holds fewer than untakenMost lines
	for {
		n, err := r.Read(buf)
		t.Write(buf[:n])
		cycles, _ = t.take(cycles)
		if err != nil {
			for i := range cycles {
				cycles[i].At = time.Time{}
			}
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return cycles, err
		}
	}
}

// gctrace counts the collections whose lines arrive inside the window.
type gctrace struct{}

// What a traced cycle costs, in the subject and in dyno: 44 writes of a packet,
// 80 to 140 µs longer a cycle in subject's BenchmarkStderr. Above the share of
// one CPU there is a warning.
const (
	cycleCost = 100e-6
	costLimit = 0.02
)

func (gctrace) Watch(ctx context.Context, t Target) (Reading, error) {
	if t.Trace == nil {
		return Reading{}, errors.New("watch gctrace: the subject's standard error is not traced (consider: a subject that dyno launches)")
	}
	var (
		sum     cycleSum
		buf     []Cycle
		start   time.Time
		elapsed time.Duration
	)
	err := watch(ctx, t, func(at time.Duration) error {
		var lost int
		buf, lost = t.Trace.take(buf[:0])
		if start.IsZero() { // what came before the window
			start = time.Now()
			return nil
		}
		for i := range buf {
			sum.add(&buf[i], buf[i].At.Sub(start))
		}
		sum.lost += lost
		elapsed = at
		return nil
	})
	if err != nil {
		return Reading{}, err
	}
	return sum.reading(elapsed), nil
}

// A cycleSum is what is kept of many cycles.
type cycleSum struct {
	n, lost                   int // looked at; and not
	cpu, stwMax, stw, live    float64
	heapStart, heapLive, goal dyno.Series
	every, skipped            int // of the series: one point for every so many cycles
}

// seriesMost is the most points of a series over cycles: at some thousand
// cycles a second all of them would fill the memory.
const seriesMost = 1 << 14

func (s *cycleSum) add(c *Cycle, at time.Duration) {
	s.n++
	s.cpu += c.CPU()
	s.stw += c.SweepTerm + c.MarkTerm
	s.stwMax = max(s.stwMax, c.SweepTerm, c.MarkTerm)
	live := c.Live + 1<<19 // the middle of the MiB that it was cut to
	s.live += live
	if s.skipped++; s.skipped < s.every {
		return
	}
	s.skipped = 0
	add(&s.heapStart, at, c.HeapStart)
	add(&s.heapLive, at, live)
	if c.Goal > 0 {
		add(&s.goal, at, c.Goal)
	}
	if len(s.heapStart.At) == seriesMost {
		for _, series := range []*dyno.Series{&s.heapStart, &s.heapLive, &s.goal} {
			halve(series)
		}
		s.every = max(2, 2*s.every)
	}
}

// halve drops every other point.
func halve(s *dyno.Series) {
	n := len(s.At) / 2
	for i := range n {
		s.At[i], s.Value[i] = s.At[2*i+1], s.Value[2*i+1]
	}
	s.At, s.Value = s.At[:n], s.Value[:n]
}

func (s *cycleSum) reading(elapsed time.Duration) Reading {
	if s.n > 0 { // what is lost is taken to be as the rest
		all := float64(s.n+s.lost) / float64(s.n)
		s.cpu *= all
		s.stw *= all
	}
	r := Reading{Values: dyno.Values{
		{Metric: "gc-cycles", Value: float64(s.n + s.lost)},
		{Metric: "gc-cpu-sec", Value: s.cpu},
		{Metric: "stw-max-sec", Value: s.stwMax},
		{Metric: "stw-total-sec", Value: s.stw},
	}}
	if s.n > 0 {
		r.Values = append(r.Values, dyno.Value{Metric: "heap-live-B", Value: s.live / float64(s.n)})
		s.heapStart.Metric, s.heapLive.Metric, s.goal.Metric = "heap-start-B", "heap-live-B", "heap-goal-B"
		r.Series = []dyno.Series{s.heapStart, s.heapLive}
		if len(s.goal.At) > 0 {
			r.Series = append(r.Series, s.goal)
		}
	}
	if s.lost > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf(
			"%d of %d collections were counted but not looked at (consider: a smaller probes.every)", s.lost, s.n+s.lost))
	}
	rate := float64(s.n+s.lost) / max(elapsed.Seconds(), 1e-3)
	if cost := rate * cycleCost; cost > costLimit {
		r.Warnings = append(r.Warnings, fmt.Sprintf(
			"%.0f collections per second, each with some 100 µs for its trace lines: tracing took about %.0f %% of a CPU", rate, 100*cost))
	}
	return r
}
