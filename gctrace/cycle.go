package gctrace

import (
	"bytes"
	"math"
	"strconv"
	"time"
)

// A Cycle is one garbage collection as GODEBUG=gctrace=1 reports it; see runtime/extern.go. Times
// have two digits; sizes are bytes, of whole MiB cut off unless Paced.
type Cycle struct {
	At      time.Time     // when its line arrived; zero from Read and Parse
	N       int           // counted by the runtime from 1
	Start   time.Duration // since the program began, cut to milliseconds
	Percent float64       // of GOMAXPROCS × time since the program began that collections took, idle workers not counted; cut off

	SweepTerm time.Duration // stop of the world at the beginning, wall clock
	Mark      time.Duration // concurrent marking, wall clock; up to Go 1.5 with scanning before it
	MarkTerm  time.Duration // stop of the world at the end, wall clock

	// CPU time by the wall clock: a worker that waits for a CPU counts too.
	SweepTermCPU time.Duration // SweepTerm × Procs
	Assist       time.Duration // marking by goroutines that allocate
	Background   time.Duration // marking by dedicated and fractional workers
	Idle         time.Duration // marking on Ps that had nothing else to do
	MarkTermCPU  time.Duration // MarkTerm × Procs

	HeapStart float64 // heap when marking began
	HeapEnd   float64 // heap when marking ended
	Live      float64 // marked; never exact
	Goal      float64 // that the pacer wanted HeapEnd to stay below; 0 if absent, as with GOGC=off
	Scanned   float64 // stacks and globals, which count for the goal; 0 up to Go 1.17
	Procs     int     // GOMAXPROCS
	Forced    bool    // by runtime.GC
	Paced     bool    // gcpacertrace=1 told HeapStart, HeapEnd and Goal to the byte
}

// CPU is the CPU time that the cycle took from the program: all but Idle, as in the runtime's
// percentage (runtime/mgc.go, gcMarkTermination).
func (c *Cycle) CPU() time.Duration {
	return c.SweepTermCPU + c.Assist + c.Background + c.MarkTermCPU
}

// Wall is how long the collection took.
func (c *Cycle) Wall() time.Duration { return c.SweepTerm + c.Mark + c.MarkTerm }

// GOGC bounds the value of GOGC by the goal of a collection and what the one just before it left, which are cut off
// to whole MiB. ok is false if they tell nothing: there is no goal, or runtime.GC forced one of the two. A memory
// limit may have lowered the goal; that is for the caller to know. The rule is commitment of runtime/mgcpacer.go,
// since Go 1.18: live + (live + scanned) × GOGC/100, at the least 4 MiB × GOGC/100, and raised to leave room for
// sweeping where that is less than 1 MiB above what is live.
func GOGC(before, c *Cycle) (lo, hi float64, ok bool) {
	const MiB = 1 << 20
	if c.N != before.N+1 || c.Goal == 0 || c.Forced || before.Forced {
		return 0, 0, false
	}
	percent := func(goal, live, scanned float64) float64 {
		whole := goal / (4 * MiB) * 100
		if live+scanned == 0 {
			return whole
		}
		return min(whole, max(0, goal-live)/(live+scanned)*100)
	}
	hi = percent(c.Goal+MiB, before.Live, min(c.Scanned, before.Scanned))
	if c.Goal > before.Live+3*MiB {
		lo = percent(c.Goal, before.Live+MiB, max(c.Scanned, before.Scanned)+2*MiB)
	}
	return lo, hi, true
}

// A pace is what a pacer line says of the next cycle, unless runtime.GC forced that.
type pace struct {
	ok              bool
	trig, end, goal float64
}

const (
	gcNumbers    = 18 // a gc line
	oldNumbers   = 16 // one up to Go 1.17, without stacks and globals
	firstNumbers = 20 // one of Go 1.5, with five phases
	paceNumbers  = 10 // the pacer's line at a cycle's end, since Go 1.18
)

type numbers [firstNumbers]float64

const (
	// A goal of NoGoal bytes or more is none: with GOGC=off and no memory limit, the runtime prints the
	// largest uint64 (runtime/mgcpacer.go, memoryLimitHeapGoal).
	NoGoal = 1 << 60

	longest = 1e12 // milliseconds; a longer time is not one of the runtime's
)

