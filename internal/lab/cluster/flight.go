package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/lab"
	"github.com/dynolab/dyno/internal/lab/cluster/wire"
	"github.com/dynolab/dyno/internal/load"
	"github.com/dynolab/dyno/internal/load/pool"
	"github.com/dynolab/dyno/internal/load/requestlog"
	"github.com/dynolab/dyno/internal/turns"
)

// A share is what one member sends.
type share struct {
	load.Part
	load dyno.Load
}

// A flight is one load under way.
type flight struct {
	fleet   *Fleet
	base    string
	load    dyno.Load
	options load.Options
	senders []*sender
	log     *requestlog.Log // nil if requests are not kept
	seconds seconds
	cancel  context.CancelCauseFunc
}

// A sender is one member's part of a flight. Its reader alone writes it until done is closed.
type sender struct {
	share
	name    string
	job     wire.LoadJob
	conn    *wire.Conn
	machine dyno.Machine
	clock   wire.Clock
	kept    *requestlog.Buffer
	record  *wire.Record
	answer  time.Duration // of its warm-up; read after ready

	ready, ended, done chan struct{}
	mu                 sync.Mutex
	progress           wire.Progress
	told               int           // how often it said its time
	seen               time.Duration // the most that the agent's clock showed more than this one's, since its offset was estimated
}

// Load puts l on the service at base from all members, as load.Run does from one. Its error is a
// *lab.VoidError if a member was lost, late or kept from its CPUs.
func (f *Fleet) Load(ctx context.Context, base string, l dyno.Load, arg map[string]string, o load.Options) (*load.Record, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t := &flight{fleet: f, base: base, load: l, options: o, cancel: cancel}
	parts := split(l, len(f.Members))
	if o.Scratch != nil {
		t.log = requestlog.New(o.Scratch, int64(cmp.Or(l.MaxRequestsKept, dyno.DefaultMaxRequestsKept)), nil)
		defer func() {
			if t.log != nil {
				t.log.Close()
			}
		}()
	}
	t.seconds = seconds{tell: o.Second, sum: hist.New(), reached: make([]time.Duration, len(parts))}
	for i, p := range parts {
		c := &sender{share: p, name: f.Members[i].Name, ready: make(chan struct{}), ended: make(chan struct{}), done: make(chan struct{})}
		c.job = wire.LoadJob{Base: base, Arg: arg, Config: o.Config, Part: p.Part}
		if err := c.job.Pack(p.load); err != nil {
			return nil, err
		}
		if t.log != nil {
			c.kept = t.log.Buffer()
			c.job.Keep = max(cmp.Or(l.MaxRequestsKept, dyno.DefaultMaxRequestsKept)/len(parts), 1)
		}
		t.senders = append(t.senders, c)
	}
	return t.fly(ctx)
}

// fly plays the load: all get ready, begin at one moment, and end.
func (t *flight) fly(ctx context.Context) (*load.Record, error) {
	o := &t.options
	o.Meter.In(o.Turn)
	o.Meter.Enter("setup")
	var reading sync.WaitGroup
	serving, stopServing := context.WithCancel(ctx)
	over := func() { // ends all sessions, and what reads and writes them
		stopServing()
		t.each((*sender).close)
		reading.Wait()
	}
	defer over()
	if err := t.dial(ctx, func(i int, c *sender) {
		reading.Go(func() { t.read(i, c) })
		reading.Go(func() { t.beat(serving, c) })
	}); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { t.each((*sender).close) })
	defer stop()
	if err := t.await(ctx, func(c *sender) chan struct{} { return c.ready }); err != nil {
		return nil, t.cause(ctx, err)
	}
	o.Meter.Answer.Store(int64(t.answer()))
	if err := o.Begin(ctx); err != nil {
		return nil, t.cause(ctx, err)
	}
	at, err := t.begin()
	if err == nil {
		o.Meter.Enter("measure")
		err = t.await(ctx, func(c *sender) chan struct{} { return c.ended })
	}
	o.End()
	if err == nil {
		o.Meter.Enter("teardown")
		err = t.send(func(*sender) *wire.Message { return &wire.Message{Finish: true} })
	}
	if err == nil {
		err = t.await(ctx, func(c *sender) chan struct{} { return c.done })
	}
	if err != nil {
		err = t.cause(ctx, err)
	}
	over()
	t.seconds.flush()
	if err != nil {
		return t.partial(at), err
	}
	rec := t.pool(at)
	return rec, cmp.Or(t.void(), t.failed(rec))
}

