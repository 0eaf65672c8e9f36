//go:build linux

// Predict holds what dyno predict says of settings against what is measured there: it measures a service
// at GOGC=100, writes down what dyno predicts of eight other settings, and then measures these.
//
//	go run ./predict                       all workloads, some 25 minutes
//	go run ./predict -only cache,tree      some of them
//	go run ./predict -check                exit status 1 if a goal was missed
//	go run ./predict -receipts             hold receipts against runs at other rates, some 40 minutes
//
// Nothing of dyno is imported, so that no mistake is made twice.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno/eval/internal/program"
)

const programName = "eval/predict"

type options struct {
	only, dyno, keep string
	check            bool
	launches         int
	window           time.Duration
	experiment       string
	held             bool
}

func main() {
	var o options
	flag.StringVar(&o.only, "only", "", "`names` of workloads, with commas between")
	flag.StringVar(&o.dyno, "dyno", "", "measure this `program` instead of building ./cmd/dyno")
	flag.StringVar(&o.keep, "keep", "", "keep plans, run directories and predictions.jsonl in this `dir`ectory")
	flag.BoolVar(&o.check, "check", false, "exit with status 1 if a goal was missed, or has no figure")
	flag.IntVar(&o.launches, "launches", 2, "`number` of launches of each setting, twice as many of the base")
	flag.DurationVar(&o.window, "window", 5*time.Second, "`time` for which each launch is measured")
	flag.StringVar(&o.experiment, "experiment", "", "GOEXPERIMENT of the service, such as nogreenteagc")
	flag.BoolVar(&o.held, "receipts", false, "keep predictions as receipts, and hold them against runs at 0.7, 1 and 1.3 times the rate")
	flag.Parse()
	chosen, err := choose(o.only)
	if err != nil || flag.NArg() > 0 || o.launches < 1 || o.window <= 0 {
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", programName, err)
		}
		flag.Usage()
		os.Exit(2)
	}
	program.Main(programName, func(ctx context.Context) error { return measure(ctx, o, chosen, os.Stdout) })
}

// A workload is one of the service's, with its live heap.
type workload struct {
	name string
	live int // MiB
}

// workloads are those of service. The last two are outside of what the model knows, which it has to say.
var workloads = []workload{
	{"cache", 40},
	{"bytes", 50},
	{"tree", 24},
	{"stacks", 48},
	{"words", 30},
	{"lists", 24},
	{"rows", 40},
	{"slabs", 60},
	{"small", 2},
	{"phased", 24},
}

func choose(only string) ([]workload, error) {
	if only == "" {
		return workloads, nil
	}
	var chosen []workload
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(workloads, func(w workload) bool { return w.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no workload %q", name)
		}
		chosen = append(chosen, workloads[i])
	}
	return chosen, nil
}

// A bench is the state of one run of this program.
type bench struct {
	options
	dir, service string
	log          *os.File // predictions, a line each, before their settings are measured
}

func measure(ctx context.Context, o options, chosen []workload, w io.Writer) error {
	p, err := program.NewPlace(ctx, programName, o.keep, o.dyno)
	defer os.RemoveAll(p.Temp)
	if err != nil {
		return err
	}
	b := &bench{options: o, dir: p.Dir}
	b.dyno = p.Dyno
	root, err := program.Root(ctx)
	if err != nil {
		return err
	}
	b.service = filepath.Join(root, "eval", "predict", "service")
	if b.log, err = os.OpenFile(filepath.Join(b.dir, "predictions.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666); err != nil {
		return err
	}
	defer b.log.Close()
	fmt.Fprintln(w, program.Machine())
	if o.held {
		return b.receipts(ctx, chosen, w)
	}
	var rows []row
	for _, x := range chosen {
		program.Progress("%s", x.name)
		got, err := b.workload(ctx, x)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", x.name, err)
		}
		printRows(w, x, got)
		rows = append(rows, got...)
	}
	goals := program.Goals{W: w, Width: 60}
	conclude(w, &goals, rows)
	return goals.Conclude(o.check)
}
