package timeline

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
)

// A filmed is a trial with all that can be known of it.
type filmed struct {
	requests    []dyno.Request
	collections []dyno.Collection
	series      map[string]dyno.Series
	err         error // of all of them
	unkept      bool
}

func (f *filmed) result(n, block int, gogc string, window time.Duration) *dyno.Result {
	r := &dyno.Result{
		Trial:   dyno.Trial{N: n, Block: block, Setting: dyno.Setting{{Factor: "GOGC", Value: gogc}}},
		Elapsed: window, Latency: hist.New(),
	}
	for _, q := range f.requests {
		r.Sent.Requests++
		if !q.Failed {
			r.Latency.Add(q.Done - q.Due)
		}
	}
	return r
}

// filmSources are those of trials by number. They count what was read of a trial in
// read.
func filmSources(of map[int]*filmed, read map[string]int) Sources {
	return Sources{
		Each: func(n int, do func(i int)) {
			for i := range n {
				do(i)
			}
		},
		Times: func(r *dyno.Result, from, to time.Duration) (iter.Seq2[dyno.Times, error], bool) {
			f := of[r.Trial.N]
			if f.unkept {
				return nil, false
			}
			return batches(f.requests, f.err), true
		},
		Requests: func(r *dyno.Result, rows []int64) (rs []dyno.Request, err error) {
			read["requests"]++
			for _, row := range rows {
				rs = append(rs, of[r.Trial.N].requests[row])
			}
			return rs, nil
		},
		Lines: func(r *dyno.Result) iter.Seq2[hist.Line, error] {
			return func(yield func(hist.Line, error) bool) {
				for _, l := range logged(of[r.Trial.N].requests, r.Elapsed) {
					if !yield(*l, nil) {
						return
					}
				}
			}
		},
		Collections: func(r *dyno.Result) ([]dyno.Collection, error) {
			f := of[r.Trial.N]
			if f.collections == nil && f.err == nil {
				return nil, fs.ErrNotExist
			}
			return f.collections, f.err
		},
		Series: func(r *dyno.Result, metric string) (dyno.Series, error) {
			s, ok := of[r.Trial.N].series[metric]
			if !ok {
				return s, fs.ErrNotExist
			}
			return s, nil
		},
	}
}

func sec(s float64) time.Duration { return time.Duration(s * 1e9) }

