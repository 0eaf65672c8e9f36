package gctrace

import (
	"fmt"
	"strings"
	"testing"
)

// The bounds hold the value that was in force, for small heaps too, of which the least heap decides, and not another
// that is far from it. Lines of services of Go 1.26 under load.
func TestGOGC(t *testing.T) {
	const format = "gc %d @1.0s 1%%: 0.01+0.2+0.01 ms clock, 0.1+0.1/0.1/0+0.1 ms cpu, %s, %d MB goal, 0 MB stacks, %d MB globals, 2 P\n"
	for _, c := range []struct {
		before, now   string
		goal, globals int
		in            []float64
		out           []float64
	}{
		{"3->3->0 MB", "3->3->0 MB", 4, 0, []float64{100}, []float64{50, 400}},       // the least heap
		{"15->16->0 MB", "15->16->0 MB", 16, 0, []float64{400}, []float64{100, 200}}, // the same
		{"70->72->40 MB", "70->72->40 MB", 80, 0, []float64{100}, []float64{75, 130}},
		{"46->47->39 MB", "46->47->39 MB", 47, 0, []float64{20}, []float64{50, 100}},
		{"70->72->40 MB", "70->72->40 MB", 90, 10, []float64{100}, []float64{70, 150}},
	} {
		cs, err := Parse(strings.NewReader(fmt.Sprintf(format+format, 1, c.before, c.goal, c.globals, 2, c.now, c.goal, c.globals)))
		if err != nil || len(cs) != 2 {
			t.Fatalf("%d cycles, %v", len(cs), err)
		}
		before, now := cs[0], cs[1]
		lo, hi, ok := GOGC(&before, &now)
		for _, x := range c.in {
			if !ok || x < lo || x > hi {
				t.Errorf("%s, %d MB goal: %v is not in %v to %v", c.now, c.goal, x, lo, hi)
			}
		}
		for _, x := range c.out {
			if x >= lo && x <= hi {
				t.Errorf("%s, %d MB goal: %v is in %v to %v", c.now, c.goal, x, lo, hi)
			}
		}
		if now.Forced = true; ok {
			if _, _, ok := GOGC(&before, &now); ok {
				t.Error("a forced collection tells")
			}
		}
	}
}
