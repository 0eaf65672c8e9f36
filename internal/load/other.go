//go:build !linux

package load

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/dynolab/dyno/internal/load/schedule"
)

type loops struct{ resent atomic.Int64 }

func haveLoops() bool                                        { return false }
func newLoops(context.Context, *runner, int) (*loops, error) { panic("load: no loops on this system") }
func (*loops) close()                                        {}
func (*loops) open(context.Context, schedule.Times, time.Duration, time.Duration, bool) error {
	panic("load: no loops on this system")
}
