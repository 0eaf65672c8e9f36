// Package engine sends single requests over HTTP and reads their answers: raw over
// plain HTTP/1.1 connections, std through net/http, for TLS and HTTP/2.
//
// It owns connections and their time limits. Package load decides when to send and
// what, and has an engine of its own: the loops of open loads on Linux.
package engine

import (
	"context"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/load/http1"
)

// An Engine opens links to the service.
type Engine interface {
	Name() string // "raw" or "std", as a record has it
	// Link is another way of client n to the service; it connects when it must.
	Link(n int) Link
	// Resent is how many requests were sent again because the service had closed
	// their idle connection.
	Resent() int64
	Close()
}

// A Link sends one request at a time.
type Link interface {
	// Exchange sends r, which it must not change, and reads the answer to its end.
	// It fails with ctx's error, or a time-out by the engine's limits. a is valid
	// until the next call.
	Exchange(ctx context.Context, r *http1.Request, a *http1.Answer) error
	// Close ends the connection. The link can be used again.
	Close()
}

// Limits are one request's; 0 means none.
type Limits struct {
	Total   time.Duration // from the begin of Exchange to its end
	Connect time.Duration // for a connection to come about
	Read    time.Duration // for the next byte of the answer
}

// LimitsOf returns the time-outs of a load.
func LimitsOf(l *dyno.Load) Limits {
	return Limits{time.Duration(l.Timeout), time.Duration(l.ConnectTimeout), time.Duration(l.ReadTimeout)}
}
