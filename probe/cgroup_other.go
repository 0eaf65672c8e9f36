//go:build !linux

package probe

import (
	"context"
	"errors"
	"fmt"
)

// groupProbe cannot watch here.
type groupProbe struct{}

func (groupProbe) Watch(context.Context, Target) (Reading, error) {
	return Reading{}, fmt.Errorf("control groups are for Linux only: %w", errors.ErrUnsupported)
}
