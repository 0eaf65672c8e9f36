//go:build !linux

package probe

import (
	"context"
	"errors"
	"fmt"
)

// cgroup cannot watch here.
type cgroup struct{}

func (cgroup) Watch(context.Context, Target) (Reading, error) {
	return Reading{}, fmt.Errorf("control groups are for Linux only: %w", errors.ErrUnsupported)
}
