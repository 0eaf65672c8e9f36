package subject

import (
	"sync/atomic"
	"time"

	"github.com/dynolab/dyno"
)

// How long a subject has from SIGTERM to SIGKILL: at first, and once one of them has let all of that pass. Those that
// drain for 30 s would take more time to stop than to measure.
const (
	stopGrace = 5 * time.Second
	lateGrace = 200 * time.Millisecond
)

// Ends stops the subjects of a run, one after the other or side by side. Once a subject was late, the others
// get less time.
type Ends struct{ late atomic.Bool }

// Stop ends a subject. It warns of the first that did not end by itself.
func (e *Ends) Stop(p *Process) dyno.Warnings { return e.stop(p.Stop) }

func (e *Ends) stop(stop func(grace time.Duration)) (late dyno.Warnings) {
	grace := stopGrace
	if e.late.Load() {
		grace = lateGrace
	}
	began := time.Now()
	if stop(grace); time.Since(began) < stopGrace || e.late.Swap(true) {
		return nil
	}
	late.Add(dyno.WarnLate, "the subject did not end within %v of SIGTERM, so dyno killed it; others of this run get %v (nothing is measured after the load, so no figure changes)", stopGrace, lateGrace)
	return late
}
