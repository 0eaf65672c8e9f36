package leak

import (
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
)

// A leak of mmap or cgo is no leak of the heap: what is resident and not mapped by the
// runtime tells of it, by its course and by the snapshots around the window.
func TestGrowthOutside(t *testing.T) {
	const window = 600
	told := func(before, after float64) *dyno.Result { // what is resident beyond what the runtime has mapped
		r := lasting(window*time.Second, 10*mib, 10*mib)
		for i, beyond := range []float64{before, before, after} {
			r.Memory[i].Idle = 20 * mib
			r.Memory[i].RSS = r.Memory[i].Mapped() + beyond
		}
		return r
	}
	files := told(4*mib, 19*mib)
	files.Memory[2].File = 15 * mib
	page := lasting(window*time.Second, 0, 0)
	saw := func(sec float64) float64 { return 30*mib + 2*mib*float64(int(sec)%7) }
	live := course(300, window, around(1, 1e4, flat(10*mib)))
	rss := func(seed uint64, from, each float64) [2][]float64 {
		return course(window, window, around(seed, 1e5, func(sec float64) float64 { return saw(sec) + from + each*sec }))
	}
	mapped := course(window, window, saw)
	for _, x := range []struct {
		name    string
		trial   *dyno.Result
		series  readings
		verdict Verdict
		reason  ReasonKind
	}{
		{"mmap", told(4*mib, 19*mib), readings{"heap-live-B": live, "rss-B": rss(1, 4*mib, mib/40), "mapped-B": mapped}, Leaking, ""},
		{"of a page", page, readings{"rss-B": rss(2, 4*mib, mib/40), "sys-B": course(window, window, func(sec float64) float64 { return saw(sec) + 9*mib }), "heap-released-B": course(window, window, flat(9*mib))}, Leaking, ""},
		{"level", told(4*mib, 4*mib), readings{"heap-live-B": live, "rss-B": rss(3, 4*mib, 0), "mapped-B": mapped}, NoLeak, ""},
		{"under load only", told(4*mib, 4*mib), readings{"rss-B": rss(4, 4*mib, mib/40), "mapped-B": mapped}, Unclear, Queued},
		{"a large buffer is touched", told(-90*mib, -75*mib), readings{"rss-B": rss(5, -90*mib, mib/40), "mapped-B": mapped}, Unclear, NotTouched},
		{"pages of files", files, readings{"heap-live-B": live, "rss-B": rss(7, 4*mib, mib/40), "mapped-B": mapped, "rss-file-B": course(window, window, func(sec float64) float64 { return mib / 40 * sec })}, NoLeak, ""},
		{"mmap beside pages of files", told(4*mib, 19*mib), readings{"heap-live-B": live, "rss-B": rss(8, 4*mib, mib/40), "mapped-B": mapped, "rss-file-B": course(window, window, flat(3*mib))}, Leaking, ""},
		{"nothing is mapped", told(4*mib, 19*mib), readings{"heap-live-B": live, "rss-B": rss(6, 4*mib, mib/40)}, "", ""},
	} {
		g := NewGrowth(x.trial, nil, x.series.series, Profiles{})
		switch {
		case x.verdict == "" && g.Outside != nil:
			t.Errorf("%s: %+v", x.name, *g.Outside)
		case x.verdict == "":
		case g.Outside == nil || g.Outside.Verdict != x.verdict || g.Outside.Reason.Kind != x.reason:
			t.Errorf("%s: %+v", x.name, g.Outside)
		}
		if m := g.Memory; m != nil && strings.HasPrefix(m.By, "heap") && m.Verdict != NoLeak {
			t.Errorf("%s: the heap: %+v", x.name, *m)
		}
	}
}
