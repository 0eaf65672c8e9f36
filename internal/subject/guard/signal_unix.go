//go:build unix

package guard

import (
	"fmt"
	"os"
	"syscall"
)

// CanPause says that processes can be stopped and go on.
const CanPause = true

// Pause stops the program's process group (SIGSTOP) until Continue. A child that left the group goes
// on. The program's threads may run somewhat longer than the call. The error wraps
// [os.ErrProcessDone] if no process of the group is left. Stop and Kill end a paused tree, too; Pause
// must not be called after them.
//
// Pause and Continue together take 8 µs of a program that sleeps (BenchmarkPause, Linux). Of a
// service under load, with all CPUs busy, the median was 30 µs for Pause and 150 µs for Continue:
// who is woken may run before the call returns.
func (t *Tree) Pause() error { return t.signal("pause", syscall.SIGSTOP) }

// Continue ends a Pause; its error is as there.
func (t *Tree) Continue() error { return t.signal("continue", syscall.SIGCONT) }

func (t *Tree) signal(what string, s syscall.Signal) error {
	err := error(os.ErrProcessDone)
	select {
	case <-t.Done:
	default:
		if t.PID == 0 { // no program; -0 would be dyno's own group
			break
		}
		// The group's number is not used again before Done.
		if err = syscall.Kill(-t.PID, s); err == syscall.ESRCH {
			err = os.ErrProcessDone
		}
	}
	if err != nil {
		return fmt.Errorf("%s process group %d: %w", what, t.PID, err)
	}
	return nil
}

//lint:ignore U1000 used where there is no supervisor (start_other.go)
var ownGroup = &syscall.SysProcAttr{Setpgid: true}

func killGroup(pid int) { syscall.Kill(-pid, syscall.SIGKILL) }

// askGroup asks the group to end. A paused process gets SIGTERM only when it goes on.
func askGroup(pid int) {
	syscall.Kill(-pid, syscall.SIGTERM)
	syscall.Kill(-pid, syscall.SIGCONT)
}
