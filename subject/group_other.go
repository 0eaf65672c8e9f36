//go:build !linux

package subject

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// Elsewhere than on Linux there are no supervisors: processes and paths are
// cleaned up by dyno itself, if it gets to it, and a child that left its
// process group survives.

// Main does nothing on this system.
func Main() { mainCalled.Store(true) }

type groupImpl struct{ *ownGroup }

type ownGroup struct {
	cmd   *exec.Cmd // nil if nothing runs
	ended chan struct{}
	quit  chan struct{} // closed by kill

	mu    sync.Mutex
	paths []string
	asked bool // to end, while it lived
}

func (g *group) hold() *os.File { return nil }

func (o *ownGroup) remove(path string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.paths = append(o.paths, path)
}

func (o *ownGroup) terminate(grace time.Duration) {
	if o.cmd == nil {
		return
	}
	o.ask()
	terminateGroup(o.cmd.Process)
	select {
	case <-o.ended:
	case <-time.After(grace):
		killGroup(o.cmd.Process)
	}
}

// ask notes that the program is going to be ended.
func (o *ownGroup) ask() {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case <-o.ended:
	default:
		o.asked = true
	}
}

func (o *ownGroup) kill() { close(o.quit) }

func launch(j job) (*group, error) {
	if j.Confine != nil {
		return nil, fmt.Errorf("limits need Linux, and this is %s", runtime.GOOS)
	}
	o := &ownGroup{ended: make(chan struct{}), quit: make(chan struct{})}
	g := &group{done: make(chan struct{}), impl: groupImpl{o}}
	if j.Scratch != "" {
		if err := os.Mkdir(j.Scratch, 0o700); err != nil {
			return nil, err
		}
		o.paths = []string{j.Scratch}
	}
	if j.Path == "" {
		go func() {
			<-o.quit
			o.cleanUp()
			close(g.done)
		}()
		return g, nil
	}
	o.cmd = &exec.Cmd{
		Path: j.Path, Args: j.Args, Env: j.Env, Dir: j.Dir,
		Stdout: j.stdout, Stderr: j.stderr,
		SysProcAttr: ownProcessGroup(), WaitDelay: time.Second,
	}
	if j.direct != nil {
		o.cmd.Stdout = j.direct
	}
	if err := o.cmd.Start(); err != nil {
		o.cleanUp()
		return nil, err
	}
	g.pid = o.cmd.Process.Pid
	go func() {
		select {
		case <-o.quit:
			o.ask()
			killGroup(o.cmd.Process)
		case <-o.ended:
		}
	}()
	go func() {
		o.cmd.Wait()
		close(o.ended)
		killGroup(o.cmd.Process)
		g.status = o.cmd.ProcessState.String()
		o.mu.Lock()
		g.alone = !o.asked
		o.mu.Unlock()
		o.cleanUp()
		close(g.done)
	}()
	return g, nil
}

func (o *ownGroup) cleanUp() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, path := range o.paths {
		os.RemoveAll(path)
	}
}
