package slow

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/dynolab/dyno/internal/analysis/exectrace"
	"golang.org/x/exp/trace"
)

// A world is a trace that is written by hand. Times are in ms.
type world struct {
	*Trace
	bySite map[string]int32
}

func newWorld() *world {
	return &world{
		Trace:  &Trace{End: 1e12, stacks: make([]stack, 1), sites: make([]Site, 1), running: map[trace.ProcID][]running{0: nil}, free: map[trace.ProcID][]span{}},
		bySite: map[string]int32{},
	}
}

// at is a stack whose line of the subject's own is in a function.
func (w *world) at(fn string) int32 {
	n, ok := w.bySite[fn]
	if !ok {
		w.sites = append(w.sites, Site{Func: fn, File: "main.go", Line: 10 + len(w.sites)})
		w.stacks = append(w.stacks, stack{own: int32(len(w.sites) - 1)})
		n = int32(len(w.stacks) - 1)
		w.bySite[fn] = n
	}
	return n
}

func (w *world) goroutine(begin float64) int32 {
	w.goroutines = append(w.goroutines, &goroutine{creator: none, begin: int64(begin * 1e6)})
	return int32(len(w.goroutines) - 1)
}

// does appends a stretch to a goroutine.
func (w *world) does(g int32, end float64, part Part, fn string) *stretch {
	s := stretch{end: int64(end * 1e6), part: part, waker: none}
	if fn != "" {
		s.stack = w.at(fn)
	}
	life := &w.goroutines[g].life
	*life = append(*life, s)
	return &(*life)[len(*life)-1]
}

func (w *world) spent(g int32, from, to float64) cost {
	c := tally{cost{}, map[Site]int{}, map[Site]float64{}}
	w.spend(&c, g, int64(from*1e6), int64(to*1e6))
	return c.cost
}

// total is the time of a part by culprits with a function and a part, in ms.
func (c cost) total(part Part, fn string, byPart Part, by string) (ms float64) {
	for k, ns := range c {
		if k.Part == part && k.Site.Func == fn && k.By.Part == byPart && k.By.Site.Func == by {
			ms += ns / 1e6
		}
	}
	return ms
}

func (c cost) all() (ms float64) {
	for _, ns := range c {
		ms += ns / 1e6
	}
	return ms
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-6 }

// A goroutine that sleeps under a lock holds up the one that waits for it.
func TestHolderSleeps(t *testing.T) {
	w := newWorld()
	request, holder := w.goroutine(0), w.goroutine(0)
	w.does(request, 1, exectrace.Running, "")
	wait := w.does(request, 6, exectrace.Locking, "get")
	w.does(holder, 5.5, exectrace.Sleeping, "compact")
	w.does(holder, 7, exectrace.Running, "compact")
	wait.waker, wait.wstack = holder, w.at("unlock")
	w.does(request, 8, exectrace.Running, "")
	c := w.spent(request, 0, 8)
	if got := c.total(exectrace.Locking, "get", exectrace.Sleeping, "compact"); !near(got, 4.5) {
		t.Errorf("behind the sleep: %v ms of %v, want 4.5", got, c)
	}
	if got := c.total(exectrace.Locking, "get", exectrace.Running, "unlock"); !near(got, 0.5) {
		t.Errorf("behind the unlock: %v ms of %v, want 0.5", got, c)
	}
	if got := c.all(); !near(got, 8) {
		t.Errorf("the parts add up to %v ms, want 8", got)
	}
}

// In a convoy the last waker held the lock for a moment only; those before it count, too.
func TestConvoy(t *testing.T) {
	w := newWorld()
	last := w.goroutine(0)
	first, second := w.goroutine(0), w.goroutine(0)
	w.does(first, 3, exectrace.Running, "critical")
	wait := w.does(second, 3, exectrace.Locking, "critical")
	wait.waker, wait.wstack = first, w.at("critical")
	w.does(second, 5, exectrace.Running, "critical")
	own := w.does(last, 5, exectrace.Locking, "critical")
	own.waker, own.wstack = second, w.at("critical")
	w.does(last, 6, exectrace.Running, "critical")
	c := w.spent(last, 1, 6)
	if got := c.total(exectrace.Locking, "critical", exectrace.Running, "critical"); !near(got, 4) {
		t.Errorf("behind others at the line: %v ms of %v, want 4", got, c)
	}
}

