//go:build linux

// Services shows whether dyno measures public services as a user would want it to: it runs dyno
// on ten of them, and holds memory, collections, latency and throughput against what the kernel,
// the runtime's own trace and wrk say.
//
//	go run ./services                    all of them, some twenty minutes and their builds
//	go run ./services -only caddy,opa   some of them
//	go run ./services -check             exit status 1 if a goal was missed
//
// Nothing of dyno is imported, so that no mistake is made twice.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno/eval/internal/program"
)

const programName = "eval/services"

type options struct {
	only, dyno, keep string
	check            bool
	within           time.Duration
	rounds           int
}

func main() {
	runtime.LockOSThread() // a child ends with the thread that starts it (Pdeathsig)
	var o options
	flag.StringVar(&o.only, "only", "", "`names` of services, with commas between")
	flag.BoolVar(&o.check, "check", false, "exit with status 1 if a goal was missed, or has no figure")
	flag.StringVar(&o.dyno, "dyno", "", "measure this `program` instead of building ./cmd/dyno")
	flag.StringVar(&o.keep, "keep", "", "keep plans and run directories in this `dir`ectory")
	flag.DurationVar(&o.within, "within", time.Minute, "`time` for the blocks of a run of dyno")
	flag.IntVar(&o.rounds, "rounds", 5, "`number` of rounds of dyno load, wrk and hey")
	flag.Parse()
	chosen, err := choose(o.only)
	if err != nil || flag.NArg() > 0 || o.rounds < 1 || o.within <= 0 {
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", programName, err)
		}
		flag.Usage()
		os.Exit(2)
	}
	program.Main(programName, func(ctx context.Context) error { return measure(ctx, o, chosen, os.Stdout) })
}

func choose(only string) ([]service, error) {
	if only == "" {
		return services, nil
	}
	var chosen []service
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(services, func(s service) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no service %q", name)
		}
		chosen = append(chosen, services[i])
	}
	return chosen, nil
}

// A bench is the state of one run of this program.
type bench struct {
	options
	dir, temp string // of what is kept; of what is not
	hey, wrk  string // their paths, "" if they are not there
}

func measure(ctx context.Context, o options, chosen []service, w io.Writer) error {
	p, err := program.NewPlace(ctx, programName, o.keep, o.dyno)
	defer os.RemoveAll(p.Temp)
	if err != nil {
		return err
	}
	b := &bench{options: o, dir: p.Dir, temp: p.Temp}
	b.dyno = p.Dyno
	if err := b.findTools(ctx); err != nil {
		return err
	}
	fmt.Fprintln(w, program.Machine())
	goals := program.Goals{W: w, Width: 66}
	var rows []row
	for _, s := range chosen {
		program.Progress("%s", s.name)
		r, err := b.service(ctx, s)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			program.Progress("%s: %v", s.name, err)
			r.err = err
		}
		rows = append(rows, r)
	}
	printRows(w, rows)
	for _, r := range rows {
		r.judge(&goals)
	}
	return goals.Conclude(o.check)
}

// service measures one of them in all ways.
func (b *bench) service(ctx context.Context, s service) (row, error) {
	r := row{service: s}
	if err := b.dynoRun(ctx, &r); err != nil {
		return r, err
	}
	return r, b.alternate(ctx, &r)
}
