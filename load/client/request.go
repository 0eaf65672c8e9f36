package client

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/dynolab/dyno/internal/load/cause"
	"github.com/dynolab/dyno/internal/load/frames"
)

// A Request is one call of [Client.Do], and valid until that returns. The zero Request is for tests of a
// client: what its methods note is lost.
type Request struct {
	N int64 // number of the request among those of its client, from 0, warm-up included

	// What Do may count. Sent and Received are bytes; Messages are those of a stream, for messages/s.
	Sent, Received, Messages int64

	p     *player
	step  uint16
	token *Token
	rec   frames.Record // of the step under way
}

// Step names what comes next, such as "get": it ends the step before, without an error, and begins
// another. What precedes the first Step belongs to it. The first step is due when the request is, and each
// later one when the one before ended. An error of Do is that of the last step. A program has at most
// 100 names.
func (r *Request) Step(name string) {
	if r.p == nil {
		return
	}
	if r.token != nil {
		panic("load/client: Step after Async, which belongs to the last step")
	}
	number := r.p.name(name)
	if r.step == 0 {
		r.p.first.CompareAndSwap(0, uint32(number))
	} else {
		now := r.p.now()
		r.end(now, nil)
		r.rec = frames.Record{Due: now, Free: now, Sent: now, Client: r.rec.Client, Flags: frames.Follows}
	}
	r.step = number
}

// Mark notes how long after the step was due something happened, such as "first message". It has its
// own percentiles, and is no request of its own. Its name is that of no step.
func (r *Request) Mark(name string) {
	if r.p == nil {
		return
	}
	m := r.rec
	m.Flags |= frames.Mark
	m.Step, m.Done, m.Kind = r.p.name(name), r.p.now(), 0
	r.p.keep(&m)
}

// Async makes the request, or its last step, end when [Token.Done] is called instead of when Do
// returns: the client is free for its next request, while the effect of this one is awaited elsewhere,
// such as the consumption of a message. A request that is not done within the time limit has failed, and
// its Token has no use any more. If Do returns an error, that is the end of the request.
func (r *Request) Async() *Token {
	if r.token == nil {
		r.token = &Token{player: r.p}
	}
	return r.token
}

// A Token is a request whose end is still to come.
type Token struct {
	player *player
	phase  *phase
	rec    frames.Record

	// Its player's list has the lock of these:
	before, after *Token // in the order of their limits
	state         tokenState
	err           error
	done          time.Duration
}

type tokenState uint8

const (
	tokenOpen    tokenState = iota
	tokenEarly              // it was done before Do returned
	tokenWaiting            // Do has returned
	tokenOver
)

// Done ends the request, with an error if it failed. Any goroutine may call it, also before Do returns.
// Calls after the first one do nothing.
func (t *Token) Done(err error) {
	if t.player != nil {
		t.end(err)
	}
}

// end writes the record of the step under way.
func (r *Request) end(now time.Duration, err error) {
	m := &r.rec
	m.Step, m.Done, m.Kind = r.step, now, r.p.kind(err)
	m.In, m.Out, m.Messages = r.Received, r.Sent, uint32(min(r.Messages, 1<<32-1))
	r.Received, r.Sent, r.Messages = 0, 0, 0
	r.p.keep(m)
}

// Kind gives an error a kind of few words, such as "unavailable": dyno counts errors of a kind together.
// Without it the kind is the text of the innermost error, which should have no addresses or numbers that
// differ, except for time-outs and common errors of networks, which dyno knows. A nil err gives nil.
func Kind(kind string, err error) error {
	if err == nil {
		return nil
	}
	return &kindError{kind, err}
}

// Broken says that the client cannot go on after an error, such as a connection that was closed: it is closed, and
// another is opened for the next request, whose latency has the opening in it. A nil err gives nil.
func Broken(err error) error {
	if err == nil {
		return nil
	}
	return &brokenError{err}
}

type brokenError struct{ error }

func (e *brokenError) Unwrap() error { return e.error }

type kindError struct {
	kind string
	error
}

func (e *kindError) Unwrap() error { return e.error }

// kindOf is the kind of an error.
func kindOf(err error) string {
	if k := new(kindError); errors.As(err, &k) {
		return cmp.Or(k.kind[:min(len(k.kind), cause.Most)], frames.Other)
	}
	if name := cause.Of(err); name != "" {
		return name
	}
	return cmp.Or(cause.Text(err), fmt.Sprintf("%T", err))
}
