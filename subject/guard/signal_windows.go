package guard

import (
	"os"
	"syscall"
)

const CanHalt = false

func (t *Tree) Halt()   {}
func (t *Tree) Resume() {}

var ownGroup *syscall.SysProcAttr

// signalGroup only kills. Windows has no SIGTERM: the process gets its time of grace, but not the
// word.
func signalGroup(pid int, s syscall.Signal) {
	if p, err := os.FindProcess(pid); err == nil && s == syscall.SIGKILL {
		p.Kill()
	}
}
