package receipts

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/gcmodel"
	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/findings/predict"
	"github.com/dynolab/dyno/internal/receipt"
	"github.com/dynolab/dyno/internal/safe"
	"github.com/dynolab/dyno/internal/stats"
	"github.com/dynolab/dyno/internal/store"
)

// Log is what a log of gctrace shows that was last written at a time, zero if that is not known; o says what was in force.
func Log(s *predict.Source, o predict.Options, written time.Time) *receipt.After {
	w := &s.Pooled[0]
	var first []string // what a log that grows keeps
	for _, c := range w.Cycles[:min(len(w.Cycles), 3)] {
		first = append(first, fmt.Sprint(c))
	}
	m := receipt.Measured{Levels: receipt.With(receipt.Levels(w.Setting), receipt.Program("", w.Procs)), Load: receipt.Unknown(), Values: map[string]receipt.Value{}}
	addWindows(&m, s.Per, []*predict.Window{w})
	a := &receipt.After{ID: sum(first...), Path: s.Name, Ended: written, Settings: []receipt.Measured{m}}
	if o.GOGC == nil && o.Limit == nil {
		a.Assumed = predict.Name(w.Setting)
	}
	goals(a, s)
	return a
}

// goals keeps what the goals of collections say against the setting.
func goals(a *receipt.After, s *predict.Source) {
	for _, n := range s.Notes {
		if n.Kind == predict.Implied {
			a.Goals, a.NotGoals = n.N, n.Of
		}
	}
}

// Withdraw takes back earlier checks by what came: those of receipts that promise nothing for its settings, as it is known now. No
// outcomes count instead.
func Withdraw(kept []*Kept, a *receipt.After, version string, made time.Time) (err error) {
	for _, k := range kept {
		c := k.Against(a)
		i := slices.IndexFunc(k.Checks, func(old receipt.Check) bool { return old.AfterID == a.ID && len(old.Outcomes) > 0 })
		if i < 0 || len(c.Outcomes) > 0 {
			continue
		}
		c.Dyno, c.Made = version, made
		err = errors.Join(err, k.Add(c))
	}
	return err
}

// Run is what a run directory shows; o says what was in force where dyno did not set it.
func Run(dir *store.Dir, o predict.Options) (*receipt.After, error) {
	plan := dir.Run.Plan
	if plan.Bench != nil {
		return nil, fmt.Errorf("%s is a run of benchmarks, but receipts are of services", dir.Path)
	}
	r := runReader{dir: dir, of: map[string][]*dyno.Result{}, failed: map[string][]*dyno.Result{}, windows: map[int]*predict.Window{}, per: predict.Request, options: o}
	load := plan.Trial(plan.Levels()[0]).Load
	r.After = receipt.After{
		ID: sum(plan.Name, dir.Run.Started.UTC().Format(time.RFC3339Nano)), Path: dir.Path, Name: plan.Name, Subject: plan.Subject.String(),
		Started: dir.Run.Started, Machine: MachineOf(dir), Open: load.Open(),
	}
	if err := r.capacities(); err != nil {
		return nil, err
	}
	if err := r.read(); err != nil {
		return nil, err
	}
	for _, res := range dir.Brief() {
		switch name := res.Trial.Setting.String(); {
		case res.Trial.For != "":
		case res.Err == "":
			r.of[name] = append(r.of[name], res)
		case !res.Void && plan.Slice == 0: // that a slice failed says nothing of its setting
			r.failed[name] = append(r.failed[name], res)
		}
	}
	t := r.table(plan.Levels())
	if t := plan.Trial(plan.Levels()[0]); len(r.windows) == 0 && !t.Subject.Launched() && (o.GOGC == nil || o.Limit == nil) {
		r.Assumed = predict.Name(r.told(&t))
	}
	first, known := len(r.Settings), []dyno.Setting(nil) // of r.Settings
	for i, s := range plan.Levels() {
		if len(r.of[s.String()])+len(r.failed[s.String()]) > 0 {
			r.Settings = append(r.Settings, r.measured(s, t.Settings[i].Values))
			known = append(known, s)
		}
	}
	if len(r.Settings) == 0 {
		return nil, fmt.Errorf("%s has no finished trial to hold a receipt against (consider: dyno report %[1]s)", dir.Path)
	}
	r.Ratio = func(of, to int, metric string) (receipt.Value, bool) {
		if of < first || to < first {
			return receipt.Value{}, false
		}
		v, ok := r.table([]dyno.Setting{known[to-first], known[of-first]}).Settings[1].Versus[metric]
		return receipt.Value{Value: v.Ratio, Lo: v.Lo, Hi: v.Hi, Trials: v.Comparison.N}, ok
	}
	return &r.After, nil
}

