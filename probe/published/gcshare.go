package published

import (
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/probe"
	"github.com/dynolab/dyno/probe/kernel"
)

// A gcShare makes of MemStats.GCCPUFraction, which is the collector's share of
// all CPU time of GOMAXPROCS since the program began, its share of a time between.
// The runtime brings it up to date at the end of each collection, without idle
// marking (gcMarkTermination in runtime/mgc.go): until then it stays.
//
// Note: the share of the CPU time that the process used would take GOMAXPROCS,
// which MemStats does not tell.
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

// add appends the collector's time since the process began. When that was is known
// to 10 ms only, so that the time may seem to go back a little.
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

// value adds the share of the whole window, which was so long.
func (s *gcShare) value(r *probe.Reading, window time.Duration) {
	if sec, ok := r.Values.Get("gc-capacity-sec"); ok && window > 0 {
		r.Values = append(r.Values, dyno.Value{Metric: "gc-capacity-frac", Value: sec / window.Seconds()})
	}
}
