// Package conform is the suite of tests that every placement passes: this machine, agents that were started by
// hand, and Kubernetes. A lab that passes measures the same thing wherever it is.
package conform

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/lab"
	"github.com/dynolab/dyno/internal/load/traffic"
)

// A Placement opens labs. Their subject is the program of testdata, which serves at the address in the
// variable LISTEN.
type Placement struct {
	Open    func(t *testing.T) (*lab.Lab, func() error)
	Subject dyno.Subject
	Program string // package of the load in testdata
	On      dyno.On
}

// Run runs the suite.
func Run(t *testing.T, p Placement) {
	t.Run("closed load", p.closed)
	t.Run("schedule", p.schedule)
	t.Run("replay", p.replay)
	t.Run("death", p.death)
	if testing.Short() { // the race detector has seen all goroutines
		return
	}
	t.Run("side by side", p.beside)
	t.Run("program", p.program)
	t.Run("failures", p.failures)
	t.Run("interrupt", p.interrupt)
}

func (p Placement) experiment(l dyno.Load) *dyno.Experiment {
	s := p.Subject
	s.Env = map[string]string{"LISTEN": "{{.Addr}}"}
	return &dyno.Experiment{Name: "conform", Subject: s, On: p.On, Load: l, Repeats: 1, Seed: new(uint64(1))}
}

// A run is what came of an experiment.
type run struct {
	results  []*dyno.Result
	requests map[int][]dyno.Request // by trial
	void     int
}

func (p Placement) run(t *testing.T, ctx context.Context, e *dyno.Experiment) (*run, error) {
	t.Helper()
	if err := lab.Check(e); err != nil {
		t.Fatal(err)
	}
	l, release := p.Open(t)
	defer func() {
		if err := release(); err != nil {
			t.Error(err)
		}
	}()
	got := &run{requests: map[int][]dyno.Request{}}
	var mu sync.Mutex // trials side by side hand them over at the same time
	l.Dir = func(int) (string, error) { return t.TempDir(), nil }
	l.Keep = func(n int, all iter.Seq2[dyno.Request, error]) error {
		mu.Lock()
		defer mu.Unlock()
		for r, err := range all {
			if err != nil {
				return err
			}
			got.requests[n] = append(got.requests[n], r)
		}
		return nil
	}
	l.Void = func(r *dyno.Result, again bool) {
		t.Logf("void: %s", r.Err)
		got.void++
	}
	if err := l.PrepareAll(t.Context(), e); err != nil { // a slow build is no part of what ctx ends
		t.Fatal(err)
	}
	err := l.Run(ctx, e, func(r *dyno.Result) error {
		got.results = append(got.results, r)
		return nil
	})
	return got, err
}

