package load

import (
	"sync/atomic"
	"time"

	"github.com/dynolab/dyno/internal/load/turn"
)

// A Meter shows a run's progress to any goroutine. The zero value is ready. It
// serves one run.
type Meter struct {
	Done   atomic.Int64 // measured requests that are over, failed ones included
	Failed atomic.Int64 // measured requests that failed
	Answer atomic.Int64 // mean time of an answer in the warm-up of a closed load, in nanoseconds; 0 if not known
	phase  atomic.Value // a string
	turn   *turn.Turn   // of the run; set before it measures
	window atomic.Pointer[window]
}

// A window is when a run began to measure, of its own time.
type window struct {
	clock
	turn  *turn.Turn
	began time.Duration
}

// Phase is "setup", "warmup", "measure", "teardown", or what the caller entered;
// "" before the run began.
func (m *Meter) Phase() string {
	phase, _ := m.phase.Load().(string)
	return phase
}

// Enter sets the phase. Run enters its own phases; the caller enters those before and after.
func (m *Meter) Enter(phase string) {
	if phase == "measure" {
		w := &window{turn: m.turn, clock: clock{time.Now()}}
		if m.turn != nil {
			w.clock = clock{m.turn.Zero}
		}
		w.began = w.turn.OwnAt(w.now())
		m.window.Store(w)
	}
	m.phase.Store(phase)
}

// In says in whose turns the run measures, before it does; nil is always. Run says it, too.
func (m *Meter) In(t *turn.Turn) { m.turn = t }

// Own returns how long the run has measured, in its own time (see [Turn]). It is 0 before the window.
func (m *Meter) Own() time.Duration {
	w := m.window.Load()
	if w == nil {
		return 0
	}
	return w.turn.OwnAt(w.now()) - w.began
}
