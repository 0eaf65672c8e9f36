package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/plan/check"
	"github.com/dynolab/dyno/internal/store"
)

const synthetic = " (synthetic)"

var host = store.Host{
	Name: "nowhere", OS: "linux", Arch: "amd64", Kernel: "6.18.0", CPU: "invented by eval/page", CPUs: 2, Memory: 24 << 30, Go: goVersion,
}

// A run is a run directory to make.
type run struct {
	path    string
	plan    *dyno.Experiment
	started time.Time
	seed    uint64
	rev     string
	steps   []string
	limit   int // requests of a trial at most; 0: no limit
	service func(t dyno.Trial) *service
	dress   func(r *dyno.Result, dir string) error // nil: nothing
	command []string
}

// make writes the directory: every trial of the plan, one after the other.
func (r *run) make() (err error) {
	if err := check.Experiment(r.plan); err != nil {
		return fmt.Errorf("plan of %s: %w", r.path, err)
	}
	e := r.plan.Resolved()
	info := store.Run{Dyno: "eval/page", Started: r.started, Command: r.command, Host: host, Plan: &e}
	if info.Command == nil {
		info.Command = []string{"go", "run", "-C", "eval", "./page"}
	}
	for _, s := range e.Levels() {
		info.Settings = append(info.Settings, s.String())
	}
	dir, err := store.Create(r.path, info)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	at := r.started
	for _, t := range e.Trials() {
		m := &trialMaker{
			dir: dir, trial: t, of: r.service(t), start: at, steps: r.steps, rev: r.rev, limit: r.limit,
			rng: rand.New(rand.NewPCG(r.seed, uint64(t.N))),
		}
		if err := m.add(r.dress); err != nil {
			return err
		}
		at = at.Add(m.result.Elapsed + 10*time.Second)
	}
	return nil
}

// subject is the plan's service. It exists in dyno's own source, so that a plan made
// by this program is one that could be run.
func subject() dyno.Subject {
	return dyno.Subject{
		Package: "/src/dyno/examples/sessions", Args: []string{"-addr", "{{.Addr}}"}, Env: map[string]string{"LOG_LEVEL": "error"},
		Ready: "/healthz", Dir: "/src/dyno",
	}
}

func seconds(sec float64) dyno.Duration { return dyno.Duration(sec * float64(time.Second)) }

var no = false

// byGOGC is the service of examples/sessions under a setting, as far as it is known
// from measured runs.
func byGOGC(t dyno.Trial, rng *rand.Rand) *service {
	s := &service{
		median: 90 * time.Microsecond, spread: 0.45, cpu: 75e-6, alloc: 12600, live: 12 * mib, gogc: 100, rate: 9000, window: time.Hour,
		clients: 2, closed: true,
	}
	fmt.Sscan(t.Subject.Env["GOGC"], &s.gogc)
	drift := 1 + 0.02*rng.NormFloat64()
	s.median = time.Duration(float64(s.median) * drift)
	s.cpu *= drift
	return s
}

// makeStudy is of the shape of examples/sessions: five settings five times, each
// two clients with their requests one after the other, short windows.
func makeStudy(out string, o options) error {
	each := max(int(30000*o.scale), 100)
	plan := &dyno.Experiment{
		Name: "sessions" + synthetic, Subject: subject(), Seed: &o.seed, Repeats: 5,
		Factors: dyno.Factors{{Name: "GOGC", Levels: []string{"100", "0", "50", "150", "200"}}},
		Load:    dyno.Load{Concurrency: 2, RequestsPerClient: each, Idle: seconds(1), Client: dyno.Client{Loop: []dyno.Step{{Name: "patch", Method: "PATCH", Path: "/sessions/1"}}}},
		Profile: []string{"cpu", "allocs"}, ProfileRepeats: 2, Memory: &no,
	}
	rng := rand.New(rand.NewPCG(o.seed, 1))
	r := &run{
		path: out, plan: plan, started: epoch, seed: o.seed, rev: "0123456789abcdef0123456789abcdef01234567", steps: []string{"patch"}, limit: 2 * each,
		service: func(t dyno.Trial) *service { return byGOGC(t, rng) },
	}
	return r.make()
}

