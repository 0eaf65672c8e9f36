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
	"strings"
	"syscall"
	"time"

	"github.com/dynolab/dyno/eval/internal/program"
)

// Exit statuses of dyno that are results.
const (
	exitGate    = 99
	exitUnclear = 98
	exitUsage   = 2
)

// A ran is what one run of dyno said and left.
type ran struct {
	dir    string // the run directory, in the temporary one
	status int
	took   time.Duration // of dyno's process, with all that it builds
	said   string        // its standard error
	report
}

// dynoRun runs dyno as a user would, and reads its run directory. Any exit status is a result
// but 1: dyno could not do it. rests, if it is not nil, interrupts the load.
func (b *bench) dynoRun(ctx context.Context, limit time.Duration, rests *rest, args ...string) (*ran, error) {
	b.count++
	r := &ran{dir: filepath.Join(b.dir, fmt.Sprintf("run-%03d", b.count))}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errors.New("it did not end"))
	defer cancel()
	flags, service := args, []string(nil)
	for i, a := range args {
		if a == "--" {
			flags, service = args[:i], args[i:]
			break
		}
	}
	argv := append(append([]string{"run", "--json", "--out", r.dir}, flags...), service...)
	cmd := exec.CommandContext(ctx, b.dyno, argv...)
	// In a group of its own it has one interrupt, from here, and not the terminal's too. If this
	// process is killed, dyno is told to end, too; the main goroutine is locked to its thread.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if rests != nil {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL // a stopped process hears nothing else
	}
	cmd.Cancel = func() error {
		return errors.Join(cmd.Process.Signal(os.Interrupt), cmd.Process.Signal(syscall.SIGCONT))
	}
	cmd.WaitDelay = 30 * time.Second
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start dyno: %w", err)
	}
	stop := rests.begin(cmd.Process)
	err := cmd.Wait()
	stop()
	r.took, r.said = time.Since(began), stderr.String()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("dyno %s: %w", strings.Join(argv, " "), context.Cause(ctx))
	}
	if r.status = cmd.ProcessState.ExitCode(); r.status == exitUsage {
		return r, nil // a refusal is a result, too
	}
	if err != nil && r.status != exitGate && r.status != exitUnclear {
		return nil, fmt.Errorf("dyno %s: %w: %s", strings.Join(argv, " "), err, program.LastLine(r.said))
	}
	if err := json.Unmarshal([]byte(stdout.String()), &r.report); err != nil {
		return nil, fmt.Errorf("read dyno's JSON: %w", err)
	}
	lines, err := os.ReadFile(filepath.Join(r.dir, "results.jsonl"))
	if err != nil {
		return nil, err
	}
	r.trials, err = readTrials(lines)
	return r, err
}

// forget removes the run directory, unless the user wants it kept.
func (b *bench) forget(r *ran) {
	if r != nil && b.keep == "" {
		os.RemoveAll(r.dir)
	}
}

// refused is why dyno did not do it, or "".
func (r *ran) refused() string {
	if r.status != exitUsage {
		return ""
	}
	return program.LastLine(r.said)
}

// offers reports whether dyno's help of "run" has a flag.
func (b *bench) offers(ctx context.Context, flag string) (bool, error) {
	out, err := exec.CommandContext(ctx, b.dyno, "run", "--help").Output()
	if err != nil {
		return false, fmt.Errorf("ask dyno for its flags: %w", err)
	}
	return strings.Contains(string(out), " "+flag+" "), nil
}

// begin goes on until stop, after which the process goes on.
func (r *rest) begin(p *os.Process) (stop func()) {
	if r == nil {
		return func() {}
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		defer p.Signal(syscall.SIGCONT)
		for {
			for _, s := range []struct {
				d time.Duration
				syscall.Signal
			}{{r.on, syscall.SIGSTOP}, {r.off, syscall.SIGCONT}} {
				select {
				case <-time.After(s.d):
					if p.Signal(s.Signal) != nil {
						return // it has ended
					}
				case <-end:
					return
				}
			}
		}
	}()
	return func() { close(end); <-ended }
}
