package goruntime

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dynolab/dyno/gctrace"
	"github.com/dynolab/dyno/internal/probe"
)

// Points go to Target.Sample while the window lasts, a collection's as soon as no
// other can take its place, and the reading holds none of them.
func TestSample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := gctrace.NewSplitter(io.Discard, io.Discard)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var got []string
		done := make(chan probe.Reading)
		go func() {
			r, err := Collector{}.Watch(ctx, probe.Target{Trace: x, Every: 40 * time.Millisecond, Sample: func(metric string, at time.Duration, v float64) {
				got = append(got, fmt.Sprintf("%s %v %v", metric, at, v/(1<<20)))
			}})
			if err != nil {
				t.Error(err)
			}
			done <- r
		}()
		synctest.Wait()
		start := time.Now()
		at := func(d time.Duration, live string) {
			time.Sleep(time.Until(start.Add(d)))
			io.WriteString(x, strings.Replace(line117, "->0 MB", "->"+live+" MB", 1))
		}
		at(30*time.Millisecond, "1")
		at(90*time.Millisecond, "2")
		at(110*time.Millisecond, "3")
		time.Sleep(15 * time.Millisecond)
		synctest.Wait()
		want := []string{"heap-start-B 90ms 4", "heap-live-B 90ms 2.5", "heap-true-B 90ms 2.5", "heap-goal-B 90ms 5"}
		if !slices.Equal(got, want) {
			t.Errorf("until 125 ms: %q, want %q", got, want)
		}
		cancel()
		r := <-done
		want = append(want, "heap-start-B 110ms 4", "heap-live-B 110ms 3.5", "heap-true-B 110ms 3.5", "heap-goal-B 110ms 5")
		if !slices.Equal(got, want) || len(r.Series) > 0 {
			t.Errorf("in the end: %q, and %d series in the reading; want %q", got, len(r.Series), want)
		}
	})
}

const line117 = "gc 5 @0.2s 1%: 0.01+0.5+0.02 ms clock, 0.1+0.2/0.4/0.6+0.1 ms cpu, 4->4->0 MB, 5 MB goal, 8 P\n"
