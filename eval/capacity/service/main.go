//go:build linux

// Service is a queue of known capacity: requests wait in the order of their arrival for one server, which works on each
// for a fixed time (TAKES). At SIGTERM it adds a line to the file STATS: how many requests it served, and
// the sum of the times in nanoseconds from the begin of one to the begin of the next, while some waited.
package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// spin is how long before its end a service time is waited for without sleeping: the kernel wakes that much too late at most.
const spin = 150 * time.Microsecond

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "`address` to serve")
	flag.Parse()
	takes, err := time.ParseDuration(os.Getenv("TAKES"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "TAKES:", err)
		os.Exit(2)
	}
	queue := make(chan chan struct{}, 1<<16)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, os.Interrupt)
	go serve(queue, takes, stop)
	err = http.ListenAndServe(*addr, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		done := make(chan struct{})
		queue <- done
		<-done
	}))
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// serve is the one server.
func serve(queue chan chan struct{}, takes time.Duration, stop chan os.Signal) {
	runtime.LockOSThread()
	var n, sum int64
	var last time.Time // begin of the request before, if it left one waiting
	for {
		var done chan struct{}
		select {
		case <-stop:
			f, err := os.OpenFile(os.Getenv("STATS"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
			if err == nil {
				fmt.Fprintf(f, "%d %d\n", n, sum)
				f.Close()
			}
			os.Exit(0)
		case done = <-queue:
		}
		begin := time.Now()
		if !last.IsZero() {
			n, sum = n+1, sum+int64(begin.Sub(last))
		}
		if d := takes - spin; d > 0 {
			t := syscall.NsecToTimespec(int64(d))
			syscall.Nanosleep(&t, nil)
		}
		for time.Since(begin) < takes {
		}
		if last = (time.Time{}); len(queue) > 0 {
			last = begin
		}
		close(done)
	}
}
