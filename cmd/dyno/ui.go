package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"
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

// A progress shows trials as they run: one, or those of a block side by side.
type progress struct {
	progressLine
	total, known int // trials in all, and those done before this session
	plan         *dyno.Experiment
	least        int           // blocks of a run that decides itself how many, however long they take
	within       time.Duration // most time for trials that are compared; 0 means any
	began        time.Time     // this session

	done    int // in this session
	took    time.Duration
	trials  []underWay // in the order of settings
	ended   bool       // the trials
	start   time.Time  // of the trials
	phase   string
	entered time.Time // the phase
	mark    time.Time // of the last count of requests
	count   int64
	rate    float64
}

type underWay struct {
	*dyno.Trial
	meter *load.Meter
}

// newProgress shows a run of which so many trials are known. least is as in lab.Hands.
func newProgress(e *dyno.Experiment, known, least int) *progress {
	p := &progress{plan: e, total: e.Planned(), known: known, within: time.Duration(e.Within), began: time.Now()}
	if e.Sequential() && e.Within == 0 {
		p.within, p.least = time.Duration(dyno.DefaultWithin), least
	}
	if e.Slice > 0 { // one launch, and results when it is over
		p.total = 1
	}
	return p
}

// line names the trial unless it is alone, its phase, requests per second now, and
// the time left if the coming trials take as long as those past.
func (p *progress) line(now time.Time) string {
	if len(p.trials) == 0 {
		return ""
	}
	n, failed, phase := p.seen()
	if phase != p.phase {
		p.phase, p.entered, p.mark, p.count, p.rate = phase, now, now, n, 0
	}
	if since := now.Sub(p.mark); since >= time.Second || p.rate == 0 && since > 0 {
		p.rate = float64(n-p.count) / since.Seconds()
		p.mark, p.count = now, n
	}
	var parts []string
	if p.total > 1 {
		parts = p.name(p.trials...)
	}
	far := howFar(p.trials, phase, now.Sub(p.entered), n)
	switch {
	case phase == "measure" && (p.total == 1 || len(p.trials) > 1) && far != "":
		parts = append(parts, far)
	case phase != "":
		parts = append(parts, strings.TrimSpace(phase+" "+far))
	}
	if p.rate > 0 {
		parts = append(parts, layout.Digits(int64(math.Round(p.rate)))+" req/s")
	}
	if failed > 0 {
		parts = append(parts, layout.Digits(failed)+" failed")
	}
	if p.done > 0 {
		parts = append(parts, p.left(now)...)
	}
	return strings.Join(parts, " · ")
}

// phases are in order. The meter of a trial has snapshots before its window and after it.
var phases = []string{"", "start", "setup", "warmup", "snapshot", "measure", "teardown", "idle", "free"}

// seen is the requests that are over and that failed, and the phase of the slowest trial.
func (p *progress) seen() (over, failed int64, phase string) {
	first := math.MaxInt
	for _, t := range p.trials {
		over += t.meter.Done.Load()
		failed += t.meter.Failed.Load()
		of := t.meter.Phase()
		if at := slices.Index(phases, of); at < first {
			first, phase = at, of
		}
	}
	return over, failed, phase
}

// left says how long the run takes yet, if trials take as long as those past; of one that
// decides itself how many blocks it takes, how long at most, as far as that is known.
func (p *progress) left(now time.Time) []string {
	each, since := p.took/time.Duration(p.done), now.Sub(p.start)
	if p.ended {
		since = 0
	}
	had, compared, n := p.known+p.done, p.plan.MostCompared(), len(p.plan.Levels())
	left := each*time.Duration(compared-had) - since
	if p.within > 0 {
		// The block under way is finished, and no other begins that would last too long.
		block := each*time.Duration(max(p.least*n, (had/n+1)*n)-had) - since
		left = min(left, max(p.within-now.Sub(p.began), block))
	}
	left, most := max(left, 0)+each*time.Duration(p.total-compared), "at most "
	if t := p.trials[0]; t.For != "" { // then no more are compared
		left, most = max(each*time.Duration(p.total-t.N+1)-since, 0), ""
	} else if !p.plan.Sequential() {
		most = ""
	}
	if left == 0 && most != "" {
		return nil
	}
	return []string{fmt.Sprintf("%s%v left", most, left.Round(time.Second))}
}

