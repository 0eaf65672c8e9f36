//go:build linux

// Turns shows whether dyno run is true and sees enough while settings run side by side: it runs
// services of which the truth is known, and services in turns beside the same ones alone.
//
//	go run ./turns                       all of it, some four hours
//	go run ./turns -only stall           one part: power, aa, truth, stall or gate
//	go run ./turns -only power -runs 1   a look
//	go run ./turns -check                exit status 1 if a goal was missed
//
// It builds dyno into a temporary directory and runs it as a user would. Nothing of dyno is
// imported, so that no mistake is made twice.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno/eval/internal/program"
)

const programName = "eval/turns"

var parts = []string{"power", "aa", "truth", "stall", "gate"}

type options struct {
	only, dyno, keep string
	check            bool
	runs             int           // of each case; 0: each part's own
	within           time.Duration // for the blocks of a run that decides itself
	window           time.Duration // of a trial's load
	noise            string        // none, build or bursts
	flags            []string      // more, of dyno run in turns
	pairs            string        // cases of power, with commas between
	alone            bool          // power: the same alone
	gate             int           // comparisons
	gateLoad         string        // flags

	truth truthOptions
	stall time.Duration // of a trial's load in the part stall
}

func main() {
	if len(os.Args) == 4 && os.Args[1] == noiseArg {
		program.Exit(programName, noise(os.Args[2], os.Args[3]))
	}
	runtime.LockOSThread() // see dynoRun
	var o options
	flag.StringVar(&o.only, "only", "", "one part of `power|aa|truth|stall|gate`")
	flag.IntVar(&o.runs, "runs", 0, "runs of each case of power (default 20), of aa in all (40), rounds of truth (3), runs of stall (2), runs of gate with a change (20)")
	flag.BoolVar(&o.check, "check", false, "exit with status 1 if a goal was missed, or has no figure")
	flag.StringVar(&o.dyno, "dyno", "", "measure this `program` instead of building ./cmd/dyno")
	flag.StringVar(&o.keep, "keep", "", "keep run directories in this `dir`ectory")
	flag.DurationVar(&o.within, "within", 50*time.Second, "`time` for the blocks of a run of power and aa; a run has 60s with all it builds")
	flag.DurationVar(&o.window, "d", time.Second, "`time` of a trial's load in power and aa")
	flag.StringVar(&o.noise, "noise", "build", "beside aa, gate and power's case cpu: `none|build|bursts`: builds of the standard library on all CPUs, or a neighbour that takes a third of them, as root")
	more := flag.String("flags", "", "more `flags` of dyno run in power, aa and stall, with spaces between")
	flag.StringVar(&o.pairs, "pairs", "cpu,cpu3,p50,p99", "`cases` of power")
	flag.BoolVar(&o.alone, "alone", true, "power: the same launched alone, run by run, in the same time")
	flag.IntVar(&o.gate, "gate", 300, "`comparisons` of equals in gate, and of the gate kind in aa")
	flag.StringVar(&o.gateLoad, "gate-load", "-c 2 -d 1s -w 200ms --repeat 15", "`flags` of a run of gate with spaces between; empty: dyno's defaults")
	flag.StringVar(&o.truth.subjects, "subjects", "sessions,alloc,public", "of truth")
	flag.StringVar(&o.truth.arms, "arms", "alone,turns", "of truth, the first is what the others are held against; README.md has them all")
	flag.StringVar(&o.truth.levels, "gogc", "50,100,400", "`levels` of truth, the first the baseline")
	flag.IntVar(&o.truth.blocks, "blocks", 4, "of truth, in each round of each arm")
	flag.DurationVar(&o.truth.window, "truth-d", 6*time.Second, "`time` of a trial's load in truth")
	flag.IntVar(&o.truth.clients, "c", 2, "clients of truth")
	flag.DurationVar(&o.stall, "stall-d", 24*time.Second, "`time` of a trial's load in stall, a multiple of 2s")
	flag.Parse()
	o.flags = strings.Fields(*more)
	if err := o.wrong(); err != nil || flag.NArg() > 0 {
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", programName, err)
		}
		flag.Usage()
		os.Exit(2)
	}
	program.Main(programName, func(ctx context.Context) error { return measure(ctx, o, os.Stdout) })
}

func (o *options) wrong() error {
	if o.only != "" && !slices.Contains(parts, o.only) {
		return fmt.Errorf("no part %q (want one of %s)", o.only, strings.Join(parts, ", "))
	}
	if noises[o.noise] == "" {
		return fmt.Errorf("no noise %q (want none, build or bursts)", o.noise)
	}
	for name := range strings.SplitSeq(o.pairs, ",") {
		if !slices.ContainsFunc(pairs, func(p pair) bool { return p.name == name }) {
			return fmt.Errorf("no case %q of power", name)
		}
	}
	if o.runs < 0 || o.gate < 0 || o.truth.blocks < 1 || o.window <= 0 || o.within <= 0 || o.truth.window <= 0 || o.stall <= 0 || o.stall%(2*time.Second) != 0 {
		return fmt.Errorf("a number or a time is out of range")
	}
	return o.truth.parse()
}

// A bench is the state of one run of this program.
type bench struct {
	options
	w       io.Writer
	goals   program.Goals
	dir     string // of run directories: temporary, or as -keep says
	temp    string
	root    string // of dyno's source
	service string // the directory of the services
	count   int    // runs of dyno so far
}

func measure(ctx context.Context, o options, w io.Writer) error {
	root, err := program.Root(ctx)
	if err != nil {
		return err
	}
	p, err := program.NewPlace(ctx, programName, o.keep, o.dyno)
	defer os.RemoveAll(p.Temp)
	if err != nil {
		return err
	}
	b := &bench{options: o, w: w, goals: program.Goals{W: w, Width: 64}, dir: p.Dir, temp: p.Temp,
		root: root, service: filepath.Join(root, "eval/turns/service")}
	b.dyno = p.Dyno
	fmt.Fprintln(w, program.Machine())
	for _, part := range []struct {
		name string
		run  func(context.Context) error
	}{{"power", b.power}, {"aa", b.falseAlarms}, {"truth", b.truths}, {"stall", b.stalls}, {"gate", b.gates}} {
		if o.only != "" && o.only != part.name {
			continue
		}
		if err := part.run(ctx); err != nil {
			return err
		}
		load, _ := os.ReadFile("/proc/loadavg")
		load1, _, _ := strings.Cut(string(load), " ")
		fmt.Fprintf(w, "  load average at the end: %s\n", load1)
	}
	return b.goals.Conclude(o.check)
}

// times is how many runs there are: n, unless the user says.
func (b *bench) times(n int) int {
	if b.runs > 0 {
		return b.runs
	}
	return n
}

// sides counts blocks whose settings ran at the same time, and those that might have.
type sides struct{ beside, blocks int }

func (s *sides) add(r *ran) {
	beside, blocks := r.beside()
	s.beside += beside
	s.blocks += blocks
}

// judgeSides holds the blocks of one run or many against what the user asked for.
func (b *bench) judgeSides(what string, s sides) {
	goal := what + ": settings ran side by side"
	if s.blocks == 0 {
		b.goals.Blank(goal)
		return
	}
	b.goals.Judge(goal, fmt.Sprintf("in %d of %d blocks", s.beside, s.blocks), s.beside == s.blocks)
}

// limit is when a run of dyno that decides itself is given up.
func (b *bench) limit() time.Duration { return 2*b.within + 4*time.Minute }
