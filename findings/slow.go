package findings

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/slow"
)

// whySlow reads the execution traces and the requests of trials ForTrace into the table: why the requests above the
// quantile are slow, and why it differs from the baseline's. Traces that say nothing of it become a doubt.
func (f *Findings) whySlow(o Options) {
	t := f.Table
	taken, trials := map[string]int{}, map[string][]*slow.Trial{}
	asked := f.Plan.WhySlow
	for _, r := range f.Results {
		if r.Err != "" {
			continue
		}
		var files []string
		switch {
		case r.Trial.For == dyno.ForTrace:
			files = []string{f.Dir.TrialFile(r.Trial.N, "trace.out")}
		case len(f.Results) == 1: // a watch may have several
			files = f.watched(r.Trial.N)
			asked = asked || files != nil
		}
		setting := r.Trial.Setting.String()
		for n, file := range files {
			taken[setting]++
			if w, err := f.slowTrial(r, file, o); err == nil && w != nil {
				w.Block += n
				if r.Trial.For != dyno.ForTrace {
					w.File = filepath.Base(file)
				}
				trials[setting] = append(trials[setting], w)
			}
		}
	}
	for i := range t.Settings {
		s := &t.Settings[i]
		s.Slow = slow.Explain(trials[s.Setting.String()])
		used := 0
		if s.Slow != nil {
			used = len(s.Slow.Trials)
		}
		if all := taken[s.Setting.String()]; used < all && (used > 0 || asked) {
			t.Doubts = append(t.Doubts, compare.Doubt{Kind: dyno.WarnSlow, About: s.Setting.Label(), N: used, Of: all})
		}
		if base := &t.Settings[0]; i > 0 {
			s.SlowMoved = slow.Compare(base.Slow, s.Slow)
			because(s, s.SlowMoved)
		}
	}
}

// watched are the files of the traces of a watch, in the order in which they were taken.
func (f *Findings) watched(n int) (files []string) {
	numbers := map[string]int{}
	entries, _ := os.ReadDir(filepath.Dir(f.Dir.TrialFile(n, "trace.out")))
	for _, e := range entries {
		var number int
		if _, err := fmt.Sscanf(e.Name(), "trace-%d.out", &number); err == nil {
			file := f.Dir.TrialFile(n, e.Name())
			files, numbers[file] = append(files, file), number
		}
	}
	slices.SortFunc(files, func(a, b string) int { return numbers[a] - numbers[b] })
	return files
}

// mostOf is the share of a percentile's change from which on sure lines are its cause.
const mostOf = 0.5

// because takes the lines that surely changed a percentile as the cause of its change, in place of what only changed
// along with it, if they are most of it and it changed the same way where it was compared.
func because(s *compare.Setting, moved *slow.Change) {
	if moved == nil || moved.Mixed() {
		return
	}
	sum, unknown := 0.0, dyno.Number(math.NaN())
	var places []compare.Place
	for _, m := range moved.Moves {
		if !m.Sure || m.Site.Func == "" {
			continue
		}
		p := compare.Place{
			Func: m.Site.Func, File: m.Site.File, Line: m.Site.Line,
			Change: dyno.Number(m.Shift.Diff), Lo: dyno.Number(m.Shift.Lo), Hi: dyno.Number(m.Shift.Hi),
		}
		if m.In != 0 { // the interval is of all running
			p.Change, p.Lo, p.Hi = dyno.Number(m.In), unknown, unknown
		}
		sum += float64(p.Change)
		places = append(places, p)
	}
	metric := ""
	for _, p := range dyno.Percentiles {
		if math.Abs(p.Share-moved.Quantile) < 1e-9 {
			metric = p.Metric
		}
	}
	for i := range s.Why {
		share := sum / moved.Near
		if s.Why[i].Metric != metric || !(share >= mostOf) || (sum > 0) != (s.Versus[metric].Ratio > 1) {
			continue
		}
		s.Why[i].Causes = []compare.Cause{{
			Class: compare.ClassSlow, Metric: metric, Base: unknown, Now: unknown, Lo: unknown, Hi: unknown,
			Share: dyno.Number(min(share, 1)), Least: unknown, Most: unknown, Places: places,
		}}
	}
}

