// Package child goes on with runs for dyno view, each in a dyno of its own, so that what measures shares no memory and no collector
// with what shows it.
package child

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/dynolab/dyno/internal/web"
)

// A Resumer goes on with runs.
type Resumer struct {
	Context context.Context // at whose end the runs are interrupted
	Program string          // "" means this one

	children sync.WaitGroup
}

// Wait waits for the end of all runs.
func (m *Resumer) Wait() { m.children.Wait() }

// Resume starts dyno run --resume. What it writes goes to resume.log in the run
// directory. stop interrupts it, once; done is closed when it has ended.
func (m *Resumer) Resume(path string) (stop func(), done <-chan struct{}, err error) {
	program := m.Program
	if program == "" {
		if program, err = os.Executable(); err != nil {
			return nil, nil, fmt.Errorf("find this program: %w", err)
		}
	}
	name := filepath.Join(path, web.ResumeLog)
	os.Remove(name) // not to write through a link that somebody else put there
	log, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, nil, err
	}
	ctx, stop := context.WithCancel(m.Context)
	cmd := exec.CommandContext(ctx, program, "run", "--resume", path)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = childAttributes()
	cmd.Cancel = func() error {
		if cmd.Process.Signal(os.Interrupt) == nil {
			return nil
		}
		return cmd.Process.Kill() // where there are no interrupts: results are kept, dyno report reports them
	}
	started, ended := make(chan error), make(chan struct{})
	m.children.Go(func() {
		// Of Pdeathsig: it is sent when the thread that forks ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(ended)
		defer log.Close()
		defer stop()
		err := cmd.Start()
		started <- err
		if err == nil {
			cmd.Wait() // the log tells how it ended
		}
	})
	if err := <-started; err != nil {
		return nil, nil, fmt.Errorf("start %s: %w", program, err)
	}
	return stop, ended, nil
}
