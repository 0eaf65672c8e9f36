package main

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/load"
)

// TestProgressLine: the line says how far a trial is, in the words of its load.
func TestProgressLine(t *testing.T) {
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name         string
		load         dyno.Load
		phase        string
		total        int
		done, failed int64
		after        time.Duration
		want         string
	}{
		{"a duration", dyno.Load{Duration: dyno.Duration(30 * time.Second)}, "measure", 1, 187_700, 3, 12250 * time.Millisecond, "12s of 30s · 15,322 req/s · 3 failed"},
		{"the default duration", dyno.Load{}, "measure", 1, 50, 0, 500 * time.Millisecond, "0s of 10s · 100 req/s"},
		{"the wait for the last", dyno.Load{Duration: dyno.Duration(2 * time.Second)}, "measure", 1, 0, 0, 5 * time.Second, "2s of 2s"},
		{"the length of a rate", dyno.Load{Rate: dyno.Rate{{From: 10, To: 20, Over: dyno.Duration(time.Minute)}}}, "measure", 1, 1000, 0, 59 * time.Second, "59s of 1m0s · 17 req/s"},
		{"requests", dyno.Load{Requests: 20_000}, "measure", 1, 8_299, 0, 2 * time.Second, "41% of 20,000 · 4,150 req/s"},
		{"requests of each client", dyno.Load{RequestsPerClient: 600, Concurrency: 2}, "measure", 1, 1300, 1234, time.Second, "100% of 1,200 · 1,300 req/s · 1,234 failed"},
		{"warm-up", dyno.Load{Warmup: dyno.Duration(3 * time.Second)}, "warmup", 1, 0, 0, time.Second, "warmup 1s of 3s"},
		{"set-up", dyno.Load{}, "setup", 1, 0, 0, time.Second, "setup"},
		{"one of many", dyno.Load{}, "measure", 12, 900, 0, 3 * time.Second, "trial 4/12 · GOGC=50 · measure 3s of 10s · 300 req/s"},
	} {
		var m load.Meter
		p := &progress{total: c.total}
		p.trial, p.meter, p.start = &dyno.Trial{N: 4, Load: c.load, Setting: dyno.Setting{{Factor: "GOGC", Value: "50"}}}, &m, start
		m.Enter(c.phase)
		p.line(start)
		m.Done.Store(c.done)
		m.Failed.Store(c.failed)
		if got := p.line(start.Add(c.after)); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	if got := (&progress{}).line(start); got != "" {
		t.Errorf("before the first trial: %q", got)
	}
}

// TestReadingLine: what takes long says so, and what does not is silent.
func TestReadingLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for after, want := range map[time.Duration]string{time.Second: "", 15 * time.Second: "reading what was measured, for the report ...\n"} {
			var out bytes.Buffer
			l := readingLine(&out)
			time.Sleep(after)
			l.close()
			time.Sleep(time.Minute)
			if out.String() != want {
				t.Errorf("after %v: %q", after, out.String())
			}
		}
	})
}
