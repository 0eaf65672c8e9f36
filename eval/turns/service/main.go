// Service is what eval/turns measures: services whose truth is known by construction. The
// argument says which one; the environment has its numbers.
//
//	spin   a request hashes ITERS times (10000)
//	tail   3 % of requests hash LONG times (10000), all others ITERS times (2000)
//	alloc  a request decodes and encodes a document of 1 KB and keeps it among the last LIVE (3000)
//	stall  what arrives in the first 500 ms of every 2 s is answered at their end
//
// NEIGHBOUR makes spin, tail and alloc something else, to live beside another instance: "idle"
// answers at once, "cache" writes to 16 MB of memory in each request.
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"
)

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "service:", err)
		os.Exit(1)
	}
}

func serve() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("want one argument: spin, tail, alloc or stall")
	}
	h, err := handler(os.Args[1], os.Getenv("NEIGHBOUR"))
	if err != nil {
		return err
	}
	return http.ListenAndServe(net.JoinHostPort("127.0.0.1", os.Getenv("PORT")), h)
}

func handler(kind, neighbour string) (http.Handler, error) {
	switch neighbour {
	case "", "none":
	case "idle":
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "idle") }), nil
	case "cache":
		return newCache(16 << 20), nil
	default:
		return nil, fmt.Errorf("no NEIGHBOUR %q (want none, idle or cache)", neighbour)
	}
	switch kind {
	case "spin":
		n, err := number("ITERS", 10_000)
		return spin{n}, err
	case "tail":
		short, err := number("ITERS", 2000)
		if err != nil {
			return nil, err
		}
		long, err := number("LONG", 10_000)
		return &tail{short: short, long: long}, err
	case "alloc":
		live, err := number("LIVE", 3000)
		if err != nil {
			return nil, err
		}
		return newJournal(live), nil
	case "stall":
		return stall{time.Now()}, nil
	}
	return nil, fmt.Errorf("no service %q (want spin, tail, alloc or stall)", kind)
}

// number is a whole number above 0 from the environment.
func number(name string, otherwise int) (int, error) {
	s := os.Getenv(name)
	if s == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%s=%q (want a number above 0)", name, s)
	}
	return n, nil
}
