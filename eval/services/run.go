//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/dynolab/dyno/eval/internal/program"
)

// dynoRun runs dyno on the plan as a user would, and watches its subjects meanwhile.
func (b *bench) dynoRun(ctx context.Context, r *row) error {
	plan, err := r.writePlan(b.dir)
	if err != nil {
		return err
	}
	out := filepath.Join(b.dir, "run-"+r.name)
	builds, err := os.MkdirTemp(b.temp, "builds-")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, 20*time.Minute+2*b.within, errors.New("it did not end"))
	defer cancel()
	cmd := exec.CommandContext(ctx, b.dyno, "run", "-f", plan, "--within", b.within.String(), "--json", "--out", out)
	cmd.Env = append(os.Environ(), "TMPDIR="+builds) // whose executables are the subjects
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start dyno: %w", err)
	}
	w := watch(builds, r.factor)
	err = cmd.Wait()
	seen := w.stop()
	r.verdict = time.Since(began)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if r.status = cmd.ProcessState.ExitCode(); err != nil {
		return fmt.Errorf("dyno run: %w: %s", err, program.LastLine(stderr.String()))
	}
	if len(seen) > 0 {
		r.build = seen[0].began.Sub(began)
	}
	if err := json.Unmarshal(stdout.Bytes(), &r.summary); err != nil {
		return fmt.Errorf("read dyno's JSON: %w", err)
	}
	if r.trials, err = readTrials(out, seen, r.factor); err != nil {
		return err
	}
	return nil
}

// readTrials reads the run directory, and finds the process of each trial.
func readTrials(dir string, seen []*process, factor string) ([]trial, error) {
	lines, err := os.ReadFile(filepath.Join(dir, "results.jsonl"))
	if err != nil {
		return nil, err
	}
	var ts []trial
	ends := map[int]time.Time{} // of the window that a block's trials share
	for d := json.NewDecoder(bytes.NewReader(lines)); d.More(); {
		var t trial
		if err := d.Decode(&t); err != nil {
			return nil, fmt.Errorf("read results.jsonl: %w", err)
		}
		if end := t.end(); t.Turns > 0 && end.After(ends[t.Block]) {
			ends[t.Block] = end
		}
		ts = append(ts, t)
	}
	for i := range ts {
		t := &ts[i]
		t.cycles = -1
		end := t.end()
		if t.Turns > 0 {
			end = ends[t.Block]
		}
		for _, p := range seen {
			if p.level != t.Levels[factor] || p.began.After(t.Start) || p.last().at.Before(t.Start) {
				continue
			}
			t.peak = p.peak(end)
			trace, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("trials/%04d/gctrace.txt", t.Trial)))
			if err != nil && !errors.Is(err, fs.ErrNotExist) { // there is none of a service that never collected
				return nil, err
			}
			if t.cycles, err = countCycles(trace, t.Start.Sub(p.began), end.Sub(p.began)); err != nil {
				return nil, fmt.Errorf("trial %d: %w", t.Trial, err)
			}
		}
	}
	return ts, nil
}
