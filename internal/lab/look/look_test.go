package look

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
)

// A service answers clients one after the other on some CPUs, so many seconds each; cold is by how much longer at first, and it
// loses that with a time constant of warm seconds.
type service struct {
	each, wait float64
	cpus       int
	cold, warm float64
	noise      func(*rand.Rand, float64) float64 // factor at a time
	fails      string
}

// run is a closed load of clients.
func (s *service) run(rng *rand.Rand, clients int, length time.Duration) (samples []sample) {
	for at := 0.0; at < length.Seconds(); {
		each := s.each * (1 + s.cold*math.Exp(-at/max(s.warm, 1e-9)))
		if s.noise != nil {
			each *= s.noise(rng, at)
		}
		latency := max(each+s.wait, each*float64(clients)/float64(s.cpus))
		at += latency / float64(clients)
		samples = append(samples, sample{at, latency * (0.5 + rng.ExpFloat64()/2)})
	}
	return samples
}

func (s *service) measure(_ context.Context, t dyno.Trial) (*dyno.Result, []sample, error) {
	r := &dyno.Result{Trial: t, Err: s.fails}
	rng := rand.New(rand.NewPCG(t.Load.Seed, uint64(t.Load.Duration)))
	return r, s.run(rng, t.Load.Concurrency, time.Duration(t.Load.Duration)), nil
}

func plan() *dyno.Experiment {
	return &dyno.Experiment{
		Subject: dyno.Subject{Package: "."}, Factors: dyno.Factors{{Name: "GOGC", Levels: []string{"100", "200"}}}, Seed: new(uint64(1)),
	}
}

func TestChoose(t *testing.T) {
	noisy := func(rng *rand.Rand, at float64) float64 { return 1 + rng.ExpFloat64()/4 }
	stalls := func(_ *rand.Rand, at float64) float64 {
		if math.Mod(at, 0.9) < 0.05 { // collections, or a neighbour
			return 40
		}
		return 1
	}
	for name, c := range map[string]struct {
		service  service
		warm     [2]float64 // seconds, between
		clients  int
		duration float64
		why      []string
	}{
		"level from the first moment": {service{each: 100e-6, cpus: 2}, [2]float64{0.5, 0.5}, 10, 0, []string{"level after 0s", "40 clients get no more requests"}},
		"the same with noise":         {service{each: 100e-6, cpus: 2, noise: noisy}, [2]float64{0.5, 0.5}, 10, 0, nil},
		"the same with stalls":        {service{each: 100e-6, cpus: 2, noise: stalls}, [2]float64{0.5, 1}, 10, 0, nil},
		"warm after half a second":    {service{each: 100e-6, cpus: 2, cold: 4, warm: 0.2}, [2]float64{0.5, 1.5}, 10, 0, nil},
		"warm after a second":         {service{each: 100e-6, cpus: 2, cold: 3, warm: 0.4, noise: noisy}, [2]float64{1, 2.5}, 10, 0, nil},
		"warm after 6 seconds":        {service{each: 100e-6, cpus: 2, cold: 3, warm: 1.5}, [2]float64{2.5, 2.5}, 10, 0, []string{"level after", "a run of 2m0s has no time (consider: --within "}},
		"never warm":                  {service{each: 100e-6, cpus: 2, cold: 9, warm: 8}, [2]float64{2.5, 2.5}, 10, 0, []string{"still fall after 10s", "consider: --within"}},
		"slower and slower":           {service{each: 100e-6, cpus: 2, noise: func(_ *rand.Rand, at float64) float64 { return 1 + at }}, [2]float64{1, 1}, 10, 0, []string{"rise over 10s"}},
		"it waits for others":         {service{each: 100e-6, wait: 0.05, cpus: 2}, [2]float64{0.5, 0.5}, 160, 0, []string{"more than 160 clients are not tried"}},
		"slow":                        {service{each: 0.02, cpus: 1}, [2]float64{0.5, 1}, 10, 10, []string{"10s has 5"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := choose(t.Context(), plan(), c.service.measure)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(got.Why)
			if w := time.Duration(got.Warmup).Seconds(); w < c.warm[0] || w > c.warm[1] {
				t.Errorf("a warm-up of %v s, want %v", w, c.warm)
			}
			if d := time.Duration(got.Duration).Seconds(); got.Concurrency != c.clients || d != c.duration {
				t.Errorf("%d clients for %v s, want %d and %v", got.Concurrency, d, c.clients, c.duration)
			}
			for _, text := range c.why {
				if !strings.Contains(got.Why, text) {
					t.Errorf("why: %q, want %q in it", got.Why, text)
				}
			}
		})
	}
}

