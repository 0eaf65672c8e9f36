package client

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dynolab/dyno/internal/load/cause"
	"github.com/dynolab/dyno/internal/load/frames"
	"github.com/dynolab/dyno/internal/load/pace"
)

// A player calls one client, in one goroutine at a time.
type player struct {
	*program
	number  int
	client  Client // nil until it is open
	request Request
	steps   map[string]uint16 // those that it has named
	calls   int64
	free    pace.Free
	wake    chan struct{}
	tokens  atomic.Int32 // in its list
	began   atomic.Int64 // when the call under way began, on the run's clock; 0: none is
	shard   *shard

	waiting struct { // tokens whose end is to come, in the order of their limits
		sync.Mutex
		first, last *Token
	}
}

func (p *program) newPlayer(i int) *player {
	c := &player{program: p, number: p.hello.First + i, steps: map[string]uint16{}, wake: pace.NewWake()}
	c.request.p = c
	if len(p.shards) > 0 {
		c.shard = &p.shards[i%len(p.shards)]
	}
	return c
}

func (c *player) connect(ctx context.Context) (err error) {
	h := &c.hello
	c.client, err = c.program.open(ctx, Target{URL: h.Base, Addr: c.host, Client: c.number, Index: h.Index, Of: max(h.Of, 1), Seed: h.Seed, Open: h.Open})
	if err == nil && c.client == nil {
		return errors.New("the function that opens a client returned none, and no error")
	}
	if err != nil {
		c.client = nil
	}
	return err
}

// do calls the client once, for a request that is due at a time; below 0: now.
func (c *player) do(ph *phase, due time.Duration) (failed bool) {
	r := &c.request
	*r = Request{N: c.calls, p: c}
	c.calls++
	sent := c.now()
	if due < 0 {
		due, c.free.At = sent, sent
	}
	r.rec = frames.Record{Due: due, Free: c.free.At, Sent: sent, Client: uint32(c.number)}
	ctx := &limited{parent: ph.ctx, until: time.Now().Add(c.hello.Timeout)}
	c.began.Store(int64(max(sent, 1)))
	err := c.call(ctx, r)
	done := c.now()
	c.began.Store(0)
	ctx.end()
	c.free.Took(due, sent, done)
	switch {
	case err != nil && ph.ctx.Err() != nil: // it was ended, and did not fail
	case err == nil && r.token != nil:
		c.await(r, ph)
	default:
		r.step = cmp.Or(r.step, c.unnamed(err))
		r.end(done, err)
	}
	return err != nil
}

func (c *player) call(ctx context.Context, r *Request) error {
	if c.client == nil {
		if err := c.connect(ctx); err != nil {
			return err
		}
	}
	err := c.client.Do(ctx, r)
	if errors.As(err, new(*brokenError)) {
		c.client.Close() // its own error says less
		c.client = nil
	}
	return err
}

// await lets a token end a request that Do has left to it.
func (c *player) await(r *Request, ph *phase) {
	t := r.token
	r.step = cmp.Or(r.step, c.unnamed(nil))
	t.rec = r.rec
	t.rec.Step, t.rec.In, t.rec.Out, t.rec.Messages = r.step, r.Received, r.Sent, uint32(min(r.Messages, 1<<32-1))
	t.phase = ph
	c.waiting.Lock()
	defer c.waiting.Unlock()
	if t.state == tokenEarly {
		t.over(t.done, t.err)
		return
	}
	t.state = tokenWaiting
	ph.hold()
	c.tokens.Add(1)
	if t.before = c.waiting.last; t.before != nil {
		t.before.after = t
	} else {
		c.waiting.first = t
	}
	c.waiting.last = t
}

// end ends a token.
func (t *Token) end(err error) {
	c := t.player
	now := c.now()
	c.waiting.Lock()
	defer c.waiting.Unlock()
	switch t.state {
	case tokenOpen:
		t.state, t.done, t.err = tokenEarly, now, err
	case tokenWaiting:
		c.unlist(t)
		t.over(now, err)
		t.phase.release()
	}
}

// over writes the record of a token, once. Its player's list is locked.
func (t *Token) over(done time.Duration, err error) {
	t.state = tokenOver
	if t.phase.ctx.Err() != nil {
		return
	}
	t.rec.Done, t.rec.Kind = done, t.player.kind(err)
	t.player.keep(&t.rec)
}

