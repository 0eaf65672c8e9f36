package capacity

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/stats"
)

func objective(t *testing.T, texts ...string) (os []Objective) {
	t.Helper()
	for _, text := range texts {
		o, err := ParseObjective(text)
		if err != nil {
			t.Fatal(err)
		}
		os = append(os, o)
	}
	return os
}

// run searches one setting; share says what share of the requests is beyond the limit of each objective at a rate.
func run(p Problem, measure func(rate float64) Window) *Search {
	if p.Precision == 0 {
		p.Precision, p.Within, p.From = 0.03, 3*time.Minute, 100
	}
	ss, _ := Run(context.Background(), p, 1, func(_ context.Context, _ int, rate float64, length time.Duration) (Window, time.Duration, error) {
		w := measure(rate)
		w.Rate, w.Length = rate, length
		for i := 0; i < len(w.Whole) && w.Parts == nil; i++ { // which is of 5 s
			w.Whole[i].N, w.Whole[i].Beyond = w.Whole[i].N*length.Seconds()/5, w.Whole[i].Beyond*length.Seconds()/5
		}
		return w, length + time.Second, nil
	})
	return ss[0]
}

// step is a window in which all requests are within the limits up to a rate, and none beyond it.
func step(objectives int, at func(i int) float64) func(rate float64) Window {
	return func(rate float64) (w Window) {
		for i := range objectives {
			c := Count{N: 5 * rate}
			if rate > at(i) {
				c.Beyond = c.N
			}
			w.Whole = append(w.Whole, c)
		}
		return w
	}
}

// A step is found between windows that held and windows that did not, and the objective that is at fault is named.
func TestStep(t *testing.T) {
	s := run(Problem{Objectives: objective(t, "failures < 1%", "failures < 2%")}, step(2, func(i int) float64 { return []float64{900, 700}[i] }))
	a := s.Answer()
	if a.Kind != Found || !(a.Lo <= 700 && 700 <= a.Hi) || math.Abs(a.Rate/700-1) > 0.03 || a.Binding != 1 {
		t.Errorf("%+v after %v", a, s.Spent)
	}
}

// Where the generator is the limit, the answer is a bound below it.
func TestGeneratorLimit(t *testing.T) {
	hold := step(1, func(int) float64 { return 1e9 })
	s := run(Problem{Objectives: objective(t, "p99 < 30ms")}, func(rate float64) Window {
		w := hold(rate)
		w.Limited = rate > 5000
		return w
	})
	if a := s.Answer(); a.Kind != AtLeast || !a.Limited || a.Rate > 5000 || a.Rate < 4000 {
		t.Errorf("%+v of %d windows", a, len(s.Windows))
	}
	if s.Spent > 2*time.Minute { // the rate is shown to hold, not only tried
		t.Errorf("it took %v", s.Spent)
	}
}

// A generator that is late once does not keep the search down.
func TestLateOnce(t *testing.T) {
	at, late := step(1, func(int) float64 { return 3000 }), 0
	s := run(Problem{Objectives: objective(t, "failures < 1%")}, func(rate float64) Window {
		w := at(rate)
		if rate >= 1600 && late == 0 {
			w.Limited = true
			late++
		}
		return w
	})
	if a := s.Answer(); a.Kind != Found || math.Abs(a.Rate/3000-1) > 0.03 {
		t.Errorf("%+v", a)
	}
	s.Windows = slices.DeleteFunc(s.Windows, func(w Window) bool { return w.Rate > 3000 })
	s.Add(s.Windows[0], time.Second)
	if a := s.Answer(); a.Kind != AtLeast || a.Limited {
		t.Errorf("where all others held: %+v", a)
	}
}

