//go:build linux

// Load shows how true and how cheap dyno's load generator is, beside wrk, hey,
// oha and a bare net/http client: what each costs, the memory it takes, and how
// far its percentiles are from those of a server that knows the truth.
//
//	go run ./load                all of it, about five minutes
//	go run ./load -only stall    one part: cost, memory, truth or stall
//	go run ./load -check         exit status 1 if dyno missed a goal
//
// It builds dyno and hey into a temporary directory and runs them as a user
// would. The server is this program, started once more. Nothing of dyno is
// imported, so that no mistake is made twice.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dynolab/dyno/eval/internal/program"
)

func main() {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "server": // [-busy]
			program.Exit(programName, serve(len(os.Args) > 2))
		case "nethttp": // url connections duration
			n, err1 := strconv.Atoi(os.Args[3])
			d, err2 := time.ParseDuration(os.Args[4])
			program.Exit(programName, errors.Join(err1, err2, nethttp(os.Args[2], n, d)))
		}
	}
	runtime.LockOSThread() // see cpus
	var o options
	flag.StringVar(&o.only, "only", "", "one part of `cost|memory|truth|stall`")
	flag.IntVar(&o.rounds, "rounds", 0, "runs of each generator (default 7 for cost, 3 for memory and truth, 1 for stall)")
	flag.BoolVar(&o.check, "check", false, "exit with status 1 if a figure of dyno missed its goal")
	flag.BoolVar(&o.realtime, "rt", false, "give server and generators real-time priority, for a machine that is not quiet (needs root)")
	flag.StringVar(&o.dyno, "dyno", "", "measure this `program` instead of building ./cmd/dyno")
	flag.Parse()
	if flag.NArg() > 0 || o.rounds < 0 || o.only != "" && !slices.Contains(parts, o.only) {
		flag.Usage()
		os.Exit(2)
	}
	program.Main(programName, func(ctx context.Context) error { return measure(ctx, o, os.Stdout) })
}

const programName = "eval/load"

var parts = []string{"cost", "memory", "truth", "stall"}

type options struct {
	only, dyno string
	rounds     int // 0: each part's own
	check      bool
	realtime   bool
}

// A bench is the state of one run of this program.
type bench struct {
	*cpus
	*target
	goals program.Goals
	options
	dir        string // temporary
	generators []generator
}

func measure(ctx context.Context, o options, w io.Writer) error {
	// A limit that was set here is what the children get, instead of the one of before.
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil {
		files.Cur = files.Max
		syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: files.Cur, Max: files.Max})
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c, err := findCPUs()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "dyno-eval-load-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c.realtime = o.realtime
	b := &bench{cpus: &c, goals: program.Goals{W: w, Width: 52}, options: o, dir: dir}
	gs, notes, err := findGenerators(ctx, b.cpus, dir, self, o.dyno)
	if err != nil {
		return err
	}
	b.generators = gs
	b.about(notes)
	for _, part := range []struct {
		name string
		busy bool
		run  func(context.Context) error
	}{{"cost", true, b.cost}, {"memory", true, b.memory}, {"truth", false, b.truths}, {"stall", false, b.stalls}} {
		if o.only != "" && o.only != part.name {
			continue
		}
		if b.target, err = b.startServer(ctx, self, part.busy); err != nil {
			return err
		}
		err := part.run(ctx)
		b.stop()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
	}
	return b.goals.Conclude(o.check)
}

// about says what was measured, on what, and what is missing.
func (b *bench) about(notes []string) {
	w := b.goals.W
	fmt.Fprintln(w, program.Machine())
	fmt.Fprintf(w, "server on CPU %d, generator on CPU %d%s\n", b.cpus.server, b.generator, map[bool]string{true: ", both real-time"}[b.options.realtime])
	for _, g := range b.generators {
		fmt.Fprintf(w, "  %-9s %s\n", g.name, g.version)
	}
	for _, n := range notes {
		fmt.Fprintf(w, "note: %s\n", n)
	}
}

// run runs a generator on its CPU, between /reset and /truth.
func (b *bench) run(ctx context.Context, seconds int, argv []string) (usage, truth, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Duration(seconds+30)*time.Second, errors.New("it did not end"))
	defer cancel()
	if err := b.reset(); err != nil {
		return usage{}, truth{}, err
	}
	u, err := b.cpus.run(ctx, b.dir, b.generator, argv...)
	if err != nil {
		return u, truth{}, err
	}
	t, err := b.target.truth()
	return u, t, err
}

// times is how many rounds to play: n, unless the user says.
func (b *bench) times(n int) int {
	if b.rounds > 0 {
		return b.rounds
	}
	return n
}
