// Command pipeline is what a talk about Go's performance measured, as a
// service: a pipeline of goroutines whose stages work on strings, and many
// goroutines beside as many threads of the operating system.
//
//	GET /run?n=30&len=10   sends n strings through the pipeline -> {"strings":30,"bytes":300}
//	GET /tasks?n=200000    runs n small tasks on a pool of workers -> {"tasks":200000,…}
//	GET /healthz           {"status":"ok"}
//
// It is in one of three modes. In the mode run, the stages lower and title work
// rune by rune (-variant slow) or by the functions of package strings (fast). In
// the mode sleepers, -n workers sleep and the service is ready when all of them
// do. In the mode tasks, /tasks has a pool of -pool workers. A worker is a
// goroutine, or a goroutine with a thread of its own (-kind threads), or with
// -kind java the service is the same in Java, on threads.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// options are the command line.
type options struct {
	addr    string // TCP address to listen on; port 0 chooses a free one
	mode    string // run, sleepers or tasks
	variant string // of run: slow or fast
	workers int    // of run: of each stage
	kind    string // of sleepers and tasks: goroutines, threads or java
	n       int    // of sleepers: how many
	pool    int    // of tasks: workers
}

func main() {
	var o options
	flag.StringVar(&o.addr, "addr", "127.0.0.1:8080", "listen on `host:port`")
	flag.StringVar(&o.mode, "mode", "run", "what to do: run, sleepers or tasks")
	flag.StringVar(&o.variant, "variant", "slow", "the pipeline's stages: slow or fast")
	flag.IntVar(&o.workers, "workers", runtime.NumCPU(), "workers of each stage of the pipeline")
	flag.StringVar(&o.kind, "kind", "goroutines", "what sleeps or runs tasks: goroutines, threads or java")
	flag.IntVar(&o.n, "n", 1000, "sleepers")
	flag.IntVar(&o.pool, "pool", 100, "workers that run tasks")
	flag.Parse()
	if err := o.check(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "pipeline:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "pipeline:", err)
		os.Exit(1)
	}
}

// mostWorkers is more than a machine has threads for.
const mostWorkers = 1_000_000

func (o options) check(args []string) error {
	_, known := variants[o.variant]
	switch {
	case len(args) > 0:
		return fmt.Errorf("unexpected argument %q", args[0])
	case o.mode != "run" && o.mode != "sleepers" && o.mode != "tasks":
		return fmt.Errorf("-mode %q: want run, sleepers or tasks", o.mode)
	case !known:
		return fmt.Errorf("-variant %q: want slow or fast", o.variant)
	case o.kind != "goroutines" && o.kind != "threads" && o.kind != "java":
		return fmt.Errorf("-kind %q: want goroutines, threads or java", o.kind)
	case o.kind == "java" && o.mode == "run":
		return errors.New("-kind java: there is no pipeline in Java (want -mode sleepers or tasks)")
	}
	for _, f := range []struct {
		name  string
		value int
	}{{"workers", o.workers}, {"n", o.n}, {"pool", o.pool}} {
		if f.value < 1 || f.value > mostWorkers {
			return fmt.Errorf("-%s %d: want 1 to %d", f.name, f.value, mostWorkers)
		}
	}
	return nil
}

// threads is how many threads the options ask for, beside those of the runtime.
func (o options) threads() int {
	switch {
	case o.kind == "goroutines" || o.mode == "run":
		return 0
	case o.mode == "sleepers":
		return o.n
	}
	return o.pool
}

// run does what the options say until ctx ends.
func run(ctx context.Context, o options) error {
	if n := o.threads(); n > 0 {
		if err := roomForThreads(os.DirFS("/"), n); err != nil {
			return err
		}
	}
	if o.kind == "java" {
		return becomeJava(o)
	}
	ctx, cancel := context.WithCancel(ctx)
	if o.mode == "sleepers" {
		defer sleep(ctx, o.n, o.kind == "threads")()
	}
	defer cancel()
	// Listening comes last: a service that accepts connections is ready.
	ln, err := net.Listen("tcp", o.addr)
	if err != nil {
		return err
	}
	return serve(ctx, ln, routes(o))
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
