package progress

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dynolab/dyno"
)

// A Watch shows the latest samples of a process.
type Watch struct {
	Trials // of the one trial
	fresh  time.Duration
	began  time.Time          // when the first point came
	seen   map[string]seenNow // by metric
}

type seenNow struct {
	value float64
	at    time.Time
	probe string
}

// NewWatch shows on w what samples say, until Close. What is older than three times every is left out.
func NewWatch(w io.Writer, every time.Duration) *Watch {
	l := &Watch{fresh: max(3*every, 3*time.Second), seen: map[string]seenNow{}}
	l.total = 1
	l.Open(w, sayEvery, l.line)
	return l
}

// Sample is the lab's Live. It prefers the kernel's word to that of other probes.
func (l *Watch) Sample(_ *dyno.Trial, probe, metric string, v float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen[metric].probe == "proc" && probe != "proc" {
		return
	}
	now := time.Now()
	if l.began.IsZero() { // which else would count from when it is first drawn
		l.began = now
		l.phase, l.entered, l.mark = "measure", now, now
	}
	l.seen[metric] = seenNow{v, now, probe}
}

// liveColumns are the metrics of the line of a watch, in order. Unknown ones are left out.
var liveColumns = []struct {
	metric string
	show   func(float64) string
}{
	{"rss-B", func(v float64) string { return "RSS " + mebibytes(v) }},
	{"mem-frac", func(v float64) string { return fmt.Sprintf("%.1f %% of memory", 100*v) }},
	{"vsz-B", func(v float64) string { return "VSZ " + mebibytes(v) }},
	{"minflt/s", func(v float64) string { return fmt.Sprintf("%.0f minflt/s", v) }},
	{"heap-B", func(v float64) string { return "heap " + mebibytes(v) }},
	{"gc-capacity-frac", func(v float64) string { return fmt.Sprintf("GC %.1f %%", 100*v) }},
	{"goroutines", func(v float64) string { return fmt.Sprintf("%.0f goroutines", v) }},
	{"threads", func(v float64) string { return fmt.Sprintf("%.0f threads", v) }},
	{"cpu-frac", func(v float64) string { return fmt.Sprintf("CPU %.1f %%", 100*v) }},
}

// line has what was seen last, after how long it has lasted.
func (l *Watch) line(now time.Time) string {
	if len(l.trials) == 0 {
		return ""
	}
	first := l.Trials.line(now)
	if first == "measure" && !l.began.IsZero() { // there is no end that it could be compared with
		first = now.Sub(l.began).Round(time.Second).String()
	}
	parts := []string{first}
	for _, c := range liveColumns {
		if s, ok := l.seen[c.metric]; ok && now.Sub(s.at) <= l.fresh {
			parts = append(parts, c.show(s.value))
		}
	}
	return strings.Join(parts, " · ")
}

func mebibytes(v float64) string {
	if v >= 1<<30 {
		return fmt.Sprintf("%.2f GiB", v/(1<<30))
	}
	return fmt.Sprintf("%.1f MiB", v/(1<<20))
}
