package goruntime

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/gctrace"
	"github.com/dynolab/dyno/internal/probe"
)

// printed is d as the runtime prints it: two digits, cut.
func printed(d time.Duration) time.Duration {
	unit := time.Microsecond
	switch {
	case d >= 10*time.Millisecond:
		unit = time.Millisecond
	case d >= time.Millisecond:
		unit = 100 * time.Microsecond
	case d >= 100*time.Microsecond:
		unit = 10 * time.Microsecond
	}
	return d.Truncate(unit)
}

// fakeCycles makes cycles of a program that began 3.21 s before the watch, as a
// trace tells them, and when they truly began and ended.
func fakeCycles(n int) (cycles []gctrace.Cycle, truth []dyno.Collection, arrived []time.Duration) {
	rng := rand.New(rand.NewPCG(1, 1))
	between := func(a, b time.Duration) time.Duration { return a + time.Duration(rng.Int64N(int64(b-a))) }
	const began = -3_210_123_456 * time.Nanosecond
	at := time.Duration(0)
	for i := range n {
		at += between(0, 30*time.Millisecond)
		sweep, mark, term := between(5e3, 3e5), between(1e5, 30e6), between(5e3, 3e5)
		end := at + sweep + mark + term
		cycles = append(cycles, gctrace.Cycle{
			N: i + 1, Start: (at - began).Truncate(time.Millisecond),
			SweepTerm: printed(sweep), Mark: printed(mark), MarkTerm: printed(term), Procs: 2,
		})
		truth = append(truth, dyno.Collection{N: i + 1, Start: at, End: end, SweepTerm: sweep, MarkTerm: term})
		arrived = append(arrived, end+between(60e3, 400e3)+time.Duration(rng.ExpFloat64()*3e5))
		at = end
	}
	return cycles, truth, arrived
}

// Every collection is within its uncertainty of the truth, whether its end was
// told, or that of others, or of none.
func TestPlaced(t *testing.T) {
	const n = 1000
	cycles, truth, arrived := fakeCycles(n)
	for _, test := range []struct {
		name       string
		every      int // whose end is told; 0: none is
		most, mean time.Duration
	}{
		{"all", 1, 600e3, 400e3}, {"some", 10, 1100e3, 700e3}, {"none", 0, 1700e3, 1200e3},
	} {
		var cs collections
		for i := range cycles {
			told := test.every > 0 && i%test.every == 0
			end := time.Duration(0)
			if told {
				end = truth[i].End
			}
			cs.add(&cycles[i], arrived[i], ending{at: end}, told)
		}
		var sum time.Duration
		for i, c := range cs.placed() {
			want := truth[i]
			if (c.Start-want.Start).Abs() > c.Uncertainty+1 || (c.End-want.End).Abs() > c.Uncertainty+1 || c.N != want.N {
				t.Errorf("%s: collection %d is %v to %v ± %v, in truth %v to %v", test.name, i, c.Start, c.End, c.Uncertainty, want.Start, want.End)
			}
			if c.Uncertainty > test.most {
				t.Errorf("%s: collection %d is uncertain by %v", test.name, i, c.Uncertainty)
			}
			sum += c.Uncertainty
		}
		if mean := sum / n; mean > test.mean {
			t.Errorf("%s: uncertain by %v in the mean", test.name, mean)
		}
	}
}

// A child that inherits standard error counts its cycles from 1 too. Its lines
// do not move the others.
func TestPlacedChild(t *testing.T) {
	cycles, truth, arrived := fakeCycles(20)
	var cs collections
	for i := range cycles {
		if !cs.add(&cycles[i], arrived[i], ending{at: truth[i].End}, true) {
			t.Errorf("cycle %d was taken for a child's", i)
		}
		child := cycles[i]
		child.Start -= 2 * time.Second // it was begun later
		if i > 0 && cs.add(&child, arrived[i]+5*time.Millisecond, ending{truth[i].End, 77}, true) {
			t.Errorf("cycle %d of a child was not found out", i)
		} else if i == 0 {
			cs.add(&child, arrived[i]+5*time.Millisecond, ending{}, false)
		}
	}
	for i, c := range cs.placed() {
		if i%2 == 0 && c.End != truth[i/2].End {
			t.Errorf("cycle %d ended at %v, want %v", c.N, c.End, truth[i/2].End)
		}
		if i%2 == 1 && c.End > arrived[i/2]+5*time.Millisecond {
			t.Errorf("a child's cycle ended %v after its line", c.End-arrived[i/2])
		}
	}
}

// An injected probe tells the ends of cycles, one of which the line comes of only
// after the next question, and the bytes that they found live: of the second only
// when it is asked again, of the third never.
func TestGCTraceEnds(t *testing.T) {
	// It all goes by the real clock and a real socket: on a machine that is busy, a
	// goroutine may come a whole period late. A fault that is there is there each time.
	var faults []string
	for range 10 {
		if faults = traceEnds(t); len(faults) == 0 {
			return
		}
	}
	t.Errorf("%q", faults)
}

