package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"strings"
	"syscall"
	"time"
)

// A client plays the scenario with variables, cookies and connections of its
// own. One goroutine at a time uses it.
type client struct {
	number   int
	vars     map[string]any
	jar      http.CookieJar // nil until the service sets a cookie
	send     exchange
	close    func()
	timeout  time.Duration
	shard    *shard
	failures int           // in a row
	wake     chan struct{} // of an open load; see queue
}

func newClient(number int, arg map[string]string, timeout time.Duration, s *shard) *client {
	vars := variables(arg)
	vars["client"] = number
	return &client{number: number, vars: vars, timeout: timeout, shard: s, wake: make(chan struct{}, 1)}
}

// count counts a loop.
func (c *client) count() { c.vars["n"] = c.vars["n"].(int) + 1 }

// An outcome is what came of a request.
type outcome struct {
	sent, done time.Time
	status     int    // 0 if there was no answer
	bytes      int64  // of the body received
	cause      string // why it failed, in few words that repeat; "" if it succeeded
	detail     string // what the error said, or the beginning of the body
}

// explain says why a request failed, for a reader who sees only this one.
func (o *outcome) explain() string {
	if o.detail == "" || o.detail == o.cause {
		return o.cause
	}
	return o.cause + ": " + o.detail
}

// do sends the request of a step and reads the answer. Rendering comes before
// sent and captures after done: what dyno itself takes is not measured.
func (c *client) do(ctx context.Context, s *step) (o outcome) {
	r, err := s.request(c.vars)
	if err != nil {
		o.sent = time.Now()
		o.done, o.cause, o.detail = o.sent, "request could not be made", err.Error()
		if u := new(unknownError); errors.As(err, &u) {
			o.cause = "no value of " + u.name
		}
		return o
	}
	r = c.withCookies(r)
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	o.sent = time.Now()
	a, err := c.send(ctx, r)
	o.done = time.Now()
	if err != nil {
		o.cause, o.detail = cause(err), err.Error()
		return o
	}
	o.status, o.bytes = a.status, a.bytes
	if set := a.header["Set-Cookie"]; len(set) > 0 {
		if c.jar == nil {
			c.jar, _ = cookiejar.New(nil) // never fails
		}
		c.jar.SetCookies(r.url, (&http.Response{Header: a.header}).Cookies())
	}
	if !s.accepts(a.status) {
		o.cause = fmt.Sprintf("status %d", a.status)
		o.detail = "(" + s.want() + ") " + quote(a.body)
	} else if err := s.captureAll(ctx, a, c.vars); err != nil {
		o.cause, o.detail = err.Error(), quote(a.body)
	}
	return o
}

// quote shows the beginning of a body on one line.
func quote(body []byte) string {
	if len(body) > bodyShown {
		body = append(body[:bodyShown:bodyShown], "..."...)
	}
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(body), "?")), " ")
}

func (c *client) withCookies(r *request) *request {
	if c.jar == nil {
		return r
	}
	cookies := c.jar.Cookies(r.url)
	if len(cookies) == 0 {
		return r
	}
	var pairs []string
	if own := r.header.Get("Cookie"); own != "" {
		pairs = append(pairs, own)
	}
	for _, k := range cookies {
		pairs = append(pairs, k.Name+"="+k.Value)
	}
	with := *r
	with.header = maps.Clone(r.header)
	with.header.Set("Cookie", strings.Join(pairs, "; "))
	return &with
}

// causeTimeout is the cause of failures that would have been the slowest
// answers.
const causeTimeout = "timeout"

// cause names the cause of an error in few words, without addresses, so that
// equal causes count together.
func cause(err error) string {
	var dns *net.DNSError
	switch {
	case errors.Is(err, context.DeadlineExceeded), os.IsTimeout(err):
		return causeTimeout
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "connection reset"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "too many open files"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "no free local port"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection closed"
	case errors.As(err, &dns):
		return "host not found"
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			break
		}
		err = inner
	}
	s := err.Error()
	return s[:min(len(s), 80)]
}
