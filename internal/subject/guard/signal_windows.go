package guard

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

const CanPause = false

// Pause and Continue do nothing here. Their errors wrap [errors.ErrUnsupported].

func (t *Tree) Pause() error { return fmt.Errorf("pause a process: %w", errors.ErrUnsupported) }

func (t *Tree) Continue() error { return fmt.Errorf("continue a process: %w", errors.ErrUnsupported) }

var ownGroup *syscall.SysProcAttr

func killGroup(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		p.Kill()
	}
}

// Windows has no SIGTERM: the process gets its time of grace, but not the word.
func askGroup(int) {}