func traceEnds(t *testing.T) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	x := gctrace.NewSplitter(io.Discard, io.Discard)
	began := time.Now().Add(-time.Second)
	line := func(n int, end time.Time) {
		fmt.Fprintf(x, "gc %d @%.3fs 1%%: 0.010+1.0+0.010 ms clock, 0.4+1/2/3+0.6 ms cpu, 4->5->3 MB, 6 MB goal, 0 MB stacks, 0 MB globals, 2 P\n",
			n, (end.Sub(began) - 1020*time.Microsecond).Truncate(time.Millisecond).Seconds())
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const late, never, all = 2, 3, 6
	ends := map[int]time.Time{}
	var asked []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		for r, n := bufio.NewScanner(conn), 0; r.Scan(); {
			asked = append(asked, r.Text())
			var after int
			fmt.Sscanf(r.Text(), "gcends %d", &after)
			n++
			ends[n] = time.Now()
			answer := ""
			for i := after + 1; i <= n; i++ {
				live := 3<<20 + i
				if i == never || i == late && n == late {
					live = 0
				}
				answer += fmt.Sprintf("%d %d %d\n", i, ends[i].UnixNano(), live)
			}
			fmt.Fprintf(conn, "ok %d\n%s", len(answer), answer)
			line(n, ends[n])
			if n == all {
				cancel()
			}
		}
	}()
	r, err := Collector{}.Watch(ctx, probe.Target{Trace: x, Socket: socket, Every: 10 * time.Millisecond})
	l.Close()
	<-done
	if err != nil || len(r.Collections) < all-1 {
		return []string{fmt.Sprintf("%d collections, %v", len(r.Collections), err)}
	}
	if want := []string{"gcends 0", "gcends 1", "gcends 1", "gcends 2", "gcends 4", "gcends 5"}; !slices.Equal(asked[:all], want) {
		fault("asked %q, want %q", asked, want)
	}
	var told []float64
	for _, c := range r.Collections {
		want, live := ends[c.N].Sub(r.Origin), float64(3<<20+c.N)
		if off := (c.End - want).Abs(); off > 10*time.Microsecond || c.Uncertainty > 60*time.Microsecond {
			fault("collection %d ended at %v ± %v, want %v", c.N, c.End, c.Uncertainty, want)
		}
		if c.N == never {
			live = 3 << 20
		} else {
			told = append(told, live)
		}
		if c.Live != live {
			fault("collection %d found %v bytes live, want %v", c.N, c.Live, live)
		}
	}
	// No middle of a MiB is among exact bytes; 1 MiB was allocated while marking.
	live, before := series(t, r, "heap-live-B"), series(t, r, "heap-true-B")
	for i, v := range live.Value {
		if !slices.Contains(told, v) || before.Value[i] != v-1<<20 || before.At[i] != live.At[i] {
			fault("live %v, without what was allocated since %v; want %v", live.Value, before.Value, told)
			break
		}
	}
	return faults
}

func TestCollectionsMost(t *testing.T) {
	cs := collections{list: make([]dyno.Collection, mostCollections)}
	cs.add(&gctrace.Cycle{N: 1}, 0, ending{}, false)
	if cs.over != 1 || len(cs.list) != mostCollections {
		t.Errorf("%d more than the most, %d kept", cs.over, len(cs.list))
	}
}

func TestEnderErrors(t *testing.T) {
	for _, answer := range []string{"x 1 1\n", "1\n", "1 x 1\n", "1 1\n", "1 1 x\n"} {
		if err := new(ender).parse(answer, 0); err == nil || !strings.Contains(err.Error(), "end of a collection") {
			t.Errorf("%q: error %v", answer, err)
		}
	}
	e := &ender{c: &Client{Socket: filepath.Join(t.TempDir(), "none")}}
	if e.ask(time.Now()); e.c != nil {
		t.Error("one that does not answer is asked again")
	}
}

// What is a share of the window or of its CPU time is left out when it is of a
// collection or two, or of more CPU time than there was.
func TestShares(t *testing.T) {
	for _, test := range []struct {
		cycles, cpu float64
		want        string
	}{
		{0, 2, "0.1 0.2 0.5 0.25"}, {2, 2, "? ? ? ?"}, {9, 2, "0.1 0.2 0.5 0.25"}, {9, 0.9, "0.1 ? ? ?"},
	} {
		m := probe.Merge(map[string]probe.Reading{
			"runtime": {Values: dyno.Values{{Metric: "cpu-sec", Value: test.cpu}, {Metric: "gc-cycles", Value: test.cycles}, {Metric: "gc-cpu-sec", Value: 1},
				{Metric: "gc-assist-sec", Value: 0.5}, {Metric: "gc-capacity-frac", Value: 0.2}}},
			"gctrace": {Values: dyno.Values{{Metric: "gc-wall-frac", Value: 0.1}}, Collections: []dyno.Collection{{N: 5}}, Origin: time.Unix(9, 0)},
		})
		var got []string
		for _, name := range []string{"gc-wall-frac", "gc-capacity-frac", "gc-cpu-frac", "gc-assist-frac"} {
			text := "?"
			if v, ok := m.Values.Get(name); ok {
				text = fmt.Sprint(v)
			}
			got = append(got, text)
		}
		if s := strings.Join(got, " "); s != test.want {
			t.Errorf("%v cycles, %v s: %s, want %s", test.cycles, test.cpu, s, test.want)
		}
		if len(m.Collections) != 1 || m.Origin != time.Unix(9, 0) {
			t.Errorf("collections %v since %v", m.Collections, m.Origin)
		}
	}
}
