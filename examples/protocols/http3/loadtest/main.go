// Command loadtest is a load for a service that speaks HTTP/3.
package main

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"net/http"

	"github.com/quic-go/quic-go/http3"

	"github.com/dynolab/dyno/load/client"
)

func main() {
	size := flag.Int("size", 1000, "bytes of an answer")
	flag.Parse()
	client.Main(func(ctx context.Context, t client.Target) (client.Client, error) {
		// The service has signed its certificate itself.
		conn := &http3.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
		g := &getter{conn, "https://" + t.Addr, *size}
		// A transport dials when it is first used: here, so that it is not the first request's time.
		_, err := g.get(ctx, "/healthz")
		return g, err
	})
}

type getter struct {
	conn *http3.Transport
	url  string
	size int
}

func (g *getter) Do(ctx context.Context, r *client.Request) (err error) {
	r.Step("GET /bytes")
	r.Received, err = g.get(ctx, fmt.Sprint("/bytes/", g.size))
	return err
}

// get tells how many bytes the answer has.
func (g *getter) get(ctx context.Context, path string) (int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.url+path, nil)
	if err != nil {
		return 0, err
	}
	answer, err := g.conn.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("status %d", answer.StatusCode)
	}
	return io.Copy(io.Discard, answer.Body)
}

func (g *getter) Close() error { return g.conn.Close() }
