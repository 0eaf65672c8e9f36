//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
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
	began := cpuTimes()
	for i := range min(atOnce, len(jobs)) {
		wg.Go(func() {
			wait(ctx, time.Duration(i)*apart)
			for j := range next {
				r, err := b.run(ctx, b.place(j), b.args(j), j.d+warmup+3*time.Minute)
				if ctx.Err() != nil {
					os.RemoveAll(b.place(j))
					continue
				}
				o := score(j, r, err)
				mu.Lock()
				outcomes = append(outcomes, o)
				progress("[%d/%d] %s: %s", len(outcomes), len(jobs), j, o)
				mu.Unlock()
				if !b.keep && (b.out == "" || o.good()) {
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
	b.busy = cpuTimes().since(began)
	slices.SortFunc(outcomes, func(a, b outcome) int { return strings.Compare(a.Run, b.Run) })
	if b.out != "" {
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
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, b.dyno, append([]string{"run", "--json", "--out", dir}, args...)...)
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
	os.WriteFile(filepath.Join(dir, "bench.stderr"), []byte(stderr.String()), 0o666)
	os.WriteFile(filepath.Join(dir, "bench.json"), out, 0o666)
	if err != nil {
		return nil, fmt.Errorf("dyno: %w: %s", err, lastLine(stderr.String()))
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

// ticks are CPU time of the machine since it started, in the kernel's unit.
type ticks struct{ idle, all float64 }

// cpuTimes reads /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal.
func cpuTimes() (t ticks) {
	stat, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(stat), "\n")
	for i, field := range strings.Fields(line) {
		var v float64
		if _, err := fmt.Sscan(field, &v); err != nil || i > 8 {
			continue // "cpu", and guests, who are in user
		}
		t.all += v
		if i == 4 || i == 5 {
			t.idle += v
		}
	}
	return t
}

// since is the share of the CPUs that was used, by whomever.
func (t ticks) since(before ticks) float64 {
	return 1 - (t.idle-before.idle)/(t.all-before.all)
}
