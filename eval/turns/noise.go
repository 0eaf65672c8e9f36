//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/dynolab/dyno/eval/internal/program"
)

const noiseArg = "-noise-child"

// noises are the kinds, as they are printed.
var noises = map[string]string{
	"none": "no noise", "build": "builds on all CPUs beside", "bursts": "a neighbour takes a third of all CPUs, in bursts",
}

// makeNoise starts what b.noise says, until stop, which tells why it was none.
func (b *bench) makeNoise(ctx context.Context) (stop func(), err error) {
	if b.noise == "none" {
		return func() {}, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	argv := []string{self, noiseArg, b.noise, filepath.Join(b.temp, "noise")}
	if b.noise == "bursts" {
		argv = append([]string{"chrt", "--fifo", "1"}, argv...) // as root
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the terminal's interrupt is not for it
	cmd.Stderr = os.Stderr
	parent, err := cmd.StdinPipe() // which ends with this process, however it ends
	if err != nil {
		return nil, err
	}
	cmd.Cancel = parent.Close
	cmd.WaitDelay = 20 * time.Second
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the noise: %w", err)
	}
	return func() {
		parent.Close()
		if err := cmd.Wait(); err != nil && ctx.Err() == nil {
			program.Progress("make noise: %v", err)
		}
	}, nil
}

// noise is the child: it makes noise of a kind, until its standard input ends.
func noise(kind, dir string) error {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		defer cancel()
		var b [1]byte
		os.Stdin.Read(b[:])
	}()
	if kind == "bursts" {
		return bursts(ctx)
	}
	return builds(ctx, dir)
}

// builds builds the standard library again and again, with a cache of its own in dir. Nothing is left of the builds and of
// dir.
func builds(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	runtime.LockOSThread() // a build ends with the thread that started it
	for ctx.Err() == nil {
		cmd := exec.CommandContext(ctx, "go", "build", "-a", "std")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOCACHE="+filepath.Join(dir, "cache"), "GOTMPDIR="+dir, "GOFLAGS=", "GOWORK=off")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
		if out, err := cmd.CombinedOutput(); err != nil && ctx.Err() == nil {
			return errors.Join(err, errors.New(program.LastLine(string(out))))
		}
		// A cache that only grows would fill the disk in a night.
		os.RemoveAll(filepath.Join(dir, "cache"))
	}
	return nil
}