// A window in which the machine was disturbed is left out and measured again, for as long again as the search may take.
// If most are, none is left out, and the answer is of this machine as it was.
func TestDisturbedMachine(t *testing.T) {
	at := step(1, func(int) float64 { return 3000 })
	for _, c := range []struct {
		every int
		want  Kind
	}{{3, Found}, {1, Wide}} {
		n := 0
		s := run(Problem{Objectives: objective(t, "failures < 1%")}, func(rate float64) Window {
			w := at(rate)
			if n++; n%c.every == 0 {
				w.Disturbed = true
				if c.every > 1 {
					w.Whole[0].Beyond = w.Whole[0].N
				}
			}
			return w
		})
		if a := s.Answer(); a.Kind != c.want || math.Abs(a.Rate/3000-1) > 0.03 || s.Spent > 2*s.Within || s.Restless() != (c.want == Wide) {
			t.Errorf("every %d: %+v after %v", c.every, a, s.Spent)
		}
	}
}

// Where the machine is disturbed all the time, neither a late generator nor a broken objective says what the service
// can take, and the search goes on for as long as it may.
func TestRestless(t *testing.T) {
	for _, late := range []bool{true, false} {
		s := run(Problem{Objectives: objective(t, "p99 < 30ms")}, func(rate float64) Window {
			return Window{Disturbed: true, Limited: late, Whole: []Count{{N: 5 * rate, Beyond: rate}}}
		})
		if a := s.Answer(); a.Kind != Unknown || a.Limited || late && s.Spent < s.Within {
			t.Errorf("late %t: %+v after %v", late, a, s.Spent)
		}
	}
}

// The highest rate is tried, and no rate above it.
func TestMost(t *testing.T) {
	for _, most := range []float64{2000, 1234.56, 100} {
		for name, at := range map[string]float64{"holds": 1e9, "breaks there": most * 0.97} {
			at, tried := step(1, func(int) float64 { return at }), 0.0
			s := run(Problem{Objectives: objective(t, "failures < 1%"), From: 100, Most: most, Precision: 0.03, Within: 3 * time.Minute}, func(rate float64) Window {
				tried = max(tried, rate)
				return at(rate)
			})
			a := s.Answer()
			if name == "holds" && (a.Kind != AtLeast || a.Rate != most || !a.Highest || a.Limited || len(s.Windows) > 7) ||
				name != "holds" && !(a.known() && a.Lo <= most*0.97 && a.Hi >= most*0.97) || tried != most {
				t.Errorf("%s, at most %g: %+v, up to %g/s, %d windows", name, most, a, tried, len(s.Windows))
			}
		}
	}
}

// A service that is slow at every rate has no capacity, and is not searched for long.
func TestFlat(t *testing.T) {
	s := run(Problem{Objectives: objective(t, "p99 < 30ms")}, func(rate float64) Window {
		return Window{Whole: []Count{{N: 10 * rate, Beyond: rate}}}
	})
	if a := s.Answer(); a.Kind != Unknown || !a.Flat || len(s.Windows) < lows || len(s.Windows) > 6 {
		t.Errorf("%+v after %d windows", a, len(s.Windows))
	}
}

// Low windows that something disturbed do not make a service flat: those that held count as well.
func TestNotFlat(t *testing.T) {
	p := Problem{Objectives: objective(t, "p99 < 30ms"), From: 100, Precision: 0.03, Within: time.Minute}
	s := &Search{Problem: p}
	for i, beyond := range []float64{50, 6, 8, 0, 0, 0, 0} {
		rate := 900.0
		if i > 0 {
			rate = 100 + float64(i)/10
		}
		s.Add(Window{Rate: rate, Length: 5 * time.Second, Whole: []Count{{N: 500, Beyond: beyond}}}, 6*time.Second)
	}
	if flat, low := s.Flat(); flat || low > 0 {
		t.Errorf("flat %t, again at %g/s", flat, low)
	}
}

// A service that holds at no rate ends the search, with a bound.
func TestNothingHolds(t *testing.T) {
	s := run(Problem{Objectives: objective(t, "failures < 1%")}, step(1, func(int) float64 { return 0 }))
	if a := s.Answer(); a.Kind != AtMost || a.Rate > 25 {
		t.Errorf("%+v", a)
	}
}