// dial opens all sessions, hands out the parts, and lets each session be served.
func (t *flight) dial(ctx context.Context, serve func(i int, c *sender)) error {
	errs := make([]error, len(t.senders))
	var all sync.WaitGroup
	for i, c := range t.senders {
		all.Go(func() {
			conn, welcome, err := t.fleet.dial(ctx, t.fleet.Members[i])
			if refused := (*wire.RefusedError)(nil); errors.As(err, &refused) {
				errs[i] = err
				return
			}
			if err != nil {
				errs[i] = &lab.VoidError{Why: err.Error(), Lost: true}
				return
			}
			c.conn, c.machine = conn, welcome.Machine
			if c.clock, err = conn.Clock(); err == nil {
				c.job.Turns = t.turns(c)
				err = conn.Send(&wire.Message{Load: &c.job})
			}
			if err != nil {
				errs[i] = lost(c.name, err)
				return
			}
			serve(i, c)
		})
	}
	all.Wait()
	return t.cause(ctx, cmp.Or(errs...))
}

// turns returns the turns of the load on the clock of a member.
func (t *flight) turns(c *sender) *turns.Table {
	if t.options.Turn == nil {
		return nil
	}
	table := t.options.Turn.Table()
	table.Start = c.clock.Theirs(table.Start)
	return &table
}

// begin tells all when the window begins: with the first turn, or as soon as all have heard of it.
func (t *flight) begin() (at time.Time, err error) {
	lead := time.Duration(0)
	for _, c := range t.senders {
		lead = max(lead, leadOf(c.clock, len(t.senders)))
	}
	at = time.Now().Add(lead)
	if t.options.Turn != nil {
		at = t.options.Turn.Table().Start
	}
	return at, t.send(func(c *sender) *wire.Message {
		return &wire.Message{Begin: &wire.Begin{At: c.clock.Theirs(at), Turns: t.turns(c)}}
	})
}

func (t *flight) each(do func(*sender)) {
	for _, c := range t.senders {
		do(c)
	}
}

func (t *flight) send(message func(*sender) *wire.Message) error {
	for _, c := range t.senders {
		if err := c.conn.Send(message(c)); err != nil {
			return lost(c.name, err)
		}
	}
	return nil
}

