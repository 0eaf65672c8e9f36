package progress

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/load"
	"github.com/dynolab/dyno/internal/report/layout"
)

// Trials shows trials as they run: one, or those of a block side by side.
type Trials struct {
	Line
	total, known int // trials in all, and those done before this session
	plan         *dyno.Experiment
	least        int           // blocks of a run that decides itself how many, however long they take
	within       time.Duration // most time for trials that are compared; 0 means any
	began        time.Time     // this session

	failures map[string]string // the name of the first trial of each, in this session

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

// NewTrials shows trials on w until Close. known and least are as newTrials has them.
func NewTrials(w io.Writer, e *dyno.Experiment, known, least int) *Trials {
	p := newTrials(e, known, least)
	p.Open(w, 0, p.line)
	return p
}

// newTrials shows a run of which so many trials are known. least is as in lab.Hands.
func newTrials(e *dyno.Experiment, known, least int) *Trials {
	p := &Trials{plan: e, total: e.Planned(), known: known, within: time.Duration(e.Within), began: time.Now(), failures: map[string]string{}}
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
func (p *Trials) line(now time.Time) string {
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
func (p *Trials) seen() (over, failed int64, phase string) {
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
func (p *Trials) left(now time.Time) []string {
	each, since := p.took/time.Duration(p.done), now.Sub(p.start)
	if p.ended {
		since = 0
	}
	had, compared, n := p.known+p.done, p.plan.MostCompared(), len(p.plan.Levels())
	if len(p.plan.More) > 0 {
		return []string{fmt.Sprintf("%v left", max(each*time.Duration(p.total-had)-since, 0).Round(time.Second))}
	}
	left := each*time.Duration(compared-had) - since
	if p.within > 0 {
		// The block under way is finished, and no other begins that would last too long.
		block := each*time.Duration(max(p.least*n, (had/n+1)*n)-had) - since
		left = min(left, max(p.within-now.Sub(p.began), block))
	}
	left, most := max(left, 0)+each*time.Duration(p.total-compared), "at most "
	if t := p.trials[0]; t.For != "" && t.For != dyno.ForSame { // then no more are compared
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
func (p *Trials) name(trials ...underWay) []string {
	t := trials[0]
	parts := []string{fmt.Sprintf("trial %d/%d", t.N, p.total)}
	switch most := p.plan.MostCompared(); {
	case t.For == "" && len(p.plan.More) > 0:
		parts[0] = fmt.Sprintf("block %d/%d", t.Block, p.plan.Compared()/len(p.plan.Levels()))
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

// Begin is called as each trial begins.
func (p *Trials) Begin(t *dyno.Trial, m *load.Meter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || slices.ContainsFunc(p.trials, func(o underWay) bool { return o.N == t.N || o.meter.Phase() != "" }) {
		p.trials = nil // they are over, or tried anew
	}
	p.trials = append(p.trials, underWay{t, m})
	slices.SortFunc(p.trials, func(a, b underWay) int { return p.plan.Place(a.Setting) - p.plan.Place(b.Setting) })
	p.start, p.phase, p.ended = time.Now(), "", false
}

// End is called with each result, when all trials under way are over. On a terminal only
// failures leave a line.
func (p *Trials) End(r *dyno.Result) {
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
	like := r.FailedLike()
	if first, ok := p.failures[like]; ok {
		fmt.Fprintf(p.w, "%s: failed like %s\n", name, first)
		return
	}
	if r.Err != "" {
		p.failures[like] = name
		first, _, _ := strings.Cut(r.Err, "\n") // the report has the last lines of the subject, once
		fmt.Fprintf(p.w, "%s: failed: %s\n", name, first)
		return
	}
	requests := ""
	if n := r.Sent.Requests; n > 0 { // another generator may not say
		requests = layout.Count(int(n), "request") + " in "
	}
	fmt.Fprintf(p.w, "%s: %s%v\n", name, requests, r.Elapsed.Round(time.Millisecond))
}
