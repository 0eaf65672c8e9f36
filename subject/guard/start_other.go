//go:build !linux

package guard

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// Main does nothing on this system.
func Main() { mainCalled.Store(true) }

// A supervision is dyno's own care for a Tree.
type supervision struct {
	cmd   *exec.Cmd // nil if nothing runs
	ended chan struct{}
	quit  chan struct{} // closed by kill

	mu    sync.Mutex
	paths []string // to be removed
	asked bool     // to end, while it lived
}

func (s *supervision) remove(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paths = append(s.paths, path)
}

func (s *supervision) terminate(grace time.Duration) {
	if s.cmd == nil {
		return
	}
	s.ask()
	terminateGroup(s.cmd.Process)
	select {
	case <-s.ended:
	case <-time.After(grace):
		killGroup(s.cmd.Process)
	}
}

// ask notes that the program is going to be ended.
func (s *supervision) ask() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.ended:
	default:
		s.asked = true
	}
}

func (s *supervision) kill() { close(s.quit) }

// Start starts the program of a job.
func Start(j Job, o IO) (*Tree, error) {
	if j.Confine != nil {
		return nil, fmt.Errorf("limits need Linux, and this is %s", runtime.GOOS)
	}
	t := &Tree{Done: make(chan struct{}), supervision: supervision{ended: make(chan struct{}), quit: make(chan struct{})}}
	if j.Scratch != "" {
		if err := os.Mkdir(j.Scratch, 0o700); err != nil {
			return nil, err
		}
		t.paths = []string{j.Scratch}
	}
	if j.Path == "" {
		go func() {
			<-t.quit
			t.end()
		}()
		return t, nil
	}
	t.cmd = &exec.Cmd{
		Path: j.Path, Args: j.Args, Env: j.Env, Dir: j.Dir,
		Stdout: o.Stdout, Stderr: o.Stderr,
		SysProcAttr: newProcessGroup(), WaitDelay: time.Second,
	}
	if o.File != nil {
		t.cmd.Stdout = o.File
	}
	if err := t.cmd.Start(); err != nil {
		t.end()
		return nil, err
	}
	t.PID = t.cmd.Process.Pid
	go func() {
		select {
		case <-t.quit:
			t.ask()
			killGroup(t.cmd.Process)
		case <-t.ended:
		}
	}()
	go func() {
		t.cmd.Wait()
		close(t.ended)
		killGroup(t.cmd.Process)
		t.Status = t.cmd.ProcessState.String()
		t.end()
	}()
	return t, nil
}

// end removes the paths, when no process is left.
func (t *Tree) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, path := range t.paths {
		os.RemoveAll(path)
	}
	t.Alone = !t.asked
	close(t.Done)
}

// Listener returns 0: on this system it is not known who listens on a port.
func Listener(addr string) int { return 0 }

// OthersListen returns false: on this system it is not known.
func OthersListen(addr string, pid int) bool { return false }
