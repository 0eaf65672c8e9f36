package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/load"
)

// sayEvery is how often a watch says what it sees where there is no terminal.
const sayEvery = 10 * time.Second

// A live shows what a watch sees now.
type live struct {
	progress *progress // of the one trial; it draws nothing itself
	fresh    time.Duration

	mu    sync.Mutex
	began time.Time          // when the first point came
	seen  map[string]seenNow // by metric
}

// seenNow is the latest point of a series.
type seenNow struct {
	value float64
	at    time.Time
	probe string
}

// newLive shows what is sampled so often.
func newLive(w io.Writer, every time.Duration) *live {
	l := &live{
		progress: &progress{progressLine: progressLine{w: w, stop: make(chan struct{})}, total: 1},
		fresh:    max(3*every, 3*time.Second),
		seen:     map[string]seenNow{},
	}
	if width, _ := terminal(w); width > 0 && os.Getenv("TERM") != "dumb" {
		l.progress.width = width
	}
	return l
}

// begin is called as the trial begins.
func (l *live) begin(t *dyno.Trial, m *load.Meter) {
	l.progress.begin(t, m)
	l.progress.drawing.Go(l.draw)
}

// sample is told of each point. Of what several probes see, the kernel's word is
// taken.
func (l *live) sample(probe, metric string, v float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen[metric].probe == "proc" && probe != "proc" {
		return
	}
	now := time.Now()
	if p := l.progress; l.began.IsZero() { // which else would count from when it is first drawn
		l.began = now
		p.phase, p.entered, p.mark = "measure", now, now
	}
	l.seen[metric] = seenNow{v, now, probe}
}

func (l *live) draw() {
	p := l.progress
	every := sayEvery
	if p.width > 0 {
		every = redrawEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			return
		case now := <-tick.C:
			line := l.line(now)
			if p.width == 0 {
				fmt.Fprintln(p.w, line)
				continue
			}
			fmt.Fprintf(p.w, "\r\x1b[K%s", narrowed(line, p.width))
		}
	}
}

// liveColumns are what is shown, in order; what is not known is left out.
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

// line is what is drawn: how long it has lasted, and what was seen last.
func (l *live) line(now time.Time) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := l.progress.line(now)
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

// narrowed leaves out of a line the columns that do not fit into the width of a
// terminal: half a number is a wrong one.
func narrowed(line string, width int) string {
	r := []rune(line)
	if len(r) < width {
		return line
	}
	kept := string(r[:width-1])
	if i := strings.LastIndex(kept, " · "); i >= 0 && !strings.HasPrefix(string(r[width-1:]), " · ") {
		kept = kept[:i]
	}
	return kept
}

func mebibytes(v float64) string {
	if v >= 1<<30 {
		return fmt.Sprintf("%.2f GiB", v/(1<<30))
	}
	return fmt.Sprintf("%.1f MiB", v/(1<<20))
}

// close ends the drawing. It may be called twice.
func (l *live) close() { l.progress.close() }
