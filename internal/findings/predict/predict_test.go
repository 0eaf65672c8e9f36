package predict

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/analysis/gcmodel"
	"github.com/dynolab/dyno/internal/store"
)

const mib = gcmodel.MiB

// The values of variables mean what they mean to the runtime.
func TestSettingOf(t *testing.T) {
	for text, want := range map[string]float64{"": 100, "50": 50, "0": 0, "off": gcmodel.Off, "-1": gcmodel.Off, "-7": gcmodel.Off, "+50": 100, "x": 100, "1e2": 100, "99999999999": 100} {
		if got := gogcOf(text); got != want {
			t.Errorf("GOGC=%s is %v, want %v", text, got, want)
		}
	}
	for text, want := range map[string]float64{"": 0, "off": 0, "1024": 1024, "64MiB": 64 * mib, "2GiB": 2048 * mib, "9223372036854775807": 0} {
		if got, err := limitOf(text); got != want || err != nil {
			t.Errorf("GOMEMLIMIT=%s is %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"none", "64MB", "-1"} {
		if _, err := limitOf(text); err == nil {
			t.Errorf("GOMEMLIMIT=%s: no error", text)
		}
	}
	for text, ok := range map[string]bool{"50": true, "0": true, "off": true, "-1": false, "x": false, "": false, "1.5": false, "+50": false} {
		if _, err := ParseGOGC(text); (err == nil) != ok {
			t.Errorf("--gogc %q: %v", text, err)
		}
	}
}

// A run that a former dyno recorded, in whole MiB: two settings, three trials of 300 requests each.
func TestReadFormer(t *testing.T) {
	dir, err := store.Read("../../../findings/testdata/runs/2bb5b5f/vary")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Read(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Trials) != 6 || len(s.Pooled) != 2 || s.Per != Request || s.Pooled[0].GOGC != 100 || s.Pooled[1].GOGC != 50 {
		t.Fatalf("%d trials of %d settings per %s", len(s.Trials), len(s.Pooled), s.Per)
	}
	w := s.Pooled[1]
	if w.Requests != 900 || len(w.Trials) != 3 || w.Exact() || w.Procs != 2 {
		t.Errorf("GOGC=50: %v requests of trials %v, exact %t, GOMAXPROCS %v", w.Requests, w.Trials, w.Exact(), w.Procs)
	}
	if each := w.Alloc / w.Requests; math.Abs(each-35900) > 200 {
		t.Errorf("%v bytes per request", each)
	}
	c := w.Cycles[0]
	if c.Trigger != 1.5*mib || c.End != 2.5*mib || c.Goal != 2.5*mib || c.Marked != 400192 || c.Exact {
		t.Errorf("the first cycle is %+v", c)
	}
	if math.Abs(c.Assist-58e-6) > 1e-9 || math.Abs(c.Idle-61e-6) > 1e-9 || math.Abs(c.Mark-810.5e-6) > 1e-9 {
		t.Errorf("marking took %v, assists %v, idle Ps %v", c.Mark, c.Assist, c.Idle)
	}
	for _, x := range []float64{w.RSSPeak, w.HeapPeak, w.Mapped, w.Overhead, w.CPU, w.GCCPU, w.Elapsed} {
		if !(x > 0) {
			t.Errorf("something is not known: %+v", w.Window)
		}
	}
	for name, want := range map[string]string{"bench": "run of benchmarks", "slice": "slices of one process", "watch": "not recorded"} {
		dir, err := store.Read("../../../findings/testdata/runs/2bb5b5f/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Read(dir, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// run is a run directory of two settings, one of which has a limit, in turns and with exact sizes.
func run(t *testing.T, each func(r *dyno.Result)) *store.Dir {
	t.Helper()
	e := &dyno.Experiment{
		Name: "x", Subject: dyno.Subject{Binary: "/bin/true", Dir: "/", Env: map[string]string{"GOMEMLIMIT": "64MiB"}},
		Factors: dyno.Factors{{Name: "GOGC", Levels: []string{"100", "off"}}, {Name: "arg.x", Levels: []string{"1", "2"}}}, Repeats: 2,
	}
	d, err := store.Create(filepath.Join(t.TempDir(), "run"), store.Run{Dyno: "test", Plan: e, Host: store.Host{CPUs: 4}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	for _, trial := range e.Trials() {
		h := hist.New()
		for range 1000 {
			h.Add(time.Millisecond)
		}
		r := &dyno.Result{
			Trial: trial, Start: time.Unix(1700000000, 0), Elapsed: 4 * time.Second, Turns: 10, Latency: h, Sent: dyno.Sent{Requests: 1000},
			Values: dyno.Values{{Metric: "req/s", Value: 500}, {Metric: "cpu-sec/req", Value: 1e-3}, {Metric: "gc-cpu-sec/req", Value: 2e-4},
				{Metric: "alloc-B/req", Value: 5000}, {Metric: "gc-cycles", Value: 10}, {Metric: "req/gc", Value: 102}, {Metric: "rss-peak-B", Value: 50 * mib}},
		}
		for n := range 10 {
			at := time.Duration(n) * 100 * time.Millisecond
			r.Collections = append(r.Collections, dyno.Collection{
				N: n + 1, Start: at, End: at + 5*time.Millisecond, SweepTerm: time.Millisecond, MarkTerm: time.Millisecond, Background: 2 * time.Millisecond,
				HeapStart: 30*mib + 8, HeapEnd: 32*mib + 8, Live: 21*mib + 24, Goal: 33 * mib, Forced: n == 4,
			})
		}
		if each != nil {
			each(r)
		}
		if err := d.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	read, err := store.Read(d.Path)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func TestRead(t *testing.T) {
	s, err := Read(run(t, nil), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Group != "arg.x=1" || len(s.Pooled) != 2 || s.Pooled[0].Limit != 64*mib || s.Pooled[1].GOGC != gcmodel.Off {
		t.Fatalf("group %s, %d settings", s.Group, len(s.Pooled))
	}
	w := s.Pooled[0]
	c := w.Cycles[0]
	if len(w.Cycles) != 18 || !c.Exact || c.Trigger != 30*mib+8 || c.Marked != 21*mib+24 || w.Live() != 19*mib+24 || c.Mark != 3e-3 {
		t.Errorf("%d cycles, the first %+v, live %v", len(w.Cycles), c, w.Live())
	}
	// The window of a trial in turns is longer than its own time, requests are those that metrics are
	// divided by, and forced collections cost what they took.
	if w.Elapsed != 4 || w.Requests != 2040 || w.Alloc != 5000*2040 || w.CPU != 2.04 || math.Abs(w.GCCPU-0.9*0.408) > 1e-12 || w.RSSPeak != 50*mib || w.Procs != 4 {
		t.Errorf("%+v", w.Window)
	}
	if !slices.ContainsFunc(s.Notes, func(n Note) bool { return n.Kind == Forced && n.N == 4 && n.Of == 40 }) {
		t.Errorf("forced collections: notes %v", s.Notes)
	}
	if !slices.ContainsFunc(s.Notes, func(n Note) bool { return n.Kind == Others && slices.Equal(n.Said, []string{"arg.x=2"}) }) {
		t.Errorf("other groups: notes %v", s.Notes)
	}
	if s.Tail != nil {
		t.Error("a tail without requests")
	}
	if s, err := Read(run(t, nil), Options{Group: "arg.x=2"}); err != nil || s.Group != "arg.x=2" {
		t.Errorf("another group: %v", err)
	}
	if _, err := Read(run(t, nil), Options{Group: "arg.x=3"}); err == nil || !strings.Contains(err.Error(), "want one of arg.x=1, arg.x=2") {
		t.Errorf("no such group: %v", err)
	}
	_, err = Read(run(t, func(r *dyno.Result) {
		r.Collections = nil
		r.Values = dyno.Values{{Metric: "gc-cycles", Value: 0}, {Metric: "req/s", Value: 500}}
	}), Options{})
	if !errors.Is(err, ErrNothing) {
		t.Errorf("a run without collections: %v", err)
	}
}

// What was in force is believed, not the plan; a trial in which it changed is left out.
func TestInForce(t *testing.T) {
	had := func(gogc ...string) (all []dyno.Setting) {
		for _, g := range gogc {
			all = append(all, dyno.Setting{{Factor: "GOGC", Value: g}, {Factor: "GOMEMLIMIT", Value: "off"}})
		}
		return all
	}
	s, err := Read(run(t, func(r *dyno.Result) { r.InForce = had("75") }), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Pooled) != 1 || s.Pooled[0].GOGC != 75 || s.Pooled[0].Limit != 0 {
		t.Errorf("two settings that are one in truth: %+v", s.Pooled)
	}
	if !slices.ContainsFunc(s.Notes, func(n Note) bool {
		return n.Kind == InForce && slices.Equal(n.Said, []string{"GOGC=75", "GOGC=off GOMEMLIMIT=64MiB"})
	}) {
		t.Errorf("notes %v", s.Notes)
	}
	s, err = Read(run(t, func(r *dyno.Result) {
		if r.Trial.Block == 1 {
			r.InForce = had("75", "80")
		}
	}), Options{})
	if err != nil || len(s.Trials) != 2 || s.Pooled[0].GOGC != 100 {
		t.Errorf("changed in half of the trials: %+v, %v", s.Trials, err)
	}
	if _, err = Read(run(t, func(r *dyno.Result) { r.InForce = had("75", "80") }), Options{}); err == nil || !strings.Contains(err.Error(), "from GOGC=75 to GOGC=80") {
		t.Errorf("changed in all: %v", err)
	}
}

// A service that sets GOGC itself is not taken for what its environment says.
func TestGoalsContradict(t *testing.T) {
	e := func(goal float64) []Note {
		_, err := Read(run(t, func(r *dyno.Result) {
			for i := range r.Collections {
				r.Collections[i].Goal = goal
			}
		}), Options{GOGC: new(float64), Limit: new(float64)})
		if err == nil {
			t.Fatal("two values of GOGC are overridden by one")
		}
		s, err := Read(run(t, func(r *dyno.Result) {
			for i := range r.Collections {
				r.Collections[i].Goal = goal
			}
		}), Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.Pooled {
			s.Pooled[i].Limit = 0
		}
		s.Notes = nil
		s.goals()
		return s.Notes
	}
	if ns := e(42 * mib); ns != nil {
		t.Errorf("GOGC=100 as it is: %v", ns)
	}
	if ns := e(84 * mib); len(ns) != 1 || ns[0].Kind != Implied || ns[0].N != 300 {
		t.Errorf("GOGC=300 in truth: %v", ns)
	}
}

// The overhead is that of a full heap, by a line through the samples of heaps that are more than half full; by their median
// if they are few. Without the series it is what mapped memory leaves.
func TestOverhead(t *testing.T) {
	w := &gcmodel.Window{Cycles: []gcmodel.Cycle{{End: 44}, {End: 46}}}
	var all, few, mapped, beside dyno.Series
	for i := range 40 {
		t, h := time.Duration(i), float64(i)
		all.At, all.Value = append(all.At, t), append(all.Value, h)
		mapped.At, mapped.Value = append(mapped.At, t), append(mapped.Value, 60)
		o := 30 - 0.5*h
		if i < 15 {
			o = 99 // spans that are yet to be swept
		}
		beside.At, beside.Value = append(beside.At, t), append(beside.Value, o)
	}
	if got, filling := overhead(w, mapped, all, beside); math.Abs(got-7.5) > 1e-9 || math.Abs(filling-0.5) > 1e-9 {
		t.Errorf("with the series: %v, filling %v", got, filling)
	}
	few.At, few.Value = all.At[32:], all.Value[32:]
	if got, filling := overhead(w, mapped, few, beside); got != 30-0.5*37.5 || !math.IsNaN(filling) {
		t.Errorf("of 8 samples: %v, filling %v", got, filling)
	}
	if got, _ := overhead(w, mapped, all, dyno.Series{}); got != 21 {
		t.Errorf("without it: %v", got)
	}
	if got, _ := overhead(w, mapped, dyno.Series{}, beside); !math.IsNaN(got) {
		t.Errorf("without a heap: %v", got)
	}
}

// gcLog is what a program prints that has 40 MiB live and allocates 40 MiB for each collection, one a
// second.
func gcLog(n int, from time.Duration, forced bool) string {
	text := ""
	for i := range n {
		end := "\n"
		if forced && i == n/2 {
			end = " (forced)\n"
		}
		text += fmt.Sprintf("gc %d @%.3fs 1%%: 0.10+10+0.10 ms clock, 0.20+1.0/5.0/3.0+0.20 ms cpu, 76->80->44 MB, 81 MB goal, 0 MB stacks, 0 MB globals, 2 P%s", i+1, (from + time.Duration(i)*time.Second).Seconds(), end)
	}
	return text
}

func TestReadLog(t *testing.T) {
	s, err := ReadLog(strings.NewReader("listening\n"+gcLog(61, time.Second, true)), Log{Name: "gc.log", Told: gcmodel.Setting{GOGC: 100}})
	if err != nil {
		t.Fatal(err)
	}
	w := s.Pooled[0]
	if s.Per != Minute || len(w.Cycles) != 59 || w.Elapsed != 60 || w.Requests != 1 || w.Procs != 2 {
		t.Errorf("%d cycles in %v s, %v minutes per %s", len(w.Cycles), w.Elapsed, w.Requests, s.Per)
	}
	// From 44 MiB after a collection to 80 at the end of the next one.
	if want := 60 * 36. * mib; math.Abs(w.Alloc-want) > 1 {
		t.Errorf("%v MiB allocated, want %v", w.Alloc/mib, want/mib)
	}
	if w.Live() != 40.5*mib || w.Exact() || math.Abs(w.GCCPU-59*9.4e-3) > 1e-9 {
		t.Errorf("live %v, GC CPU %v", w.Live()/mib, w.GCCPU)
	}
	for _, x := range []float64{w.CPU, w.RSSPeak, w.Mapped, w.Overhead} {
		if !math.IsNaN(x) {
			t.Errorf("a log does not tell %v", x)
		}
	}
	kinds := func(s *Source) (ks []NoteKind) {
		for _, n := range s.Notes {
			ks = append(ks, n.Kind)
		}
		return ks
	}
	if got := kinds(s); !slices.Equal(got, []NoteKind{NoMemory, Forced}) {
		t.Errorf("notes %v", got)
	}

	// Requests of an hour, of which the log has a minute.
	s, err = ReadLog(strings.NewReader(gcLog(61, time.Second, false)), Log{Requests: 60000, Duration: time.Hour, Told: gcmodel.Setting{GOGC: 100}})
	if err != nil || s.Per != Request || s.Pooled[0].Requests != 1000 {
		t.Errorf("%v requests per %s, %v", s.Pooled[0].Requests, s.Per, err)
	}

	// Two processes; what comes because two minutes are over; a line that is lost.
	idle := "gc 12 @200s 1%: 0.10+10+0.10 ms clock, 0.20+1.0/5.0/3.0+0.20 ms cpu, 46->46->44 MB, 89 MB goal, 0 MB stacks, 0 MB globals, 2 P\n"
	lost := strings.Split(gcLog(10, time.Second, false), "gc 5 ")
	s, err = ReadLog(strings.NewReader(gcLog(11, time.Second, false)+idle+lost[0]+lost[1][strings.Index(lost[1], "\n")+1:]), Log{Told: gcmodel.Setting{GOGC: 100}})
	if err != nil || !slices.Equal(kinds(s), []NoteKind{NoMemory, Processes, Missing, Periodic}) || len(s.Pooled[0].Cycles) != 10+8 {
		t.Errorf("%v, %v", s.Notes, err)
	}
	if got, want := s.Pooled[0].Elapsed, 199+9.; math.Abs(got-want) > 1e-9 {
		t.Errorf("%v s, want %v", got, want)
	}

	for text, want := range map[string]string{"": "no collection", "hello\n": "no collection", gcLog(1, 0, false): "too few"} {
		if _, err := ReadLog(strings.NewReader(text), Log{}); !errors.Is(err, ErrNothing) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

// Pacer lines tell sizes to the byte.
func TestReadPacedLog(t *testing.T) {
	f, err := os.Open("testdata/paced.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := ReadLog(f, Log{Told: gcmodel.Setting{GOGC: 100}})
	if err != nil {
		t.Fatal(err)
	}
	if w := s.Pooled[0]; !w.Exact() || whole(w.Cycles[0].Trigger-half) || len(w.Cycles) < 3 {
		t.Errorf("%d cycles, the first %+v", len(w.Cycles), w.Cycles[0])
	}
}

// A guide predicts as the GC guide does: it is no model, and enough to see what is asked.
type guide struct{ live, each, cliff float64 }

func (g guide) Cliff(_, live float64) float64 { return g.cliff * live }

func (g guide) Predict(s gcmodel.Setting) gcmodel.Prediction {
	exact := func(x float64) gcmodel.Estimate { return gcmodel.Estimate{Value: x, Lo: 0.9 * x, Hi: 1.1 * x} }
	live := g.live * max(s.Live, 1)
	room := live * s.GOGC / 100
	if s.Limit > 0 {
		room = min(room, s.Limit-live)
	}
	n := g.each / room
	return gcmodel.Prediction{Setting: s, Cycles: exact(n), GCCPU: exact(n * 0.01), CPU: exact(n*0.01 + 1e-3), HeapPeak: exact(live + room), RSSPeak: exact(live + room + 8*mib), Marking: exact(n * 5)}
}

func names(f *Forecast) (list []string) {
	for _, r := range f.Rows {
		list = append(list, Name(r.Setting))
	}
	return list
}

func TestForecast(t *testing.T) {
	s, err := Read(run(t, nil), Options{})
	if err != nil {
		t.Fatal(err)
	}
	g := guide{live: 20 * mib, each: 5000, cliff: 24 * mib}
	f := s.Forecast(g, Question{})
	got := names(f)
	if len(got) != 11+9 || got[0] != "GOGC=10" || got[10] != "GOGC=off" || !slices.Contains(got, "GOGC=100 GOMEMLIMIT=64MiB") || !slices.Contains(got, "GOGC=off GOMEMLIMIT=64MiB") {
		t.Errorf("%d settings: %v", len(got), got)
	}
	for _, r := range f.Rows {
		if measured := r.Limit == 64*mib; (r.Measured != nil) != measured {
			t.Errorf("%s is measured: %t", Name(r.Setting), r.Measured != nil)
		}
		if r.Limit > 0 && r.Limit < 24*mib {
			t.Errorf("a limit of %v below the cliff", Limit(r.Setting))
		}
	}
	for _, c := range []struct {
		q    Question
		want []string
	}{
		{Question{GOGC: []float64{75, 50, 75}}, []string{"GOGC=50", "GOGC=75", "GOGC=100 GOMEMLIMIT=64MiB", "GOGC=off GOMEMLIMIT=64MiB"}},
		{Question{GOGC: []float64{50}, Limits: []float64{0, 80 * mib}, Live: 1.25}, []string{"GOGC=50", "GOGC=50 GOMEMLIMIT=80MiB"}},
		{Question{Limits: []float64{80 * mib}, Live: 2}, []string{"GOGC=100 GOMEMLIMIT=80MiB", "GOGC=off GOMEMLIMIT=80MiB"}},
	} {
		f := s.Forecast(g, c.q)
		if got := names(f); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, want %v", c.q, got, c.want)
		}
		if f.Live > 1 && (f.Rows[0].Measured != nil || f.Rows[0].Setting.Live != f.Live) {
			t.Errorf("%+v: the first row is %+v", c.q, f.Rows[0])
		}
	}
	f = s.Forecast(guide{live: 20 * mib, each: 5000}, Question{})
	if !slices.ContainsFunc(f.Notes, func(n Note) bool { return n.Kind == NoLimits }) || slices.ContainsFunc(s.Notes, func(n Note) bool { return n.Kind == NoLimits }) {
		t.Error("no note that the cliff is not known, or one on the source, too")
	}
}

// Limits are round, in order, between the bounds, and not too many, however near these are.
func TestRound(t *testing.T) {
	for lo := 5.; lo < 1e6; lo *= 1.37 {
		for _, times := range []float64{1.02, 1.2, 2, 5, 100} {
			got := round(lo*mib, times*lo*mib, 8)
			if len(got) > 8 || !slices.IsSorted(got) || times > 1.3 && len(got) < 2 {
				t.Errorf("from %v to %v MiB: %v", lo, times*lo, got)
			}
			for _, x := range got {
				if x < lo*mib || x > times*lo*mib || !whole(x) {
					t.Errorf("from %v to %v MiB: %v", lo, times*lo, x/mib)
				}
			}
		}
	}
}

// How many requests meet a collection was measured at one setting, and is said so of that one.
func TestMeet(t *testing.T) {
	s, err := Read(run(t, nil), Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.Pooled[0].Limit = 0
	s.Tail = &Tail{Setting: s.Pooled[0].Setting, Met: 0.03, mean: 1e-3}
	f := s.Forecast(guide{live: 20 * mib, each: 5000}, Question{GOGC: []float64{100, 50, 1}})
	of := func(gogc float64) float64 {
		return f.Rows[slices.IndexFunc(f.Rows, func(r Row) bool { return r.GOGC == gogc })].Met.Value
	}
	if got := of(100); math.Abs(got-0.03) > 1e-12 {
		t.Errorf("GOGC=100: %v", got)
	}
	if got := of(50); math.Abs(got-0.06) > 1e-12 {
		t.Errorf("GOGC=50: %v", got)
	}
	if got := of(1); got != 1 {
		t.Errorf("GOGC=1: %v", got)
	}
}