// Traces explains the slow requests in execution traces of one service that are files of their own, such as those of
// net/http/pprof or of runtime/trace.FlightRecorder. The table has no more than that, of one setting.
func Traces(files []string, o Options) (*Findings, error) {
	quantile := cmp.Or(o.SlowerThan, slow.P99)
	var trials []*slow.Trial
	defer oneTrace()()
	for n, file := range files {
		trace, err := reading(file, func(r io.Reader) (*slow.Trace, error) { return slow.Read(r, o.Serves...) })
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if t := trace.Of(nil, quantile); t != nil {
			t.N, t.Block, t.File = n+1, n+1, file
			trials = append(trials, t)
		}
	}
	return &Findings{Plan: &dyno.Experiment{}, Table: &Table{Settings: []Setting{{Slow: slow.Explain(trials)}}}}, nil
}

// slowTrial reads one trace of a trial, or what was kept of it. It is nil if that has too few requests.
func (f *Findings) slowTrial(r *dyno.Result, file string, o Options) (*slow.Trial, error) {
	quantile := cmp.Or(o.SlowerThan, slow.P99)
	usual := r.Trial.For == dyno.ForTrace && quantile == slow.P99 && len(o.Serves) == 0
	if usual {
		if t, err := readSlow(file); err == nil {
			return numbered(t, r), nil
		}
	}
	t, err := f.readTrace(r, file, quantile, o.Serves)
	if err == nil && usual && o.Keep {
		keepSlow(file, t)
	}
	return numbered(t, r), err
}

func (f *Findings) readTrace(r *dyno.Result, file string, quantile float64, serves []string) (*slow.Trial, error) {
	defer oneTrace()()
	trace, err := reading(file, func(trace io.Reader) (*slow.Trace, error) { return slow.Read(trace, serves...) })
	if err != nil {
		return nil, err
	}
	if path := f.Dir.TrialFile(r.Trial.N, "preempted.jsonl"); r.Trial.For == dyno.ForTrace {
		reading(path, func(in io.Reader) (struct{}, error) { // after an error it is not known
			return struct{}{}, trace.Preempt(in)
		})
	}
	var sent []slow.Request
	here := f.Plan.Subject.Launched() || f.Plan.Subject.PID != 0         // what is watched may be elsewhere
	if r.Clock != 0 && r.Node == nil && len(r.Generators) == 0 && here { // else the clock is another machine's
		for q, err := range f.Dir.Requests(r.Trial.N) {
			if err != nil { // none were kept: what the service saw is enough
				sent = nil
				break
			}
			one := slow.Request{Client: q.Client, Due: r.Clock + int64(q.Due), Sent: r.Clock + int64(q.Sent), Done: r.Clock + int64(q.Done)}
			if !q.Failed && one.Sent >= trace.Begin && one.Done <= trace.End {
				sent = append(sent, one)
			}
		}
	}
	throttled, _ := r.Values.Get("throttled-frac")
	trace.Limited = throttled > 0
	return trace.Of(sent, quantile), nil
}

var traceLock sync.Mutex

// traceMemory is what the garbage collector lets the reading of a trace have, where it can: without it, the memory is twice
// what the largest traces need.
const traceMemory = 400 << 20

// oneTrace begins to read a trace, and returns what ends that: there is one at a time.
func oneTrace() (end func()) {
	traceLock.Lock()
	before := debug.SetMemoryLimit(-1)
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	debug.SetMemoryLimit(min(before, int64(m.HeapAlloc)+traceMemory))
	return func() {
		debug.SetMemoryLimit(before)
		traceLock.Unlock()
	}
}

// numbered gives a trial what its result knows.
func numbered(t *slow.Trial, r *dyno.Result) *slow.Trial {
	if t != nil {
		t.N, t.Block = r.Trial.N, r.Trial.Block
		t.Throttled, _ = r.Values.Get("throttled-frac")
	}
	return t
}
