package load

import (
	"github.com/dynolab/dyno/internal/load/turn"
	"testing"
	"testing/synctest"
	"time"
)

// A meter counts the time in which a run measures, and of that only the run's own.
func TestMeterOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		alone, gate := new(Meter), turn.New()
		beside := &Meter{turn: gate}
		wait := func(own, ofTurn time.Duration) {
			t.Helper()
			time.Sleep(time.Second)
			if a, b := alone.Own(), beside.Own(); a != own || b != ofTurn {
				t.Errorf("alone %v, beside %v; want %v, %v", a, b, own, ofTurn)
			}
		}
		alone.Enter("warmup")
		beside.Enter("warmup")
		gate.Open()
		wait(0, 0)
		gate.Shut(t.Context())
		alone.Enter("measure")
		beside.Enter("measure")
		wait(1*time.Second, 0)
		gate.Open()
		wait(2*time.Second, 1*time.Second)
		gate.Shut(t.Context())
		wait(3*time.Second, 1*time.Second)
		gate.Open()
		wait(4*time.Second, 2*time.Second)
	})
}
