package load

import (
	"testing"
	"testing/synctest"
	"time"
)

// A meter counts the time in which a run measures, and of that only the run's own.
func TestMeterOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		alone, turn := new(Meter), NewTurn()
		beside := &Meter{turn: turn}
		wait := func(own, ofTurn time.Duration) {
			t.Helper()
			time.Sleep(time.Second)
			if a, b := alone.Own(), beside.Own(); a != own || b != ofTurn {
				t.Errorf("alone %v, beside %v; want %v, %v", a, b, own, ofTurn)
			}
		}
		alone.Enter("warmup")
		beside.Enter("warmup")
		turn.Open()
		wait(0, 0)
		turn.Shut(t.Context())
		alone.Enter("measure")
		beside.Enter("measure")
		wait(1*time.Second, 0)
		turn.Open()
		wait(2*time.Second, 1*time.Second)
		turn.Shut(t.Context())
		wait(3*time.Second, 1*time.Second)
		turn.Open()
		wait(4*time.Second, 2*time.Second)
	})
}