// The search keeps its time, and says that the interval is wider than asked for.
func TestWithin(t *testing.T) {
	x := services[0].search(3, Problem{From: 100, Precision: 0.005, Within: time.Minute})
	if a := x.Answer(); x.Spent > time.Minute || a.Kind != Wide && a.Kind != Unknown {
		t.Errorf("%+v after %v", a, x.Spent)
	}
}

// Settings take turns, and each search is its own; an error ends all, and leaves what was measured.
func TestRunTakesTurns(t *testing.T) {
	stop, n := errors.New("stop"), 0
	p := Problem{Objectives: objective(t, "failures < 1%"), From: 100, Precision: 0.03, Within: time.Minute}
	ss, err := Run(context.Background(), p, 3, func(_ context.Context, i int, rate float64, length time.Duration) (Window, time.Duration, error) {
		if n++; n > 10 {
			return Window{}, 0, stop
		}
		w := step(1, func(int) float64 { return 500 * float64(i+1) })(rate)
		w.Rate = rate
		return w, length, nil
	})
	if !errors.Is(err, stop) {
		t.Fatal(err)
	}
	for i, s := range ss {
		if n := len(s.Windows); n < 3 || n > 4 {
			t.Errorf("setting %d has %d windows of 10", i, n)
		}
	}
}

// Two equal services are called different in at most 5 % of searches; one that is 12 % slower is seen.
func TestAgainst(t *testing.T) {
	p := Problem{From: 200, Precision: 0.03, Within: 2 * time.Minute}
	slower := *services[9]
	slower.take = fixed(0.56 * ms)
	alarms, seen := 0, 0
	const n = 12
	for seed := range uint64(n) {
		a, b := services[9].search(seed, p).Answer(), services[9].search(seed+100, p).Answer()
		c := slower.search(seed+200, p).Answer()
		rs := Against([]Answer{a, b, c}, 0.01)
		if v := rs[1].Verdict; v == stats.Better || v == stats.Worse {
			alarms++
		}
		if rs[2].Verdict == stats.Worse {
			seen++
		}
	}
	if alarms > 2 || seen < n*3/4 {
		t.Errorf("%d alarms, %d of %d seen", alarms, seen, n)
	}
}

func TestAgainstUnknown(t *testing.T) {
	rs := Against([]Answer{{Kind: Found, Rate: 100, Lo: 99, Hi: 101}, {Kind: AtLeast, Rate: 500}, {Kind: Found, Rate: 100.1, Lo: 99.5, Hi: 100.5}}, 0.02)
	if rs[1].Verdict != stats.Unclear || !math.IsNaN(rs[1].Ratio) || rs[2].Verdict != stats.Same {
		t.Errorf("%+v", rs)
	}
}