// makeHours is of five settings for five hours each, one of which leaks.
func makeHours(out string, o options) error {
	window := max(time.Duration(5*o.scale*float64(time.Hour)).Truncate(time.Second), 10*time.Second)
	gogc := func(v string, more ...dyno.Level) dyno.Setting {
		return append(dyno.Setting{{Factor: "GOGC", Value: v}}, more...)
	}
	plan := &dyno.Experiment{
		Name: "sessions-5h" + synthetic, Subject: subject(), Seed: &o.seed, Repeats: 1,
		Settings: []dyno.Setting{gogc("100"), gogc("50"), gogc("200"), gogc("400"), gogc("100", dyno.Level{Factor: "CACHE", Value: "unbounded"})},
		Load: dyno.Load{
			Concurrency: 16, Rate: dyno.PerSecond(500), Duration: dyno.Duration(window),
			Client: dyno.Client{Loop: []dyno.Step{{Name: "patch", Method: "PATCH", Path: "/sessions/1"}}},
		},
		Profile: []string{"cpu"}, ProfileRepeats: 1, Memory: &no,
	}
	r := &run{
		path: out, plan: plan, started: epoch, seed: o.seed, rev: "0123456789abcdef0123456789abcdef01234567", steps: []string{"patch"},
		service: func(t dyno.Trial) *service {
			s := byGOGC(t, rand.New(rand.NewPCG(o.seed, uint64(t.N))))
			s.median, s.cpu, s.rate, s.window, s.clients, s.closed = s.median*8, s.cpu*3, 500, window, 16, false
			if t.For != "" {
				s.window = min(window, time.Minute)
			}
			if t.Subject.Env["CACHE"] != "" {
				s.leak = 20 * mib / 3600.0
			}
			for at := 20 * time.Minute; at < window; at += 30 * time.Minute { // a job that comes every half hour
				s.rushes = append(s.rushes, rush{at, at + 20*time.Second, 10, 1.5})
			}
			if at := window / 3; t.Block == 1 && t.Subject.Env["GOGC"] == "50" { // and a bad quarter of a minute
				s.rushes = append(s.rushes, rush{at, at + 15*time.Second, 2, 12})
			}
			return s
		},
	}
	return r.make()
}

// makeRequests is one trial of ten million requests that were kept.
func makeRequests(out string, o options) error {
	n := max(int(10_000_000*o.scale), 1000)
	window := time.Duration(float64(n) / 20_000 * float64(time.Second))
	plan := &dyno.Experiment{
		Name: "ten-million" + synthetic, Subject: subject(), Seed: &o.seed, Repeats: 1,
		Load:   dyno.Load{Concurrency: 64, Rate: dyno.PerSecond(20_000), Duration: dyno.Duration(window)},
		Memory: &no,
	}
	r := &run{
		path: out, plan: plan, started: epoch, seed: o.seed, rev: "0123456789abcdef0123456789abcdef01234567", steps: []string{"GET /"},
		service: func(t dyno.Trial) *service {
			s := byGOGC(t, rand.New(rand.NewPCG(o.seed, 1)))
			s.rate, s.window, s.clients, s.closed, s.median, s.alloc = 20_000, window, 64, false, 600*time.Microsecond, 2000
			s.rushes = []rush{{window / 2, window/2 + window/100, 5, 6}}
			return s
		},
	}
	return r.make()
}

// makeMany is 200 runs of two names over 100 days. In the middle the median of one
// gets worse by 18 %, and the memory of the other better.
func makeMany(out string, o options) error {
	n := max(int(200*o.scale), 4)
	for i := range n {
		names := []string{"checkout", "search"}
		name := names[i%2]
		late := i >= n/2
		started := epoch.AddDate(0, 0, -100).Add(time.Duration(float64(i) * 100 * 24 / float64(n) * float64(time.Hour)))
		plan := &dyno.Experiment{
			Name: name + synthetic, Subject: subject(), Seed: &o.seed, Repeats: 3,
			Factors: dyno.Factors{{Name: "GOGC", Levels: []string{"100", "200"}}},
			Load:    dyno.Load{Concurrency: 2, RequestsPerClient: 1000},
			Memory:  &no,
		}
		rng := rand.New(rand.NewPCG(o.seed, uint64(i)))
		rev := fmt.Sprintf("%016x%016x%08x", rng.Uint64(), rng.Uint64(), rng.Uint32())
		day := 1 + 0.03*rng.NormFloat64()
		r := &run{
			path: filepath.Join(out, name+"-"+started.Format("20060102-150405")), plan: plan, started: started, seed: o.seed + uint64(i), rev: rev,
			steps: []string{"GET /"}, limit: 2000,
			service: func(t dyno.Trial) *service {
				s := byGOGC(t, rng)
				s.median = time.Duration(float64(s.median) * day)
				if late && name == "checkout" {
					s.median = s.median * 118 / 100
				}
				if late && name == "search" {
					s.live *= 0.7
				}
				return s
			},
		}
		if err := r.make(); err != nil {
			return err
		}
	}
	return nil
}