// parse reads a complete trace line: a gc line gives a cycle, a pacer line is kept for it.
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
		*p = pace{true, v[6], v[7], v[7] - delta}
	}
	if line[0] != 'g' || (n == gcNumbers) != bytes.Contains(line, []byte(" MB stacks, ")) {
		return Cycle{}, false
	}
	return p.cycle(&v, n, bytes.HasSuffix(line, []byte("(forced)\n")))
}

func (p *pace) cycle(v *numbers, n int, forced bool) (Cycle, bool) {
	const MiB = 1 << 20
	ms := func(x float64) time.Duration { return time.Duration(math.Round(x * 1e6)) }
	for i := 1; i < n-5; i++ {
		if v[i] > longest {
			return Cycle{}, false
		}
	}
	if n == firstNumbers {
		// Scanning and synchronizing went on beside the program, and are part of
		// marking since Go 1.6 (golang/go#13536).
		w := numbers{v[0], v[1], v[2], v[3], v[4] + v[5] + v[6], v[7], v[8], v[11], v[9] + v[10] + v[12], v[13], v[14]}
		copy(w[11:], v[15:])
		v, n = &w, oldNumbers
	}
	c := Cycle{
		N: int(v[0]), Start: ms(v[1] * 1e3), Percent: v[2],
		SweepTerm: ms(v[3]), Mark: ms(v[4]), MarkTerm: ms(v[5]),
		SweepTermCPU: ms(v[6]), Assist: ms(v[7]), Background: ms(v[8]), Idle: ms(v[9]), MarkTermCPU: ms(v[10]),
		HeapStart: v[11] * MiB, HeapEnd: v[12] * MiB, Live: v[13] * MiB, Goal: v[14] * MiB,
		Forced: forced,
	}
	switch n {
	case oldNumbers:
		c.Procs = int(v[15])
	case gcNumbers:
		c.Scanned, c.Procs = (v[15]+v[16])*MiB, int(v[17])
	default:
		return Cycle{}, false
	}
	if p.ok && math.Floor(p.goal/MiB) == v[14] { // else another cycle's, whose own line was lost
		c.Paced, c.HeapStart, c.HeapEnd, c.Goal = true, p.trig, p.end, p.goal
	}
	if c.Goal >= NoGoal {
		c.Goal = 0
	}
	*p = pace{}
	return c, true
}

func (p *pace) read(line []byte) (Cycle, bool) {
	if c, ok := p.fast(line); ok {
		return c, true
	}
	return p.parse(line)
}

// separators stand between the numbers of a gc line since Go 1.18.
var separators = [gcNumbers]string{" @", "s ", "%: ", "+", "+", " ms clock, ", "+", "/", "/", "+", " ms cpu, ",
	"->", "->", " MB, ", " MB goal, ", " MB stacks, ", " MB globals, ", " P"}

// fast reads a gc line of today's form seven times as fast as parse.
func (p *pace) fast(line []byte) (Cycle, bool) {
	var v numbers
	rest, _ := bytes.CutPrefix(line, gcMark)
	for i, s := range separators {
		n := 0
		v[i], n = number(rest)
		var ok bool
		if rest, ok = bytes.CutPrefix(rest[n:], []byte(s)); n == 0 || !ok {
			return Cycle{}, false
		}
	}
	rest, forced := bytes.CutPrefix(rest, []byte(" (forced)"))
	if string(rest) != "\n" {
		return Cycle{}, false
	}
	return p.cycle(&v, gcNumbers, forced)
}

// number reads the decimal number at the start of p and returns its length n. n is 0 if there is
// no number, if it has more than 15 digits, or if nothing follows it. Up to 15 digits and their
// power of ten are exact floats, so one division rounds as strconv.ParseFloat does.
func number(p []byte) (x float64, n int) {
	scale := 0. // 0 before the point
	for n < len(p) && n <= 15 {
		switch c := p[n]; {
		case '0' <= c && c <= '9':
			x, scale = 10*x+float64(c-'0'), 10*scale
		case c == '.' && scale == 0 && n > 0:
			scale = 1
		case n > 0 && p[n-1] == '.':
			return 0, 0
		default:
			return x / max(scale, 1), n
		}
		n++
	}
	return 0, 0
}

func ends(line []byte) bool {
	return bytes.HasSuffix(line, []byte("P\n")) || bytes.HasSuffix(line, []byte("(forced)\n"))
}
