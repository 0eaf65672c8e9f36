//go:build linux

// Tune holds dyno tune against an exhaustive grid: how far is the setting that it recommends from the best of the
// grid, in which part of the time? With -keep-is-best, it asks how often dyno tune recommends a change where nothing helps.
//
//	go run ./tune                    four services, some 45 minutes
//	go run ./tune -keep-is-best      thirty services for which today's setting is the best, some 35 minutes
//	go run ./tune -check             exit status 1 if a goal was missed
//
// Nothing of dyno is imported, so that no mistake is made twice.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno/eval/internal/program"
)

const programName = "eval/tune"

type options struct {
	only, dyno, keep string
	check, best      bool
	total            time.Duration
	blocks           int
}

func main() {
	o := options{}
	flag.StringVar(&o.only, "only", "", "`names` of services, with commas between")
	flag.StringVar(&o.dyno, "dyno", "", "measure this `program` instead of building ./cmd/dyno")
	flag.StringVar(&o.keep, "keep", "", "keep plans and directories in this `dir`ectory")
	flag.BoolVar(&o.check, "check", false, "exit with status 1 if a goal was missed, or has no figure")
	flag.BoolVar(&o.best, "keep-is-best", false, "tune services for which today's setting is the best")
	flag.DurationVar(&o.total, "total", 0, "`time` of each tuning (default 2m, with -keep-is-best 40s)")
	flag.IntVar(&o.blocks, "blocks", 0, "`number` of blocks of each grid (default 24, with -keep-is-best 3)")
	flag.Parse()
	if flag.NArg() > 0 || o.total < 0 || o.blocks < 0 {
		flag.Usage()
		os.Exit(2)
	}
	program.Main(programName, func(ctx context.Context) error { return measure(ctx, o) })
}

// A bench is the state of one run of this program.
type bench struct {
	options
	dir, root string
}

func measure(ctx context.Context, o options) error {
	p, err := program.NewPlace(ctx, programName, o.keep, o.dyno)
	defer os.RemoveAll(p.Temp)
	if err != nil {
		return err
	}
	b := &bench{options: o, dir: p.Dir}
	b.dyno = p.Dyno
	if b.root, err = program.Root(ctx); err != nil {
		return err
	}
	fmt.Println(program.Machine())
	goals := program.Goals{W: os.Stdout, Width: 60}
	part := b.found
	if o.best {
		part = b.kept
	}
	if err := part(ctx, &goals); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
	return goals.Conclude(o.check)
}

// chosen reports whether a service is asked for.
func (o *options) chosen(name string) bool {
	return o.only == "" || slices.Contains(strings.Split(o.only, ","), name)
}
