//go:build linux

// Micro shows whether dyno bench cries wolf, and whether it finds what is there:
// on 30 benchmarks of encoding/json, copied out of GOROOT, against the usual
// protocol (go test -count before, the same after, benchstat at p < 0.05).
// README.md has the commands.
//
// It builds dyno into a temporary directory and runs it as a user would. Nothing of
// dyno is imported, so that no mistake is made twice.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/dynolab/dyno/eval/internal/program"
)

type options struct {
	runs   int
	length time.Duration // most, of a run of dyno
	blocks int           // of a run of dyno; 0 leaves them to dyno
	time   string        // -benchtime of the usual protocol
	only   string        // false, power or ""
	in     string        // the benchmarks of the slowdown, with commas between
	beside string        // others that run
	slower float64       // by this share
	dyno   string        // "" builds it
	plain  bool          // the usual protocol beside dyno's
	noise  bool          // beside what has no change
	keep   string        // directory for run directories; "" keeps none
	suites string        // of modules
	truth  time.Duration // of a long run of a suite; 0 means none, and 20 minutes of same
	share  float64       // of the usual protocol's time for dyno's run of a suite; 0 means dyno's default
}

func main() {
	var o options
	flag.IntVar(&o.runs, "runs", 0, "runs of each part (default 10 of false, 20 of power)")
	flag.DurationVar(&o.length, "d", 3*time.Minute, "most time of a run of dyno")
	flag.IntVar(&o.blocks, "blocks", 0, "of a run of dyno; 0 leaves them to dyno")
	flag.StringVar(&o.time, "benchtime", "1s", "of the usual protocol")
	flag.StringVar(&o.only, "only", "", "one `part`: false, power, suites or same")
	flag.StringVar(&o.in, "in", "CodeEncoder,CodeMarshal", "`benchmarks` that get slower in turn; with shorter ones the CPU hides a part of it")
	flag.StringVar(&o.beside, "beside", "NumberIsValid", "`benchmarks` that run beside them")
	flag.Float64Var(&o.slower, "slower", 0.03, "by this `share`")
	flag.StringVar(&o.dyno, "dyno", "", "use this `program` (default: build it)")
	flag.BoolVar(&o.plain, "plain", true, "run the usual protocol too")
	flag.BoolVar(&o.noise, "noise", true, "make noise beside equal programs; false where there is some")
	flag.StringVar(&o.suites, "suites", theSuites, "`modules` and two versions of each: module@old..new")
	flag.DurationVar(&o.truth, "truth", 0, "length of a long run of each suite, which tells the truth")
	flag.Float64Var(&o.share, "share", 0, "give dyno's run of a suite this share of the usual protocol's time (default: dyno's own default)")
	flag.StringVar(&o.keep, "keep", "", "keep run directories in this `dir`ectory")
	flag.Parse()
	if len(os.Args) == 2 && os.Args[1] == noiseArg {
		noise()
	}
	program.Main("eval/micro", func(ctx context.Context) error { return run(ctx, o) })
}

// A lab is where everything is done.
type lab struct {
	options
	dir    string // temporary
	module string
}

func run(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "dyno-micro-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	l := &lab{options: o, dir: dir, module: filepath.Join(dir, "json")}
	if l.dyno, err = program.Dyno(ctx, o.dyno, dir); err != nil {
		return err
	}
	if err := module(l.module); err != nil {
		return err
	}
	switch o.only {
	case "suites":
		return l.allSuites(ctx, o.suites)
	case "same":
		return l.sameCode(ctx)
	}
	if o.only != "power" {
		if err := l.falseAlarms(ctx); err != nil {
			return err
		}
	}
	if o.only != "false" {
		return l.power(ctx)
	}
	return nil
}

// tool runs a program to its end and returns what it printed.
func (l *lab) tool(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.Output()
	if err != nil {
		var stderr []byte
		if exit, ok := err.(*exec.ExitError); ok {
			stderr = exit.Stderr
		}
		return "", fmt.Errorf("%s %v: %w\n%s", name, args, err, stderr)
	}
	return string(out), nil
}