// The life of a request has the goroutines that held it up, in the order in which they did, and who let whom go on.
func TestLife(t *testing.T) {
	w := newWorld()
	last := w.goroutine(0)
	first, second, away := w.goroutine(0), w.goroutine(0), w.goroutine(0)
	w.does(away, 6, exectrace.Running, "away")
	w.does(first, 3, exectrace.Running, "critical")
	wait := w.does(second, 3, exectrace.Locking, "critical")
	wait.waker, wait.wstack = first, w.at("critical")
	w.does(second, 5, exectrace.Running, "critical")
	w.does(last, 1, exectrace.Running, "handle")
	own := w.does(last, 5, exectrace.Locking, "critical")
	own.waker, own.wstack = second, w.at("critical")
	w.does(last, 6, exectrace.Running, "handle")
	w.goroutines[second].serves = true
	l := w.life(&one{served: served{goroutine: last, woken: 500_000}, from: 0, to: 6e6})
	if !near(l.Took, 0.006) || len(l.Lanes) != 3 || !l.Lanes[2].Other || l.Lanes[1].Other {
		t.Fatalf("%+v", l)
	}
	if got := l.Lanes[0].Spans; len(got) != 4 || got[0].Part != Arriving || got[2].Part != exectrace.Locking || got[2].Site.Func != "critical" || !near(got[2].To, 0.005) {
		t.Errorf("the request: %+v", got)
	}
	if got := l.Lanes[1].Spans; len(got) != 1 || !near(got[0].From, 0.001) || !near(got[0].To, 0.003) {
		t.Errorf("the first: %+v", got)
	}
	if want := []Hand{{0.005, 2, 0}, {0.003, 1, 2}}; !slices.Equal(l.Hands, want) {
		t.Errorf("%v, want %v", l.Hands, want)
	}
}

// A wait that a timer ends has no culprit.
func TestTimer(t *testing.T) {
	w := newWorld()
	g := w.goroutine(0)
	w.does(g, 5, exectrace.Sleeping, "backOff")
	if c := w.spent(g, 0, 5); len(c) != 1 || !near(c.total(exectrace.Sleeping, "backOff", 0, ""), 5) {
		t.Errorf("%v", c)
	}
}

// Wakers that wake each other do not hold up the walk for ever.
func TestCircle(t *testing.T) {
	w := newWorld()
	a, b := w.goroutine(0), w.goroutine(0)
	x := w.does(a, 5, exectrace.Channels, "a")
	x.waker = b
	y := w.does(b, 5, exectrace.Channels, "b")
	y.waker = a
	if got := w.spent(a, 0, 5).all(); !near(got, 5) {
		t.Errorf("the parts add up to %v ms", got)
	}
}

// Running is divided by the samples of the requests of all trials, if they are enough to say so.
func TestSamples(t *testing.T) {
	w := newWorld()
	g := w.goroutine(0)
	w.does(g, 2, exectrace.Running, "x")
	w.does(g, 3, exectrace.Sleeping, "x")
	w.does(g, 9, exectrace.Running, "")
	w.goroutines[g].samples = []sample{{4e6, w.at("render")}, {5e6, w.at("render")}, {6e6, w.at("write")}}
	slow := w.group([]one{{served: served{goroutine: g}, to: 9e6}}, false)
	for _, x := range []struct {
		trials        int
		render, write float64 // ms
		upTo, nowhere float64 // a call
	}{{1, 0, 0, 2, 6}, {2, 8 * 2. / 3, 8 / 3., 0, 0}} {
		var trials []*Trial
		for n := range x.trials {
			trials = append(trials, &Trial{N: n + 1, Quantile: P99, Slow: slow, Typical: Group{N: 1}})
			trials[n].Slow.N = leastSlow
		}
		of := map[string]float64{}
		for _, l := range Explain(trials).Lines {
			if l.Part == exectrace.Running {
				of[l.Site.Func] += l.Slow * 1e3
			}
			if l.Site.Before != (l.Part == exectrace.Running && l.Site.Func == "x") {
				t.Errorf("%d trials: %+v", x.trials, l)
			}
		}
		if !near(of["render"], x.render) || !near(of["write"], x.write) || !near(of["x"], x.upTo) || !near(of[""], x.nowhere) {
			t.Errorf("%d trials: %v, want render %v, write %v, up to a call in x %v, and %v of no line", x.trials, of, x.render, x.write, x.upTo, x.nowhere)
		}
	}
}

// A file that ends too early, or has threads of another process, does not tell when the kernel kept threads off the CPU.
func TestPreemptUnknown(t *testing.T) {
	for text, want := range map[string]bool{
		`{"switches":5}`: true, `{"switches":5} {"tid":7,"from":1,"to":2}`: true,
		"": false, `{"switches":0}`: false, `{"switches":5} {"tid":7,"from":1,"to":2} {"tid":7,"fr`: false, `{"switches":5} {"tid":8,"from":1,"to":2}`: false,
	} {
		w := newWorld()
		w.does(w.goroutine(0), 10, exectrace.Running, "handle").thread = 7
		if w.Preempt(strings.NewReader(text)); w.Preempted != want {
			t.Errorf("%q: known %v, want %v", text, w.Preempted, want)
		}
	}
}

