//go:build !linux

package kernel

import (
	"context"
	"errors"
	"fmt"
	"github.com/dynolab/dyno/probe"
)

// errNotLinux wraps errors.ErrUnsupported.
var errNotLinux = fmt.Errorf("proc is for Linux only: %w", errors.ErrUnsupported)

// Proc cannot watch here.
type Proc struct{}

func (Proc) Watch(context.Context, probe.Target) (probe.Reading, error) {
	return probe.Reading{}, errNotLinux
}

// RSS returns the resident memory of a process in bytes; on this system it
// returns an error that wraps errors.ErrUnsupported.
func RSS(pid int) (float64, error) { return 0, errNotLinux }

// CPU returns the CPU time in seconds of all threads of a process; on this
// system it returns an error that wraps errors.ErrUnsupported.
func CPU(pid int) (float64, error) { return 0, errNotLinux }
