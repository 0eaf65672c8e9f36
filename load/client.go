package load

import (
	"context"
	"errors"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"time"

	"github.com/dynolab/dyno/load/engine"
	"github.com/dynolab/dyno/load/http1"
	"github.com/dynolab/dyno/load/scenario"
)

// A client plays the scenario with its own variables, cookies and connections,
// in one goroutine at a time.
type client struct {
	r        *runner
	number   int
	vars     *scenario.Vars
	jar      http.CookieJar    // nil until the service sets a cookie
	calls    []call            // of requests at the same time; the first is that of all others
	alone    [1]*scenario.Step // what send returns of a single request
	shard    *shard
	failures int           // in a row
	ready    time.Duration // of an open load: when it would have been free, see due
	done     time.Duration // and when it was
	wake     chan struct{} // of an open load; see queue
}

type call struct {
	link   engine.Link
	req    http1.Request // rendered for this call, if the step's varies
	answer http1.Answer
	out    outcome
}

type outcome struct {
	sent, done time.Duration // on the clock of the run
	status     int           // 0 if there was no answer
	in, out    int64         // bytes of the bodies received and sent
	failure                  // its cause is "" if the request succeeded
	detail     string        // what the error said, or the beginning of the body
	example    string        // of a request that was answered, but not as it should be: which, and the beginning of the body
}

func newClient(r *runner, number int, s *shard) *client {
	return &client{
		r: r, number: number, shard: s, wake: make(chan struct{}, 1), vars: r.scenario.NewVars(number, r.load.Seed),
	}
}

func (c *client) open(e engine.Engine, links int) {
	for range links {
		c.calls = append(c.calls, call{link: e.Link(c.number)})
	}
}

func (c *client) close() {
	for i := range c.calls {
		c.calls[i].link.Close()
	}
}

// turnaround is the least time between two requests on a connection. It must
// not count as lateness while a load catches up with a stall.
const turnaround = 100 * time.Microsecond

func (c *client) took(at time.Duration, o *outcome) {
	if gap := o.sent - max(at, c.done); gap < turnaround {
		c.ready += gap
	}
	c.ready = max(at, c.ready) + o.done - o.sent
	c.done = o.done
}

func (o *outcome) explain() string {
	if o.detail == "" || o.detail == o.cause {
		return o.cause
	}
	return o.cause + ": " + o.detail
}

// do sends a step's request and reads the answer. Neither rendering nor
// capturing counts as time of the request.
func (c *client) do(ctx context.Context, s *scenario.Step) *outcome {
	k := &c.calls[0]
	if r := c.prepare(k, s); r != nil {
		k.out.sent = c.r.now()
		err := k.link.Exchange(ctx, r, &k.answer)
		k.out.done = c.r.now()
		c.finish(ctx, k, s, r, err)
	}
	return &k.out
}

// prepare returns the step's request, or nil if it cannot be made; k.out says why.
func (c *client) prepare(k *call, s *scenario.Step) *http1.Request {
	k.out = outcome{}
	if s.Fixed != nil && c.jar == nil {
		return s.Fixed
	}
	r := &k.req
	if err := s.Render(r, c.vars); err != nil {
		k.out.sent = c.r.now()
		k.out.done, k.out.failure, k.out.detail = k.out.sent, failure{"request could not be made", cureStep}, err.Error()
		if u := new(scenario.UnknownError); errors.As(err, &u) {
			k.out.cause = "no value of " + u.Name
		}
		return nil
	}
	if c.jar != nil {
		c.cookies(r)
	}
	r.Wire = r.AppendWire(r.Wire[:0])
	return r
}

func (c *client) finish(ctx context.Context, k *call, s *scenario.Step, r *http1.Request, err error) {
	o, a := &k.out, &k.answer
	o.out = int64(len(r.Body))
	if err != nil {
		o.failure, o.detail = failureOf(err, c.r.load.HTTP), err.Error()
		return
	}
	o.status, o.in = a.Status, a.Bytes
	if a.Header != nil {
		c.remember(r, a.Header)
	}
	if !s.Accepts(a.Status) {
		o.failure = badStatus(a.Status)
		o.detail = "(" + s.Want() + ") " + quote(a.Body)
		o.example = example(r, a)
	} else if err := s.Capture(ctx, a, c.vars); err != nil {
		o.failure, o.detail, o.example = failure{err.Error(), cureStep}, quote(a.Body), example(r, a)
	}
}

func (c *client) remember(r *http1.Request, header http.Header) {
	if len(header["Set-Cookie"]) == 0 {
		return
	}
	if c.jar == nil {
		c.jar, _ = cookiejar.New(nil) // never fails
	}
	c.jar.SetCookies(c.r.url(r), (&http.Response{Header: header}).Cookies())
}

func (c *client) cookies(r *http1.Request) {
	cookies := c.jar.Cookies(c.r.url(r))
	if len(cookies) == 0 {
		return
	}
	var pairs []string
	for _, k := range cookies {
		pairs = append(pairs, k.String())
	}
	all := strings.Join(pairs, "; ")
	for i := range r.Fields {
		if strings.EqualFold(r.Fields[i].Name, "Cookie") {
			r.Fields[i].Value = append(append(r.Fields[i].Value, "; "...), all...)
			return
		}
	}
	r.Fields = append(r.Fields, http1.Field{Name: "Cookie", Value: []byte(all)})
}

func (r *runner) url(q *http1.Request) *url.URL {
	u, _ := q.URLOn(r.base) // never fails: OriginForm has made the target
	return u
}

func example(r *http1.Request, a *http1.Answer) string {
	text := r.Method + " " + quote(r.Target)
	if body := quote(a.Body); body != "" {
		text += ": " + body
	}
	return text
}

func quote(body []byte) string {
	if len(body) > scenario.MaxQuoted {
		body = append(body[:scenario.MaxQuoted:scenario.MaxQuoted], "..."...)
	}
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(body), "?")), " ")
}