// await waits for a moment of all members.
func (t *flight) await(ctx context.Context, moment func(*sender) chan struct{}) error {
	for _, c := range t.senders {
		select {
		case <-moment(c):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// cause returns why ctx ended, if it did, instead of err: failures after that follow from it.
func (t *flight) cause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// answer is the longest time of an answer in the warm-up of a member.
func (t *flight) answer() (longest time.Duration) {
	t.each(func(c *sender) { longest = max(longest, c.answer) })
	return longest
}

func (c *sender) close() {
	if c.conn != nil {
		c.conn.Close()
	}
}

// beat gives a member signs of life.
func (t *flight) beat(ctx context.Context, c *sender) {
	tick := time.NewTicker(wire.Beat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := c.conn.Send(new(wire.Message)); err != nil && ctx.Err() == nil {
				t.cancel(lost(c.name, err))
				return
			}
		}
	}
}

// read takes what a member says until its last message.
func (t *flight) read(i int, c *sender) {
	closed := map[chan struct{}]bool{}
	reach := func(moments ...chan struct{}) {
		for _, m := range moments {
			if !closed[m] {
				close(m)
				closed[m] = true
			}
		}
	}
	for {
		m, err := c.conn.Receive()
		if err == nil && m.Refused != "" {
			err = errors.New(m.Refused)
		}
		if err != nil {
			t.cancel(lost(c.name, err))
			return
		}
		switch {
		case m.Ready != nil:
			c.answer = m.Ready.Answer
			reach(c.ready)
		case m.Progress != nil:
			t.progress(c, m.Progress)
			t.seconds.reach(i, m.Progress.At)
		case m.Second != nil && m.Second.Latency != nil:
			t.seconds.add(i, m.Second)
		case m.Ended:
			t.seconds.reach(i, over)
			reach(c.ended)
		case m.Record != nil:
			c.record = m.Record
			if c.record.Record == nil { // it measured nothing
				t.cancel(errors.New(c.record.Err))
				return
			}
		}
		for _, q := range m.Requests {
			if c.kept != nil {
				c.kept.Add(q.Client, t.log.Step(q.Step), q.Due, q.Sent, q.Done, q.Status, q.Bytes, q.Failed)
			}
		}
		if m.Last && c.record == nil {
			t.cancel(lost(c.name, errors.New("it ended without a result")))
			return
		}
		if m.Last {
			t.seconds.reach(i, over)
			reach(c.ready, c.ended, c.done)
			return
		}
	}
}

// progress adds up what the members have done.
func (t *flight) progress(c *sender, p *wire.Progress) {
	c.mu.Lock()
	if more := p.Now.Round(0).Sub(time.Now().Round(0)); c.progress.Now.IsZero() || more > c.seen {
		c.seen = more
	}
	c.progress = *p
	c.told++
	c.mu.Unlock()
	var done, failed int64
	t.each(func(c *sender) {
		c.mu.Lock()
		defer c.mu.Unlock()
		done += c.progress.Done
		failed += c.progress.Failed
	})
	m := t.options.Meter
	m.Done.Store(done)
	m.Failed.Store(failed)
	if p.Phase == "warmup" && m.Phase() == "setup" {
		m.Enter("warmup")
	}
}

// pool makes one record of those of the members.
func (t *flight) pool(at time.Time) *load.Record {
	var parts []*load.Record
	var names []string
	t.each(func(c *sender) { parts, names = append(parts, c.record.Record), append(names, c.name) })
	rec := pool.Records(parts, names, at)
	t.each(func(c *sender) { rec.Generators = append(rec.Generators, c.generator()) })
	if log := t.log; log != nil {
		t.log = nil
		if err := log.Close(); err != nil {
			rec.Warnings.Add(dyno.WarnRequestsKept, "dyno keeps no single requests: %v", err)
		} else {
			rec.Kept = log.Requests()
		}
	}
	return rec
}

// partial returns what the agents reported before a flight failed in its window.
func (t *flight) partial(at time.Time) *load.Record {
	if at.IsZero() {
		return nil
	}
	sum := t.seconds.sum
	rec := &load.Record{Start: at, Latency: sum, Service: sum, Elapsed: max(time.Since(at), 0)}
	rec.Requests = sum.Count()
	return rec
}

func (c *sender) generator() dyno.Generator {
	r := c.record
	g := dyno.Generator{
		Name: c.name, Machine: c.machine, Requests: r.Requests,
		Start: r.StartedLate.Seconds(), Clock: max(c.clock.Error, c.moved()).Seconds(), CPU: r.CPU, Throttled: r.Throttled,
	}
	if r.Lateness != nil && r.Lateness.Count() >= 100 { // of fewer it would be the longest
		g.Lateness = r.Lateness.Quantile(0.99).Seconds()
	}
	return g
}

// fewTold is the number of times that an agent has to tell its time before its clock is judged: one message
// may be slow.
const fewTold = 8

// moved is by how much the agent's clock was set forward or back since its offset was estimated. The fastest
// message counts; what it took itself counts as a step back.
func (c *sender) moved() time.Duration {
	if c.told < fewTold {
		return 0
	}
	return max(c.seen-c.clock.Offset, c.clock.Offset-c.seen) - 2*c.clock.Error
}

const (
	mostLate      = 50 * time.Millisecond
	mostThrottled = 0.01 // of the window
)

// void says why the trial does not count although all went to its end, or nil.
func (t *flight) void() error {
	late := cmp.Or(t.fleet.Late, mostLate)
	for _, c := range t.senders {
		r := c.record
		switch {
		case r.StartedLate > late:
			return &lab.VoidError{Why: fmt.Sprintf("agent %s began %v late (want at most %v)", c.name, r.StartedLate.Round(time.Millisecond), late)}
		case c.moved() > late:
			return &lab.VoidError{Why: fmt.Sprintf("the clock of agent %s moved by %v during the trial (consider: whether something sets it, such as NTP)", c.name, c.moved().Round(time.Millisecond))}
		case r.Throttled > mostThrottled*r.Elapsed.Seconds() && r.Elapsed > 0:
			return &lab.VoidError{Why: fmt.Sprintf("agent %s was kept from its CPUs for %.3g s by its CPU limit (consider: more CPU for agents, or more agents)", c.name, r.Throttled)}
		}
	}
	return nil
}

// failed is the error of a load that went to its end: that of a member, or too many failures of all.
func (t *flight) failed(rec *load.Record) error {
	for _, c := range t.senders {
		if c.record.Err != "" {
			return fmt.Errorf("agent %s: %s", c.name, c.record.Err)
		}
	}
	return rec.Check(t.base, &t.load)
}
