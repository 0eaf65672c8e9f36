//go:build !linux

package guard

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Main does nothing on this system.
func Main() { mainCalled.Store(true) }

// A supervision is dyno's own care for a Tree.
type supervision struct {
	cmd    *exec.Cmd // nil if nothing runs
	ctx    context.Context
	cancel context.CancelFunc // kills
	asked  atomic.Bool        // to end

	mu    sync.Mutex
	paths []string // to be removed
}

// RemoveInEnd removes a path in the end, after the paths with that belong to it. None of them has to exist.
func (s *supervision) RemoveInEnd(path string, with ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paths = append(append(s.paths, with...), path)
}

func (s *supervision) terminate(grace time.Duration) {
	if s.cmd == nil {
		return
	}
	s.asked.Store(true)
	askGroup(s.cmd.Process.Pid)
	time.AfterFunc(grace, s.cancel)
}

// Kill begins to end the tree, and does not wait.
func (s *supervision) Kill() {
	s.asked.Store(true)
	s.cancel()
}

// Start starts the program of a job.
func Start(j Job, o IO) (*Tree, error) {
	if j.Confine != nil {
		return nil, fmt.Errorf("limits need Linux, and this is %s", runtime.GOOS)
	}
	t := &Tree{Done: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	for _, dir := range j.Scratch {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.end()
			return nil, err
		}
		t.paths = append(t.paths, dir)
	}
	if err := j.writeFiles(); err != nil {
		t.end()
		return nil, err
	}
	if j.Path != "" {
		t.cmd = exec.CommandContext(t.ctx, j.Path)
		t.cmd.Args, t.cmd.Env, t.cmd.Dir = j.Args, j.Env, j.Dir
		t.cmd.Stdout, t.cmd.Stderr = o.Stdout, o.Stderr
		if o.File != nil {
			t.cmd.Stdout = o.File
		}
		t.cmd.SysProcAttr, t.cmd.WaitDelay = ownGroup, time.Second
		t.cmd.Cancel = func() error {
			if j.Quit == 0 || t.cmd.Process.Signal(j.Quit) != nil {
				killGroup(t.cmd.Process.Pid)
			}
			return nil
		}
		if j.Quit != 0 {
			t.cmd.WaitDelay = quitGrace // and then it is killed
		}
		if err := t.cmd.Start(); err != nil {
			t.end()
			return nil, err
		}
		t.PID = t.cmd.Process.Pid
	}
	go func() {
		defer t.end()
		if t.cmd == nil {
			<-t.ctx.Done()
			return
		}
		t.cmd.Wait()
		t.Alone = !t.asked.Load()
		t.Status = t.cmd.ProcessState.String()
		if CanPause { // elsewhere there is no group, and another process may have the number by now
			killGroup(t.PID)
		}
		runLast(j.Last)
	}()
	return t, nil
}

func (t *Tree) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cancel()
	for _, path := range t.paths {
		if err := remove(path); err != nil {
			fmt.Fprintln(os.Stderr, "dyno:", err)
		}
	}
	close(t.Done)
}

// Collect does nothing here: what a dyno that was killed leaves stays.
func Collect() {}

// This system does not tell who listens on a port, and processes are not pinned.

func Listener(addr string) int                         { return 0 }
func Listens(pid int) []string                         { return nil }
func Listening(string, []int) (pids []int, known bool) { return nil, false }
func Named(pid int) string                             { return strconv.Itoa(pid) }
func PinnedCPUs(int) []int                             { return nil }

// Processes knows the program alone.
func (t *Tree) Processes() []int { return []int{t.PID} }
