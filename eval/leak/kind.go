package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	burstRate = 190             // requests a second of bursts.yaml, nearly
	warmup    = 5 * time.Second // as the plans say

	recordSize    = 32  // what a leaked piece takes beside its bytes; see examples/testdata/leaks
	goroutineSize = 713 // heap of a leaked goroutine beside its bytes, measured with Go 1.26; its stack is 2 KiB more, which is no heap
)

// A kind is a service with a known truth.
type kind struct {
	name string
	// flags are dyno's for run n, from 0, with a window of d: runs of a kind differ.
	flags func(n int, d time.Duration) []string
	// leaks are the true leaks of run n; nil if it has none.
	leaks func(n int) []truth
}

// A job is one run of dyno.
type job struct {
	kind kind
	n    int // of its kind, from 0
	plan string
	d    time.Duration
}

func (j job) String() string { return fmt.Sprintf("%s-%02d", strings.Fields(j.kind.name)[0], j.n+1) }

// A truth is a leak that is there.
type truth struct {
	what    string  // "heap", or the name that dyno has for it
	perReq  float64 // bytes per request, or for "goroutines" a number
	site    string  // mark of its lines in the service's source
	creator string  // part of the function's name
}

func names() []string {
	var ns []string
	for _, k := range kinds {
		ns = append(ns, k.name)
	}
	return ns
}

var kinds = []kind{
	leak("leak-1", 1<<10), leak("leak-10", 10<<10), leak("leak-100", 100<<10), goroutines,
	{name: "fill", flags: func(n int, d time.Duration) []string {
		// Full after 1.15 requests for each entry: in the second to fourth eighth of the window.
		full := warmup + d*time.Duration(2+n%3)/8
		return mode("fill", "entries", int(burstRate*full.Seconds()/1.15))
	}},
	{name: "expiry", flags: func(n int, d time.Duration) []string {
		return append(mode("expiry"), "--arg", "ttl="+[]string{"8s", "15s", "30s"}[n%3])
	}},
	{name: "saw", flags: func(n int, d time.Duration) []string {
		return append(mode("steady"), "--env", "GOGC="+[]string{"400", "800"}[n%2])
	}},
	{name: "step", flags: func(n int, d time.Duration) []string {
		at := warmup + d*time.Duration(2+3*(n%3))/10
		return append(mode("step", "size", []int{2 << 20, 6 << 20, 20 << 20}[n/3%3]), "--arg", "at="+at.String())
	}},
	{name: "reload", flags: func(n int, d time.Duration) []string {
		return append(mode("reload", "size", []int{1 << 20, 4 << 20}[n%2]), "--arg", "ttl="+[]string{"7s", "20s", "45s"}[n%3])
	}},
	{name: "batch", flags: func(n int, d time.Duration) []string {
		return mode("batch", "entries", []int{500, 2000, 5000}[n%3])
	}},
	{name: "ring", flags: func(n int, d time.Duration) []string {
		// Full in the warm-up, or after 1/5 or 2/5 of the window.
		return mode("ring", "entries", int(burstRate*(warmup/2+d*time.Duration(n%3)/5).Seconds()))
	}},
	{name: "workers", flags: func(n int, d time.Duration) []string {
		// All are there in the warm-up, or after 1/5 or 2/5 of the window.
		return mode("workers", "entries", int(burstRate/8*(warmup/2+d*time.Duration(n%3)/5).Seconds()))
	}},
	{name: "buffers", flags: func(n int, d time.Duration) []string {
		return append(mode("buffers"), "--env", "GOGC="+[]string{"100", "50", "200"}[n%3])
	}},
	{name: "steady", flags: func(n int, d time.Duration) []string {
		return append(mode("steady"), "--env", "GOGC="+[]string{"100", "50", "200"}[n%3])
	}},
}

// chunks are size classes of the runtime, so that a piece takes what it says.
var chunks = []int{64, 256, 1024, 4096}

// leak keeps some bytes of every 1,000 requests.
func leak(name string, bytes int) kind {
	return kind{name: name,
		flags: func(n int, d time.Duration) []string {
			return mode("leak", "leak", bytes, "chunk", chunks[n%len(chunks)])
		},
		leaks: func(int) []truth {
			return []truth{{what: "heap", perReq: float64(bytes) / 1000, site: "truth: leak", creator: "journal).add"}}
		}}
}

var everies = []int{10, 20, 40} // requests for one goroutine

var goroutines = kind{name: "goroutine",
	flags: func(n int, d time.Duration) []string { return mode("goroutine", "every", everies[n%3], "chunk", 1024) },
	leaks: func(n int) []truth {
		each := 1 / float64(everies[n%3])
		return []truth{
			{what: "goroutines", perReq: each, creator: "shop).notify"},
			{what: "heap", perReq: each * (1024 + goroutineSize), creator: "shop).notify"},
		}
	}}

// fast is what three minutes must be enough for. Its connections are few, so that all
// are open soon: those that an open load opens after a hiccup are 12 KiB of live heap
// each, and 150 of them more than this leak makes in a minute.
var fast = kind{name: "leak-10 at 2,000/s",
	flags: func(n int, d time.Duration) []string {
		return append(mode("leak", "leak", 10<<10, "chunk", chunks[n%len(chunks)]), "-r", "2000/s", "-c", "16")
	},
	leaks: leak("", 10<<10).leaks}

func mode(name string, args ...any) []string {
	flags := []string{"--arg", "mode=" + name}
	for i := 0; i < len(args); i += 2 {
		flags = append(flags, "--arg", args[i].(string)+"="+strconv.Itoa(args[i+1].(int)))
	}
	return flags
}
