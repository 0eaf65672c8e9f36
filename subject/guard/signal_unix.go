//go:build unix

package guard

import (
	"os"
	"syscall"
)

// CanHalt says that processes can be stopped and go on.
const CanHalt = true

// Halt stops the program's process group, and Resume lets it go on. Its number is not used again
// before Done.
func (t *Tree) Halt() { t.signal(syscall.SIGSTOP) }

// Resume ends a Halt.
func (t *Tree) Resume() { t.signal(syscall.SIGCONT) }

func (t *Tree) signal(s syscall.Signal) {
	select {
	case <-t.Done:
	default:
		syscall.Kill(-t.PID, s)
	}
}

func newProcessGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func terminateGroup(p *os.Process) { syscall.Kill(-p.Pid, syscall.SIGTERM) }

func killGroup(p *os.Process) { syscall.Kill(-p.Pid, syscall.SIGKILL) }
