// Package load puts a [dyno.Load] on a service over HTTP and records how long
// each request took.
//
// It owns a run's phases, the schedules, the clients, the loops that send open
// loads on Linux, and the recorder. Package scenario has what clients play,
// package engine sends one request on one connection.
//
// Every request has three times: due, sent and done. An open load's schedule says
// when a request is due, and latency runs from then: a stalled service cannot hide
// the requests that its stall delayed (Gil Tene's coordinated omission). In a
// closed load a request is due when it is sent.
package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/load/engine"
	"github.com/dynolab/dyno/internal/load/http1"
	"github.com/dynolab/dyno/internal/load/pace"
	"github.com/dynolab/dyno/internal/load/scenario"
	"github.com/dynolab/dyno/internal/load/schedule"
	"github.com/dynolab/dyno/internal/load/traffic"
	"github.com/dynolab/dyno/internal/load/turn"
)

// Options are what a caller of [Run] may add. The zero value adds nothing.
type Options struct {
	// Begin is called once, after set-up and warm-up, with no request under way.
	// The measured window starts when it returns. Its error ends the run.
	Begin func(context.Context) error
	// End is called once if Begin succeeded, when the last measured request is
	// over and before teardown.
	End func()
	// Scratch, if not nil, takes every measured request; Record.Kept reads them
	// back. The caller removes it.
	Scratch *os.File
	// Second, if not nil, is called by one goroutine once a second and at the
	// window's end, with the latency of requests that succeeded since the last
	// call, if any. h is valid until it returns.
	Second func(h *hist.Histogram, from, to time.Duration)
	// At, if not nil, is asked once after Begin when the window begins, to the nanosecond:
	// the schedule counts from then, and closed clients wait for it. Several generators
	// begin together by it.
	At     func() time.Time
	Part   Part       // of the load, which this generator sends
	Meter  *Meter     // if not nil, shows the run's progress
	Config []byte     // of the load's program; nil: it has none
	Dir    string     // working directory of the load's program; "" means dyno's
	Log    io.Writer  // takes what the load's program writes, from one goroutine at a time; may be nil
	Turn   *turn.Turn // if not nil, lets requests of all phases begin only while it is open; that of an open load goes by the clock
}

// A Part is one generator's share of a load that several send. The zero value is the whole.
type Part struct {
	Index, Of int // of Of generators this is number Index, from 0: it takes every Of-th due time of the schedule
	First     int // number of its first client; Concurrency and Requests of the load are the generator's own
}

// of is the number of generators.
func (p Part) of() int { return max(p.Of, 1) }

// A run ends early after this many failures without a success. It also ends
// when a service hangs: each client has timed out twice with no answer between,
// and more requests failed than the load allows.
const hopelessAfter = 100

var errHopeless = errors.New("too many requests failed")

// A clock counts from a run's begin. It reads only the monotonic clock, in half
// the time of time.Now.
type clock struct{ zero time.Time }

func (c clock) now() time.Duration           { return time.Since(c.zero) }
func (c clock) at(d time.Duration) time.Time { return c.zero.Add(d) }

// A runner is one run.
type runner struct {
	clock
	base     *url.URL
	load     dyno.Load // with defaults filled in
	limit    float64   // share of failures that is allowed
	scenario *scenario.Scenario
	engine   engine.Engine
	loops    *loops   // of an open load, where they are the engine; else nil
	distant  *distant // the load's program, if that sends; else nil, as engine and clients are with it
	clients  []*client
	rec      *recorder
	meter    *Meter
	turn     *turn.Turn // nil: always open
	pacer    func(context.Context) pace.Pacer
	options  Options

	timeouts           atomic.Int64  // in a row, of all clients
	warm, warmTook     atomic.Int64  // requests of the warm-up of a closed load, and what they took together, in nanoseconds
	tickets            atomic.Int64  // closed load of so many requests in all: those left
	unsent             int64         // open load
	unclosed           string        // why a client of the load's program did not close
	strayed            int64         // later steps of a program's requests that began outside of the run's turns
	twice              int64         // requests of the window that were sent again
	hungUp, parted     atomic.Int64  // answers after which the service closed the connection, and short ones of which the second part came a delayed acknowledgement after the first
	start, startedLate time.Duration // of the window, where Options.At has it, and how much later it began
	lastDue            time.Duration // open load of so many requests: when the last is due
	slot               time.Duration // see Turn.slot
	ended, endedOwn    time.Duration // of the measured load, on the clock and of the run's own time
	complete           bool          // it was played to its end
	cpu                float64       // see Record.CPU
	busiest            float64       // of the loops: CPU time of its thread as a share of the time; of a program: of its cores
}

