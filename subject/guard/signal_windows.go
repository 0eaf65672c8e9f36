package guard

import (
	"os"
	"syscall"
)

const CanHalt = false

func (t *Tree) Halt()   {}
func (t *Tree) Resume() {}

func newProcessGroup() *syscall.SysProcAttr { return nil }

// Windows has no SIGTERM: the process gets its time of grace, but not the word.
func terminateGroup(*os.Process) {}

func killGroup(p *os.Process) { p.Kill() }