// must returns the results of an experiment whose trials are to succeed.
func (p Placement) must(t *testing.T, e *dyno.Experiment) *run {
	t.Helper()
	got, err := p.run(t, t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range got.results {
		if r.Err != "" {
			t.Fatal(r.Err)
		}
	}
	return got
}

// closed checks that a closed load with a number of requests sends exactly these, from clients with different
// numbers, that the subject has the setting's environment, and that there is everything that a local trial
// measures.
func (p Placement) closed(t *testing.T) {
	e := p.experiment(dyno.Load{
		Concurrency: 5, Requests: 2003, Idle: dyno.Duration(200 * time.Millisecond),
		Client: dyno.Client{Loop: []dyno.Step{{Path: "/env?name=GOGC&want=37"}}},
	})
	memory := false
	e.Memory, e.Factors = &memory, dyno.Factors{{Name: "GOGC", Levels: []string{"37"}}}
	got := p.must(t, e)
	r := got.results[0]
	if r.Sent.Requests != 2003 || len(got.requests[1]) != 2003 {
		t.Errorf("%d requests were sent and %d kept, want 2003", r.Sent.Requests, len(got.requests[1]))
	}
	clients := map[int]int{}
	for _, q := range got.requests[1] {
		clients[q.Client]++
	}
	for c := range 5 {
		if clients[c] == 0 || len(clients) != 5 {
			t.Errorf("requests by client: %v, want clients 0 to 4", clients)
		}
	}
	for _, metric := range []string{"p50-sec", "p99-sec", "req/s", "rss-peak-B", "cpu-sec/req", "rss-idle-B"} {
		if v, ok := r.Values.Get(metric); !ok || v <= 0 {
			t.Errorf("%s is %v, %v", metric, v, ok)
		}
	}
	p.pooled(t, r, got.requests[1])
}

// pooled checks that percentiles are those of all requests together, within a bucket of the histogram.
func (p Placement) pooled(t *testing.T, r *dyno.Result, requests []dyno.Request) {
	t.Helper()
	var all []time.Duration
	for _, q := range requests {
		all = append(all, q.Done-q.Due)
	}
	slices.Sort(all)
	for _, q := range []float64{0.5, 0.9, 0.99, 0.999} {
		want, got := all[int(q*float64(len(all)))], r.Latency.Quantile(q)
		before := all[max(int(q*float64(len(all)))-1, 0)] // ranks count from 1
		if least, most := before-before/500, want+want/500; got < least || got > most {
			t.Errorf("p%v is %v, that of all requests %v to %v", 100*q, got, before, want)
		}
	}
}

// schedule checks that the due times of an open load are those of its schedule, for any number of senders.
func (p Placement) schedule(t *testing.T) {
	for _, arrival := range []string{"constant", "poisson"} {
		l := dyno.Load{Rate: dyno.PerSecond(500), Arrival: arrival, Duration: dyno.Duration(time.Second), Warmup: dyno.Duration(100 * time.Millisecond), Concurrency: 40}
		e := p.experiment(l)
		got := p.must(t, e)
		requests := got.requests[1]
		slices.SortFunc(requests, func(a, b dyno.Request) int { return int(a.Due - b.Due) })
		want := due(e.Trials()[0].Load)
		if len(requests) != len(want) {
			t.Fatalf("%s: %d requests, want %d", arrival, len(requests), len(want))
		}
		for i, q := range requests {
			if q.Due != want[i] {
				t.Fatalf("%s: request %d was due at %v, want %v", arrival, i, q.Due, want[i])
			}
		}
		p.pooled(t, got.results[0], requests)
	}
}

// replay checks that a recording is played once, each request at its own time, for any number of senders, and
// that requests that were refused are refused again.
func (p Placement) replay(t *testing.T) {
	l := dyno.Load{Replay: filepath.Join(t.TempDir(), "access.log"), Speed: 2, Concurrency: 40}
	var log strings.Builder
	var want []dyno.Request
	at := time.Duration(0)
	for i := range 300 {
		if at += time.Duration(i%11) * 900 * time.Microsecond; i == 150 {
			at += 300 * time.Millisecond
		}
		path, status := "/", 200
		if i%3 == 0 {
			path, status = "/env?name=GOGC&want=nothing", 418
		}
		fmt.Fprintf(&log, "{\"ts\":%d,\"method\":\"GET\",\"path\":%q,\"status\":%d}\n", 1_700_000_000_000_000_001+int64(at), path, status)
		want = append(want, dyno.Request{Due: at / 2, Status: status})
	}
	if err := os.WriteFile(l.Replay, []byte(log.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := traffic.Note(&l); err != nil {
		t.Fatal(err)
	}
	got := p.must(t, p.experiment(l))
	requests := got.requests[1]
	slices.SortStableFunc(requests, func(a, b dyno.Request) int { return int(a.Due - b.Due) })
	if r := got.results[0]; len(requests) != len(want) || len(r.Failures) > 0 {
		t.Fatalf("%d requests, failures %v; want %d without any", len(requests), r.Failures, len(want))
	}
	for i, q := range requests {
		if q.Due != want[i].Due || i > 0 && want[i].Due > want[i-1].Due && i+1 < len(want) && want[i].Due < want[i+1].Due && q.Status != want[i].Status {
			t.Fatalf("request %d was due at %v and answered with %d, want %v and %d", i, q.Due, q.Status, want[i].Due, want[i].Status)
		}
	}
	p.pooled(t, got.results[0], requests)
}

// Settings run side by side take turns wherever the load comes from.
func (p Placement) beside(t *testing.T) {
	e := p.experiment(dyno.Load{Concurrency: 4, Duration: dyno.Duration(2 * time.Second)})
	e.Factors = dyno.Factors{{Name: "GOGC", Levels: []string{"100", "50"}}}
	got := p.inTurns(t, e)
	want := 2
	if p.On.Away() { // and the baseline with itself
		want = 4
	}
	if len(got.results) != want {
		t.Fatalf("%d results, want %d", len(got.results), want)
	}
	for _, r := range got.results {
		rate, _ := r.Values.Get("req/s")
		own := float64(r.Sent.Requests) / rate
		if r.Turns < 5 || own < 1.5 || own > 2.5 || r.Elapsed < 3*time.Second {
			t.Errorf("trial %d: %d turns, %.3g s of its own in %v, want 2 s of its own in some 4", r.Trial.N, r.Turns, own, r.Elapsed)
		}
	}
}

// mostBeside is how often settings are measured until they run side by side.
const mostBeside = 4

// inTurns measures settings side by side. On a busy machine a service may look as if it worked in the background, and then its settings run one
// after the other, as they should: so that is tried again.
func (p Placement) inTurns(t *testing.T, e *dyno.Experiment) (got *run) {
	for range mostBeside {
		got = p.must(t, e)
		if !slices.ContainsFunc(got.results, func(r *dyno.Result) bool { return r.Turns == 0 }) {
			break
		}
	}
	return got
}

// A load that is a program sends from wherever other loads do: at the due times of its schedule, and in
// turns.
func (p Placement) program(t *testing.T) {
	e := p.experiment(dyno.Load{Program: p.Program, Rate: dyno.PerSecond(200), Arrival: "poisson", Duration: dyno.Duration(time.Second), Concurrency: 20})
	got := p.must(t, e)
	requests := got.requests[1]
	slices.SortFunc(requests, func(a, b dyno.Request) int { return int(a.Due - b.Due) })
	if !slices.EqualFunc(requests, due(e.Trials()[0].Load), func(q dyno.Request, at time.Duration) bool { return q.Due == at && q.Step == "get" }) {
		t.Errorf("the due times of %d requests are not those of the schedule", len(requests))
	}
	p.pooled(t, got.results[0], requests)
	e = p.experiment(dyno.Load{Program: p.Program, Concurrency: 4, Requests: 400})
	e.Factors = dyno.Factors{{Name: "GOGC", Levels: []string{"100", "50"}}}
	for _, r := range p.inTurns(t, e).results {
		if r.Sent.Requests != 400 || r.Turns < 1 {
			t.Errorf("trial %d: %d requests in %d turns, want 400", r.Trial.N, r.Sent.Requests, r.Turns)
		}
	}
}

// A failure of the service is an error of the trial, which is not void.
func (p Placement) failures(t *testing.T) {
	got, err := p.run(t, t.Context(), p.experiment(dyno.Load{Concurrency: 3, Requests: 120, Client: dyno.Client{Loop: []dyno.Step{{Path: "/env?name=PATH&want=none"}}}}))
	p.fails(t, got, err, "status 418")
	got, err = p.run(t, t.Context(), p.experiment(dyno.Load{Concurrency: 3, Requests: 120, Client: dyno.Client{Setup: []dyno.Step{{Path: "/env?name=PATH&want=none"}}}}))
	p.fails(t, got, err, "set up client")
}

// A subject that dies is the reason, not the generators that lost it.
func (p Placement) death(t *testing.T) {
	l := dyno.Load{Concurrency: 3, Duration: dyno.Duration(30 * time.Second), Client: dyno.Client{Loop: []dyno.Step{{Path: "/die"}}}}
	began := time.Now()
	e := p.experiment(l)
	memory := false
	e.Memory = &memory
	got, err := p.run(t, t.Context(), e)
	p.fails(t, got, err, "7")
	if took := time.Since(began); took > 25*time.Second {
		t.Errorf("it took %v", took)
	}
}

func (p Placement) fails(t *testing.T, got *run, err error, want string) {
	t.Helper()
	if alike := (*lab.AlikeError)(nil); err != nil && !errors.As(err, &alike) {
		t.Fatal(err)
	}
	if len(got.results) == 0 {
		t.Fatal("no result")
	}
	if r := got.results[0]; !strings.Contains(r.Err, want) || got.void > 0 {
		t.Errorf("void %d times; the error is %q, want %q", got.void, r.Err, want)
	}
}

// An interrupt ends a trial at once.
func (p Placement) interrupt(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	time.AfterFunc(2*time.Second, func() { cancel(cause) })
	began := time.Now()
	memory := false
	e := p.experiment(dyno.Load{Concurrency: 2, Duration: dyno.Duration(25 * time.Second)})
	e.Memory = &memory
	_, err := p.run(t, ctx, e)
	if took := time.Since(began); !errors.Is(err, cause) || took > 20*time.Second {
		t.Errorf("after %v: %v", took, err)
	}
}
