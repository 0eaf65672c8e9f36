package load

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dynolab/dyno"
)

// What goes wrong is counted once, by a cause that all engines name alike, and
// the next request is sent on a new connection.
func TestEnginesFailures(t *testing.T) {
	for _, tt := range []struct {
		name, cause string
		load        dyno.Load
		serve       func(conn net.Conn)
	}{
		{"closed", "connection closed", dyno.Load{}, func(c net.Conn) { readRequest(c) }},
		{"cut", "connection closed", dyno.Load{}, func(c net.Conn) {
			readRequest(c)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
		}},
		{"reset", "connection reset", dyno.Load{}, func(c net.Conn) {
			readRequest(c)
			io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			c.(*net.TCPConn).SetLinger(0)
			// The reset must not overtake the bytes, or it is an earlier one.
		}},
		{"slow", "timeout", dyno.Load{Timeout: dyno.Duration(30 * time.Millisecond)}, func(c net.Conn) {
			readRequest(c)
			io.Copy(io.Discard, c)
		}},
		{"silent in the middle", "timeout", dyno.Load{ReadTimeout: dyno.Duration(30 * time.Millisecond)}, func(c net.Conn) {
			readRequest(c)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
			io.Copy(io.Discard, c)
		}},
	} {
		for _, e := range engines(t) {
			if e.tls || e.http == "2" {
				continue // the service speaks HTTP/1.1 in the clear
			}
			t.Run(tt.name+"/"+e.name, func(t *testing.T) {
				base, conns := serveConns(t, tt.serve)
				tt.load.Concurrency, tt.load.Requests, tt.load.MaxFailures = 1, 4, share(1)
				tt.load.Client.Loop = []dyno.Step{{Method: "POST", Path: "/", Body: "x"}}
				cause := tt.cause
				if e.engine == "std" && tt.name == "reset" {
					cause = "connection closed" // net/http does not tell them apart
				}
				rec, err := run(t.Context(), base, e.load(tt.load), nil, Options{}, e.choose)
				n := rec.Requests
				for late := time.Now().Add(time.Minute); conns.Load() < n && time.Now().Before(late); time.Sleep(time.Millisecond) {
					// A request may have timed out before the service came to accept its connection.
				}
				// An open load does not wait for ever for its only connection.
				if err != nil || n+rec.Unsent != 4 || n < 4 && !e.open || int64(rec.Failures[cause]) != n || conns.Load() != n {
					t.Errorf("failures %v of %d requests on %d connections, %v; want 4 times %q on 4", rec.Failures, rec.Requests, conns.Load(), err, cause)
				}
			})
		}
	}
}

func TestEnginesRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	for _, e := range engines(t) {
		t.Run(e.name, func(t *testing.T) {
			scheme := map[bool]string{false: "http", true: "https"}[e.tls]
			rec, err := run(t.Context(), scheme+"://"+l.Addr().String(), e.load(dyno.Load{Concurrency: 2, Requests: 6, MaxFailures: share(1)}), nil, Options{}, e.choose)
			if err != nil || rec.Failures["connection refused"] != 6 {
				t.Errorf("failures %v, %v; want 6 times connection refused", rec.Failures, err)
			}
		})
	}
}

// A service that closes idle connections is not at fault: what can be sent
// again is, once, and the record says so. What cannot is a failure.
func TestEnginesStaleConnections(t *testing.T) {
	closing := func(c net.Conn) { // after the second request has come
		readRequest(c)
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		readRequest(c)
	}
	for _, e := range engines(t) {
		if e.engine == "std" {
			continue
		}
		for _, method := range []string{"GET", "POST"} {
			t.Run(e.name+"/"+method, func(t *testing.T) {
				base, _ := serveConns(t, closing)
				rec, err := run(t.Context(), base, e.load(dyno.Load{Concurrency: 1, Requests: 6, MaxFailures: share(1),
					Client: dyno.Client{Loop: []dyno.Step{{Method: method, Path: "/"}}}}), nil, Options{}, e.choose)
				if err != nil {
					t.Fatal(err)
				}
				told := slices.ContainsFunc(rec.Warnings.Texts(), func(w string) bool { return strings.Contains(w, "5 requests were sent again") })
				if method == "GET" && (rec.Failed != 0 || !told) {
					t.Errorf("%d failed, warnings %q; want 5 sent again", rec.Failed, rec.Warnings)
				}
				if method == "POST" && rec.Failures["connection closed"] != 3 {
					t.Errorf("failures %v, want every second to fail", rec.Failures)
				}
			})
		}
	}
}

// A service may refuse a body before it has read it, and close: the answer
// counts, although the request could not be sent to its end.
func TestEnginesEarlyAnswer(t *testing.T) {
	for _, e := range engines(t) {
		if e.tls || e.http == "2" || e.engine == "std" {
			continue // net/http, too, but only most of the time
		}
		t.Run(e.name, func(t *testing.T) {
			base, _ := serveConns(t, func(c net.Conn) {
				r, err := http.ReadRequest(bufio.NewReader(c))
				if err != nil {
					return
				}
				io.WriteString(c, "HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
				io.CopyN(io.Discard, r.Body, 1<<20)
			})
			rec, err := run(t.Context(), base, e.load(dyno.Load{Concurrency: 1, Requests: 3, Client: dyno.Client{
				Loop: []dyno.Step{{Method: "POST", Path: "/", Body: strings.Repeat("x", 1<<21), Expect: []int{413}}}}}), nil, Options{}, e.choose)
			if err != nil || rec.Statuses[413] != 3 {
				t.Errorf("statuses %v, failures %v, %v", rec.Statuses, rec.Failures, err)
			}
		})
	}
}

// The end of the context ends what is under way, at once.
func TestEnginesEndWithTheirContext(t *testing.T) {
	for _, e := range engines(t) {
		t.Run(e.name, func(t *testing.T) {
			arrived := make(chan bool, 100)
			hang := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				arrived <- true
				<-r.Context().Done()
			})
			base, _ := e.serve(t, hang)
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() { <-arrived; cancel(context.Canceled) }()
			rec, err := run(ctx, base, e.load(dyno.Load{Concurrency: 3, Requests: 100}), nil, Options{}, e.choose)
			if err != context.Canceled || rec.Failed != 0 {
				t.Errorf("%d failed, error %v", rec.Failed, err)
			}
		})
	}
}

// readRequest reads a request of a few bytes.
func readRequest(c net.Conn) {
	if r, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
		io.Copy(io.Discard, r.Body)
	}
}

// serveConns serves each connection with f and closes it.
func serveConns(t *testing.T, f func(net.Conn)) (base string, conns *atomic.Int64) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conns = new(atomic.Int64)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns.Add(1)
			all.Go(func() { defer c.Close(); f(c) })
		}
	})
	t.Cleanup(func() { l.Close(); all.Wait() })
	return "http://" + l.Addr().String(), conns
}
