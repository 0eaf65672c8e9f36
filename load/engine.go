package load

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// An engine opens what one client sends its requests with; close ends it. This
// is all that the rest of the package knows of HTTP's inside.
type engine func() (send exchange, close func())

// An exchange sends a request and reads the answer to its end, or fails when
// ctx ends. It is called for one request at a time and must not change r.
type exchange func(ctx context.Context, r *request) (*answer, error)

type request struct {
	method string
	url    *url.URL
	host   string // "" means that of url
	header http.Header
	body   string
	keep   int64 // how much of the answer's body to keep
}

type answer struct {
	status int
	header http.Header
	body   []byte // its first bytes, as many as were to be kept
	bytes  int64  // its length
}

// httpEngine is net/http: HTTP/1.1 with keep-alive, no proxy, no redirects, no
// compression unless the step's headers ask for it.
//
// Each client has a Transport of its own, so that its session keeps to its
// connection. Measured on 2 shared vCPUs, CPU per request and peak memory: with
// 16 connections 21 µs and 16 MB, as with one shared Transport (18-23 µs); with
// 1000, 27 µs and 64 MB against 29 µs and 80 MB.
//
// Dials end with ctx: a Transport goes on dialling after the request that
// wanted the connection has given up.
func httpEngine(ctx context.Context) engine {
	dialer := &net.Dialer{Timeout: 30 * time.Second}
	dial := func(dialCtx context.Context, network, addr string) (net.Conn, error) {
		dialCtx, cancel := context.WithCancel(dialCtx)
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		return dialer.DialContext(dialCtx, network, addr)
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return func() (exchange, func()) {
		t := &http.Transport{
			DialContext:         dial,
			Protocols:           protocols,
			DisableCompression:  true,
			MaxIdleConnsPerHost: 1,
		}
		send := func(ctx context.Context, r *request) (*answer, error) { return roundTrip(ctx, t, r) }
		return send, t.CloseIdleConnections
	}
}

func roundTrip(ctx context.Context, t http.RoundTripper, r *request) (*answer, error) {
	q := (&http.Request{
		Method: r.method, URL: r.url, Host: r.host, Header: r.header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	if r.body != "" {
		q.ContentLength = int64(len(r.body))
		// With GetBody net/http may send again what an idle connection, just
		// closed by the service, did not take.
		q.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(r.body)), nil }
		q.Body, _ = q.GetBody()
	}
	resp, err := t.RoundTrip(q)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	a := &answer{status: resp.StatusCode, header: resp.Header}
	if r.keep > 0 {
		if a.body, err = io.ReadAll(io.LimitReader(resp.Body, r.keep)); err != nil {
			return nil, err
		}
	}
	// To the end, or the connection cannot be used again.
	rest, err := io.Copy(io.Discard, resp.Body)
	a.bytes = int64(len(a.body)) + rest
	return a, err
}
