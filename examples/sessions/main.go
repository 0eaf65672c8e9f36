// Command sessions is a small identity service: users log in with a password,
// get a session, keep a JSON document in it, and log out. Everything is in
// memory and nothing but the standard library is used.
//
//	POST   /sessions             {"user":"demo","password":"demo"} -> 201 {"id":"…"}
//	PATCH  /sessions/{id}        RFC 7386 merge patch -> the merged document
//	DELETE /sessions/{id}        204
//	GET    /sessions/{id}/audit  the last changes of the document, oldest first
//	GET    /healthz              {"status":"ok", …}
//
// It is dyno's example subject. It allocates as such services do (JSON in and
// out, copies, audit entries) over a live heap that does not grow with the
// number of requests, so what it shows under another GOGC is the collector's
// doing and not its own. All it knows is gone when it stops.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// options are the command line.
type options struct {
	addr     string        // TCP address to listen on; port 0 chooses a free one
	users    int           // users of the imported directory, beside those of config.json
	sessions int           // most sessions open at a time
	ttl      time.Duration // a session not used for so long is closed
	grace    time.Duration // how long requests in flight may take after SIGTERM
}

func main() {
	var o options
	flag.StringVar(&o.addr, "addr", "127.0.0.1:8080", "listen on `host:port`")
	flag.IntVar(&o.users, "users", 10000, "size of the imported directory")
	flag.IntVar(&o.sessions, "sessions", 10000, "most sessions open at a time")
	flag.DurationVar(&o.ttl, "ttl", 30*time.Minute, "close sessions not used for this long")
	flag.DurationVar(&o.grace, "grace", 5*time.Second, "time for open requests at shutdown")
	flag.Parse()
	if err := o.check(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "sessions:", err)
		os.Exit(2)
	}

	var level slog.Level // info, unless LOG_LEVEL says otherwise
	if s := os.Getenv("LOG_LEVEL"); s != "" {
		if err := level.UnmarshalText([]byte(s)); err != nil {
			fmt.Fprintln(os.Stderr, "sessions: read LOG_LEVEL:", err)
			os.Exit(2)
		}
	}
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})))

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
	case o.users < 0:
		return fmt.Errorf("-users %d: must not be negative", o.users)
	case o.sessions <= 0:
		return fmt.Errorf("-sessions %d: must be positive", o.sessions)
	case o.ttl < time.Second:
		return fmt.Errorf("-ttl %v: must be at least 1s", o.ttl)
	}
	return nil
}

// run builds the service and serves it until ctx ends.
func run(ctx context.Context, o options) error {
	users, err := loadDirectory(initialConfig)
	if err != nil {
		return err
	}
	users.generate(o.users)

	// Listening comes last: a service that accepts connections is ready.
	ln, err := net.Listen("tcp", o.addr)
	if err != nil {
		return err
	}
	slog.Info("listening", "addr", ln.Addr().String(), "users", users.len())
	return serve(ctx, ln, users, newStore(o.sessions, o.ttl), o.grace)
}

// serve answers requests on ln until ctx ends, then gives those in flight as
// long as grace to finish. It closes ln.
func serve(ctx context.Context, ln net.Listener, users *directory, sessions *store, grace time.Duration) error {
	srv := &http.Server{
		Handler:           newAPI(users, sessions).routes(),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
	}

	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Add(1)
	go func() {
		defer wg.Done()
		sessions.janitor(ctx)
	}()

	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	select {
	case err := <-served:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	slog.Info("shutting down")
	last, stop := context.WithTimeout(context.Background(), grace)
	defer stop()
	if err := srv.Shutdown(last); err != nil {
		srv.Close()
		return fmt.Errorf("shut down: %w", err)
	}
	return nil
}
