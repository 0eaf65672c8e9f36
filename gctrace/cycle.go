package gctrace

import (
	"bytes"
	"io"
	"math"
	"strconv"
	"time"
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
	Mark      float64 // concurrent marking, wall clock; up to Go 1.5 with scanning before it
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

// How many numbers a line has.
const (
	gcNumbers    = 18 // a gc line
	oldNumbers   = 16 // one up to Go 1.17, without stacks and globals
	firstNumbers = 20 // one of Go 1.5, with five phases
	paceNumbers  = 10 // the pacer's line at a cycle's end, since Go 1.18
)

// numbers are those of a line, as it prints them.
type numbers [firstNumbers]float64

// noGoal is where a goal in bytes is none: with GOGC=off and no memory limit it
// is the largest uint64 (runtime/mgcpacer.go, memoryLimitHeapGoal).
const NoGoal = 1 << 60

// parse reads a complete trace line. Only a gc line gives a cycle; what a pacer
// line says is kept for it.
func (p *pace) parse(line []byte) (Cycle, bool) {
	var v numbers
	n, sane := 0, true
	m := anyAge.follow(0, line, func(num []byte) {
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
	if line[0] != 'g' || (n == gcNumbers) != bytes.Contains(line, []byte(" MB stacks, ")) {
		return Cycle{}, false
	}
	return p.cycle(&v, n, bytes.HasSuffix(line, []byte("(forced)\n")))
}

// cycle makes a cycle of the n numbers of a gc line.
func (p *pace) cycle(v *numbers, n int, forced bool) (Cycle, bool) {
	const ms, MiB = 1e-3, 1 << 20
	if n == firstNumbers {
		// Scanning and synchronizing went on beside the program, as marking
		// did, which is all three since Go 1.6 (golang/go#13536).
		w := numbers{v[0], v[1], v[2], v[3], v[4] + v[5] + v[6], v[7], v[8], v[11], v[9] + v[10] + v[12], v[13], v[14]}
		copy(w[11:], v[15:])
		v, n = &w, oldNumbers
	}
	c := Cycle{
		N: int(v[0]), Start: v[1], Percent: v[2],
		SweepTerm: v[3] * ms, Mark: v[4] * ms, MarkTerm: v[5] * ms,
		SweepTermCPU: v[6] * ms, Assist: v[7] * ms, Background: v[8] * ms, Idle: v[9] * ms, MarkTermCPU: v[10] * ms,
		HeapStart: v[11] * MiB, HeapEnd: v[12] * MiB, Live: v[13] * MiB, Goal: v[14] * MiB,
		Forced: forced,
	}
	switch n {
	case oldNumbers:
		c.Procs = int(v[15])
	case gcNumbers:
		c.Stacks, c.Globals, c.Procs = v[15]*MiB, v[16]*MiB, int(v[17])
	default:
		return Cycle{}, false
	}
	if p.ok && math.Floor(p.goal/MiB) == v[14] { // else another cycle's, whose own line was lost
		c.Paced, c.ScanWork, c.HeapStart, c.HeapEnd, c.Goal = true, p.scan, p.trig, p.end, p.goal
	}
	if c.Goal >= NoGoal {
		c.Goal = 0
	}
	*p = pace{}
	return c, true
}

// ParseTrace reads the collections from a program's standard error, or from
// what a Trace wrote of it, and skips all other text. The error is r's.
func Parse(r io.Reader) ([]Cycle, error) {
	var cycles []Cycle
	_, err := Read(r, func(c *Cycle, _ []byte) { cycles = append(cycles, *c) })
	return cycles, err
}
