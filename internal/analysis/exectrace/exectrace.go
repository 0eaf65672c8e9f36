// Package exectrace attributes the time of requests in an execution trace: running,
// waiting for a CPU, a lock, the network, a collection.
//
// It owns which goroutines are requests. It reads a trace from an io.Reader.
package exectrace

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"golang.org/x/exp/trace"
)

// An Attribution says where the time of requests went, from the arrival at a connection's
// goroutine until it waits for the next. Work of other goroutines is waiting for them.
type Attribution struct {
	Trial    int
	Length   time.Duration        // of the trace
	Requests int                  // that began in it; if 0, the requests could not be told
	Time     [Parts]time.Duration // of all requests together

	Collections int           // that ended in the trace
	Collecting  time.Duration // in which one was marking
	Stops       int           // of the world, by the collector
	Stopped     time.Duration // in these
	StoppedElse time.Duration // in stops of the world for other reasons, such as to start the trace
	Assists     int           // times that a request had to mark for what it allocated
}

// A Part is one of the things that a request's time is spent in.
type Part int8

// The parts, in the order of reports. Together they are all of the time.
const (
	Running   Part = iota // on a CPU, but for the next two, as far as the runtime knows
	Assisting             // marking for the collector, as the price of allocating
	Sweeping              // for the collector, as the price of allocating
	Runnable              // waiting for a P
	Stopped               // the same while the world was stopped, or stopping it
	Syscall
	Network  // waiting for a body, or for another service
	Locking  // waiting in package sync
	Channels // waiting for a channel or in a select
	Sleeping
	Collector // waiting for the collector, such as for work to assist in
	Otherwise // waiting for anything else
	Parts     // how many there are
	Arriving  // sent by the client, and not yet seen by the service, which an Attribution does not know
	Preempted // on a P, while the kernel kept the thread off the CPU; an Attribution does not know it
)

var partNames = [...]string{
	"running", "gc-assist", "gc-sweep", "runnable", "stopped", "syscall",
	"network", "sync", "channel", "sleep", "gc-wait", "other", Arriving: "arriving", Preempted: "preempted",
}

// Waits reports whether a goroutine that does this has nothing to run, and something has to wake it.
func (p Part) Waits() bool { return p >= Network && p <= Otherwise }

// String returns the part's name in summary.json.
func (p Part) String() string { return partNames[p] }

// MarshalText implements encoding.TextMarshaler.
func (p Part) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Part) UnmarshalText(text []byte) error {
	n := slices.Index(partNames[:], string(text))
	if n < 0 || len(text) == 0 { // Parts has no name
		return fmt.Errorf("%q is no part of a request's time", text)
	}
	*p = Part(n)
	return nil
}

// Total is the time of all requests together.
func (a *Attribution) Total() (total time.Duration) {
	for _, d := range a.Time {
		total += d
	}
	return total
}

// PerRequest divides a time by the number of requests, in seconds; NaN if there
// were none.
func (a *Attribution) PerRequest(d time.Duration) float64 {
	if a.Requests == 0 {
		return math.NaN()
	}
	return d.Seconds() / float64(a.Requests)
}

type attributionJSON struct {
	Trial       int                 `json:"trial"`
	Length      float64             `json:"length-sec"`
	Requests    int                 `json:"requests"`
	Total       dyno.Number         `json:"sec/req"`
	Parts       map[string]partJSON `json:"parts"`
	Collections int                 `json:"gc-cycles"`
	Collecting  float64             `json:"gc-mark-sec"`
	Stops       int                 `json:"stw-count"`
	Stopped     float64             `json:"stw-total-sec"`
	StoppedElse float64             `json:"stw-other-sec"`
	Assists     int                 `json:"gc-assists"`
}

type partJSON struct {
	PerRequest dyno.Number `json:"sec/req"`
	Share      dyno.Number `json:"frac"` // of all the time of requests
}

// MarshalJSON implements json.Marshaler; doc/format.md describes it.
func (a *Attribution) MarshalJSON() ([]byte, error) {
	j := attributionJSON{
		a.Trial, a.Length.Seconds(), a.Requests, dyno.Number(a.PerRequest(a.Total())), map[string]partJSON{},
		a.Collections, a.Collecting.Seconds(), a.Stops, a.Stopped.Seconds(), a.StoppedElse.Seconds(), a.Assists,
	}
	for p, d := range a.Time {
		j.Parts[Part(p).String()] = partJSON{dyno.Number(a.PerRequest(d)), dyno.Number(d.Seconds() / a.Total().Seconds())}
	}
	return json.Marshal(j)
}

// oldestTrace is Go 1.22: older traces do not say how long system calls take.
const oldestTrace = 22