// Run puts l on the service at base, "http://host:port". arg has the values of
// {{.arg.NAME}}.
//
// Set-up, warm-up, measured window and teardown follow each other; all clients
// finish one before any begins the next. Statuses below 400 are success (101 if it was asked for) unless a
// step says otherwise; redirects are not followed. Bodies are read to their end,
// and at most 16 MiB are kept, if a capture needs them.
//
// When ctx ends, requests under way are cancelled and not counted, teardown is
// skipped, and Run returns the record with [context.Cause] of ctx. If more requests
// failed than l allows, it returns both record and error. Before the measured window
// the record is nil.
func Run(ctx context.Context, base string, l dyno.Load, arg map[string]string, o Options) (*Record, error) {
	return run(ctx, base, l, arg, o, choose)
}

// Check reports a mistake in l's steps, such as an unknown variable, as a
// [*dyno.PlanError] that names the step. It sends nothing.
func Check(l dyno.Load, arg map[string]string) error {
	if l.Program != "" {
		_, err := scenario.ExpandArgs(&l, arg)
		return err
	}
	_, err := scenario.Compile(&url.URL{Scheme: "http", Host: "127.0.0.1"}, &l, arg)
	return err
}

// TargetsBase returns the scheme and host that the URLs in a file of targets
// share, "" if it has only paths. A mistake is a [*dyno.PlanError].
func TargetsBase(file string) (string, error) {
	_, base, err := scenario.ReadTargets(file)
	return base, err
}

type hands struct {
	engine engine.Engine
	loops  int // that send an open load; 0: it is sent by the clients, in turn
	pacer  func(context.Context) pace.Pacer
}

// choose takes the raw engine where it can do what the load needs.
func choose(ctx context.Context, base *url.URL, l *dyno.Load, links int) hands {
	lim := engine.LimitsOf(l)
	if base.Scheme == "https" || l.HTTP == "2" {
		return hands{engine.NewStd(ctx, base, l, links, lim), 0, pace.New}
	}
	h := hands{engine.NewRaw(base, lim), 0, pace.New}
	if haveLoops() && !l.Session() {
		h.loops = min(int(l.Peak()/perLoop)+1, runtime.GOMAXPROCS(0))
	}
	return h
}

const (
	spareFiles = 30
	perLoop    = 25_000 // a rate that keeps one loop half busy, at some 20 µs of a core per request
)

func run(ctx context.Context, base string, l dyno.Load, arg map[string]string, o Options,
	choose func(context.Context, *url.URL, *dyno.Load, int) hands) (*Record, error) {
	r, err := newRunner(base, l, arg)
	if err != nil {
		return nil, err
	}
	if o.Part.Of > 0 {
		r.scenario.Share(o.Part.Index, o.Part.Of)
	}
	if r.options = o; o.Turn != nil {
		r.turn, r.clock, r.rec.turn = o.Turn, clock{o.Turn.Zero}, o.Turn
	}
	if o.Scratch != nil {
		r.rec.keepIn(o.Scratch, int64(cmp.Or(r.load.MaxRequestsKept, dyno.DefaultMaxRequestsKept)))
		defer r.rec.keepNoMore(nil)
	}
	r.meter = cmp.Or(o.Meter, new(Meter))
	r.meter.In(o.Turn)
	if r.load.Program != "" {
		if r.distant, err = r.newDistant(ctx, arg); err != nil {
			return nil, err
		}
		defer r.distant.Kill()
		return r.play(ctx, o)
	}
	engineCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	links := r.scenario.Links()
	h := choose(engineCtx, r.base, &r.load, links)
	if h.loops > 0 { // by the rate of all generators
		h.loops = (h.loops-1)/o.Part.of() + 1
	}
	r.engine, r.pacer = h.engine, h.pacer
	defer r.engine.Close()
	need, have := r.players()*links, openFiles()
	if l.HTTP == "2" { // a connection has many streams
		need = r.players()
	}
	if !r.load.Open() && need+spareFiles > have {
		return nil, fmt.Errorf("load %s: %d connections need more open files than the %d that ulimit -n allows (consider: a higher ulimit -n, or a lower concurrency)", r.base, need, have)
	}
	for i := range r.players() {
		c := newClient(r, o.Part.First+i, links, r.rec.shard(i))
		defer c.close()
		r.clients = append(r.clients, c)
	}
	if r.load.Open() && h.loops > 0 {
		if r.loops, err = newLoops(ctx, r, min(h.loops, r.players())); err != nil {
			return nil, err
		}
		defer r.loops.close()
	}
	return r.play(ctx, o)
}

