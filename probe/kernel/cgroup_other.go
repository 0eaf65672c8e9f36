//go:build !linux

package kernel

import (
	"context"
	"errors"
	"fmt"
	"github.com/dynolab/dyno/probe"
)

// ControlGroup cannot watch here.
type ControlGroup struct{}

func (ControlGroup) Watch(context.Context, probe.Target) (probe.Reading, error) {
	return probe.Reading{}, fmt.Errorf("control groups are for Linux only: %w", errors.ErrUnsupported)
}