// Read attributes the time of requests in an execution trace of Go 1.22 or later. Requests
// are goroutines of net/http's server, of HTTP/1 and HTTP/2, and each goroutine whose
// function begins with one of the prefixes.
func Read(r io.Reader, prefixes ...string) (*Attribution, error) {
	events, err := Open(r)
	if err != nil {
		return nil, err
	}
	w := traceWalk{goroutines: map[trace.GoID]*goroutine{}, stacks: map[trace.Stack]stackFacts{}, prefixes: prefixes}
	for first := true; ; first = false {
		e, err := events.ReadEvent()
		if errors.Is(err, io.EOF) {
			return w.end(), nil
		}
		if err != nil {
			return nil, fmt.Errorf("read execution trace: %w", err)
		}
		w.now = e.Time()
		if first {
			w.began = w.now
		}
		w.event(&e)
	}
}

// Open opens an execution trace of Go 1.22 or later.
func Open(r io.Reader) (*trace.Reader, error) {
	b := bufio.NewReaderSize(r, 64<<10)
	head, err := b.Peek(len("go 1.22 trace"))
	if err != nil {
		return nil, fmt.Errorf("read execution trace: %w", err)
	}
	version := 0
	if _, err := fmt.Sscanf(string(head), "go 1.%2d", &version); err != nil {
		return nil, fmt.Errorf("read execution trace: it begins with %q", head)
	}
	if version < oldestTrace {
		return nil, fmt.Errorf("read execution trace: it was written by Go 1.%d (want Go 1.%d or later)", version, oldestTrace)
	}
	events, err := trace.NewReader(b)
	if err != nil {
		return nil, fmt.Errorf("read execution trace: %w", err)
	}
	return events, nil
}

type traceWalk struct {
	Attribution
	began, now trace.Time
	goroutines map[trace.GoID]*goroutine
	stacks     map[trace.Stack]stackFacts // of this generation of the trace
	prefixes   []string

	marking   trace.Time // since when; 0: no collection is
	stopping  trace.Time // since when the world is stopped; 0: it is not
	stopClock time.Duration
}

// A goroutine is one that serves requests, or may turn out to.
type goroutine struct {
	role    role
	state   trace.GoState
	waits   Part
	idle    bool // waits for a request, or for something unknown
	since   trace.Time
	clock   time.Duration // the world's stopClock then
	assists bool          // this and the next two: is within such a range
	sweeps  bool
	stops   bool
	spent   [Parts]time.Duration
	marked  int  // assists
	woken   bool // from idle
	reads   int  // requests seen to begin since then
}

type role int

const (
	unknown role = iota
	conn         // of an HTTP/1 server: a request after the other
	handler      // its life is a request
	bystander
)

// Functions of net/http that tell what a goroutine does.
const (
	serveConn = "net/http.(*conn).serve"
	inHandler = "net/http.serverHandler.ServeHTTP"
	// The server starts it once for each request when the body has been
	// read, to see whether the client goes away.
	watchConn = "net/http.(*connReader).backgroundRead"
	pollRead  = "internal/poll.(*FD).Read"
)

type stackFacts struct {
	role  role // of the goroutine that has it
	idle  bool // if it waits, then for a request
	http2 bool // it serves a connection whose requests have goroutines of their own
	watch bool // it begins in watchConn
}

// wholeStack is fewer frames than a stack has that lost its root: the runtime cuts those
// deeper than 128.
const wholeStack = 100

// facts looks at a stack, which may also be that of a goroutine to come.
func (w *traceWalk) facts(s trace.Stack) stackFacts {
	if s == trace.NoStack {
		return stackFacts{}
	}
	f, ok := w.stacks[s]
	if ok {
		return f
	}
	var root string
	var n int
	var serves, handles, reads bool
	for frame := range s.Frames() {
		n++
		root = frame.Func
		serves = serves || root == serveConn
		handles = handles || root == inHandler
		reads = reads || root == pollRead
		f.http2 = f.http2 || strings.HasSuffix(root, "erverConn).serve") // http2serverConn, http2.serverConn
	}
	f.watch = root == watchConn
	f.idle = serves && reads && !handles
	switch {
	case f.http2:
		f.role = bystander
	case serves:
		f.role = conn
	case strings.HasSuffix(root, "erverConn).runHandler"), slices.ContainsFunc(w.prefixes, func(p string) bool { return strings.HasPrefix(root, p) }):
		f.role = handler
	case n > 0 && n < wholeStack:
		f.role = bystander
	}
	w.stacks[s] = f
	return f
}

func (w *traceWalk) event(e *trace.Event) {
	if g := w.goroutines[e.Goroutine()]; g != nil && g.role == unknown {
		g.role = w.facts(e.Stack()).role
	}
	switch e.Kind() {
	case trace.EventSync:
		clear(w.stacks) // they are of the generation that ends
	case trace.EventStateTransition:
		if s := e.StateTransition(); s.Resource.Kind == trace.ResourceGoroutine {
			w.transition(e, &s)
		}
	case trace.EventRangeBegin, trace.EventRangeActive:
		w.span(e, true)
	case trace.EventRangeEnd:
		w.span(e, false)
	}
}

