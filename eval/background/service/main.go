//go:build linux

// Service works in the background, by BG=KIND:SHARE, a share of one CPU:
//
//	none     nothing (none-2 and so on are the same)
//	steady   0.2 ms of CPU time, or 2 ms of a share from a fifth on, as often as makes the share
//	100ms    the share of each 100 ms, at once
//	5s       the share of each 5 s, at once
//	after    20 ms after each request the share of 5 ms: at 200 requests a second it is the share of a CPU
//	load     as steady, but only while a request came in the last 50 ms
//
// A piece of work is CPU time of the thread that does it, so a busy machine makes it no smaller. A request
// hashes 2,000 times.
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

var last atomic.Int64 // when the last request came, in nanoseconds since 1970

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "`address` to serve")
	flag.Parse()
	kind, text, _ := strings.Cut(os.Getenv("BG"), ":")
	share, err := strconv.ParseFloat(text, 64)
	if idle := strings.HasPrefix(kind, "none"); !idle && (err != nil || share <= 0 || share >= 1) {
		fmt.Fprintf(os.Stderr, "BG: %q is no share of a CPU\n", text)
		os.Exit(2)
	}
	deferred := make(chan time.Time, 1<<16)
	switch each := pieceOf(share); kind {
	case "steady", "load":
		go repeat(each, time.Duration(float64(each)/share), kind == "load")
	case "100ms":
		go repeat(part(share, 100*time.Millisecond), 100*time.Millisecond, false)
	case "5s":
		go repeat(part(share, 5*time.Second), 5*time.Second, false)
	case "after":
		go follow(deferred, part(share, 5*time.Millisecond))
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		now := time.Now()
		last.Store(now.UnixNano())
		hash(2000)
		if kind == "after" {
			deferred <- now
		}
		fmt.Fprintln(w, "ok")
	})
	fmt.Fprintln(os.Stderr, http.ListenAndServe(*addr, nil))
	os.Exit(1)
}

func part(share float64, of time.Duration) time.Duration { return time.Duration(share * float64(of)) }

func pieceOf(share float64) time.Duration {
	if share >= 0.2 {
		return 2 * time.Millisecond
	}
	return 200 * time.Microsecond
}

// repeat works for d of CPU time in each period. What it could not do in time it does not make up for.
func repeat(d, period time.Duration, underLoad bool) {
	for next := time.Now().Add(period); ; {
		time.Sleep(time.Until(next))
		if !underLoad || time.Since(time.Unix(0, last.Load())) < 50*time.Millisecond {
			work(d)
		}
		if next = next.Add(period); time.Until(next) < -period {
			next = time.Now()
		}
	}
}

// follow works for d of CPU time 20 ms after each request.
func follow(requests <-chan time.Time, d time.Duration) {
	for came := range requests {
		time.Sleep(time.Until(came.Add(20 * time.Millisecond)))
		work(d)
	}
}

// work takes d of the CPU time of this thread.
func work(d time.Duration) {
	runtime.LockOSThread() // while it reads the clock of the thread
	defer runtime.UnlockOSThread()
	for until := threadCPU() + d; threadCPU() < until; {
		hash(10)
	}
}

func threadCPU() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		panic(err)
	}
	return time.Duration(ts.Nano())
}

var sink atomic.Uint32

func hash(times int) {
	var sum [32]byte
	for range times {
		sum = sha256.Sum256(sum[:])
	}
	sink.Store(uint32(sum[0]))
}