// What the plan says stays as it is, and a service that fails is left to the run.
func TestChooseLess(t *testing.T) {
	e := plan()
	e.Load.Concurrency = 3
	got, err := choose(t.Context(), e, (&service{each: 100e-6, cpus: 2}).measure)
	if err != nil || got.Concurrency != 0 || got.Warmup == 0 {
		t.Errorf("got %+v, %v, want no number of clients", got, err)
	}
	e.Load = dyno.Load{Rate: dyno.PerSecond(100)}
	open := func(_ context.Context, t dyno.Trial) (*dyno.Result, []sample, error) {
		return &dyno.Result{Trial: t}, (&service{each: 0.01, cpus: 1}).run(rand.New(rand.NewPCG(1, 2)), 1, time.Duration(t.Load.Duration)), nil
	}
	if got, err = choose(t.Context(), e, open); err != nil || got.Concurrency != 0 || got.Duration != dyno.Duration(10*time.Second) {
		t.Errorf("got %+v, %v, want only a longer window", got, err)
	}
	e.Within = dyno.Duration(46 * time.Second) // six blocks of 10 s have no room
	if got, err = choose(t.Context(), e, open); err != nil || got.Duration != 0 {
		t.Errorf("got %+v, %v, want no longer window", got, err)
	}
	e.Within = dyno.Duration(72 * time.Second)
	if got, err = choose(t.Context(), e, open); err != nil || got.Duration != dyno.Duration(5*time.Second) {
		t.Errorf("got %+v, %v, want a window of which six fit", got, err)
	}
	_, err = choose(t.Context(), plan(), (&service{each: 1, cpus: 1, fails: "it is\nbroken"}).measure)
	if err == nil || !strings.HasSuffix(err.Error(), "GOGC=100: it is\nbroken") {
		t.Errorf("error %v, want that of the service", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(context.DeadlineExceeded)
	if _, err = choose(ctx, plan(), (&service{each: 1e-3, cpus: 1}).measure); err != context.DeadlineExceeded {
		t.Errorf("interrupted: %v", err)
	}
}

// What fails in a look is not chosen; the rest is.
func TestChooseAround(t *testing.T) {
	quick := service{each: 100e-6, cpus: 2}
	waits := service{each: 100e-6, wait: 0.05, cpus: 2}
	if got, err := choose(t.Context(), plan(), func(ctx context.Context, t dyno.Trial) (*dyno.Result, []sample, error) {
		r, samples, err := waits.measure(ctx, t)
		if t.Load.Concurrency > 10 {
			r.Err = "status 503"
		}
		return r, samples, err
	}); err != nil || got.Concurrency != 10 || got.Warmup == 0 || !strings.Contains(got.Why, "40 clients fail: GOGC=100: status 503") {
		t.Errorf("too many clients: %+v, %v", got, err)
	}
	if got, err := choose(t.Context(), plan(), func(ctx context.Context, t dyno.Trial) (*dyno.Result, []sample, error) {
		r, samples, err := quick.measure(ctx, t)
		if t.Setting[0].Value == "200" {
			r.Err = "killed"
		}
		return r, samples, err
	}); err != nil || got.Concurrency != 10 || got.Warmup == 0 {
		t.Errorf("the last setting fails: %+v, %v", got, err)
	}
	slow := service{each: 0.04, cpus: 2}
	if got, err := choose(t.Context(), plan(), func(ctx context.Context, t dyno.Trial) (*dyno.Result, []sample, error) {
		if t.Setting[0].Value == "200" {
			return slow.measure(ctx, t)
		}
		return quick.measure(ctx, t)
	}); err != nil || got.Duration != dyno.Duration(longest) {
		t.Errorf("the last setting is slow: %+v, %v, want a window of %v", got, err, longest)
	}
	for name, change := range map[string]func(*dyno.Experiment){
		"rates vary": func(e *dyno.Experiment) {
			e.Factors = append(e.Factors, dyno.Factor{Name: "load.rate", Levels: []string{"100/s", "200/s"}})
		},
		"clients rest": func(e *dyno.Experiment) {
			e.Load.Client.Loop = []dyno.Step{{Path: "/"}, {Sleep: dyno.Sleep{Min: 1, Max: 2}}}
		},
	} {
		e := plan()
		change(e)
		if got, err := choose(t.Context(), e, quick.measure); err != nil || got.Concurrency != 0 || got.Warmup == 0 {
			t.Errorf("%s: %+v, %v, want no number of clients", name, got, err)
		}
	}
	e := plan()
	e.Repeats = 10
	if got, err := choose(t.Context(), e, (&service{each: 100e-6, cpus: 2, cold: 3, warm: 1.5}).measure); err != nil || time.Duration(got.Warmup) < 5*time.Second {
		t.Errorf("without a limit of time: %+v, %v", got, err)
	}
}

func TestOpen(t *testing.T) {
	second := dyno.Duration(time.Second)
	for name, change := range map[string]func(*dyno.Experiment){
		"a warm-up":           func(e *dyno.Experiment) { e.Load.Warmup = second },
		"a length":            func(e *dyno.Experiment) { e.Load.Duration = second },
		"requests":            func(e *dyno.Experiment) { e.Load.Requests = 1 },
		"a command":           func(e *dyno.Experiment) { e.Load.Command = "hey" },
		"a recording":         func(e *dyno.Experiment) { e.Load.Replay = "a.log" },
		"slices":              func(e *dyno.Experiment) { e.Slice = second },
		"a service that runs": func(e *dyno.Experiment) { e.Subject = dyno.Subject{URL: "http://127.0.0.1:1"} },
		"a limit":             func(e *dyno.Experiment) { e.Thresholds = []dyno.Threshold{{Name: "p99", Op: "<", Literal: "30ms"}} },
		"no time":             func(e *dyno.Experiment) { e.Within = second },
	} {
		e := plan()
		if change(e); Open(e) {
			t.Errorf("with %s there is something to choose", name)
		}
	}
	if !Open(plan()) {
		t.Error("a plan without a load leaves nothing open")
	}
	e := plan()
	e.Thresholds = []dyno.Threshold{{Name: "p99", Change: true, Op: "<", Literal: "5%"}, {Name: "failures", Op: "==", Literal: "0"}}
	e.Load.KeepRequests = "none"
	if !Open(e) {
		t.Error("limits of changes leave nothing open")
	}
}
