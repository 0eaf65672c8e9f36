package goruntime

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/gctrace"
	"github.com/dynolab/dyno/internal/probe"
)

// Only cycles whose lines arrive inside the window count.
func TestGCTraceWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const line = "gc 1 @0.2s 1%%: 0.2+50+0.%d ms clock, 0.4+1/2/3+0.6 ms cpu, 4->5->%d MB, 6 MB goal, 0 MB stacks, 0 MB globals, 2 P\n"
		x := gctrace.NewSplitter(io.Discard, io.Discard)
		cycles := func(n, live int) {
			for i := range n {
				fmt.Fprintf(x, line, i, live)
			}
		}
		cycles(7, 100) // start-up, warm-up
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		begun := 0
		done := make(chan probe.Reading)
		go func() {
			r, err := Collector{}.Watch(ctx, probe.Target{Trace: x, Every: 100 * time.Millisecond, Begun: func() { begun++ }})
			if err != nil {
				t.Error(err)
			}
			done <- r
		}()
		synctest.Wait()
		if begun != 1 {
			t.Fatalf("Begun was called %d times", begun)
		}
		time.Sleep(350 * time.Millisecond)
		cycles(4, 3)
		time.Sleep(10 * time.Second)
		cycles(1, 9)
		cancel()
		r := <-done
		cycles(5, 100)
		for metric, want := range map[string]float64{
			"gc-cycles": 5, "gc-cpu-sec": 5 * 4e-3, "stw-max-sec": 0.3e-3, "stw-total-sec": 5*0.2e-3 + 0.6e-3,
			"heap-live-B": (4*3.5 + 9.5) / 5 * (1 << 20),
		} {
			if got, ok := r.Values.Get(metric); !ok || math.Abs(got-want) > 1e-9*want {
				t.Errorf("%s = %v, want %v", metric, got, want)
			}
		}
		if s := series(t, r, "heap-live-B"); !slices.Equal(s.At, []time.Duration{350 * time.Millisecond, 10350 * time.Millisecond}) {
			t.Errorf("cycles at %v", s.At)
		}
		if begun != 1 || len(r.Warnings) > 0 {
			t.Errorf("Begun called %d times, warnings %q", begun, r.Warnings)
		}
	})
}

func series(t *testing.T, r probe.Reading, metric string) dyno.Series {
	t.Helper()
	for _, s := range r.Series {
		if s.Metric == metric {
			if len(s.At) != len(s.Value) {
				t.Errorf("series %s has %d times and %d values", metric, len(s.At), len(s.Value))
			}
			return s
		}
	}
	t.Errorf("no series %s", metric)
	return dyno.Series{}
}

func TestGCTraceQuietAndBusy(t *testing.T) {
	var none cycleSum
	r := none.reading(time.Second)
	if n, ok := r.Values.Get("gc-cycles"); !ok || n != 0 {
		t.Errorf("without collections gc-cycles is %v, %v", n, ok)
	}
	if _, ok := r.Values.Get("heap-live-B"); ok {
		t.Error("a heap was found live without a collection")
	}
	var busy cycleSum
	for i := range 100_000 {
		busy.add(&gctrace.Cycle{N: i, Live: 1 << 20}, time.Duration(i)*time.Millisecond, 0, false)
	}
	r = busy.reading(100 * time.Second)
	s := series(t, r, "heap-live-B")
	if len(s.At) != 1000 {
		t.Fatalf("%d points for 1000 cycles a second in 100 s, want ten a second", len(s.At))
	}
	for i, at := range s.At {
		if want := time.Duration(i*100+99) * time.Millisecond; at != want {
			t.Fatalf("point %d is at %v, want the last of its tenth, %v", i, at, want)
		}
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Text, "tracing took about 10 % of a CPU") {
		t.Errorf("warnings %q", r.Warnings)
	}
}

// GOGC=off has no goal; its largest uint64 would spoil every picture.
func TestSeriesWithoutGoal(t *testing.T) {
	var sum cycleSum
	sum.add(&gctrace.Cycle{N: 5, HeapStart: 4 << 20, HeapEnd: 4 << 20}, 0, 0, false)
	var w runtimeWatch
	if err := w.sample(0, []byte("time u 1\n/gc/heap/goal:bytes u 18446744073709551615\n")); err != nil {
		t.Fatal(err)
	}
	r, _ := w.reading()
	for _, s := range append(sum.reading(time.Second).Series, r.Series...) {
		if s.Metric == "heap-goal-B" {
			t.Errorf("goal %v", s.Value)
		}
	}
}