type runReader struct {
	receipt.After
	dir     *store.Dir
	of      map[string][]*dyno.Result // that count, by setting
	failed  map[string][]*dyno.Result // likewise
	windows map[int]*predict.Window   // by number of the trial
	per     predict.Per
	options predict.Options
}

// read reads the windows of all trials. A group of settings that has none tells nothing of its collections.
func (r *runReader) read() error {
	o := r.options
	for _, group := range predict.Groups(r.dir.Run.Plan) {
		o.Group = group
		s, err := predict.Read(r.dir, o)
		switch {
		case err != nil && (o.GOGC != nil || o.Limit != nil):
			return err
		case err != nil:
			continue
		}
		goals(&r.After, s)
		r.per = s.Per
		for i := range s.Trials {
			r.windows[s.Trials[i].Trials[0]] = &s.Trials[i]
		}
		for _, n := range s.Notes {
			if n.Kind == predict.Assumed {
				r.Assumed = n.Said[0]
			}
		}
	}
	return nil
}

// told is what the collector was told in a trial without a window, by the flags or else by the plan.
func (r *runReader) told(t *dyno.Trial) gcmodel.Setting {
	s, _ := predict.SettingOf(t.Subject.Env) // the service would not have started with a malformed one
	if r.options.GOGC != nil {
		s.GOGC = *r.options.GOGC
	}
	if r.options.Limit != nil {
		s.Limit = *r.options.Limit
	}
	return s
}

// sends is of the plan, as that of a receipt is: a setting may have words of templates in their place.
func (r *runReader) sends() string { return receipt.Under(&r.dir.Run.Plan.Load).Sends }

// table compares settings, the baseline first.
func (r *runReader) table(settings []dyno.Setting) *compare.Table {
	var rs []*dyno.Result
	for _, s := range settings {
		rs = append(rs, r.of[s.String()]...)
	}
	return compare.Tabulate(rs, compare.Options{Settings: settings})
}

// measured is what was seen of a setting, whose values are those of a table.
func (r *runReader) measured(s dyno.Setting, values map[string]compare.Summary) receipt.Measured {
	rs := r.of[s.String()]
	t := r.dir.Run.Plan.Trial(s)
	m := receipt.Measured{Load: receipt.LoadOf(&t.Load, values), Values: map[string]receipt.Value{}}
	for metric, v := range values {
		if !v.Saturated {
			m.Values[metric] = receipt.Value{Value: v.Center, Lo: v.Lo, Hi: v.Hi, Trials: len(v.Trials)}
		}
	}
	told, ws := r.told(&t), []*predict.Window(nil)
	for _, res := range rs {
		if w := r.windows[res.Trial.N]; w != nil {
			ws, told = append(ws, w), w.Setting
		}
	}
	m.Levels = receipt.With(receipt.Levels(told), s)
	if len(rs) > 0 {
		procs, _ := rs[0].Values.Get("gomaxprocs")
		m.Levels = receipt.With(m.Levels, receipt.Program(predict.GoOf(rs[0]), procs))
	}
	m.Load.Sends = r.sends()
	addWindows(&m, r.per, ws)
	r.addFailed(&m, s, &t.Load)
	return m
}

