// Package engine sends single requests over HTTP and reads their answers: Raw by
// itself, over plain HTTP/1.1 connections, and Std through net/http, for TLS and
// HTTP/2.
//
// It owns connections and their time limits. When to send, what, and what an
// answer means are decided by the clients of package load. The loops there,
// which send open loads on Linux, are an engine of their own.
package engine

import (
	"context"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/load/http1"
)

// An Engine opens links to the service.
type Engine interface {
	Name() string // "raw" or "std", as a record has it
	// Link is a way of client n to the service, another one at each call. It
	// connects when it must.
	Link(n int) Link
	// Resent is how many requests were sent a second time because the service
	// had closed the idle connection that they were sent on.
	Resent() int64
	Close()
}

// A Link sends one request at a time.
type Link interface {
	// Exchange sends r and reads the answer to its end, or fails: with ctx's
	// error when ctx ends, with a time-out by the limits of the engine. It must
	// not change r. What it puts into a is valid until the next call.
	Exchange(ctx context.Context, r *http1.Request, a *http1.Answer) error
	// Close ends the connection. The link can be used again.
	Close()
}

// Limits are those of one request; 0 means none.
type Limits struct {
	Total   time.Duration // from the begin of Exchange to its end
	Connect time.Duration // for a connection to come about
	Read    time.Duration // for the next byte of the answer
}

// LimitsOf are the time limits of a load.
func LimitsOf(l *dyno.Load) Limits {
	return Limits{time.Duration(l.Timeout), time.Duration(l.ConnectTimeout), time.Duration(l.ReadTimeout)}
}