func (w *traceWalk) transition(e *trace.Event, s *trace.StateTransition) {
	id := s.Resource.Goroutine()
	from, to := s.Goroutine()
	g := w.goroutines[id]
	f := w.facts(s.Stack)
	if g == nil {
		g = &goroutine{since: w.now, clock: w.stopped()}
		w.goroutines[id] = g
		if from == trace.GoNotExist {
			g.role = f.role
			if g.role == handler {
				g.reads = 1
			}
			if by := w.goroutines[e.Goroutine()]; by != nil && f.watch {
				by.reads++
			}
		}
	}
	w.pass(g)
	if g.role == unknown || f.http2 {
		g.role = f.role
	}
	if g.idle && to != trace.GoWaiting && from != trace.GoUndetermined {
		g.idle, g.woken = false, true
	}
	g.state = to
	switch to {
	case trace.GoWaiting:
		g.waits = WaitsFor(s.Reason)
		g.idle = f.idle || from == trace.GoUndetermined
		if g.idle {
			w.count(g, g.woken)
		}
	case trace.GoNotExist:
		w.settle(g)
		delete(w.goroutines, id)
	}
}

// WaitsFor turns the runtime's reasons (runtime/traceruntime.go) into parts.
func WaitsFor(reason string) Part {
	switch reason {
	case "network":
		return Network
	case "sync", "sync.(*Cond).Wait":
		return Locking
	case "chan send", "chan receive", "select":
		return Channels
	case "sleep":
		return Sleeping
	case "preempted", "wait until GC ends": // preempted: to have its stack scanned
		return Collector
	}
	if strings.HasPrefix(reason, "GC ") {
		return Collector
	}
	return Otherwise
}

func (w *traceWalk) span(e *trace.Event, begins bool) {
	r := e.Range()
	stop := strings.HasPrefix(r.Name, "stop-the-world")
	g := w.goroutines[e.Goroutine()]
	if r.Scope.Kind == trace.ResourceGoroutine {
		g = w.goroutines[r.Scope.Goroutine()]
	}
	if g != nil {
		w.pass(g)
		switch {
		case stop:
			g.stops = begins
		case r.Name == "GC mark assist":
			if begins && !g.assists {
				g.marked++
			}
			g.assists = begins
		case r.Name == "GC incremental sweep":
			g.sweeps = begins
		}
	}
	switch {
	case stop && begins:
		w.stopping = w.now
	case stop && w.stopping != 0:
		took := time.Duration(w.now - w.stopping)
		w.stopClock += took
		w.stopping = 0
		if strings.Contains(r.Name, "(GC ") {
			w.Stops++
			w.Attribution.Stopped += took
		} else {
			w.StoppedElse += took
		}
	case r.Name != "GC concurrent mark phase":
	case begins && w.marking == 0:
		w.marking = w.now
	case !begins && w.marking != 0:
		w.Collections++
		w.Collecting += time.Duration(w.now - w.marking)
		w.marking = 0
	}
}

func (w *traceWalk) stopped() time.Duration {
	if w.stopping == 0 {
		return w.stopClock
	}
	return w.stopClock + time.Duration(w.now-w.stopping)
}

// pass adds the time since a goroutine's last change to its part. While the world is being
// stopped others still run.
func (w *traceWalk) pass(g *goroutine) {
	took := time.Duration(w.now - g.since)
	stopped := w.stopped() - g.clock
	g.since, g.clock = w.now, w.stopped()
	if took <= 0 || g.role == bystander {
		return
	}
	switch g.state {
	case trace.GoRunning:
		p := Running
		switch {
		case g.stops:
			p = Stopped
		case g.assists:
			p = Assisting
		case g.sweeps:
			p = Sweeping
		}
		g.spent[p] += took
	case trace.GoRunnable:
		g.spent[Runnable] += took - stopped
		g.spent[Stopped] += stopped
	case trace.GoSyscall:
		g.spent[Syscall] += took
	case trace.GoWaiting:
		if !g.idle {
			g.spent[g.waits] += took
		}
	}
}

// count adds the requests of a goroutine that became idle. A request whose body was not
// read shows only in that the goroutine was woken.
func (w *traceWalk) count(g *goroutine, woken bool) {
	if g.role == conn || g.role == handler {
		w.Requests += g.reads
		if g.reads == 0 && woken {
			w.Requests++
		}
	}
	g.reads, g.woken = 0, false
}

// settle adds what is known of a goroutine that ends, or the trace with it.
func (w *traceWalk) settle(g *goroutine) {
	if g.role != conn && g.role != handler {
		return
	}
	w.count(g, false)
	w.Assists += g.marked
	for p, d := range g.spent {
		w.Time[p] += d
	}
}

func (w *traceWalk) end() *Attribution {
	for _, g := range w.goroutines {
		w.pass(g)
		w.settle(g)
	}
	if w.marking != 0 {
		w.Collecting += time.Duration(w.now - w.marking)
	}
	w.Length = time.Duration(w.now - w.began)
	return &w.Attribution
}
