package published

import (
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/probe"
	"github.com/dynolab/dyno/internal/probe/kernel"
)

// A gcShare makes the collector's share of a window from MemStats.GCCPUFraction, its share
// of GOMAXPROCS since the program began. The runtime updates that at each collection's end,
// without idle marking (runtime/mgc.go, gcMarkTermination).
//
// Note: a share of the process's CPU time would need GOMAXPROCS, which MemStats lacks.
type gcShare struct {
	began time.Time // the process; zero if it is not known
	most  float64   // so far: seconds since then, of each of GOMAXPROCS
}

func newGCShare(pid int) *gcShare {
	s := new(gcShare)
	if p, err := kernel.Lookup(pid); pid != 0 && err == nil {
		s.began = p.Started
	}
	return s
}

// add appends the collector's time since the process began. That is known to 10 ms, so the
// time may seem to go back a little.
func (s *gcShare) add(numbers []number) []number {
	fraction, last := -1.0, 0.0
	for _, n := range numbers {
		switch {
		case n.use.own:
		case n.name == "GCCPUFraction":
			fraction = n.value
		case n.name == "LastGC":
			last = n.value / 1e9
		}
	}
	if s.began.IsZero() || fraction < 0 {
		return numbers
	}
	s.most = max(s.most, fraction*(last-float64(s.began.UnixNano())/1e9))
	return append(numbers, number{"GC time", s.most, use{series: "gc-capacity-frac", grown: "gc-capacity-sec"}})
}

func (s *gcShare) value(r *probe.Reading, window time.Duration) {
	if sec, ok := r.Values.Get("gc-capacity-sec"); ok && window > 0 {
		r.Values = append(r.Values, dyno.Value{Metric: "gc-capacity-frac", Value: sec / window.Seconds()})
	}
}
