// Command exectrace writes the traces beside it: 20 requests of each sort, on
// two connections, of which TestReadTrace knows where their time went.
//
//	for v in 1.22.12 1.24.13 1.26.8 1.27.4; do
//		GO111MODULE=off GOTOOLCHAIN=go$v go run main.go | gzip -9n > go$v.trace.gz
//	done
package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/trace"
	"strings"
	"sync"
	"time"
)

const wait = 2 * time.Millisecond

func main() {
	debug.SetGCPercent(-1) // but for /collect
	var mu sync.Mutex
	mux := http.NewServeMux()
	mux.HandleFunc("/sleep", func(http.ResponseWriter, *http.Request) { time.Sleep(wait) })
	mux.HandleFunc("/channel", func(http.ResponseWriter, *http.Request) { <-time.After(wait) })
	mux.HandleFunc("/sync", func(http.ResponseWriter, *http.Request) { // the one sleeps, the other waits for it
		mu.Lock()
		defer mu.Unlock()
		time.Sleep(wait)
	})
	mux.HandleFunc("/unread", func(http.ResponseWriter, *http.Request) {}) // leaves its body
	mux.HandleFunc("/body", func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
	mux.HandleFunc("/collect", func(http.ResponseWriter, *http.Request) { runtime.GC() })
	server := httptest.NewServer(mux)
	ask := func(path string, body io.Reader) {
		resp, err := http.Post(server.URL+path, "text/plain", body)
		if err != nil {
			log.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	two := func(do func()) {
		var wg sync.WaitGroup
		for i := 0; i < 2; i++ {
			wg.Add(1)
			go func() { defer wg.Done(); do() }()
		}
		wg.Wait()
	}
	two(func() { ask("/sleep", nil) }) // two connections that the trace finds idle
	time.Sleep(10 * time.Millisecond)
	if err := trace.Start(os.Stdout); err != nil {
		log.Fatal(err)
	}
	for _, path := range []string{"/sleep", "/channel", "/sync"} {
		two(func() {
			for i := 0; i < 10; i++ {
				ask(path, nil)
			}
		})
	}
	for i := 0; i < 20; i++ {
		ask("/unread", strings.NewReader("x"))
		r, w := io.Pipe() // a body that comes late
		go func() { time.Sleep(wait); fmt.Fprint(w, "late"); w.Close() }()
		ask("/body", r)
	}
	for i := 0; i < 3; i++ {
		ask("/collect", nil)
	}
	time.Sleep(10 * time.Millisecond) // idle
	trace.Stop()
}