// What a trial measured: the first second is not counted, failed and unsent requests are slower than any limit.
func TestRead(t *testing.T) {
	p := Problem{Objectives: objective(t, "p99 < 30ms", "failures < 1%")}
	second := func(slow int) []Count {
		h := hist.New()
		for range 100 - slow {
			h.Add(10 * time.Millisecond)
		}
		for range slow {
			h.Add(31 * time.Millisecond)
		}
		return CountOf(h, p.Objectives)
	}
	result := func(values map[string]float64) *dyno.Result {
		r := &dyno.Result{Sent: dyno.Sent{Requests: 480, Unsent: 20}}
		r.Trial.Load.Duration = dyno.Duration(5 * time.Second)
		for k, v := range values {
			r.Values = append(r.Values, dyno.Value{Metric: k, Value: v})
		}
		return r
	}
	r := result(map[string]float64{"failures": 30, "sent/s": 100, "p99-sec": 0.031, "lateness-p99-sec": 0.0002})
	w := p.Read(r, 100, [][]Count{second(50), second(0), second(2), second(3), second(0)})
	if want := (Count{N: 440, Beyond: 45}); w.Whole[0] != want || w.Whole[1] != (Count{N: 440, Beyond: 40}) || w.Length != 4*time.Second || w.Limited || w.Behind {
		t.Errorf("%+v", w)
	}
	if w.Seen[0] != 0.031 || len(w.Parts[0]) != 4 || w.Parts[1] != nil {
		t.Errorf("%+v", w)
	}
	died := result(map[string]float64{"steal-frac": 0.03, "others-cpu-frac": 0.01})
	died.Died = true
	if w := p.Read(died, 100, nil); !w.Behind || !w.Died || !w.Disturbed || p.holds(w.Whole) {
		t.Errorf("%+v", w)
	}
	good := [][]Count{second(0), second(0), second(0)}
	bad := [][]Count{second(9), second(9), second(9)}
	for _, c := range []struct {
		name            string
		values          map[string]float64
		parts           [][]Count
		behind, limited bool
	}{
		{"the service takes less", map[string]float64{"sent/s": 80, "lateness-p99-sec": 0.0001}, bad, true, false},
		{"dyno is late and the objective is not held", map[string]float64{"sent/s": 100, "lateness-p99-sec": 0.02}, bad, false, true},
		{"dyno is late, and the objective is held all the same", map[string]float64{"sent/s": 100, "lateness-p99-sec": 0.02}, good, false, true},
		{"dyno is late, but requests fail, too", map[string]float64{"sent/s": 100, "lateness-p99-sec": 0.02, "failures": 50}, bad, false, false},
		{"nothing is known of lateness", map[string]float64{"sent/s": 80}, good, false, false},
		{"dyno is late, and the service is slow by itself", map[string]float64{"sent/s": 100, "lateness-p99-sec": 0.02, "service-p99-sec": 0.07}, bad, false, false},
		{"dyno is too slow", map[string]float64{"sent/s": 80, "lateness-p99-sec": 0.02}, good, false, true},
		{"dyno is a little late, which a limit of 30 ms does not see", map[string]float64{"sent/s": 100, "lateness-p99-sec": 0.002}, bad, false, false},
	} {
		r := result(c.values)
		r.Sent.Unsent, r.Sent.Requests = 0, 500
		if w := p.Read(r, 100, c.parts); w.Behind != c.behind || w.Limited != c.limited {
			t.Errorf("%s: behind %t, limited %t", c.name, w.Behind, w.Limited)
		}
	}
}

// Where only failures count a late generator says nothing, unless it did not send all.
func TestReadFailures(t *testing.T) {
	p := Problem{Objectives: objective(t, "failures < 1%")}
	for sent, limited := range map[float64]bool{100: false, 80: true} {
		r := &dyno.Result{Sent: dyno.Sent{Requests: 500}, Values: dyno.Values{{Metric: "lateness-p99-sec", Value: 0.05}, {Metric: "sent/s", Value: sent}}}
		r.Trial.Load.Duration = dyno.Duration(5 * time.Second)
		if w := p.Read(r, 100, [][]Count{{{N: 500}}}); w.Behind || w.Limited != limited {
			t.Errorf("%v/s sent: behind %t, limited %t", sent, w.Behind, w.Limited)
		}
	}
}

// A first window in which something else disturbed does not keep the search down.
func TestDisturbedWindow(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	n := 0
	s := run(Problem{Objectives: objective(t, "p99 < 6ms"), From: 100, Precision: 0.03, Within: 3 * time.Minute}, func(rate float64) Window {
		w := services[9].window(rng, rate, 5)
		if n++; n == 1 {
			w.Whole[0].Beyond = w.Whole[0].N * 0.3
		}
		return w
	})
	if a := s.Answer(); math.Abs(a.Rate/1621-1) > 0.05 {
		t.Errorf("%+v", a)
	}
}
