package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/load"
	"github.com/dynolab/dyno/report/layout"
)

// The rules of the terminal: results go to stdout, all else to stderr. On a
// terminal one line of progress is redrawn four times a second and erased
// before anything else is printed; without one, each finished trial is a line.
// Nothing is coloured when NO_COLOR is set or TERM is dumb.

const redrawEvery = 250 * time.Millisecond

// terminal returns the width of the terminal w, or 0, and whether to use colour.
func terminal(w io.Writer) (width int, color bool) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	width, _, _ = term.GetSize(int(f.Fd())) // 0 on an error
	return width, os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

func notef(cmd *cobra.Command, format string, args ...any) {
	fmt.Fprintf(cmd.ErrOrStderr(), "note: "+format+"\n", args...)
}

type progressLine struct {
	w       io.Writer
	width   int // 0: no terminal
	stop    chan struct{}
	drawing sync.WaitGroup
	mu      sync.Mutex // held by whoever writes to w or changes what is drawn
}

// open draws a line over and over until close. Without a terminal it prints one every
// so often, or none for 0. line is called with mu held.
func (l *progressLine) open(w io.Writer, every time.Duration, line func(now time.Time) string) {
	l.w, l.stop = w, make(chan struct{})
	if width, _ := terminal(w); width > 0 && os.Getenv("TERM") != "dumb" {
		l.width, every = width, redrawEvery
	}
	if every == 0 {
		return
	}
	l.drawing.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-l.stop:
				return
			case now := <-tick.C:
				l.mu.Lock()
				switch text := line(now); {
				case l.width > 0:
					fmt.Fprintf(l.w, "\r\x1b[K%s", narrowed(text, l.width))
				case text != "":
					fmt.Fprintln(l.w, text)
				}
				l.mu.Unlock()
			}
		}
	})
}

// sayEvery is without a terminal.
const sayEvery = 10 * time.Second

// readingLine is seen while millions of requests are read, which takes seconds.
func readingLine(w io.Writer) *progressLine {
	l := new(progressLine)
	l.open(w, sayEvery, func(time.Time) string { return "reading what was measured, for the report ..." })
	return l
}

// narrowed leaves out parts that do not fit: half a number is a wrong one.
func narrowed(line string, width int) string {
	for utf8.RuneCountInString(line) >= width {
		i := strings.LastIndex(line, " · ")
		if i < 0 {
			return string([]rune(line)[:width-1])
		}
		line = line[:i]
	}
	return line
}

// erase makes room for what is to stay. mu is held, or nothing is drawn any more.
func (l *progressLine) erase() {
	if l.width > 0 {
		fmt.Fprint(l.w, "\r\x1b[K")
	}
}

func (l *progressLine) note(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.print(fmt.Sprintf(format, args...))
}

// print is note for who holds mu.
func (l *progressLine) print(text string) {
	l.erase()
	fmt.Fprintf(l.w, "note: %s\n", text)
}

// close erases the line.
func (l *progressLine) close() {
	close(l.stop)
	l.drawing.Wait()
	l.erase()
}

type progress struct {
	progressLine
	total, known int // trials in all, and those done before this session

	done    int // in this session
	took    time.Duration
	trial   *dyno.Trial
	meter   *load.Meter
	start   time.Time // of the trial
	phase   string
	entered time.Time // the phase
	mark    time.Time // of the last count of requests
	count   int64
	rate    float64
}

// line names the trial unless it is alone, its phase, requests per second now, and
// the time left if the coming trials take as long as those past.
func (p *progress) line(now time.Time) string {
	if p.trial == nil {
		return ""
	}
	n, phase := p.meter.Done.Load(), p.meter.Phase()
	if phase != p.phase {
		p.phase, p.entered, p.mark, p.count, p.rate = phase, now, now, n, 0
	}
	if since := now.Sub(p.mark); since >= time.Second || p.rate == 0 && since > 0 {
		p.rate = float64(n-p.count) / since.Seconds()
		p.mark, p.count = now, n
	}
	var parts []string
	if p.total > 1 {
		parts = p.name(p.trial)
	}
	far := howFar(p.trial.Load, phase, now.Sub(p.entered), n)
	switch {
	case phase == "measure" && p.total == 1 && far != "":
		parts = append(parts, far)
	case phase != "":
		parts = append(parts, strings.TrimSpace(phase+" "+far))
	}
	if p.rate > 0 {
		parts = append(parts, digits(int64(math.Round(p.rate)))+" req/s")
	}
	if n := p.meter.Failed.Load(); n > 0 {
		parts = append(parts, digits(n)+" failed")
	}
	if p.done > 0 {
		each := p.took / time.Duration(p.done)
		left := each*time.Duration(p.total-p.known-p.done) - now.Sub(p.start)
		parts = append(parts, fmt.Sprintf("%v left", max(left, 0).Round(time.Second)))
	}
	return strings.Join(parts, " · ")
}

// howFar is the part of a phase that is over: "12s of 30s", or "41% of 20,000".
func howFar(l dyno.Load, phase string, since time.Duration, done int64) string {
	l = l.Resolved()
	all := int64(l.Requests)
	if l.RequestsPerClient > 0 {
		all = int64(l.RequestsPerClient) * int64(l.Concurrency)
	}
	var length dyno.Duration
	switch {
	case phase == "warmup":
		length = l.Warmup
	case phase != "measure":
		return ""
	case all > 0:
		return fmt.Sprintf("%d%% of %s", min(100*done/all, 100), digits(all))
	default:
		length = l.Duration
	}
	if length == 0 {
		return ""
	}
	// The last requests are awaited beyond the end.
	return fmt.Sprintf("%v of %v", min(since, time.Duration(length)).Truncate(time.Second), length)
}

// digits writes a number with commas: 15,312.
func digits(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func (p *progress) name(t *dyno.Trial) []string {
	parts := []string{fmt.Sprintf("trial %d/%d", t.N, p.total)}
	if s := t.Setting.String(); s != "" {
		parts = append(parts, s)
	}
	if t.For != "" {
		parts = append(parts, "for "+t.For)
	}
	return parts
}

func (p *progress) begin(t *dyno.Trial, m *load.Meter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trial, p.meter, p.start, p.phase = t, m, time.Now(), ""
}

// end is called with each result. On a terminal only failures leave a line.
func (p *progress) end(r *dyno.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	p.took += time.Since(p.start)
	if p.width > 0 && r.Err == "" {
		return
	}
	p.erase()
	name := strings.Join(p.name(&r.Trial), " ")
	if r.Err != "" {
		fmt.Fprintf(p.w, "%s: failed: %s\n", name, r.Err)
		return
	}
	requests := ""
	if n := r.Sent.Requests; n > 0 { // another generator may not say
		requests = layout.Count(int(n), "request") + " in "
	}
	fmt.Fprintf(p.w, "%s: %s%v\n", name, requests, r.Elapsed.Round(time.Millisecond))
}
