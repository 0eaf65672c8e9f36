//go:build linux

// Leak shows whether dyno finds the leaks that are there, and none where there is
// none: it runs services of which the truth is known, many at once, and holds
// what dyno says against it.
//
//	go run ./leak                        all of it, some 50 minutes
//	go run ./leak -runs 2 -d 60s         a look, three minutes
//	go run ./leak -only power            one part: verdicts or power
//	go run ./leak -only curve -runs 2    leaks of 0.1 to 10,000 MiB an hour, 15 minutes
//	go run ./leak -study                 study 000's table of memory, side by side, 24 minutes
//	go run ./leak -out x -again          what the dyno of today says of runs kept by -out x -keep
//	go run ./leak -check                 exit status 1 if dyno missed a goal
//
// It builds dyno into a temporary directory and runs it as a user would. Nothing of
// dyno is imported, so that no mistake is made twice.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno/eval/internal/program"
)

const programName = "eval/leak"

var parts = []string{"verdicts", "power", "curve"}

type options struct {
	runs, atOnce int
	length       time.Duration // of a measured window
	kinds        []string      // empty: all
	only         string
	out          string // where the run directories of failures are kept; "" keeps none
	keep         bool   // those of all runs
	again        bool   // those that were kept are scored, and none is run
	check        bool
	dyno         string // "" builds it

	study      bool
	studied    time.Duration // length of the study's window
	rate, idle string        // of the study's load
}

func main() {
	var o options
	kindList := flag.String("kinds", "", "only `these`, by name: "+strings.Join(names(), ","))
	flag.IntVar(&o.runs, "runs", 20, "runs of each kind, or of each size and window of curve; of the part power at most 4")
	flag.IntVar(&o.atOnce, "at-once", 20, "runs side by side; 20 take some 60 % of two CPUs")
	flag.DurationVar(&o.length, "d", 150*time.Second, "length of a measured `window`; of the part power it is 3m")
	flag.StringVar(&o.only, "only", "", "one part of `verdicts|power|curve`; curve runs only if it is named")
	flag.StringVar(&o.out, "out", "", "`directory` for runs.jsonl and the run directories of failures")
	flag.BoolVar(&o.keep, "keep", false, "keep the run directories of all runs there")
	flag.BoolVar(&o.again, "again", false, "run nothing: score what was kept there, with the same -runs, -kinds and -d")
	flag.BoolVar(&o.check, "check", false, "exit with status 1 if a goal was missed")
	flag.StringVar(&o.dyno, "dyno", "", "measure this `program` instead of building ./cmd/dyno")
	flag.BoolVar(&o.study, "study", false, "nothing but the memory of study 000: five settings side by side")
	flag.DurationVar(&o.studied, "study-d", 20*time.Minute, "length of the study's `window`")
	flag.StringVar(&o.rate, "study-rate", "200/s", "`rate` of each of its settings; the study had some 260/s")
	flag.StringVar(&o.idle, "study-idle", "1m", "`rest` after its load")
	flag.Parse()
	if *kindList != "" {
		o.kinds = strings.Split(*kindList, ",")
	}
	unknown := slices.ContainsFunc(o.kinds, func(k string) bool { return !slices.Contains(names(), k) })
	if flag.NArg() > 0 || o.runs < 1 || o.atOnce < 1 || o.length < time.Second || unknown ||
		o.only != "" && !slices.Contains(parts, o.only) || (o.keep || o.again) && o.out == "" {
		flag.Usage()
		os.Exit(2)
	}
	program.Main(programName, func(ctx context.Context) error { return measure(ctx, o, os.Stdout) })
}

// A bench is the state of one run of this program.
type bench struct {
	options
	w    io.Writer
	dir  string // of run directories: out, or temporary
	root string // of the module
	// Shares of the CPUs in the part that was run last: of everybody, and of its runs.
	busy, own float64
	goals     program.Goals
}

func measure(ctx context.Context, o options, w io.Writer) (err error) {
	root, err := program.Root(ctx)
	if err != nil {
		return err
	}
	p, err := program.NewPlace(ctx, programName, o.out, o.dyno)
	defer os.RemoveAll(p.Temp)
	if err != nil {
		return err
	}
	b := &bench{options: o, w: w, dir: p.Dir, root: root, goals: program.Goals{W: w, Width: 62}}
	b.dyno = p.Dyno
	if err := readSource(root); err != nil {
		return err
	}
	fmt.Fprintln(w, program.Machine())
	if o.study {
		return b.studyMemory(ctx)
	}
	for _, part := range []struct {
		name string
		run  func(context.Context) error
	}{{"verdicts", b.verdicts}, {"power", b.power}, {"curve", b.curve}} {
		if o.only != part.name && (o.only != "" || part.name == "curve") {
			continue
		}
		if err := part.run(ctx); err != nil {
			return err
		}
	}
	return b.goals.Conclude(o.check)
}
