package goruntime

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dynolab/dyno/internal/probe"
)

// A fakeProbe answers commands on a unix socket as the injected probe does.
type fakeProbe struct {
	mu      sync.Mutex
	answers []string // in turn; the last is repeated
	asked   int
	hangup  bool // close the connection after each answer
}

func (f *fakeProbe) next(command string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if command != "metrics exact" && command != "metrics brief" {
		return fmt.Sprintf("error unknown command %q\n", command)
	}
	a := f.answers[min(f.asked, len(f.answers)-1)]
	f.asked++
	return fmt.Sprintf("ok %d\n%s", len(a), a)
}

func (f *fakeProbe) serve(t *testing.T) (socket string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			served.Go(func() {
				defer conn.Close()
				for r := bufio.NewScanner(conn); r.Scan(); {
					if _, err := conn.Write([]byte(f.next(r.Text()))); err != nil || f.hangup {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() { l.Close(); served.Wait() })
	return socket
}

// answer is an answer to "metrics" n seconds on.
func answer(n, cycles int, liveSum float64) string {
	return fmt.Sprintf(`time u %d
cpu/user:seconds f %g
cpu/system:seconds f %g
/cpu/classes/gc/mark/idle:cpu-seconds f %g
/cpu/classes/gc/total:cpu-seconds f %g
/gc/cycles/total:gc-cycles u %d
/gc/heap/allocs:bytes u %d
/gc/heap/allocs:objects u %d
/gc/heap/goal:bytes u 4194304
gc/live-sum:bytes u %d
gc/live-count:gc-cycles u %[6]d
/gc/heap/tiny/allocs:objects u %[10]d
/godebug/non-default-behavior/x:events u 0
/memory/classes/heap/free:bytes u 500000
/memory/classes/heap/objects:bytes u 2000000
/memory/classes/heap/released:bytes u 1000000
/memory/classes/total:bytes u 9000000
/sched/goroutines:goroutines u %d
/sched/latencies:seconds h -Inf,0,1 0,1e-06,%d 0.001,0.002,%d 1,+Inf,0
/sched/pauses/total/gc:seconds h 1e-05,2e-05,%d 0.004,0.006,%d
/sched/gomaxprocs:threads u 2
/cpu/classes/gc/mark/assist:cpu-seconds f %g
/sync/mutex/wait/total:seconds f %g
`, 1_790_000_000_000_000_000+int64(n)*1_000_000_000, 1.5*float64(n), 0.5*float64(n), 0.25*float64(cycles), float64(cycles),
		cycles, 1000*n, 10*n, int(liveSum), 7*n, 5+n, 100*n, 2*n, 3+2*cycles, cycles/4, 0.125*float64(cycles), 0.25*float64(n))
}

func TestRuntimeWatch(t *testing.T) {
	for _, hangup := range []bool{false, true} {
		f := &fakeProbe{hangup: hangup, answers: []string{
			answer(100, 4, 9e6), answer(101, 4, 9e6), answer(102, 6, 11e6), answer(103, 6, 11e6), answer(104, 8, 17e6),
		}}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		begun := 0
		target := probe.Target{Socket: f.serve(t), Every: time.Millisecond, Begun: func() { begun++; time.AfterFunc(50*time.Millisecond, cancel) }}
		r, err := Metrics{}.Watch(ctx, target)
		if err != nil {
			t.Fatal(err)
		}
		if begun != 1 || f.asked < 5 {
			t.Fatalf("begun %d times, asked %d times", begun, f.asked)
		}
		for metric, want := range map[string]float64{
			"cpu-sec": 8, "alloc-B": 4000, "allocs": 68, "gc-cycles": 4, "gc-cpu-sec": 3, "gc-assist-sec": 0.5, "gc-capacity-frac": 3. / 8, "mutex-wait-sec": 1, "goroutines": 109, "heap-live-B": 2e6,
			"stw-max-sec": 0.005, "stw-total-sec": 8*1.5e-5 + 0.005, "sched-p99-sec": 0.001 + 0.001*(0.99*408-400)/8,
		} {
			if got, ok := r.Values.Get(metric); !ok || math.Abs(got-want) > 1e-6*want {
				t.Errorf("%s = %v, want %v", metric, got, want)
			}
		}
		if s := series(t, r, "alloc-B/s"); len(s.Value) == 0 || s.Value[0] != 1000 {
			t.Errorf("allocation rate %v", s.Value)
		}
		if s := series(t, r, "mapped-B"); len(s.Value) < 5 || s.Value[0] != 8e6 {
			t.Errorf("mapped %v", s.Value)
		}
		if s := series(t, r, "overhead-B"); len(s.Value) < 5 || s.Value[0] != 5.5e6 {
			t.Errorf("overhead %v", s.Value)
		}
		if s := series(t, r, "heap-B"); len(s.Value) < 5 || s.Value[0] != 2e6 {
			t.Errorf("heap %v", s.Value)
		}
	}
}

// No collection in the window: nothing is made up.
func TestRuntimeQuiet(t *testing.T) {
	var w runtimeWatch
	for i := range 3 {
		if err := w.sample(time.Duration(i), []byte(answer(i, 4, 9e6))); err != nil {
			t.Fatal(err)
		}
	}
	r, err := w.reading()
	if err != nil {
		t.Fatal(err)
	}
	for _, metric := range []string{"gc-cycles", "gc-cpu-sec", "stw-max-sec", "stw-total-sec"} {
		if v, ok := r.Values.Get(metric); !ok || v != 0 {
			t.Errorf("%s = %v, %v", metric, v, ok)
		}
	}
	if _, ok := r.Values.Get("heap-live-B"); ok {
		t.Error("a heap was found live without a collection")
	}
}

// An older or a later Go lacks metrics; they are left out.
func TestRuntimeMissing(t *testing.T) {
	var w runtimeWatch
	for i := range 2 {
		if err := w.sample(0, fmt.Appendf(nil, "time u %d\n/gc/heap/allocs:bytes u %d\n", i, i)); err != nil {
			t.Fatal(err)
		}
	}
	r, err := w.reading()
	if err != nil || len(r.Values) != 1 || r.Values[0].Metric != "alloc-B" {
		t.Errorf("%+v, %v", r.Values, err)
	}
}

func TestRuntimeErrors(t *testing.T) {
	for _, test := range []struct{ answer, want string }{
		{"", "no time"},
		{"time u x\n", `"x"`},
		{"time h 1,2,3\n", "no time"},
		{"time u 1\n" + latencyHistogram + " h 1,2\n", "parse metric " + latencyHistogram},
		{"time u 1\n" + latencyHistogram + " h 2,3,1 1,2,1\n", "not in order"},
	} {
		f := &fakeProbe{answers: []string{test.answer}}
		ctx, cancel := context.WithCancel(t.Context())
		_, err := Metrics{}.Watch(ctx, probe.Target{Socket: f.serve(t), Begun: cancel})
		cancel()
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("answer %q: error %v, want %q", test.answer, err, test.want)
		}
	}
	c := &Client{Socket: (&fakeProbe{}).serve(t)}
	defer c.Close()
	for range 2 {
		if _, err := c.Ask("dance"); err == nil || !strings.Contains(err.Error(), `unknown command "dance"`) {
			t.Errorf("error %v", err)
		}
	}
	if _, err := (&Client{Socket: filepath.Join(t.TempDir(), "none")}).Ask("metrics"); err == nil {
		t.Error("no socket, no error")
	}
}

func BenchmarkParseSample(b *testing.B) {
	text := []byte(answer(5, 3, 1e6))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parseSample(text); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzMetrics(f *testing.F) {
	f.Add([]byte(answer(5, 3, 1e6)), []byte(answer(6, 4, 2e6)))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		var w runtimeWatch
		if w.sample(0, a) != nil || w.sample(time.Second, b) != nil {
			return
		}
		r, err := w.reading()
		if err != nil {
			return
		}
		for _, v := range r.Values {
			if math.IsNaN(v.Value) {
				t.Errorf("%s is NaN", v.Metric)
			}
		}
	})
}
