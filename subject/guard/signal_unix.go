//go:build unix

package guard

import "syscall"

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
		signalGroup(t.PID, s)
	}
}

var ownGroup = &syscall.SysProcAttr{Setpgid: true}

func signalGroup(pid int, s syscall.Signal) { syscall.Kill(-pid, s) }
