package load

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/dynolab/dyno"
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
	exchange(ctx context.Context, r *request, a *answer) error
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

// A request is ready to be sent. Its slices may be those of a client, which are
// used again for the next.
type request struct {
	method string
	target []byte // path and query, in the form of the request line
	host   []byte
	fields []field // of the header, without Host and Content-Length
	body   []byte
	url    *url.URL // of a request that never varies; else nil
	wire   []byte   // the request as HTTP/1.1 writes it; empty if the engine does not need it
	closes bool     // it says Connection: close

	keep   int64 // how many bytes of the answer's body to keep
	header bool  // the answer's header is needed
}

// A field is a line of a header.
type field struct {
	name  string
	value []byte
}

// An answer is what came back.
type answer struct {
	status int
	header http.Header // whole if it was needed, else with Set-Cookie at least, or nil
	body   []byte      // its first bytes, as many as were to be kept
	bytes  int64       // its length
}

// idempotent reports whether a request may be sent again when nobody knows
// whether the service has had it (RFC 9110, section 9.2.2).
func (r *request) idempotent() bool {
	switch r.method {
	case "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE":
		return true
	}
	return false
}

// bodyful are methods of which a request without a body says so.
func bodyful(method string) bool { return method == "POST" || method == "PUT" || method == "PATCH" }
