package load

import (
	"context"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/load/http1"
)

// An engine opens links to the service. This is all that the rest of the
// package knows of HTTP's inside; only a loop, which is a raw engine for open
// loads, has an entrance of its own.
type engine interface {
	name() string
	// link is a way of client n to the service, another one at each call. It
	// connects when it must.
	link(n int) link
	// resent is how many requests were sent a second time because the service
	// had closed the idle connection that they were sent on.
	resent() int64
	close()
}

// A link sends one request at a time.
type link interface {
	// exchange sends r and reads the answer to its end, or fails: with ctx's
	// error when ctx ends, with a time-out by the limits of the engine. It must
	// not change r. What it puts into a is valid until the next call.
	exchange(ctx context.Context, r *http1.Request, a *http1.Answer) error
	// close ends the connection. The link can be used again.
	close()
}

// limits are those of one request; 0 means none.
type limits struct {
	total   time.Duration // from the begin of exchange to its end
	connect time.Duration // for a connection to come about
	read    time.Duration // for the next byte of the answer
}

func limitsOf(l *dyno.Load) limits {
	return limits{time.Duration(l.Timeout), time.Duration(l.ConnectTimeout), time.Duration(l.ReadTimeout)}
}
