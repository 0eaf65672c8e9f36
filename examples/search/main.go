// Command search is a small news search: it holds three RSS feeds in a cache
// and finds the items whose descriptions contain a term, in upper or lower case.
// The feeds are generated, so nothing is downloaded, and nothing but the
// standard library is used.
//
//	POST /search?term=topic&cnn=on&bbc=on&nyt=on  the page of results, HTML
//	GET  /                                        the form
//	GET  /feeds/cnn.xml                           a feed, as it was generated
//	GET  /healthz                                 ok
//
// It is dyno's example of a service that allocates more than it needs to. With
// -variant with, the search makes a lower-case copy of every description, for
// every request; with -variant without, the copies are made once, when a feed
// comes into the cache. The answers are the same to the byte.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options are the command line.
type options struct {
	addr    string        // TCP address to listen on; port 0 chooses a free one
	variant string        // "with" or "without" the extra allocations
	pprof   string        // TCP address for profiles, "" for none
	seed    uint64        // of the feeds' text
	items   int           // in each feed
	ttl     time.Duration // how long a feed is good for
	grace   time.Duration // how long requests in flight may take after SIGTERM
}

func main() {
	var o options
	flag.StringVar(&o.addr, "addr", "127.0.0.1:5000", "listen on `host:port`")
	flag.StringVar(&o.variant, "variant", "with", "search `with` or without the extra allocations")
	flag.StringVar(&o.pprof, "pprof", "", "serve /debug/pprof/ on this `host:port`")
	flag.Uint64Var(&o.seed, "seed", 1, "of the text of the feeds")
	flag.IntVar(&o.items, "items", 100, "in each feed")
	flag.DurationVar(&o.ttl, "ttl", 15*time.Minute, "read a feed again when it is this old")
	flag.DurationVar(&o.grace, "grace", 5*time.Second, "time for open requests at shutdown")
	flag.Parse()
	if err := o.check(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "search:", err)
		os.Exit(2)
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		slog.Error("stopped", "err", err)
		os.Exit(1)
	}
}

func (o options) check(args []string) error {
	switch {
	case len(args) > 0:
		return fmt.Errorf("unexpected argument %q", args[0])
	case o.variant != "with" && o.variant != "without":
		return fmt.Errorf("-variant %s: want with or without", o.variant)
	case o.items <= 0:
		return fmt.Errorf("-items %d: must be positive", o.items)
	case o.ttl <= 0:
		return fmt.Errorf("-ttl %v: must be positive", o.ttl)
	}
	return nil
}

// run generates the feeds and serves until ctx ends. The files are gone then.
func run(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp("", "search")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := generate(dir, o.seed, o.items); err != nil {
		return err
	}
	a := newApp(dir, o.ttl, o.variant == "with")
	if err := a.warm(); err != nil {
		return err
	}

	// Listening comes last: a service that accepts connections is ready.
	lns := make([]net.Listener, 0, 2)
	handlers := []http.Handler{a.routes(), profiles()}
	for _, addr := range []string{o.addr, o.pprof} {
		if addr == "" {
			continue
		}
		ln, err := net.Listen("tcp", addr)
		if err != nil {
			return err
		}
		defer ln.Close()
		lns = append(lns, ln)
	}
	return serve(ctx, lns, handlers, o.grace)
}

// profiles has handlers of its own: none of them is on the service's port.
func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// serve answers requests on each listener by its handler until ctx ends, then
// gives those in flight as long as grace to finish.
func serve(ctx context.Context, lns []net.Listener, handlers []http.Handler, grace time.Duration) error {
	served := make(chan error, len(lns))
	servers := make([]*http.Server, len(lns))
	for i, ln := range lns {
		srv := &http.Server{Handler: handlers[i], ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute}
		servers[i] = srv
		go func() { served <- srv.Serve(ln) }()
	}
	var err error
	select {
	case err = <-served:
	case <-ctx.Done():
	}
	last, stop := context.WithTimeout(context.Background(), grace)
	defer stop()
	for _, srv := range servers {
		if serr := srv.Shutdown(last); serr != nil {
			srv.Close()
			err = errors.Join(err, serr)
		}
	}
	return err
}