// unlist takes a token out of the list, which is locked.
func (c *player) unlist(t *Token) {
	if t.before != nil {
		t.before.after = t.after
	} else {
		c.waiting.first = t.after
	}
	if t.after != nil {
		t.after.before = t.before
	} else {
		c.waiting.last = t.before
	}
	t.before, t.after = nil, nil
	c.tokens.Add(-1)
}

// expire ends the tokens whose time is over.
func (c *player) expire(now time.Duration) {
	c.waiting.Lock()
	defer c.waiting.Unlock()
	for t := c.waiting.first; t != nil && (now >= t.rec.Sent+c.hello.Timeout || t.phase.ctx.Err() != nil); t = c.waiting.first {
		c.unlist(t)
		t.over(t.rec.Sent+c.hello.Timeout, context.DeadlineExceeded)
		t.phase.release()
	}
}

// name is the number of a step.
func (c *player) name(name string) uint16 {
	n := c.steps[name]
	if n == 0 {
		n = c.number16(&c.names.steps, frames.MostSteps, name, frames.Name{Step: true})
		if len(c.steps) <= frames.MostSteps { // as many as there are numbers; names may have no end
			c.steps[name] = n
		}
	}
	return n
}

// unnamed is the step of a request that named none: if it failed, it may not have come to its first one.
func (c *player) unnamed(err error) uint16 {
	if first := c.first.Load(); first != 0 && err != nil {
		return uint16(first)
	}
	return c.name(frames.OneStep)
}

// kind is the number of a kind of error; 0: none.
func (c *player) kind(err error) uint16 {
	if err == nil {
		return 0
	}
	kind := kindOf(err)
	if kind == cause.Timeout {
		return frames.NoTime
	}
	if c.conn == nil {
		c.last = err
	}
	text := err.Error()
	return c.number16(&c.names.kinds, frames.MostKinds, kind, frames.Name{Example: text[:min(len(text), 200)]})
}

// number16 numbers a text, and tells dyno of it before any record that has the number.
func (p *program) number16(in *map[string]uint16, most int, text string, n frames.Name) uint16 {
	p.names.Lock()
	defer p.names.Unlock()
	if number, ok := (*in)[text]; ok {
		return number
	}
	if *in == nil {
		*in = map[string]uint16{}
	}
	if len(*in) >= most {
		text = frames.Other
		if number, ok := (*in)[text]; ok {
			return number
		}
	}
	n.Text, n.Number = text, uint16(len(*in)+frames.FirstName)
	(*in)[text] = n.Number
	if p.conn != nil {
		p.send(frames.JSON(frames.KindName, n))
	}
	return n.Number
}

// keep takes a record.
func (c *player) keep(m *frames.Record) { c.sink(c, m) }

// shelve keeps a record until its shard is full, or some milliseconds have passed.
func (c *player) shelve(m *frames.Record) {
	s := c.shard
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frame = m.Append(s.frame)
	if len(s.frame) >= shardFull {
		c.emit(s)
	}
}

// A shard is a frame of records of some players, so that they do not wait for each other.
type shard struct {
	mu    sync.Mutex
	frame []byte
	_     [64]byte // no other shard in its cache line
}

const shardFull = 32 << 10

func (s *shard) clear() { s.frame = frames.Begin(s.frame, frames.KindRecords) }

// emit sends a shard, which is locked.
func (p *program) emit(s *shard) {
	if len(s.frame) > frames.Head {
		p.send(frames.End(s.frame))
		s.clear()
	}
}

// flush sends all records.
func (p *program) flush() {
	for i := range p.shards {
		s := &p.shards[i]
		s.mu.Lock()
		p.emit(s)
		s.mu.Unlock()
	}
}

// limited is a context that ends at a time. It is a real one only if somebody asks for its end: most
// requests end before, and a timer for each would cost more than all else here. Value makes it real, too:
// package context then finds that it can be cancelled, and starts no goroutine for a context below it.
type limited struct {
	parent context.Context
	until  time.Time

	mu     sync.Mutex
	real   context.Context
	cancel context.CancelFunc
	ended  bool
}

func (l *limited) context() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.real == nil {
		l.real, l.cancel = context.WithDeadline(l.parent, l.until)
		if l.ended {
			l.cancel()
		}
	}
	return l.real
}

func (l *limited) Deadline() (time.Time, bool) { return l.until, true }
func (l *limited) Done() <-chan struct{}       { return l.context().Done() }
func (l *limited) Err() error                  { return l.context().Err() }
func (l *limited) Value(key any) any           { return l.context().Value(key) }

// end is the end of the request, as cancel is.
func (l *limited) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended = true; l.cancel != nil {
		l.cancel()
	}
}
