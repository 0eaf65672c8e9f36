package probe

import (
	"slices"
	"strings"

	"github.com/dynolab/dyno"
)

// trust is the order in which probes are believed about a metric that several
// of them report: the runtime counts exactly, gctrace rounds to two digits and
// whole MiB, and the kernel does not know what a collection is. What a service
// publishes of it comes late, and of Prometheus in coarse steps.
var trust = []string{"runtime", "gctrace", "proc", "cgroup", "expvar", "prometheus", "pprof", dyno.ForProfile, dyno.ForTrace}

// fewCycles is below how many the ends of the window matter too much.
const fewCycles = 3

// Merge makes one reading of those of several probes, by their names, but for
// Series.
//
// Where probes report the same metric the runtime's is taken, then gctrace's,
// then proc's, expvar's, prometheus's and pprof's; but stw-max-sec and stw-total-sec are gctrace's first, since the
// runtime keeps its pauses in buckets that are 25 % wide; and heap-peak-B is the
// greater, as samples miss what is between them, and collections what is not yet
// collected. gc-cpu-frac and
// gc-assist-frac are added where they make sense: not of fewer than fewCycles, as a
// cycle's time counts when it ends, and not if gc-cpu-frac would be above 1: the
// runtime takes the time of its workers from the clock on the wall, so that on
// contended CPUs a collection seems to use more CPU than the process did; that is
// a warning. So it is with gc-capacity-frac, and with gc-wall-frac of few cycles.
func Merge(readings map[string]Reading) Reading {
	var m Reading
	for _, name := range trust {
		r := readings[name]
		for _, v := range r.Values {
			if _, ok := m.Values.Get(v.Metric); ok {
				continue
			}
			if strings.HasPrefix(v.Metric, "stw-") {
				if fine, ok := readings["gctrace"].Values.Get(v.Metric); ok {
					v.Value = fine
				}
			}
			if v.Metric == "heap-peak-B" {
				traced, _ := readings["gctrace"].Values.Get(v.Metric)
				v.Value = max(v.Value, traced)
			}
			m.Values = append(m.Values, v)
		}
		m.Own = append(m.Own, r.Own...)
		m.Warnings = append(m.Warnings, r.Warnings...)
		m.Files = append(m.Files, r.Files...)
		if len(m.Collections) == 0 {
			m.Collections, m.Origin = r.Collections, r.Origin
		}
	}
	m.shares()
	m.Values.Sort()
	return m
}

// shares adds the collections' shares of the CPU time that the process used, and
// takes away those of time that make no sense.
func (m *Reading) shares() {
	gc, ok := m.Values.Get("gc-cpu-sec")
	cycles, counted := m.Values.Get("gc-cycles")
	cpu, known := m.Values.Get("cpu-sec")
	over := known && gc > cpu
	enough := counted && (cycles == 0 || cycles >= fewCycles)
	m.Values = slices.DeleteFunc(m.Values, func(v dyno.Value) bool {
		return v.Metric == "gc-wall-frac" && !enough || v.Metric == "gc-capacity-frac" && (!enough || over)
	})
	if ok && enough && known && !over && cpu > 0 {
		m.Values = append(m.Values, dyno.Value{Metric: "gc-cpu-frac", Value: gc / cpu})
		if assist, ok := m.Values.Get("gc-assist-sec"); ok {
			m.Values = append(m.Values, dyno.Value{Metric: "gc-assist-frac", Value: assist / cpu})
		}
	}
	if over {
		m.Warnings.AddOf(dyno.WarnMetric, "gc-cpu-frac", "gc-cpu-frac is left out: collections claim %.2f s of CPU and the whole process used %.2f s, so they waited for CPUs that others had", gc, cpu)
	}
}

// Trust tells which of two probes is believed about a metric that both report:
// the one of the lower number, for its series as for its value in Merge.
func Trust(name string) int {
	if i := slices.Index(trust, name); i >= 0 {
		return i
	}
	return len(trust)
}
