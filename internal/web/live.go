package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/safe"
	"github.com/dynolab/dyno/internal/store"
)

const (
	mostFollowers = 20
	lookEvery     = time.Second
	beatEvery     = 15 * time.Second // when there is nothing to tell
	sendTime      = 10 * time.Second // until who does not read is given up
	mostEarlier   = 20               // results from before that a new follower is told
	endLooks      = 2                // checks without a writer until a run is taken to have ended
)

// live sends server-sent events about a run until it ends or the client goes away:
// progress, points, latency, result and, last, end. It only reads the run directory, so
// any process may measure.
func (s *Site) live(w http.ResponseWriter, r *http.Request, dir *store.Dir) error {
	defer s.followers.Add(-1)
	if s.followers.Add(1) > mostFollowers {
		return refuse(http.StatusServiceUnavailable, "%d pages already follow runs (consider: to close some)", mostFollowers)
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // of proxies, which would hold events back
	out := &events{w: w, control: http.NewResponseController(w)}
	f := newFollower(dir)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	out.write("retry: 2000\n\n")
	for first := true; ; first = false {
		ended := f.look(out, first)
		if time.Since(out.last) >= beatEvery {
			out.write(": still here\n\n")
		}
		if ended || out.err != nil {
			return nil
		}
		select {
		case <-r.Context().Done():
			return nil
		case <-tick.C:
		}
	}
}

// events writes server-sent events. What follows its first error is not sent.
type events struct {
	w       http.ResponseWriter
	control *http.ResponseController
	last    time.Time
	err     error
}

func (e *events) send(name string, v any) {
	data, err := json.Marshal(v) // which has no newline
	if err != nil {
		e.err = err
		return
	}
	e.write(fmt.Sprintf("event: %s\ndata: %s\n\n", name, data))
}

func (e *events) write(text string) {
	if e.err != nil {
		return
	}
	e.last = time.Now()
	e.control.SetWriteDeadline(e.last.Add(sendTime)) // a writer in tests has none
	if _, e.err = e.w.Write([]byte(text)); e.err == nil {
		e.err = e.control.Flush()
	}
}

// A progress is how far a run is.
type progress struct {
	Done    int     `json:"done"`                 // trials that have a result, failed ones included
	Failed  int     `json:"failed"`               // of these
	Planned int     `json:"planned"`              // 0 while the run decides itself how many it takes
	Within  float64 `json:"within-sec,omitempty"` // the time that such a run has
	Trial   int     `json:"trial,omitempty"`      // the one under way
	Block   int     `json:"block,omitempty"`      // the one under way, if its trials run side by side or no number of trials is planned
	Setting string  `json:"setting,omitempty"`    // side by side, those of all
	Beside  bool    `json:"beside,omitempty"`     // trials run side by side
	For     string  `json:"for,omitempty"`
	Phase   string  `json:"phase"`       // preparing, starting or measuring: of the slowest trial
	Elapsed float64 `json:"elapsed-sec"` // of the trial, or the block
	Left    float64 `json:"left-sec"`    // of the run; -1 if that cannot be told
}

// A trialResult is what is told of a finished trial.
type trialResult struct {
	Trial   int                `json:"trial"`
	Setting string             `json:"setting"`
	For     string             `json:"for,omitempty"`
	Err     string             `json:"error,omitempty"`
	Values  map[string]float64 `json:"values"` // of primary metrics
}

// A follower reads what was added to a run directory since it last looked.
type follower struct {
	dir     *store.Dir
	trials  []dyno.Trial // whose files are written one after the other, or those of a block together
	results tail
	of      map[int]*dyno.Result // by trial, without histograms
	order   []*dyno.Result       // as they were added
	now     []*current           // several side by side, none between trials
	plan    string               // what run.json was when it was last read
	over    dyno.Ended           // what it said then
	unheld  int                  // checks in a row that saw no writer
	told    progress
}

func newFollower(dir *store.Dir) *follower {
	f := &follower{dir: dir, trials: dir.Run.Plan.Trials(), of: map[int]*dyno.Result{}}
	f.results.path = filepath.Join(dir.Path, "results.jsonl")
	if dir.Run.Plan.Slice > 0 {
		f.trials = f.trials[:1] // the launch of all, whose slices have their results at its end
	}
	return f
}

// look tells what is new, and whether the run has ended.
func (f *follower) look(out *events, first bool) (ended bool) {
	held := heldNow(foundDir{path: f.dir.Path}) // before the results are read, so that none is missed at the end
	var added []*dyno.Result
	f.results.lines(func(line []byte) {
		r := new(dyno.Result)
		if json.Unmarshal(line, r) == nil {
			r.Latency, r.Sent.Slowest = nil, nil
			f.of[r.Trial.N] = r
			added = append(added, r)
		}
	})
	f.order = append(f.order, added...)
	if first && len(added) > mostEarlier {
		added = added[len(added)-mostEarlier:]
	}
	for _, r := range added {
		out.send("result", resultOf(r))
	}
	f.readEnded()
	f.find()
	if p := f.progress(); p != f.told || first {
		out.send("progress", p)
		f.told = p
	}
	for _, c := range f.now {
		c.tell(out, f.now)
	}
	if f.unheld++; held {
		f.unheld = 0
	}
	if ended = f.unheld >= endLooks || first && !held; ended {
		state := "done"
		if slices.ContainsFunc(f.wanted(), func(t dyno.Trial) bool { return f.of[t.N] == nil }) {
			state = "stopped"
		}
		out.send("end", map[string]string{"state": state})
	}
	return ended
}

// readEnded reads why the run compares no more, if run.json says so by now.
func (f *follower) readEnded() {
	now := changed(f.dir.Path, "run.json").String()
	if now == f.plan {
		return
	}
	var run struct{ Ended dyno.Ended }
	if safe.ReadJSON(filepath.Join(f.dir.Path, "run.json"), &run) == nil {
		f.plan, f.over = now, run.Ended
	}
}

// wanted are the trials that the run takes, as far as is known: of one that is over by itself
// no more are compared than have a result.
func (f *follower) wanted() []dyno.Trial {
	most := f.dir.Run.Plan.MostCompared()
	if f.over == "" || f.dir.Run.Plan.Slice > 0 {
		return f.trials
	}
	last := 0
	for n := range f.of {
		if n <= most {
			last = max(last, n)
		}
	}
	return slices.Concat(f.trials[:last], f.trials[most:])
}

// find finds the trials under way. One of them is without a good result, and its directory
// changed last, and after the last result; the others are those of its block whose directories
// changed after that, too. A resumed run cuts its results to whole lines, which counts as a
// change.
func (f *follower) find() {
	var at *dyno.Trial
	newest := f.results.changed
	var fresh []*current
	for i := range f.trials {
		t := &f.trials[i]
		info, err := os.Stat(f.dir.TrialFile(t.N, ""))
		if err != nil || !info.ModTime().After(f.results.changed) {
			continue
		}
		fresh = append(fresh, f.current(t, info))
		if r := f.of[t.N]; (r == nil || r.Err != "") && info.ModTime().After(newest) {
			at, newest = t, info.ModTime()
		}
	}
	f.now = slices.DeleteFunc(fresh, func(c *current) bool {
		return at == nil || c.trial.Block != at.Block || c.trial.For != at.For
	})
	plan := f.dir.Run.Plan
	slices.SortFunc(f.now, func(a, b *current) int { return plan.Place(a.trial.Setting) - plan.Place(b.trial.Setting) })
}

// current is the one that was there before, if it is the same.
func (f *follower) current(t *dyno.Trial, files os.FileInfo) *current {
	for _, c := range f.now {
		if c.trial.N == t.N && os.SameFile(c.place, files) {
			return c
		}
	}
	return newCurrent(f.dir, t, files)
}

func (f *follower) progress() progress {
	plan := f.dir.Run.Plan
	open := plan.Sequential() && f.over == ""
	trials := f.wanted()
	p := progress{Planned: len(trials), Phase: "preparing", Left: -1}
	at := len(f.trials) + 1
	if n := len(f.order); n > 0 {
		at = f.order[n-1].Trial.N + 1
	}
	if len(f.now) > 0 {
		f.describe(&p)
		at = slices.MinFunc(f.now, func(a, b *current) int { return a.trial.N - b.trial.N }).trial.N
		if open && p.For == "" {
			p.Block, p.Trial = f.now[0].trial.Block, 0
		}
	}
	for _, t := range trials {
		switch r := f.of[t.N]; {
		case r == nil:
		case r.Err == "":
			p.Done++
		case t.N < at && t.For != dyno.ForSame: // later ones failed in an earlier session, and are run again
			p.Done++
			p.Failed++
		}
	}
	if each := f.each(); each > 0 && (len(f.now) > 0 || len(f.order) > 0) {
		p.Left = each * float64(p.Planned-p.Done)
		if within := time.Duration(plan.Within).Seconds(); within > 0 && f.over == "" {
			p.Left = min(p.Left, within+each*float64(len(f.trials)-plan.MostCompared()))
		}
		p.Left = math.Round(max(p.Left-p.Elapsed, 0))
	}
	if open {
		p.Planned, p.Left, p.Within = 0, -1, time.Duration(plan.Within.Or(dyno.DefaultWithin)).Seconds()
	}
	return p
}

// describe says which trials are under way, and how far they are.
func (f *follower) describe(p *progress) {
	t := f.now[0].trial
	p.Trial, p.Setting, p.For, p.Phase = t.N, t.Setting.String(), t.For, "measuring"
	if f.dir.Run.Plan.Slice > 0 {
		p.Setting = ""
	}
	began := f.now[0].began
	var names []string
	for _, c := range f.now {
		names = append(names, c.trial.Setting.Label())
		if began.After(c.began) {
			began = c.began
		}
		if phase := c.phase(); phase != "measuring" {
			p.Phase = phase
		}
	}
	if len(f.now) > 1 {
		p.Beside, p.Trial, p.Block, p.Setting = true, 0, t.Block, strings.Join(names, ", ")
		if len(names) > mostNames {
			p.Setting = fmt.Sprintf("%d settings", len(names))
		}
	}
	p.Elapsed = max(time.Since(began), 0).Round(time.Second).Seconds()
}

// each estimates the seconds from one trial to the next, of a block side by side its share:
// the median so far, else by the plan, else 0.
func (f *follower) each() float64 {
	var took []float64
	for rest := f.order; len(rest) > 0; {
		n := together(rest)
		if n < len(rest) {
			if d := rest[n].Start.Sub(rest[0].Start); d > 0 {
				took = append(took, d.Seconds()/float64(n))
			}
		}
		rest = rest[n:]
	}
	if len(took) > 0 && f.dir.Run.Plan.Slice == 0 {
		slices.Sort(took)
		return took[len(took)/2]
	}
	l := f.trials[0].Load
	length := cmp.Or(time.Duration(l.Duration), l.Length())
	if length == 0 {
		return 0
	}
	return (length + time.Duration(l.Warmup) + time.Duration(l.Idle)/time.Duration(max(len(f.now), 1))).Seconds()
}

// together is how many of the first results are of trials that ran side by side, at least 1.
func together(rs []*dyno.Result) int {
	n := slices.IndexFunc(rs, func(r *dyno.Result) bool { return r.Turns == 0 || r.Trial.Block != rs[0].Trial.Block })
	if n < 0 {
		n = len(rs)
	}
	return max(n, 1)
}

func resultOf(r *dyno.Result) trialResult {
	t := trialResult{Trial: r.Trial.N, Setting: r.Trial.Setting.String(), For: r.Trial.For, Err: r.Err, Values: map[string]float64{}}
	for _, m := range dyno.Metrics {
		if v, ok := r.Values.Get(m.Name); ok && m.Primary {
			t.Values[m.Name] = v
		}
	}
	return t
}

const (
	recent   = 512 << 10 // bytes at the end of a growing file that a new follower is told
	mostLine = 8 << 20   // bytes of a line; longer ones are left out
)

// A tail reads the lines that are added to a file, which may be missing or be replaced.
type tail struct {
	path    string
	recent  bool // begin near the end of a long file
	at      int64
	torn    bool // at is within a line that is left out
	file    os.FileInfo
	changed time.Time // the file, last
}

// lines calls take for each new whole line. A read error ends it until the next call.
func (t *tail) lines(take func(line []byte)) {
	info, err := os.Lstat(t.path)
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	size := info.Size()
	if t.file == nil || !os.SameFile(t.file, info) || size < t.at {
		t.at, t.torn = 0, false
		if t.recent && size > recent {
			t.at, t.torn = size-recent, true
		}
	}
	t.file, t.changed = info, info.ModTime()
	if size == t.at {
		return
	}
	f, err := safe.Open(t.path)
	if err != nil {
		return
	}
	defer f.Close()
	for t.at < size {
		buf := make([]byte, min(size-t.at, mostLine))
		n, err := f.ReadAt(buf, t.at)
		whole := bytes.LastIndexByte(buf[:n], '\n') + 1
		for line := range bytes.Lines(buf[:whole]) {
			if !t.torn {
				take(bytes.TrimSuffix(line, []byte("\n")))
			}
			t.torn = false
		}
		switch {
		case whole > 0:
			t.at += int64(whole)
		case n == mostLine:
			t.at, t.torn = t.at+int64(n), true
		default:
			return // the line is not whole yet
		}
		if err != nil {
			return
		}
	}
}