// Stretches of a thread that overlap, as dyno never writes them, are one.
func TestPreemptOverlap(t *testing.T) {
	w := newWorld()
	g := w.goroutine(0)
	for end := range 100 {
		w.does(g, float64(end+1), exectrace.Running, "handle").thread = 7
	}
	w.Preempt(strings.NewReader(`{"switches":5}` + strings.Repeat(`{"tid":7,"from":0,"to":9000000000000000000}`, 1000)))
	if c := w.spent(g, 0, 100); len(w.goroutines[g].life) > 200 || !near(c.total(exectrace.Preempted, "", 0, ""), 100) {
		t.Errorf("%d stretches: %v", len(w.goroutines[g].life), c)
	}
}

// While a P is free the kernel wakes the service late, unless its CPU limit was used up: then that is the service's.
func TestWaking(t *testing.T) {
	for _, limited := range []bool{false, true} {
		w := newWorld()
		w.Limited = limited
		g := w.goroutine(0)
		w.does(g, 5, exectrace.Network, "")
		w.goroutines[g].life[0].idle = true
		w.does(g, 6, exectrace.Running, "")
		w.free[0] = []span{{0, 5e6}}
		all := []served{{goroutine: g, woken: 5e6, wrote: 6e6, done: 6e6, handler: true}}
		ones := w.known([]Request{{Sent: 1e6, Done: 7e6}}, all)
		if len(ones) != 1 {
			t.Fatal(ones)
		}
		waited := 0.0
		for k, s := range w.group(ones, true).Cost {
			if k.Part == Arriving && k.By.Idle {
				waited += s * 1e3
			}
		}
		if took := float64(ones[0].took()) / 1e6; limited && (took != 5 || !near(waited, 4)) || !limited && (took != 1 || waited != 0) {
			t.Errorf("limited %v: %v ms, of them %v before it woke", limited, took, waited)
		}
	}
}

// The answer of gRPC counts to the end of the write that follows its handler, by the server's goroutine of the
// connection: not by that of a client in the same program, which handlers wake, too.
func TestWriters(t *testing.T) {
	w := newWorld()
	connection, server, client := w.goroutine(0), w.goroutine(0), w.goroutine(0)
	root := func(g int32, fn string) {
		w.sites = append(w.sites, Site{Func: "google.golang.org/grpc/internal/transport." + fn})
		w.goroutines[g].root = int32(len(w.sites) - 1)
	}
	root(server, "NewServerTransport.func3")
	root(client, "NewHTTP2Client.func6")
	write := w.at("write")
	w.stacks[write].writes = true
	handler := func(begin, end float64) int32 {
		h := w.goroutine(begin)
		g := w.goroutines[h]
		g.handles, g.born, g.dead, g.creator = true, true, true, connection
		w.does(h, end, exectrace.Running, "handle")
		return h
	}
	first, second := handler(1, 5), handler(2, 9)
	for range 2 {
		w.does(client, 2, exectrace.Channels, "").waker = first
	}
	w.does(server, 4.9, exectrace.Channels, "").waker = first
	w.does(server, 5.2, exectrace.Running, "write")
	w.does(server, 5.4, exectrace.Syscall, "write")
	w.does(server, 20, exectrace.Channels, "")
	all := w.served()
	if len(all) != 2 || all[0].done != 5.4e6 || all[0].ended != 5e6 || all[0].writer != server {
		t.Errorf("the first: %+v", all)
	}
	if all[1].goroutine != second || all[1].done != 9e6 || all[1].ended != 0 {
		t.Errorf("the second, whose answer was written before it ended: %+v", all[1])
	}
	g := w.group([]one{{served: all[0], from: 1e6, to: 5.4e6}}, false)
	if got := g.Cost[Key{Part: exectrace.Syscall, Site: w.sites[w.stacks[write].own]}]; !near(got, 0.0002) {
		t.Errorf("the write takes %v s of %v", got, g.Cost)
	}
}

func servedBy(g int32, waits, woken, wrote, done int64) served {
	return served{goroutine: g, waits: waits, woken: woken, wrote: wrote, done: done}
}

