//go:build linux

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/dynolab/dyno/eval/internal/program"
)

// apart is the time between two starts, so that building, and the collections that are
// forced at the ends of a window, do not fall together.
const apart = 2 * time.Second

// play runs jobs, atOnce at a time, and scores each. After an interrupt it returns
// what was done, with the reason.
func (b *bench) play(ctx context.Context, jobs []job, atOnce int) ([]outcome, error) {
	next := make(chan job)
	var mu sync.Mutex
	var outcomes []outcome
	var wg sync.WaitGroup
	end := meter()
	for i := range min(atOnce, len(jobs)) {
		wg.Go(func() {
			if !b.again {
				wait(ctx, time.Duration(i)*apart)
			}
			for j := range next {
				r, err := b.run(ctx, b.place(j), b.args(j), j.d+warmup+3*time.Minute)
				if ctx.Err() != nil {
					if !b.again {
						os.RemoveAll(b.place(j))
					}
					continue
				}
				o := score(j, r, err)
				mu.Lock()
				outcomes = append(outcomes, o)
				program.Progress("[%d/%d] %s: %s", len(outcomes), len(jobs), j, o)
				mu.Unlock()
				if !b.keep && !b.again && (b.out == "" || o.good()) {
					os.RemoveAll(b.place(j))
				}
			}
		})
	}
	for _, j := range jobs {
		select {
		case next <- j:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(next)
	wg.Wait()
	b.busy, b.own = end()
	slices.SortFunc(outcomes, func(a, b outcome) int {
		return cmp.Or(cmp.Compare(slices.Index(names(), a.Kind), slices.Index(names(), b.Kind)), strings.Compare(a.Run, b.Run))
	})
	if b.out != "" && !b.again {
		if err := appendLines(filepath.Join(b.dir, "runs.jsonl"), outcomes); err != nil {
			return outcomes, err
		}
	}
	return outcomes, context.Cause(ctx)
}

func (b *bench) place(j job) string { return filepath.Join(b.dir, j.String()) }

func (b *bench) args(j job) []string {
	plan := filepath.Join(b.root, "examples/testdata/leaks", j.plan)
	return append([]string{"-f", plan, "-d", j.d.String()}, j.kind.flags(j.n, j.d)...)
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// run runs dyno with the run directory dir, where what it printed is kept, too. Dyno
// is interrupted when ctx ends, and takes its subject with it.
func (b *bench) run(ctx context.Context, dir string, args []string, limit time.Duration) (*report, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errors.New("it did not end"))
	defer cancel()
	if b.again {
		args = []string{"report", "--json", dir}
	} else {
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
		args = append([]string{"run", "--json", "--out", dir}, args...)
	}
	cmd := exec.CommandContext(ctx, b.dyno, args...)
	// In a group of its own it has one interrupt, from here, and not the terminal's too.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if !b.again {
		os.WriteFile(filepath.Join(dir, "bench.stderr"), []byte(stderr.String()), 0o666)
		os.WriteFile(filepath.Join(dir, "bench.json"), out, 0o666)
	}
	if err != nil {
		return nil, fmt.Errorf("dyno: %w: %s", err, program.LastLine(stderr.String()))
	}
	return parse(out)
}

// appendLines writes outcomes as JSON, one a line.
func appendLines(path string, outcomes []outcome) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer f.Close()
	e := json.NewEncoder(f)
	for _, o := range outcomes {
		if err := e.Encode(o); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
	}
	return f.Close()
}

// meter begins to measure the share of the CPUs that is used, by whomever, and that of
// the runs that have ended until the end, with all they started.
func meter() (end func() (busy, own float64)) {
	idle, all := cpuTimes()
	began, cpu := time.Now(), childTime()
	return func() (busy, own float64) {
		idleNow, allNow := cpuTimes()
		own = (childTime() - cpu).Seconds() / time.Since(began).Seconds() / float64(runtime.NumCPU())
		return 1 - (idleNow-idle)/(allNow-all), own
	}
}

// cpuTimes reads /proc/stat, in the kernel's unit since the machine started: user,
// nice, system, idle, iowait, irq, softirq, steal.
func cpuTimes() (idle, all float64) {
	stat, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(stat), "\n")
	for i, field := range strings.Fields(line) {
		v, err := strconv.ParseFloat(field, 64)
		if err != nil || i > 8 {
			continue // "cpu", and guests, who are in user
		}
		all += v
		if i == 4 || i == 5 {
			idle += v
		}
	}
	return idle, all
}

// childTime is the CPU time of children that were waited for, and of theirs.
func childTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
