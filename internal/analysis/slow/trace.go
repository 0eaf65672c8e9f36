// Package slow says why the slowest requests of a service are slow: where each spent
// its time, on which line it waited, and which goroutine it waited for.
//
// It reads execution traces from an io.Reader, and requests from a sequence.
package slow

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"golang.org/x/exp/trace"

	"github.com/dynolab/dyno/internal/analysis/exectrace"
)

// A Trace is what an execution trace has of goroutines: what each did, when, and what woke it.
type Trace struct {
	Begin, End int64 // ns of the trace's clock; on Linux that is CLOCK_MONOTONIC
	Cut        bool  // it was longer than MostEvents
	Preempted  bool  // it is known when the kernel did not let threads run
	Limited    bool  // a CPU limit was used up: while it is, threads wake late, and Ps seem to be free

	goroutines []*goroutine
	stacks     []stack // the first stands for no stack
	sites      []Site  // the first stands for no line
	running    map[trace.ProcID][]running
	free       map[trace.ProcID][]span // when a P had nothing to do
	held       map[trace.ProcID][]hold
	away       map[trace.ProcID][]span // when the kernel kept the thread that had a P off the CPU
	stops      []span                  // of the world
	named      []served                // regions and tasks that are requests
	ledger     *ledger                 // nil before it is needed
}

// A span is a stretch of time.
type span struct{ begin, end int64 }

// MostEvents bounds the memory of a trace, at about 60 bytes an event: the rest is not read.
const MostEvents = 6_000_000

// What a goroutine waits in, of Site.Op.
const (
	Send      = "send"
	Receive   = "receive"
	Select    = "select"
	WaitGroup = "group"
	WaitCond  = "cond"
)

