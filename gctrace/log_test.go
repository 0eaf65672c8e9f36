package gctrace

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"
)

const ms = time.Millisecond

// cycle is collection n of a process, 100 ms after the one before, with GOMAXPROCS 2.
func cycle(n int) Cycle {
	return Cycle{
		N: n, Start: time.Duration(n) * 100 * ms, SweepTerm: 2 * ms, Mark: 7 * ms, MarkTerm: ms,
		SweepTermCPU: 4 * ms, Assist: ms, Background: 3 * ms, Idle: 5 * ms, MarkTermCPU: 2 * ms,
		HeapStart: 4 << 20, HeapEnd: 5 << 20, Live: 2 << 20, Goal: 6 << 20, Procs: 2, Percent: 4,
	}
}

func figure(f *Figures, name string, requests int64) (float64, bool) {
	for _, v := range f.Values(requests) {
		if v.Name == name {
			return v.Value, true
		}
	}
	return 0, false
}

func value(t *testing.T, f *Figures, name string, want float64) {
	t.Helper()
	if got, ok := figure(f, name, 30); !ok || math.Abs(got-want) > 1e-9*math.Abs(want) {
		t.Errorf("%s is %v, want %v", name, got, want)
	}
}

func TestFigures(t *testing.T) {
	var l Log
	for n := 1; n <= 11; n++ {
		if n == 5 || n == 6 { // lost
			continue
		}
		c := cycle(n)
		c.Forced = n == 11
		if n == 3 {
			c.SweepTerm = 30 * ms
		}
		l.Add(&c)
	}
	f := &l.Total
	for name, want := range map[string]float64{
		"collections": 9, "forced": 1, "missing": 2, "requests": 30, "req/gc": 30. / 9,
		"span-sec": 1.11, "gc-total-sec": 0.118, "gc-cpu-sec": 0.09, "gc-cpu-frac": 0.09 / 2.22, "pace-sec": 0.1,
		"heap-live-B": 2.5 * (1 << 20), "heap-live-max-B": 2 << 20, "heap-goal-B": 6.5 * (1 << 20), "heap-end-last-B": 5 << 20,
		"pause-max-sec": 0.03, "pause-total-sec": 8*0.002 + 0.03 + 9*0.001, "sweep-term-p50-sec": 0.002, "sweep-term-p99-sec": 0.03,
		"mark-sec": 0.007, "mark-max-sec": 0.007, "assist-sec": 0.009, "background-sec": 0.027, "idle-sec": 0.045,
	} {
		value(t, f, name, want)
	}
	if len(l.Processes) != 1 || l.Processes[0].Said != 0.04 || l.Processes[0].Began != 0 {
		t.Errorf("%+v", l.Processes)
	}
}

// A log that begins late tells nothing of what was before.
func TestLogFromTheMiddle(t *testing.T) {
	var l Log
	for n := 101; n <= 110; n++ {
		c := cycle(n)
		l.Add(&c)
	}
	value(t, &l.Total, "span-sec", 0.91)
	value(t, &l.Total, "pace-sec", 0.1)
	if p := l.Processes[0]; p.Began != 10100*ms || p.Timeline.Columns[0].Collections != 1 {
		t.Errorf("began at %v: %+v", p.Began, p.Timeline.Columns[0])
	}
	var one Log
	c := cycle(7)
	c.Goal = 0
	one.Add(&c)
	for _, absent := range []string{"pace-sec", "heap-goal-B", "req/gc"} {
		if v, ok := figure(&one.Total, absent, 0); ok {
			t.Errorf("one collection has %s %v", absent, v)
		}
	}
}

func TestLogOfSeveralProcesses(t *testing.T) {
	seq := func(from, to int) (ns []int) {
		for n := from; n <= to; n++ {
			ns = append(ns, n)
		}
		return ns
	}
	mixed := seq(1, 20)
	for n := 1; n <= 50; n++ {
		mixed = append(mixed, n, n+20)
	}
	for name, test := range map[string]struct {
		ns   []int
		want []int64
	}{
		"one":                      {seq(1, 20), []int64{20}},
		"started again":            {slices.Concat(seq(1, 20), seq(1, 5), seq(1, 7)), []int64{20, 5, 7}},
		"its first line lost":      {slices.Concat(seq(1, 20), seq(2, 5)), []int64{20, 4}},
		"lines lost":               {slices.Concat(seq(1, 20), seq(25, 30)), []int64{26}},
		"passing the other's last": {slices.Concat(seq(1, 20), seq(1, 19), seq(22, 25)), []int64{20, 23}},
		"two at once":              {mixed, []int64{70, 50}},
	} {
		var l Log
		for _, n := range test.ns {
			c := cycle(n)
			l.Add(&c)
		}
		var got []int64
		for _, p := range l.Processes {
			got = append(got, p.Collections)
		}
		if !slices.Equal(got, test.want) || l.Total.Collections != int64(len(test.ns)) {
			t.Errorf("%s: %v collections, want %v", name, got, test.want)
		}
	}
	var many Log
	for range 100 {
		for n := 1; n <= 3; n++ {
			c := cycle(n)
			many.Add(&c)
		}
	}
	if len(many.Processes) != mostProcesses || many.More != 100-mostProcesses || many.Total.Collections != 300 {
		t.Errorf("%d processes and %d more, %d collections", len(many.Processes), many.More, many.Total.Collections)
	}
	value(t, &many.Total, "span-sec", 31)
	value(t, &many.Total, "pace-sec", 0.1)
}

// The columns stay as many however long the log is, and hold all of it.
func TestTimeline(t *testing.T) {
	var l Log
	const n = 20_000
	for i := 1; i <= n; i++ {
		c := cycle(i)
		if i == 500 {
			c.Mark += time.Minute // over many columns
		}
		l.Add(&c)
	}
	p := l.Processes[0]
	if c := len(p.Timeline.Columns); c < mostColumns/2 || c > mostColumns || p.Timeline.Width != 2048*ms {
		t.Errorf("%d columns of %v", c, p.Timeline.Width)
	}
	var sum Column
	for i, c := range p.Timeline.Columns {
		sum.Merge(&c)
		if c.Capacity > 2*p.Timeline.Width.Seconds()*(1+1e-9) {
			t.Fatalf("column %d has %v s of CPU in %v", i, c.Capacity, p.Timeline.Width)
		}
	}
	if sum.Collections != n || sum.Wall != p.Wall || math.Abs((sum.CPU-p.CPU).Seconds()) > 1e-6 || math.Abs(sum.Capacity-p.capacity) > 1e-6*p.capacity {
		t.Errorf("%+v of %+v", sum, p.Figures)
	}
}

func TestLogJSON(t *testing.T) {
	l := Log{Name: "gc.log", Requests: 30, Text: Text{Lines: 9, Scavenged: 5}}
	for n := 1; n <= 10; n++ {
		c := cycle(n)
		l.Add(&c)
	}
	data, err := json.Marshal(&l)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"collections", "gc-cpu-frac", "gc-total-sec", "pace-sec", "pause-max-sec", "heap-live-B", "req/gc", "gc-cpu-frac-runtime"} {
		if _, ok := got[key].(float64); !ok {
			t.Errorf("%s is %v", key, got[key])
		}
	}
	if ps, ok := got["processes"].([]any); !ok || len(ps) != 1 || got["log"] != "gc.log" {
		t.Errorf("%s", data)
	}
}
