//go:build linux

// Service is a queue of known capacity: requests wait in the order of their arrival for one server, which works on each
// for exactly the time TAKES. The server is a clock, not a CPU: when a request is done follows from when those before
// it came, so a machine that withholds CPU time delays answers, but makes the server no slower.
package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "`address` to serve")
	flag.Parse()
	takes, err := time.ParseDuration(os.Getenv("TAKES"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "TAKES:", err)
		os.Exit(2)
	}
	q := &queue{takes: takes, answers: make(chan answer, 1<<16)}
	go q.serve()
	err = http.ListenAndServe(*addr, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-q.enter()
	}))
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

type queue struct {
	takes   time.Duration
	mu      sync.Mutex
	free    time.Time // when the server is
	answers chan answer
}

type answer struct {
	at   time.Time
	done chan struct{}
}

// enter puts a request into the queue. What it returns is closed when the server is done with it.
func (q *queue) enter() chan struct{} {
	done := make(chan struct{})
	q.mu.Lock()
	defer q.mu.Unlock()
	if now := time.Now(); q.free.Before(now) {
		q.free = now
	}
	q.free = q.free.Add(q.takes)
	q.answers <- answer{q.free, done}
	return done
}

// serve waits for each answer.
func (q *queue) serve() {
	runtime.LockOSThread()
	for a := range q.answers {
		if d := time.Until(a.at); d > 0 { // time.Sleep is less exact
			t := syscall.NsecToTimespec(int64(d))
			syscall.Nanosleep(&t, nil)
		}
		close(a.done)
	}
}