// players returns the number of clients: in an open load, of requests that may be
// under way; HTTP/2 has several on a connection.
func (r *runner) players() int {
	if r.load.Open() && r.engine != nil && r.engine.Name() == "std" {
		return r.load.MaxInFlight
	}
	if r.load.Open() {
		return min(r.load.Concurrency, r.load.MaxInFlight)
	}
	return r.load.Concurrency
}

func newRunner(base string, l dyno.Load, arg map[string]string) (r *runner, err error) {
	u, _ := url.Parse(base) // IsAddress says whether it can
	if !dyno.IsAddress(base) || l.Program == "" && u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("load %q: not the address of a service (want for example http://127.0.0.1:8080)", base)
	}
	u, _ = dyno.Service(u)
	if err := traffic.Note(&l); err != nil {
		return nil, err
	}
	l = l.Resolved()
	s, shards := new(scenario.Scenario), 1 // of a program, whose records one goroutine reads
	if l.Program == "" {
		shards = l.Concurrency
		if s, err = scenario.Compile(http1.Origin(u), &l, arg); err != nil {
			return nil, err
		}
	}
	r = &runner{
		clock: clock{time.Now()},
		base:  u, load: l, scenario: s,
		limit: float64(*l.MaxFailures),
		pacer: pace.New,
		rec:   newRecorder(s.Tallies, shards, l.Open()),
	}
	r.rec.deadline = cmp.Or(time.Duration(l.Deadline), never)
	r.tickets.Store(int64(l.Requests))
	if l.Open() && l.Requests > 0 {
		next := schedule.First(r.schedule(l.Rate, 0), l.Requests)
		for due, ok := next(); ok; due, ok = next() {
			r.lastDue = due
		}
	}
	return r, nil
}

func (r *runner) play(ctx context.Context, o Options) (*Record, error) {
	r.meter.Enter("setup")
	if r.distant != nil {
		if err := r.distant.setUp(ctx); err != nil {
			return nil, err
		}
	} else if err := r.each(ctx, func(ctx context.Context, c *client) error { return r.once(ctx, c, r.scenario.Setup, true) }); err != nil {
		return nil, err
	}
	if r.loops != nil { // they have connections of their own
		for _, c := range r.clients {
			c.close()
		}
	}
	if r.load.Warmup > 0 {
		r.meter.Enter("warmup")
		if err := r.warmUp(ctx); err != nil {
			return nil, err
		}
	}
	// Garbage of set-up and warm-up is not to be collected in the window.
	runtime.GC()
	if o.Begin != nil {
		if err := o.Begin(ctx); err != nil {
			return nil, err
		}
	}
	r.meter.Enter("measure")
	share := cpuShare(r.turn)
	flipped := r.eachSecond()
	twice := r.resent()
	r.hungUp.Store(0)
	r.parted.Store(0)
	err := r.measure(ctx)
	r.ended, r.complete = r.now(), err == nil
	r.endedOwn = r.turn.OwnAt(r.ended)
	r.twice = r.resent() - twice
	flipped()
	r.cpu = max(share(), r.busiest) // more cores do not help a loop that is busy
	if o.End != nil {
		o.End()
	}
	if err == nil {
		r.meter.Enter("teardown")
		err = r.tearDown(ctx)
	}
	rec := r.record()
	r.rec.keepNoMore(rec)
	if errors.Is(err, errHopeless) {
		rec.Warnings.Add(dyno.WarnEndedEarly, "the load ended early: %d of its first %d requests failed", rec.Failed, rec.Requests)
		err = nil
	}
	if err != nil {
		return rec, err
	}
	if o.Part.Of > 0 { // failures are judged of all parts together
		return rec, nil
	}
	return rec, rec.Check(r.base.String(), &r.load)
}

func (r *runner) tearDown(ctx context.Context) (err error) {
	if r.distant != nil {
		r.unclosed, err = r.distant.Close(ctx)
		return err
	}
	return r.each(ctx, func(ctx context.Context, c *client) error { return r.once(ctx, c, r.scenario.Teardown, false) })
}

