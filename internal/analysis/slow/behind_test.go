package slow

import (
	"math"
	"math/rand/v2"
	"testing"

	"golang.org/x/exp/trace"

	"github.com/dynolab/dyno/internal/analysis/exectrace"
)

// Time without a P goes to what the Ps ran, and to the kernel where one was free.
func TestBehind(t *testing.T) {
	w := newWorld()
	w.sites = append(w.sites, Site{Func: "main.hog"})
	g, hog, other := w.goroutine(0), w.goroutine(0), w.goroutine(0)
	w.goroutines[hog].root = int32(len(w.sites) - 1)
	w.goroutines[other].serves = true
	w.does(g, 4, exectrace.Runnable, "")
	w.running[0] = []running{{0, 4e6, hog, 0, 0, exectrace.Running}}
	w.running[1] = []running{{1e6, 2e6, other, 0, 0, exectrace.Assisting}}
	w.free[1] = []span{{0, 1e6}}
	w.stops = []span{{35e5, 4e6}}
	c := w.spent(g, 0, 4)
	idle, others, stopped := 0.0, 0.0, 0.0
	for k, ns := range c {
		switch {
		case k.By.Idle:
			idle += ns / 1e6
		case k.By.Other && k.By.Part == exectrace.Assisting:
			others += ns / 1e6
		case k.By.Part == exectrace.Stopped:
			stopped += ns / 1e6
		}
	}
	if hogged := c.total(exectrace.Runnable, "", exectrace.Running, "main.hog"); !near(hogged, 1.25) || !near(others, 0.5) || !near(idle, 1) || !near(stopped, 0.5) || !near(c.all(), 4) {
		t.Errorf("behind the hog %v, others %v, the kernel %v, the stopped world %v ms of %v; want 1.25, 0.5, 1, 0.5", hogged, others, idle, stopped, c)
	}
}

// A long wait behind thousands is the same by the sums of pages as moment by moment.
func TestLedger(t *testing.T) {
	w, rnd := newWorld(), rand.New(rand.NewPCG(1, 2))
	w.sites = append(w.sites, Site{Func: "main.hog"})
	hog, other := w.goroutine(0), w.goroutine(0)
	w.goroutines[hog].root = int32(len(w.sites) - 1)
	w.goroutines[other].serves = true
	w.Begin, w.End = 1e9, 2e9
	w.away = map[trace.ProcID][]span{}
	for p := range trace.ProcID(3) {
		for at := w.Begin; at < w.End; {
			end := min(at+rnd.Int64N(300_000)+1, w.End)
			switch rnd.IntN(4) {
			case 0:
				w.free[p] = append(w.free[p], span{at, end})
			case 1:
				w.running[p] = append(w.running[p], running{at, end, hog, 0, 0, exectrace.Running})
			case 2:
				w.running[p] = append(w.running[p], running{at, end, other, 0, 0, exectrace.Assisting})
			}
			if rnd.IntN(4) == 0 {
				w.away[p] = append(w.away[p], span{(at + end) / 2, end})
			}
			at = end
		}
	}
	for at := w.Begin; at < w.End; at += rnd.Int64N(5e6) {
		w.stops = append(w.stops, span{at, at + 50_000})
		at += 50_000
	}
	for range 100 {
		from := w.Begin + rnd.Int64N(1e9)
		to := from + rnd.Int64N(w.End-from)
		want, got := map[Culprit]float64{}, map[Culprit]float64{}
		w.moments(from, to, func(by Culprit, ns float64) { want[by] += ns })
		w.behind(from, to, func(by Culprit, ns float64) { got[by] += ns })
		for by := range want {
			if math.Abs(got[by]-want[by]) > 2 {
				t.Fatalf("%d to %d ns: %v, want %v", from, to, got, want)
			}
		}
		if len(got) > len(want) {
			t.Fatalf("%d to %d ns: %v, want %v", from, to, got, want)
		}
	}
}