// Two blocks of two settings, of which one trial failed: each trial is in the stretch
// of its block, and what happened in it in the columns of its time.
func TestPicture(t *testing.T) {
	quick := dyno.Request{Due: sec(0.5), Done: sec(0.51)}
	of := map[int]*filmed{
		1: {requests: []dyno.Request{quick, {Due: sec(3.9), Done: sec(4.3), Step: "slow", Status: 200}}, collections: []dyno.Collection{{Start: sec(4), End: sec(4.05)}}},
		2: {requests: []dyno.Request{quick, quick}, series: map[string]dyno.Series{"rss-B": {
			Metric: "rss-B", At: []time.Duration{sec(-0.1), sec(0.1), sec(0.15), sec(0.19), sec(7)}, Value: []float64{1e9, 5, 100, 7, 1e9},
		}}},
		3: {requests: []dyno.Request{quick}},
		4: {},
	}
	rs := []*dyno.Result{of[1].result(1, 1, "100", 8*time.Second), of[2].result(2, 1, "50", 4*time.Second), of[3].result(3, 2, "50", 2*time.Second), of[4].result(4, 2, "100", 9*time.Second)}
	rs[3].Err = "refused"
	look := of[1].result(5, 1, "100", time.Hour)
	look.Trial.For = dyno.ForProfile
	rs = append(rs, look)
	rs[0].Sent.Slowest = slices.Clone(of[1].requests[1:])

	axis := Axis(rs, 100)
	if got, want := fmt.Sprint(axis), "[{1 0s 8s 80} {2 0s 2s 20}]"; got != want {
		t.Fatalf("axis %s, want %s", got, want)
	}
	read := map[string]int{}
	p := NewPicture(rs, []dyno.Setting{rs[0].Trial.Setting}, axis, 10, filmSources(of, read))
	if p.Low != 10*ms || p.High != 400*ms || len(p.Settings) != 2 || len(p.Lost) > 0 {
		t.Fatalf("from %v to %v, %d settings, %v", p.Low, p.High, len(p.Settings), p.Lost)
	}
	a, b := &p.Settings[0], &p.Settings[1]
	if fmt.Sprint(a.Trials, b.Trials) != "[1 0] [2 3]" || a.Heats[1] != nil {
		t.Errorf("trials %v, %v", a.Trials, b.Trials)
	}
	if h := a.Heats[0]; sum(h) != 2 || h.Count(0, 5) != 1 || h.Count(9, 39) != 1 {
		t.Errorf("of trial 1: %v", h.Counts)
	}
	lone(t, b.Heats[0], 0, 5)
	lone(t, b.Heats[1], 0, 5)
	if s := a.Slowest; len(s) != 1 || s[0].Trial != 1 || s[0].Step != "slow" || !s[0].Met || !s[0].Known {
		t.Errorf("the slowest are %+v", s)
	}
	if s := b.Slowest; len(s) != 3 || s[0].Met || s[0].Known || read["requests"] != 2 {
		t.Errorf("the slowest of a trial without a list are %+v; %v was read", s, read)
	}
	if !a.Whole || a.Seconds {
		t.Errorf("%+v", a)
	}
	if len(a.Tracks) != 1 || a.Tracks[0].Metric != "gc-wall-frac" || len(a.Tracks[0].Max) != 100 || math.Abs(a.Tracks[0].Max[40]-0.5) > 1e-9 || !math.IsNaN(a.Tracks[0].Last[99]) {
		t.Errorf("tracks of trial 1: %+v", a.Tracks)
	}
	rss := b.Tracks[0]
	if len(b.Tracks) != 1 || rss.Min[1] != 5 || rss.Max[1] != 100 || rss.Last[1] != 7 {
		t.Errorf("tracks of trial 2: %+v", b.Tracks)
	}
	for i := range rss.Max {
		if i != 1 && !math.IsNaN(rss.Max[i]) {
			t.Errorf("column %d has a reading, %v", i, rss.Max[i])
		}
	}
}

// A part has the scale of the whole, and the slowest requests of its own; where they
// were not kept, those of the whole that are in it.
func TestPicturePart(t *testing.T) {
	f := &filmed{}
	for i := range 1000 {
		f.requests = append(f.requests, dyno.Request{Due: time.Duration(i) * 10 * ms, Done: time.Duration(i)*10*ms + time.Duration(1+i%50)*ms})
	}
	r := f.result(1, 1, "100", 10*time.Second)
	r.Sent.Slowest = []dyno.Request{f.requests[49], f.requests[449]}
	of := map[int]*filmed{1: f}
	axis := CutAxis(Axis([]*dyno.Result{r}, 100), 4*time.Second, 5*time.Second, 10)
	if fmt.Sprint(axis) != "[{1 4s 5s 10}]" {
		t.Fatal(axis)
	}
	read := map[string]int{}
	p := NewPicture([]*dyno.Result{r}, nil, axis, 10, filmSources(of, read))
	s := &p.Settings[0]
	if sum(s.Heats[0]) != 100 || p.Low != ms || p.High != 50*ms || len(s.Slowest) != 10 || read["requests"] != 1 {
		t.Errorf("%+v, %v", s, read)
	}
	for i, q := range s.Slowest {
		if took := q.Done - q.Due; took != time.Duration(50-i/2)*ms || q.Due < 4*time.Second || q.Due >= 5*time.Second {
			t.Errorf("slowest %d is %+v", i, q)
		}
	}
	f.unkept = true
	s = &NewPicture([]*dyno.Result{r}, nil, axis, 10, filmSources(of, read)).Settings[0]
	if n := sum(s.Heats[0]); n < 95 || n > 105 || !s.Seconds || len(s.Slowest) != 1 || s.Slowest[0].Request != f.requests[449] {
		t.Errorf("by lines: %d, %+v", n, s)
	}
}