// A Site is a line of a function. A goroutine without a line of its own, such as one of the
// runtime, has the name of the function that it was started with and no line.
type Site struct {
	Func string `json:"func"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	Via  string `json:"via,omitempty"` // of waiting and system calls: the function of a library that it is in
	Op   string `json:"op,omitempty"`  // of waiting for a channel or a lock: one of Send to WaitCond, if known
	// Before is set of running that too few samples know: it went on up to a call on this line.
	Before bool `json:"before,omitempty"`
}

// A stretch is a part of a goroutine's life in one state. It begins where the one before ends.
type stretch struct {
	end    int64
	stack  int32 // of waiting and system calls: where. Of running: at its end
	waker  int32 // its goroutine's place; none: a timer, the network or the runtime
	wstack int32 // the waker's
	thread int32 // of running: as the kernel calls it
	part   exectrace.Part
	idle   bool // waits for a request
	goesOn bool // with what the one before did, but that the kernel took the CPU away, or gave it back
}

const none = -1

// A running stretch is what a P did.
type running struct {
	begin, end int64
	goroutine  int32
	stack      int32 // at its end
	thread     int32
	part       exectrace.Part
}

// A hold is the time in which a thread had a P.
type hold struct {
	span
	thread int32
}

type sample struct {
	at    int64
	stack int32
}

type goroutine struct {
	root    int32 // site of the function that it was started with
	begin   int64 // of its first stretch
	creator int32
	cstack  int32 // the creator's
	born    bool  // within the trace
	dead    bool
	serves  bool // a connection: a request after the other
	handles bool // its life is one request
	life    []stretch
	samples []sample

	// While the trace is read:
	state   trace.GoState
	part    exectrace.Part // of waiting
	stack   int32
	idle    bool
	since   int64
	proc    trace.ProcID
	thread  int32
	assists bool
	sweeps  bool
	stops   bool
}

type reader struct {
	*Trace
	module   string // in the module cache that package main is in
	prefixes []string
	numbers  map[trace.GoID]int32  // places in goroutines
	of       map[trace.Stack]int32 // of this generation
	byText   map[string]int32
	bySite   map[Site]int32
	now      int64

	procs   int64                  // the least GOMAXPROCS
	since   map[trace.ProcID]int64 // when a P became free
	calls   map[trace.ProcID]call  // which goroutine has it while it is in a system call
	regions map[inGoroutine]*region
	tasks   map[trace.TaskID]task
	kinds   map[string]*kind
	stopped int64 // when the world was; 0: it was not
}

// A call is a system call that goes on.
type call struct {
	goroutine int32
	since     int64
}

// Read reads an execution trace of Go 1.22 or later. The subject's own code is that of package
// main and of its module. A goroutine whose function begins with one of the prefixes is a request,
// as are the handlers of net/http and grpc-go. Where regions or tasks of runtime/trace have a type that is one of the
// prefixes, these are the requests, and nothing else.
func Read(r io.Reader, prefixes ...string) (*Trace, error) {
	events, err := exectrace.Open(r)
	if err != nil {
		return nil, err
	}
	t := &Trace{
		stacks: make([]stack, 1), sites: make([]Site, 1),
		running: map[trace.ProcID][]running{}, free: map[trace.ProcID][]span{}, held: map[trace.ProcID][]hold{},
	}
	w := reader{Trace: t, prefixes: prefixes, numbers: map[trace.GoID]int32{}, of: map[trace.Stack]int32{}, byText: map[string]int32{}, bySite: map[Site]int32{}, regions: map[inGoroutine]*region{}, tasks: map[trace.TaskID]task{}, kinds: map[string]*kind{}, since: map[trace.ProcID]int64{}, calls: map[trace.ProcID]call{}}
	for read := 0; ; read++ {
		e, err := events.ReadEvent()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read execution trace: %w", err)
		}
		if read == MostEvents {
			t.Cut = true
			break
		}
		w.now = int64(e.Time())
		if t.Begin == 0 {
			t.Begin = w.now
		}
		t.End = max(t.End, w.now)
		w.event(&e)
	}
	for n, g := range t.goroutines {
		w.pass(int32(n), g)
	}
	t.named = w.requests()
	for p := range w.since {
		w.freed(p)
	}
	for p := range w.calls {
		w.called(p)
	}
	for _, runs := range t.running {
		slices.SortFunc(runs, func(a, b running) int { return cmp.Compare(a.begin, b.begin) })
	}
	for p := range t.free { // those that a smaller GOMAXPROCS retired are free for nobody
		if w.procs > 0 && int64(p) >= w.procs {
			delete(t.free, p)
		}
	}
	return t, nil
}

// Length is how long the trace is.
func (t *Trace) Length() time.Duration { return time.Duration(t.End - t.Begin) }

func (w *reader) event(e *trace.Event) {
	switch e.Kind() {
	case trace.EventSync:
		clear(w.of) // stacks are of a generation
	case trace.EventStateTransition:
		switch s := e.StateTransition(); s.Resource.Kind {
		case trace.ResourceGoroutine:
			w.transition(e, &s)
		case trace.ResourceProc:
			w.proc(e, &s)
		}
	case trace.EventMetric:
		if m := e.Metric(); m.Name == "/sched/gomaxprocs:threads" {
			if n := int64(m.Value.Uint64()); w.procs == 0 || n < w.procs {
				w.procs = n
			}
		}
	case trace.EventRangeBegin, trace.EventRangeActive:
		w.span(e, true)
	case trace.EventRangeEnd:
		w.span(e, false)
	case trace.EventRegionBegin, trace.EventRegionEnd:
		w.region(e)
	case trace.EventTaskBegin, trace.EventTaskEnd:
		w.task(e)
	case trace.EventStackSample:
		if id := e.Goroutine(); id != trace.NoGoroutine {
			_, g := w.goroutine(id)
			g.samples = append(g.samples, sample{w.now, w.stack(e.Stack())})
		}
	}
}

func (w *reader) goroutine(id trace.GoID) (int32, *goroutine) {
	n, ok := w.numbers[id]
	if !ok {
		n = int32(len(w.goroutines))
		w.numbers[id] = n
		w.goroutines = append(w.goroutines, &goroutine{creator: none, since: w.now, begin: w.now})
	}
	return n, w.goroutines[n]
}

func (w *reader) transition(e *trace.Event, s *trace.StateTransition) {
	n, g := w.goroutine(s.Resource.Goroutine())
	from, to := s.Goroutine()
	if from == to { // a new generation of the trace says what is known
		return
	}
	at := w.stack(s.Stack)
	facts := &w.stacks[at]
	waker, wstack := int32(none), int32(0)
	if id := e.Goroutine(); id != trace.NoGoroutine && id != s.Resource.Goroutine() {
		waker, _ = w.goroutine(id)
		wstack = w.stack(e.Stack())
	}
	if from == trace.GoRunning {
		g.stack = at
	}
	w.pass(n, g)
	if len(g.life) > 0 && from == trace.GoWaiting {
		last := &g.life[len(g.life)-1]
		last.waker, last.wstack = waker, wstack
	}
	if w.calls[g.proc].goroutine == n && from == trace.GoSyscall {
		w.called(g.proc)
	}
	if facts.serves {
		g.serves = !facts.serves2
	}
	switch {
	case from == trace.GoNotExist:
		g.born, g.begin, g.root, g.creator, g.cstack = true, w.now, facts.root, waker, wstack
		g.handles = facts.handles
	case g.root == 0 && facts.complete:
		g.root = facts.root
		g.handles = g.handles || facts.handles
	}
	g.state, g.stack = to, at
	switch to {
	case trace.GoRunning:
		g.proc, g.thread, g.stack = e.Proc(), int32(e.Thread()), 0
		if from == trace.GoUndetermined { // the event may be another thread's
			g.thread = 0
		}
	case trace.GoSyscall:
		if from == trace.GoRunning && g.proc != trace.NoProc {
			w.calls[g.proc] = call{n, w.now}
		}
	case trace.GoRunnable:
		g.stack = 0
	case trace.GoWaiting:
		g.part = exectrace.WaitsFor(s.Reason)
		g.idle = facts.awaits && facts.reads || at == 0 && from == trace.GoUndetermined
	case trace.GoNotExist:
		g.dead = true
	}
}

func (w *reader) span(e *trace.Event, begins bool) {
	r := e.Range()
	id := e.Goroutine()
	if r.Scope.Kind == trace.ResourceGoroutine {
		id = r.Scope.Goroutine()
	}
	stops := strings.HasPrefix(r.Name, "stop-the-world")
	switch {
	case stops && begins && w.stopped == 0:
		w.stopped = w.now
	case stops && !begins && w.stopped != 0:
		w.stops = append(w.stops, span{w.stopped, w.now})
		w.stopped = 0
	}
	if id == trace.NoGoroutine {
		return
	}
	n, g := w.goroutine(id)
	flag := &g.stops
	switch {
	case r.Name == "GC mark assist":
		flag = &g.assists
	case r.Name == "GC incremental sweep":
		flag = &g.sweeps
	case !stops:
		return
	}
	if g.state == trace.GoRunning {
		g.stack = w.stack(e.Stack())
	}
	w.pass(n, g)
	*flag = begins
	if g.state == trace.GoRunning {
		g.stack = 0
	}
}

// proc notes when a P has nothing to do.
func (w *reader) proc(e *trace.Event, s *trace.StateTransition) {
	p := s.Resource.Proc()
	from, to := s.Proc()
	if from == to {
		return
	}
	w.freed(p)
	w.called(p)
	switch n := len(w.held[p]); {
	case to == trace.ProcIdle:
		w.since[p] = w.now
		if n > 0 {
			w.held[p][n-1].end = w.now
		}
	case from == trace.ProcIdle: // else the event may be another thread's, which says what it knows
		w.held[p] = append(w.held[p], hold{span{w.now, math.MaxInt64}, int32(e.Thread())})
	}
}

func (w *reader) freed(p trace.ProcID) {
	if at, ok := w.since[p]; ok && w.now > at {
		w.free[p] = append(w.free[p], span{at, w.now})
	}
	delete(w.since, p)
}

// called ends the time in which a goroutine in a system call had a P: it comes back, or the P is taken from it.
func (w *reader) called(p trace.ProcID) {
	if c, ok := w.calls[p]; ok && w.now > c.since {
		g := w.goroutines[c.goroutine]
		w.running[p] = append(w.running[p], running{c.since, w.now, c.goroutine, g.stack, g.thread, exectrace.Syscall})
	}
	delete(w.calls, p)
}

// pass ends a goroutine's stretch and begins the next.
func (w *reader) pass(n int32, g *goroutine) {
	from := g.since
	g.since = w.now
	if w.now <= from || g.dead || g.state == trace.GoNotExist {
		return
	}
	s := stretch{end: w.now, stack: g.stack, waker: none, thread: g.thread}
	switch g.state {
	case trace.GoRunning:
		switch {
		case g.stops:
			s.part = exectrace.Stopped
		case g.assists:
			s.part = exectrace.Assisting
		case g.sweeps:
			s.part = exectrace.Sweeping
		default:
			s.part = exectrace.Running
		}
		if g.proc != trace.NoProc {
			w.running[g.proc] = append(w.running[g.proc], running{from, w.now, n, s.stack, g.thread, s.part})
		}
	case trace.GoRunnable:
		s.part = exectrace.Runnable
	case trace.GoSyscall:
		s.part = exectrace.Syscall
	case trace.GoWaiting:
		s.part, s.idle = g.part, g.idle
	default:
		s.part, s.idle = exectrace.Otherwise, true
	}
	if len(g.life) == 0 {
		g.begin = from
	}
	g.life = append(g.life, s)
}

// at returns the place of the stretch that a time lies in: later than its begin, not later than its end.
func (g *goroutine) at(t int64) int {
	i := sort.Search(len(g.life), func(i int) bool { return g.life[i].end >= t })
	if i < len(g.life) && g.from(i) < t {
		return i
	}
	return none
}

// from is when a stretch begins.
func (g *goroutine) from(i int) int64 {
	if i == 0 {
		return g.begin
	}
	return g.life[i-1].end
}
