//go:build !linux

package kernel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dynolab/dyno/internal/probe"
)

var errNotLinux = fmt.Errorf("proc is for Linux only: %w", errors.ErrUnsupported)

type (
	Proc         struct{}
	ControlGroup struct{}
	Preempted    struct{}
)

type Family struct{}

func (*Family) CPU() (float64, error)           { return 0, errNotLinux }
func (*Family) Clock() (float64, error)         { return 0, errNotLinux }
func (*Family) Resident() (float64, error)      { return 0, errNotLinux }
func (*Family) Used() (float64, float64, error) { return 0, 0, errNotLinux }

func (Proc) Watch(context.Context, probe.Target) (probe.Reading, error) {
	return probe.Reading{}, errNotLinux
}

func (ControlGroup) Watch(context.Context, probe.Target) (probe.Reading, error) {
	return probe.Reading{}, fmt.Errorf("control groups are for Linux only: %w", errors.ErrUnsupported)
}

func (Preempted) Watch(context.Context, probe.Target) (probe.Reading, error) {
	return probe.Reading{}, nil
}

func Clock(time.Time) int64                            { return 0 }
func CPU(int) (float64, error)                         { return 0, errNotLinux }
func Lookup(int) (Process, error)                      { return Process{}, errNotLinux }
func Find(string) ([]Process, error)                   { return nil, errNotLinux }
func Resident(int) (rss, file float64, err error)      { return 0, 0, errNotLinux }
func ResidentExact(int) (rss, file float64, err error) { return 0, 0, errNotLinux }
func Together(...int) (float64, error)                 { return 0, errNotLinux }
func NewFamily(int) *Family                            { return nil }
func MappedFiles(int) (float64, string, error)         { return 0, "", errNotLinux }