// addFailed counts the launches that failed. If none did not, the plan says the rate.
func (r *runReader) addFailed(m *receipt.Measured, s dyno.Setting, l *dyno.Load) {
	if len(r.of[s.String()]) == 0 && l.Open() {
		m.Load.Rate = receipt.Number(l.Peak())
	}
	for _, res := range r.of[s.String()] {
		if refused(res, l) {
			m.Refused++
		}
	}
	for _, res := range r.failed[s.String()] {
		switch {
		case res.Died:
			m.Died++
		case refused(res, l):
			m.Refused++
		default:
			m.Failed++
		}
	}
}

// refused reports whether more requests failed than the load allows.
func refused(r *dyno.Result, l *dyno.Load) bool {
	failures, _ := r.Values.Get("failures")
	return r.Sent.Requests > 0 && failures > float64(*l.Resolved().MaxFailures)*float64(r.Sent.Requests)
}

// addWindows adds the figures of predictions, and the load.
func addWindows(m *receipt.Measured, per predict.Per, ws []*predict.Window) {
	if len(ws) == 0 {
		return
	}
	for _, f := range predict.Figures(per) {
		var xs []float64
		for _, w := range ws {
			if x := f.Measured(w); !math.IsNaN(x) {
				xs = append(xs, x)
			}
		}
		if len(xs) > 0 {
			v := stats.Summarize(xs)
			m.Values[f.Metric] = receipt.Value{Value: v.Center, Lo: v.Lo, Hi: v.Hi, Trials: v.N}
		}
	}
	requests, elapsed, alloc := 0.0, 0.0, 0.0
	var live []float64
	for _, w := range ws {
		requests, elapsed, alloc = requests+w.Requests, elapsed+w.Elapsed, alloc+w.Alloc
		live = append(live, w.Live())
	}
	m.Requests = requests
	m.Load.Alloc, m.Load.Live = receipt.Number(alloc/elapsed), receipt.Number(stats.Median(live))
	if per == predict.Request {
		m.Load.Rate = receipt.Number(requests / elapsed)
	}
}

// capacities adds what a search found, if the directory is one's.
func (r *runReader) capacities() error {
	var found struct {
		Objectives []struct {
			Objective string `json:"objective"`
		} `json:"objectives"`
		Settings []struct {
			answer.Setting
			Capacity receipt.Number `json:"capacity/s"`
			Lo       receipt.Number `json:"lo"`
			Hi       receipt.Number `json:"hi"`
		} `json:"settings"`
	}
	err := safe.ReadJSON(filepath.Join(r.dir.Path, "capacity.json"), &found)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var objectives []string
	for _, o := range found.Objectives {
		objectives = append(objectives, o.Objective)
	}
	for _, s := range found.Settings {
		v := receipt.Value{Value: float64(s.Capacity), Lo: float64(s.Lo), Hi: float64(s.Hi), Trials: 1}
		load := receipt.Unknown()
		load.Sends = r.sends()
		r.Settings = append(r.Settings, receipt.Measured{Levels: receipt.LevelsOf(r.dir.Run.Plan, s.Levels), Load: load, Objectives: objectives, Values: map[string]receipt.Value{receipt.CapacityMetric: v}})
	}
	return err
}

// MachineOf is where the subject of a run ran.
func MachineOf(dir *store.Dir) receipt.Machine {
	rs := dir.Brief()
	if i := slices.IndexFunc(rs, func(r *dyno.Result) bool { return r.Node != nil }); i >= 0 {
		return receipt.Machine{CPU: rs[i].Node.CPU, CPUs: rs[i].Node.CPUs}
	}
	return receipt.Machine{CPU: dir.Run.Host.CPU, CPUs: dir.Run.Host.CPUs}
}

// sum is a short name of texts.
func sum(texts ...string) string {
	s := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return hex.EncodeToString(s[:6])
}
