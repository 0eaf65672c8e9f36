package progress

import (
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/load"
)

// TestLiveLine: what is known and fresh, in one order, and the kernel's word where
// there are two.
func TestLiveLine(t *testing.T) {
	l := NewWatch(&strings.Builder{}, time.Second)
	m := new(load.Meter)
	l.Begin(&dyno.Trial{N: 1, Load: dyno.Load{None: true}}, m)
	m.Enter("measure")
	if got := l.line(time.Now()); strings.Contains(got, "RSS") {
		t.Errorf("nothing is seen yet: %q", got)
	}
	l.Sample(nil, "proc", "rss-B", 32<<20)
	l.Sample(nil, "prometheus", "rss-B", 1)
	l.Sample(nil, "proc", "vsz-B", 3<<30)
	l.Sample(nil, "expvar", "heap-B", 1.5*(1<<20))
	l.Sample(nil, "proc", "cpu-frac", 1.5)
	l.Sample(nil, "proc", "minflt/s", 12.4)
	now := l.began.Add(2 * time.Second)
	want := "2s · RSS 32.0 MiB · VSZ 3.00 GiB · 12 minflt/s · heap 1.5 MiB · CPU 150.0 %"
	if got := l.line(now); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := l.line(now.Add(time.Minute)); got != "1m2s" {
		t.Errorf("what is old is shown: %q", got)
	}
}

// Where a line does not fit, no number of it is cut in two.
func TestLiveLineNarrow(t *testing.T) {
	for width, want := range map[int]string{11: "2s · RSS 8", 10: "2s", 40: "2s · RSS 8 · 1234 minflt/s", 27: "2s · RSS 8 · 1234 minflt/s", 26: "2s · RSS 8"} {
		if got := narrowed("2s · RSS 8 · 1234 minflt/s", width); got != want {
			t.Errorf("width %d: %q, want %q", width, got, want)
		}
	}
}
