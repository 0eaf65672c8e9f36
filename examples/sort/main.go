// Command sort is a service that computes, and that asks the Go runtime about
// its memory in every request, as one would to log it.
//
//	GET /sort?size=1024   fills a slice with random numbers and answers with them, sorted, in JSON
//	GET /healthz          {"status":"ok"}
//
// What it asks is -call: nothing (none), runtime.ReadMemStats (memstats), the
// text of pprof.Lookup("heap") (heap), its compressed form (heap0), or
// runtime/metrics (metrics). With -work wait a request computes nothing and
// waits for a backend instead, over a loopback connection, for -wait.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options are the command line.
type options struct {
	addr string        // TCP address to listen on; port 0 chooses a free one
	size int           // numbers that a request sorts, unless it says so itself
	call string        // of calls
	work string        // sort or wait
	wait time.Duration // of the backend
}

func main() {
	var o options
	flag.StringVar(&o.addr, "addr", "127.0.0.1:8080", "listen on `host:port`")
	flag.IntVar(&o.size, "size", 1024, "numbers to sort")
	flag.StringVar(&o.call, "call", "none", "what each request asks the runtime: none, memstats, heap, heap0 or metrics")
	flag.StringVar(&o.work, "work", "sort", "what a request does: sort, or wait for a backend")
	flag.DurationVar(&o.wait, "wait", 3*time.Millisecond, "how long the backend takes")
	flag.Parse()
	if err := o.check(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "sort:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "sort:", err)
		os.Exit(1)
	}
}

func (o options) check(args []string) error {
	_, known := calls[o.call]
	switch {
	case len(args) > 0:
		return fmt.Errorf("unexpected argument %q", args[0])
	case o.size < 1 || o.size > mostSize:
		return fmt.Errorf("-size %d: want 1 to %d", o.size, mostSize)
	case !known:
		return fmt.Errorf("-call %q: want none, memstats, heap, heap0 or metrics", o.call)
	case o.work != "sort" && o.work != "wait":
		return fmt.Errorf("-work %q: want sort or wait", o.work)
	case o.wait < 0 || o.wait > time.Minute:
		return fmt.Errorf("-wait %v: want 0s to 1m", o.wait)
	}
	return nil
}

// run serves until ctx ends.
func run(ctx context.Context, o options) error {
	work := sortedNumbers
	if o.work == "wait" {
		b, err := newBackend(o.wait)
		if err != nil {
			return fmt.Errorf("start the backend: %w", err)
		}
		defer b.Close()
		work = b.work
	}
	// Listening comes last: a service that accepts connections is ready.
	ln, err := net.Listen("tcp", o.addr)
	if err != nil {
		return err
	}
	return serve(ctx, ln, routes(o.size, work, calls[o.call]))
}

// serve answers requests on ln until ctx ends, then gives those in flight a
// moment to finish. It closes ln.
func serve(ctx context.Context, ln net.Listener, h http.Handler) error {
	srv := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       2 * time.Minute,
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	last, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	if err := srv.Shutdown(last); err != nil {
		srv.Close()
		return fmt.Errorf("shut down: %w", err)
	}
	return nil
}
