package probe

import (
	"slices"
	"strings"

	"github.com/dynolab/dyno"
)

// trust is the order in which probes are believed about the same metric: the runtime
// is exact, gctrace rounds, the kernel knows no collections, and what a service
// publishes comes late.
var trust = []string{"runtime", "gctrace", "proc", "cgroup", "expvar", "prometheus", "pprof", dyno.ForProfile, dyno.ForTrace, "preempted", "needs"}

// fewCycles is the number below which the window's ends matter too much.
const fewCycles = 3

// Merge makes one reading of several probes' by their names, without Series. The
// first in trust wins, with two exceptions: stw-* are gctrace's, since the runtime's
// buckets are 25 % wide, and heap-peak-B is the greater one.
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
		m.Statements = append(m.Statements, r.Statements...)
		if len(m.Collections) == 0 {
			m.Collections, m.Origin = r.Collections, r.Origin
		}
	}
	m.shares()
	m.Values.Sort()
	return m
}

// shares adds gc-cpu-frac and gc-assist-frac, and drops shares that make no sense: of
// fewer than fewCycles, as a cycle's time counts when it ends, and where collections
// seem to use more CPU than the process. The runtime takes its workers' time from the
// wall clock, which is too much on contended CPUs; that is a warning.
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
		m.Warnings.AddOf(dyno.WarnMetric, "gc-cpu-frac", "gc-cpu-frac is left out: collections claim %.2f s of CPU but the whole process used %.2f s, so they waited for busy CPUs", gc, cpu)
	}
}

// Trust ranks probes of the same metric, for series as for Merge's values: the lower
// number is believed.
func Trust(name string) int { return slices.Index(trust, name) }
