package load

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/dynolab/dyno"
)

// tiny answers every request on a connection with the same few bytes and
// allocates nothing, so that what a test counts is the generator's.
func tiny(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	hello := []byte("HTTP/1.1 200 OK\r\nContent-Length: 6\r\nContent-Type: text/plain\r\n\r\nhello\n")
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				buf := make([]byte, 4096)
				for {
					n, err := c.Read(buf)
					if err != nil {
						return
					}
					if bytes.HasSuffix(buf[:n], []byte("\r\n\r\n")) {
						c.Write(hello)
					}
				}
			})
		}
	})
	t.Cleanup(func() { l.Close(); all.Wait() })
	return "http://" + l.Addr().String()
}

// In the steady state the raw engines allocate nothing per request, also where
// the path varies.
func TestNoAllocationPerRequest(t *testing.T) {
	base := tiny(t)
	allocs := func(l dyno.Load, n int) uint64 {
		var before, after runtime.MemStats
		l.Requests = n
		_, err := Run(t.Context(), base, l, nil, Options{
			Begin: func(context.Context) error { runtime.GC(); runtime.ReadMemStats(&before); return nil },
			End:   func() { runtime.ReadMemStats(&after) },
		})
		if err != nil {
			t.Fatal(err)
		}
		return after.Mallocs - before.Mallocs
	}
	for _, tt := range []struct {
		name string
		load dyno.Load
	}{
		{"closed", dyno.Load{Concurrency: 4}},
		{"closed, varying", dyno.Load{Concurrency: 4, Client: dyno.Client{Loop: []dyno.Step{{Path: "/{{.client}}/{{.n}}?u={{uuid}}"}}}}},
		{"open", dyno.Load{Concurrency: 4, Rate: dyno.PerSecond(20_000)}},
		{"open, varying", dyno.Load{Concurrency: 4, Rate: dyno.PerSecond(20_000), Client: dyno.Client{Loop: []dyno.Step{{Path: "/{{counter}}"}}}}},
		{"replay", dyno.Load{Concurrency: 4, Replay: steady(t, 12_000), Speed: 20}},
	} {
		if tt.load.Open() && !haveLoops() {
			continue
		}
		l := tt.load
		l.Warmup = seconds(0.05)
		few, many := allocs(l, 1000), allocs(l, 11_000)
		// What is read every so often allocates with the time, which is long on a busy machine: one in ten requests would be ours.
		if more := int64(many) - int64(few); more > 1000 {
			t.Errorf("%s: %d allocations more for 10,000 requests more", tt.name, more)
		}
	}
}

// steady writes a log of n requests, one each millisecond.
func steady(t *testing.T, n int) string {
	var log bytes.Buffer
	for i := range n {
		fmt.Fprintf(&log, `{"time":%d,"method":"GET","path":"/%d","status":200,"request":{"headers":{"Accept-Encoding":["gzip"]}}}`+"\n", 1_700_000_000_001+i, i%100)
	}
	name := filepath.Join(t.TempDir(), "access.log")
	if err := os.WriteFile(name, log.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}
