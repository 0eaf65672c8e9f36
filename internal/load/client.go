package load

import (
	"context"
	"errors"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/dynolab/dyno/internal/load/engine"
	"github.com/dynolab/dyno/internal/load/http1"
	"github.com/dynolab/dyno/internal/load/pace"
	"github.com/dynolab/dyno/internal/load/scenario"
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
	failures int             // in a row
	told     map[string]bool // causes of failures of which shard.add was told an example
	free     pace.Free       // of an open load, see due
	wake     chan struct{}   // of an open load; see pace.Queue
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
	messages   int64         // of a stream
	failure                  // its cause is "" if the request succeeded
	example    string        // of a cause's first failure: the request, and the beginning of the answer
}

func newClient(r *runner, number, links int, s *shard) *client {
	c := &client{r: r, number: number, shard: s, wake: pace.NewWake(), vars: r.scenario.NewVars(number, r.load.Seed)}
	for range links {
		c.calls = append(c.calls, call{link: r.engine.Link(number)})
	}
	return c
}

func (c *client) close() {
	for i := range c.calls {
		c.calls[i].link.Close()
	}
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
		k.out.done, k.out.failure, k.out.example = k.out.sent, failure{"request could not be made", cureStep}, err.Error()
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
		o.failure = failureOf(err, c.r.load.HTTP)
		c.exemplify(o, func() string { return name(r) })
		return
	}
	o.status, o.in = a.Status, a.Bytes
	if a.Closed {
		c.r.hungUp.Add(1)
	}
	if a.Gap >= leastAckDelay && a.Gap < mostAckDelay && a.Bytes < mostUnacked {
		c.r.parted.Add(1)
	}
	if a.Header != nil {
		c.remember(r, a.Header)
	}
	if !s.Accepts(a.Status) {
		o.failure = badStatus(a.Status)
	} else if err := s.Capture(ctx, a, c.vars); err != nil {
		o.failure = failure{err.Error(), cureStep}
	}
	c.exemplify(o, func() string {
		return name(r) + " answered " + quote(a.Body) + s.Want()
	})
}

// exemplify makes an example of a failure that is the client's first of its cause: more would cost
// the time of others.
func (c *client) exemplify(o *outcome, example func() string) {
	if o.cause == "" || c.told[o.cause] || len(c.told) >= maxCauses {
		return
	}
	if c.told == nil {
		c.told = map[string]bool{}
	}
	c.told[o.cause], o.example = true, example()
}

// name is the request's method and path, without the query, which may hold a secret.
func name(r *http1.Request) string {
	path, _, _ := strings.Cut(string(r.Target[:min(len(r.Target), scenario.MaxQuoted)]), "?")
	return r.Method + " " + tame(path)
}

func (c *client) remember(r *http1.Request, header http.Header) {
	if len(header["Set-Cookie"]) == 0 || c.r.load.ReplaySecrets { // then cookies are the recorded ones
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

func quote(body []byte) string {
	if len(body) > scenario.MaxQuoted {
		body = append(body[:scenario.MaxQuoted:scenario.MaxQuoted], "..."...)
	}
	return `"` + tame(strings.Join(strings.Fields(string(body)), " ")) + `"`
}

// tame replaces what a terminal or the order of letters may obey.
func tame(text string) string {
	return strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return '·'
	}, text)
}