// What cannot be read is a note, and the latency log does for requests. A log of one
// line that says nothing of when is no map.
func TestPictureBroken(t *testing.T) {
	f := &filmed{err: errors.New("torn")}
	for i := range 100 {
		f.requests = append(f.requests, dyno.Request{Due: time.Duration(i) * 100 * ms, Done: time.Duration(i)*100*ms + ms})
	}
	r := f.result(7, 1, "100", 10*time.Second)
	src := filmSources(map[int]*filmed{7: f}, map[string]int{})
	rs := []*dyno.Result{r}
	p := NewPicture(rs, nil, Axis(rs, 20), 10, src)
	if h := p.Settings[0].Heats[0]; sum(h) != 100 || h.Collecting != nil || !p.Settings[0].Seconds {
		t.Errorf("%+v", h)
	}
	if len(p.Lost) != 1 || p.Lost[0].Trial != 7 || !strings.Contains(p.Lost[0].Err.Error(), "torn") {
		t.Errorf("lost %v", p.Lost)
	}
	src.Lines = func(*dyno.Result) iter.Seq2[hist.Line, error] {
		return func(yield func(hist.Line, error) bool) {
			yield(hist.Line{To: 10 * time.Second, Histogram: r.Latency}, nil)
		}
	}
	if p = NewPicture(rs, nil, Axis(rs, 20), 10, src); p.Settings[0].Heats[0].Counts != nil || p.Settings[0].Seconds {
		t.Errorf("of one line: %+v", p.Settings[0])
	}
	none := &dyno.Result{Trial: r.Trial, Elapsed: time.Second} // a watch
	if p = NewPicture([]*dyno.Result{none}, nil, Axis([]*dyno.Result{none}, 20), 10, src); p.High != 0 || p.Settings[0].Heats[0].Counts != nil {
		t.Errorf("without a load: %+v", p)
	}
}

// A long block beside short ones leaves them their columns, and blocks beyond what
// can be shown are left out.
func TestAxis(t *testing.T) {
	var rs []*dyno.Result
	add := func(block int, window time.Duration) {
		rs = append(rs, &dyno.Result{Trial: dyno.Trial{N: len(rs) + 1, Block: block}, Elapsed: window})
	}
	for i := range 7 {
		add(i+1, sec(1))
	}
	columns := 0
	for _, s := range Axis(rs, 1200) {
		columns += s.Columns
	}
	if columns != 1200 {
		t.Errorf("%d columns of seven blocks alike", columns)
	}
	add(8, time.Hour)
	if axis := Axis(rs, 1200); axis[0].Columns != 20 || axis[7].Columns < 1190 {
		t.Errorf("%v", axis)
	}
	for i := range 200 {
		add(i+9, sec(1))
	}
	if axis := Axis(rs, 1200); len(axis) != 120 || AxisBlocks(rs) != 208 {
		t.Errorf("%d of %d blocks", len(axis), AxisBlocks(rs))
	}
	axis := []Stretch{{1, 0, sec(2), 20}, {2, 0, sec(3), 30}, {3, 0, sec(1), 10}}
	for _, cut := range []struct {
		from, to float64
		want     string
	}{
		{0, 6, "[{1 0s 2s 20} {2 0s 3s 30} {3 0s 1s 10}]"},
		{1.5, 2.5, "[{1 1.5s 2s 30} {2 0s 500ms 30}]"},
		{2, 5, "[{2 0s 3s 60}]"},
		{5.5, 100, "[{3 500ms 1s 60}]"},
		{6, 7, "[]"}, {3, 3, "[]"}, {4, 3, "[]"},
	} {
		if got := fmt.Sprint(CutAxis(axis, sec(cut.from), sec(cut.to), 60)); got != cut.want {
			t.Errorf("from %v to %v: %s, want %s", cut.from, cut.to, got, cut.want)
		}
	}
}

func TestTwoDigits(t *testing.T) {
	for d, want := range map[time.Duration][2]time.Duration{
		7: {7, 7}, 99: {99, 99}, 101: {100, 110}, 31_999: {31_000, 32_000}, 412_345_678: {410_000_000, 420_000_000}, 999: {990, 1000},
	} {
		if got := [2]time.Duration{twoDigits(d, math.Floor), twoDigits(d, math.Ceil)}; got != want {
			t.Errorf("%d is from %d to %d, want %d", d, got[0], got[1], want)
		}
	}
}