// each runs f for every client at once and waits for all. The first error cancels
// the others and is returned, as is ctx's cause.
func (r *runner) each(ctx context.Context, f func(context.Context, *client) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	for _, c := range r.clients {
		all.Go(func() {
			if err := f(ctx, c); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// once plays the set-up or the teardown. A failure ends a set-up.
func (r *runner) once(ctx context.Context, c *client, steps []*scenario.Step, setUp bool) error {
	for _, s := range steps {
		if s.Rests() {
			c.rest(ctx, s, 0)
			continue
		}
		if !r.turn.Begin(ctx) {
			return nil
		}
		sent := c.send(ctx, s, s.Width())
		r.turn.End()
		for i, st := range sent {
			o := &c.calls[i].out
			switch {
			case o.cause != "" && ctx.Err() != nil:
				return nil // each knows the cause
			case o.cause != "" && setUp:
				return fmt.Errorf("set up client %d: step %q: %s", c.number, st.Label, strings.TrimSuffix(o.cause+": "+o.example, ": "))
			case o.cause != "":
				c.shard.aside(st, o.cause, false)
			}
			if st.Measured {
				c.shard.add(c, st, due{at: o.sent}, o)
			}
		}
	}
	return nil
}

func (r *runner) warmUp(ctx context.Context) error {
	d := time.Duration(r.load.Warmup)
	if r.load.Open() {
		// A stream of its own keeps the measured schedule the same without a
		// warm-up. Requests that still wait at its end are dropped.
		return r.open(ctx, r.share(schedule.Until(r.schedule(r.load.Rate.First(), 1), d)), d, 0, false)
	}
	until := r.turn.OwnAt(r.now()) + d
	err := r.loop(ctx, until, false)
	if n := r.warm.Load(); n > 0 {
		r.meter.Answer.Store(r.warmTook.Load() / n)
	}
	return err
}

// share is this generator's part of a schedule.
func (r *runner) share(s schedule.Times) schedule.Times {
	return schedule.Every(s, r.options.Part.Index, r.options.Part.of())
}

func (r *runner) measure(ctx context.Context) error {
	if at := r.options.At; at != nil {
		r.start = at().Sub(r.zero)
		if r.startedLate = r.now() - r.start; r.startedLate < 0 && !r.load.Open() {
			p := r.pacer(ctx)
			p.Wait(ctx, r.at(r.start))
			p.Close()
			r.startedLate = r.now() - r.start
		}
	}
	d := time.Duration(r.load.Duration)
	r.slot = r.turn.Slot()
	if r.load.Open() {
		s := r.schedule(r.load.Rate, 0)
		if n := r.load.Requests; n > 0 {
			s, d = schedule.First(s, n), r.lastDue
		} else {
			s = schedule.Until(s, d)
		}
		// A service slower than the rate gets behind without limit. It has one
		// more time-out to catch up after the last due time.
		return r.open(ctx, r.share(s), d, time.Duration(r.load.Timeout), true)
	}
	if r.rec.begin(r.begins()); d > 0 {
		r.rec.until = r.rec.zeroOwn + d
	}
	return r.loop(ctx, r.rec.until, true)
}

// loop plays a phase of a closed load.
func (r *runner) loop(ctx context.Context, until time.Duration, measured bool) error {
	if r.distant != nil {
		return r.distant.closed(ctx, until, measured)
	}
	return r.each(ctx, func(ctx context.Context, c *client) error { return r.closed(ctx, c, until, measured) })
}

// begins returns when a phase begins: now, or for the window, at Options.At.
func (r *runner) begins() time.Duration {
	if r.options.At != nil && r.meter.Phase() == "measure" {
		return r.start
	}
	return r.now()
}

func (r *runner) schedule(rate dyno.Rate, stream uint64) schedule.Times {
	if rec := r.scenario.Recording; rec != nil {
		return schedule.Recorded(rec.Times(), r.load.Pace())
	}
	if r.load.Arrival == "poisson" {
		return schedule.Poisson(rate, r.load.Seed, stream)
	}
	return schedule.Constant(rate)
}

// note counts a request of the loop and returns errHopeless if the run is.
func (r *runner) note(c *client, s *scenario.Step, d due, o *outcome) error {
	if !s.Measured {
		c.shard.aside(s, o.cause, true)
		if r.rec.open && !d.follows {
			c.shard.begun(d, o.sent)
		}
		return nil
	}
	c.shard.add(c, s, d, o)
	done := r.meter.Done.Add(1)
	if o.cause != CauseTimeout && r.timeouts.Load() != 0 {
		r.timeouts.Store(0)
	}
	if o.cause == "" {
		return nil
	}
	failed := r.meter.Failed.Add(1)
	all := r.load.Requests + r.load.RequestsPerClient*r.load.Concurrency
	hangs := o.cause == CauseTimeout && r.timeouts.Add(1) >= int64(2*r.load.Concurrency) &&
		all > 0 && float64(failed) > r.limit*float64(all)
	if r.limit < 1 && (failed >= hopelessAfter && failed == done || hangs) {
		return errHopeless
	}
	return nil
}
