package pace

import (
	"context"
	"time"
)

// A Pacer waits for points in time, for one goroutine at a time.
type Pacer interface {
	// Wait returns true at the time, false if ctx has ended.
	Wait(ctx context.Context, until time.Time) bool
	Close()
}

// A Timer is a Pacer of Go's timers, which are up to 1.1 ms late on Linux (golang/go#53824).
type Timer struct{}

// Wait implements [Pacer].
func (Timer) Wait(ctx context.Context, until time.Time) bool {
	if ctx.Err() != nil {
		return false
	}
	d := time.Until(until)
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Close implements [Pacer].
func (Timer) Close() {}