// howFar is the part of a phase that is over: "12s of 30s", or "41% of 20,000". Side by
// side it is that of all trials, since one waits while another works.
func howFar(trials []underWay, phase string, since time.Duration, done int64) string {
	var all int64
	var length dyno.Duration
	for _, t := range trials {
		l := t.Load.Resolved()
		switch {
		case phase == "warmup":
			length += l.Warmup
		case phase != "measure":
			return ""
		case l.RequestsPerClient > 0:
			all += int64(l.RequestsPerClient) * int64(l.Concurrency)
		case l.Requests > 0:
			all += int64(l.Requests)
		default:
			length += l.Duration
		}
	}
	switch {
	case all > 0:
		return fmt.Sprintf("%d%% of %s", min(100*done/all, 100), layout.Digits(all))
	case length > 0: // the last requests are awaited beyond the end
		return fmt.Sprintf("%v of %v", min(since, time.Duration(length)).Truncate(time.Second), length)
	}
	return ""
}

// nameRoom is what a line has beside the settings of a block: "block 12/20", "12s of 30s",
// "123,456 req/s" and "at most 1m20s left".
const nameRoom = 64

// name says which trials these are: one of the plan, or those of a block. Of a run that
// decides itself how many blocks it takes no number is known.
func (p *progress) name(trials ...underWay) []string {
	t := trials[0]
	parts := []string{fmt.Sprintf("trial %d/%d", t.N, p.total)}
	switch most := p.plan.MostCompared(); {
	case t.For != "" && p.plan.Sequential():
		parts[0] = fmt.Sprintf("trial %d/%d", t.N-most, p.total-most)
	case p.plan.Sequential():
		parts[0] = fmt.Sprintf("block %d", t.Block)
	case len(p.trials) > 1: // of which trials may be one
		parts[0] = fmt.Sprintf("block %d/%d", t.Block, most/len(p.plan.Levels()))
	}
	if s := t.Setting.String(); len(trials) == 1 && s != "" {
		parts = append(parts, s)
	}
	if len(trials) > 1 {
		room := math.MaxInt
		if p.width > 0 {
			room = p.width - nameRoom
		}
		parts = append(parts, together(trials, room))
	}
	if t.For != "" {
		parts = append(parts, "for "+t.For)
	}
	return parts
}

// together names settings side by side, as fully as there is room.
func together(trials []underWay, room int) string {
	name := trials[0].Setting.Label()
	for _, t := range trials[1:] {
		s := t.Setting.Label()
		if len(t.Setting) == 1 { // and so has each
			s = strings.TrimPrefix(s, t.Setting[0].Factor+"=")
		}
		name += ", " + s
	}
	const how = " side by side"
	switch n := utf8.RuneCountInString(name); {
	case n+len(how) <= room:
		return name + how
	case n <= room:
		return name
	}
	return fmt.Sprintf("%d%s", len(trials), how)
}

func (p *progress) begin(t *dyno.Trial, m *load.Meter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || slices.ContainsFunc(p.trials, func(o underWay) bool { return o.N == t.N || o.meter.Phase() != "" }) {
		p.trials = nil // they are over, or tried anew
	}
	p.trials = append(p.trials, underWay{t, m})
	slices.SortFunc(p.trials, func(a, b underWay) int { return p.plan.Place(a.Setting) - p.plan.Place(b.Setting) })
	p.start, p.phase, p.ended = time.Now(), "", false
}

// end is called with each result, when all trials under way are over. On a terminal only
// failures leave a line.
func (p *progress) end(r *dyno.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.ended = true
		p.done += len(p.trials)
		p.took += time.Since(p.start)
	}
	if p.width > 0 && r.Err == "" {
		return
	}
	p.erase()
	name := strings.Join(p.name(underWay{Trial: &r.Trial}), " ")
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