// Those who wait for one that does the work are at its line.
func TestJoin(t *testing.T) {
	load := Site{Func: "load", File: "f.go", Line: 7}
	ts := []*Trial{{Quantile: P99, Typical: Group{N: 1}, Slow: Group{N: 5, Mean: 0.006, Cost: map[Key]float64{
		{Part: exectrace.Sleeping, Site: load}: 0.003,
		{Part: exectrace.Locking, Site: Site{Func: "get", File: "f.go", Line: 9}, By: Culprit{Part: exectrace.Sleeping, Site: load, Other: true}}: 0.003,
	}}}}
	w := Explain(ts)
	if len(w.Lines) != 1 || w.Lines[0].Site != load || !near(w.Lines[0].Excess.Mean, 0.006) || len(w.Lines[0].Joined) != 1 {
		t.Errorf("%+v", w.Lines)
	}
}

// Time in which the kernel ran another thread is not what a goroutine ran, neither its own nor that of one that others
// wait for.
func TestPreempt(t *testing.T) {
	w := newWorld()
	g, holder := w.goroutine(0), w.goroutine(0)
	w.does(g, 10, exectrace.Running, "handle").thread = 7
	w.does(g, 20, exectrace.Locking, "get").waker = holder
	w.goroutines[g].life[1].wstack = w.at("rebuild")
	w.does(holder, 30, exectrace.Running, "sleeps next").thread = 8 // but it was in rebuild when it let the other go on
	w.running[0] = []running{{0, 10e6, g, 0, 7, exectrace.Running}}
	w.goroutines[g].samples = []sample{{8e6, w.at("handle")}}
	w.running[1], w.held = nil, map[trace.ProcID][]hold{1: {{span{0, 2e6}, 10}, {span{2e6, 10e6}, 11}}} // with the scheduler
	late := w.goroutine(0)
	w.does(late, 4, exectrace.Runnable, "")
	err := w.Preempt(strings.NewReader(`{"switches":9} {"tid":7,"from":2000000,"to":5000000}
		{"tid":8,"from":9000000,"to":13000000} {"tid":8,"from":15000000,"to":16000000} {"tid":9,"from":0,"to":30000000}
		{"tid":7,"from":9000000,"to":12000000} {"tid":10,"from":1000000,"to":3000000}`))
	if err != nil || !w.Preempted {
		t.Errorf("known: %v, %v", w.Preempted, err)
	}
	c := w.spent(g, 0, 20)
	for _, x := range []struct {
		part Part
		fn   string
		by   Part
		of   string
		want float64
	}{
		{exectrace.Running, "", 0, "", 6},
		{exectrace.Preempted, "", 0, "", 4},
		{exectrace.Locking, "get", exectrace.Running, "rebuild", 6},
		{exectrace.Locking, "get", exectrace.Preempted, "", 4},
	} {
		if got := c.total(x.part, x.fn, x.by, x.of); !near(got, x.want) {
			t.Errorf("%v in %q behind %v in %q: %v ms, want %v", x.part, x.fn, x.by, x.of, got, x.want)
		}
	}
	behind := w.spent(late, 0, 4)
	if off := behind.total(exectrace.Runnable, "", exectrace.Preempted, ""); !near(off, 1+0.5) || !near(behind.all(), 4) {
		t.Errorf("behind threads off the CPU %v ms of %v; want 1 of the first P and 0.5 of the second", off, behind)
	}
	if early := w.spent(late, 0, 1); !near(early.total(exectrace.Runnable, "", exectrace.Running, "handle"), 0.5) { // though the sample is of later
		t.Errorf("behind what ran before it was preempted: %v", early)
	}
	var text strings.Builder
	for _, r := range w.running[0] {
		fmt.Fprintf(&text, "%v %g to %g; ", r.part, float64(r.begin)/1e6, float64(r.end)/1e6)
	}
	if want := "running 0 to 2; preempted 2 to 5; running 5 to 9; preempted 9 to 10; "; text.String() != want {
		t.Errorf("the P: %s; want %s", text.String(), want)
	}
}

// Requests that met the writing of the trace itself are left out, unless it is a small part of their time.
func TestTracing(t *testing.T) {
	w := newWorld()
	w.sites = append(w.sites, Site{Func: "runtime.(*traceAdvancerState).start.func1"})
	advancer := w.goroutine(0)
	w.goroutines[advancer].root = int32(len(w.sites) - 1)
	w.does(advancer, 10, exectrace.Sleeping, "")
	w.does(advancer, 13, exectrace.Running, "")
	ones := []one{{from: 0, to: 9e6}, {from: 11e6, to: 15e6}, {from: 0, to: 50e6}, {from: 13e6, to: 14e6}}
	if got := w.apart(slices.Clone(ones)); len(got) != 3 || got[1].to != 50e6 {
		t.Errorf("left are %v of %v", got, ones)
	}
}
