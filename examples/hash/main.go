// Command hash is a service that lives on memory and CPU time: for each request
// it reads one file as a whole, and hashes it. The file is generated, so nothing
// is downloaded, and nothing but the standard library is used.
//
//	GET /hash        SHA-512 of the file and of a random number, in hex
//	GET /debug/vars  what package expvar publishes: memstats, cmdline
//	GET /healthz     ok
//
// It is dyno's example of a service that is all large, short-lived objects
// without pointers: each request makes garbage of the file's size, and what is
// alive is the requests under way. Marking costs next to nothing, so what
// GOGC=off and GOMEMLIMIT change is where the memory comes from: fresh from the
// system, or used before.
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options are the command line.
type options struct {
	addr  string        // TCP address to listen on; port 0 chooses a free one
	size  int64         // bytes of the file
	seed  uint64        // of its content
	grace time.Duration // how long requests in flight may take after SIGTERM
}

func main() {
	var o options
	flag.StringVar(&o.addr, "addr", "127.0.0.1:8080", "listen on `host:port`")
	flag.Int64Var(&o.size, "size", 100<<20, "of the file, in `bytes`")
	flag.Uint64Var(&o.seed, "seed", 1, "of its content")
	flag.DurationVar(&o.grace, "grace", 5*time.Second, "time for open requests at shutdown")
	flag.Parse()
	if err := o.check(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "hash:", err)
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
	case o.size < 0:
		return fmt.Errorf("-size %d: must not be negative", o.size)
	}
	return nil
}

// run makes the file and serves until ctx ends. The file is gone then.
func run(ctx context.Context, o options) (err error) {
	file, err := generate(o.size, o.seed)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(file)) }()

	// Listening comes last: a service that accepts connections is ready.
	ln, err := net.Listen("tcp", o.addr)
	if err != nil {
		return err
	}
	return serve(ctx, ln, routes(file), o.grace)
}

// generate makes a temporary file of size bytes and returns its name. The same
// seed gives the same content.
func generate(size int64, seed uint64) (name string, err error) {
	f, err := os.CreateTemp("", "hash-*.bin")
	if err != nil {
		return "", err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	_, err = io.CopyN(w, &noise{rand.NewPCG(seed, 0)}, size)
	err = errors.Join(err, w.Flush(), f.Close())
	if err != nil {
		return "", errors.Join(fmt.Errorf("generate file: %w", err), os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// noise is random bytes without end.
type noise struct{ pcg *rand.PCG }

func (n *noise) Read(p []byte) (int, error) {
	var word [8]byte
	for i := 0; i < len(p); i += copy(p[i:], word[:]) {
		binary.LittleEndian.PutUint64(word[:], n.pcg.Uint64())
	}
	return len(p), nil
}

// serve answers requests on ln until ctx ends, then gives those in flight as
// long as grace to finish. It closes ln.
func serve(ctx context.Context, ln net.Listener, h http.Handler, grace time.Duration) error {
	// Hashing is not preempted, so a request that has arrived may wait for
	// seconds until it is read: a time-out for that has to be generous.
	srv := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute, IdleTimeout: 2 * time.Minute}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	last, stop := context.WithTimeout(context.Background(), grace)
	defer stop()
	if err := srv.Shutdown(last); err != nil {
		return errors.Join(err, srv.Close())
	}
	return nil
}
