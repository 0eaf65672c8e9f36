package engine

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/load/http1"
)

// A stdEngine is net/http, for TLS and HTTP/2: keep-alive, no proxy, no redirects,
// no compression unless a step's headers ask for it.
//
// Each client has its own Transport, so that its session keeps its connections:
// one per link, or one in all with HTTP/2. In an open load with more requests under
// way than connections, clients share them.
type stdEngine struct {
	base       *url.URL
	limits     Limits
	transports []*http.Transport
}

// NewStd returns the engine that is net/http. Each client has links connections.
// Dials end with ctx, as a Transport goes on dialling after its request gave up.
func NewStd(ctx context.Context, base *url.URL, l *dyno.Load, links int, lim Limits) Engine {
	dialer := &net.Dialer{Timeout: lim.Connect}
	local, socket := http1.Address(base)
	dial := func(dialCtx context.Context, network, addr string) (net.Conn, error) {
		dialCtx, cancel := context.WithCancel(dialCtx)
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		if local == "unix" {
			network, addr = local, socket
		}
		return dialer.DialContext(dialCtx, network, addr)
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(l.HTTP != "2")
	protocols.SetHTTP2(l.HTTP != "1.1")
	protocols.SetUnencryptedHTTP2(l.HTTP == "2")
	if l.HTTP == "2" {
		links = 1 // streams
	}
	e := &stdEngine{base: http1.Origin(base), limits: lim}
	for range l.Concurrency {
		e.transports = append(e.transports, &http.Transport{
			DialContext:         dial,
			Protocols:           protocols,
			DisableCompression:  true,
			MaxConnsPerHost:     links,
			MaxIdleConnsPerHost: links,
			TLSHandshakeTimeout: lim.Connect,
			TLSClientConfig:     &tls.Config{InsecureSkipVerify: l.Insecure},
		})
	}
	return e
}

func (e *stdEngine) Name() string  { return "std" }
func (e *stdEngine) Resent() int64 { return 0 } // net/http does not tell

func (e *stdEngine) Link(n int) Link { return stdLink{e, e.transports[n%len(e.transports)]} }

func (e *stdEngine) Close() {
	for _, t := range e.transports {
		t.CloseIdleConnections()
	}
}

type stdLink struct {
	e *stdEngine
	t *http.Transport
}

func (l stdLink) Close() { l.t.CloseIdleConnections() }

func (l stdLink) Exchange(ctx context.Context, r *http1.Request, a *http1.Answer) error {
	ctx, cancel := context.WithTimeout(ctx, l.e.limits.Total)
	defer cancel()
	q, err := l.request(ctx, r)
	if err != nil {
		return err
	}
	q, timer := withReadTimer(q, l.e.limits.Read, cancel)
	defer timer.stop()
	resp, err := l.t.RoundTrip(q)
	if err != nil {
		return timer.explain(err)
	}
	defer resp.Body.Close()
	timer.restart()
	if resp.StatusCode == http.StatusSwitchingProtocols { // what follows is not HTTP, and deaf to ctx
		*a = http1.Answer{Status: resp.StatusCode, Header: resp.Header, Body: a.Body[:0]}
		return nil
	}
	a.Status, a.Header, a.Body = resp.StatusCode, resp.Header, a.Body[:0]
	a.Closed = resp.ProtoMajor == 1 && resp.Close && !r.Closes
	body := timer.reader(resp.Body)
	if keep := http1.Kept(r.KeepBody, a.Status); keep > 0 {
		kept := bytes.NewBuffer(a.Body)
		_, err = io.Copy(kept, io.LimitReader(body, keep))
		if a.Body = kept.Bytes(); err != nil {
			return timer.explain(err)
		}
	}
	// To the end, or the connection cannot be used again.
	rest, err := io.Copy(io.Discard, io.LimitReader(body, http1.MaxBody+1-int64(len(a.Body))))
	a.Bytes = int64(len(a.Body)) + rest
	if err == nil && a.Bytes > http1.MaxBody {
		return http1.ErrBodySize
	}
	return timer.explain(err)
}

func (l stdLink) request(ctx context.Context, r *http1.Request) (*http.Request, error) {
	u, err := r.URLOn(l.e.base)
	if err != nil {
		return nil, err
	}
	header := make(http.Header, len(r.Fields))
	for _, f := range r.Fields {
		header.Add(f.Name, string(f.Value))
	}
	q := (&http.Request{
		Method: r.Method, URL: u, Host: string(r.Host), Header: header, Close: r.Closes,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	if len(r.Body) > 0 {
		q.ContentLength = int64(len(r.Body))
		// net/http may then send again what a just closed connection did not take.
		q.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(r.Body)), nil }
		q.Body, _ = q.GetBody()
	}
	return q, nil
}
