//go:build !linux

package probe

import (
	"context"
	"errors"
	"fmt"
)

// errNotLinux wraps errors.ErrUnsupported.
var errNotLinux = fmt.Errorf("proc is for Linux only: %w", errors.ErrUnsupported)

// proc cannot watch here.
type proc struct{}

func (proc) Watch(context.Context, Target) (Reading, error) { return Reading{}, errNotLinux }

// RSS returns the resident memory of a process in bytes; on this system it
// returns an error that wraps errors.ErrUnsupported.
func RSS(pid int) (float64, error) { return 0, errNotLinux }

// CPU returns the CPU time in seconds of all threads of a process; on this
// system it returns an error that wraps errors.ErrUnsupported.
func CPU(pid int) (float64, error) { return 0, errNotLinux }
