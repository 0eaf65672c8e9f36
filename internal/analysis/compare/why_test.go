package compare

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dynolab/dyno"
)

// planted is an experiment of two settings, in which the second differs by
// factors on some metrics, with a little noise on all.
func planted(factors map[string]float64) []*dyno.Result {
	base := map[string]float64{
		"p50-sec": 1e-3, "mean-sec": 1e-3, "p99-sec": 5e-3, "req/s": 1000, "cpu-sec/req": 1e-3, "rss-peak-B": 50e6,
		"gc-cpu-sec/req": 0.1e-3, "alloc-B/req": 1e4, "mutex-wait-sec/req": 1e-6, "sched-p99-sec": 1e-4, "heap-live-B": 10e6, "heap-peak-B": 20e6,
		"goroutines": 20, "minflt/req": 5, "threads": 8, "rss-file-B": 10e6,
	}
	rng := rand.New(rand.NewPCG(1, 2))
	names := slices.Sorted(maps.Keys(base))
	var rs []*dyno.Result
	for block := 1; block <= 8; block++ {
		for i, v := range []string{"old", "new"} {
			r := &dyno.Result{Trial: dyno.Trial{N: len(rs) + 1, Block: block, Setting: dyno.Setting{{Factor: "rev", Value: v}}}}
			for _, name := range names {
				x := base[name] * (1 + 0.002*rng.NormFloat64())
				if f, ok := factors[name]; ok && i == 1 {
					x *= f
				}
				r.Values = append(r.Values, dyno.Value{Metric: name, Value: x})
			}
			r.Values.Sort()
			rs = append(rs, r)
		}
	}
	return rs
}

func TestWhy(t *testing.T) {
	hot := Place{Func: "main.hot", File: "/x/hot.go", Line: 7, Change: 0.9e-3, Lo: 0.8e-3, Hi: 1e-3}
	cold := Place{Func: "main.cold", Change: -0.1e-3}
	for _, c := range []struct {
		name    string
		factors map[string]float64
		metric  string
		places  map[string][]Place
		want    []string // class, metric, share in per cent or -1, first place
	}{
		{"collections are all of it", map[string]float64{"cpu-sec/req": 1.5, "gc-cpu-sec/req": 6}, "cpu-sec/req", nil,
			[]string{"garbage collection gc-cpu-sec/req 100"}},
		{"of collections that are little of it nothing is said", map[string]float64{"cpu-sec/req": 4, "gc-cpu-sec/req": 1.2}, "cpu-sec/req", nil, nil},
		{"a function", map[string]float64{"cpu-sec/req": 2}, "cpu-sec/req", map[string][]Place{"cpu": {hot, cold}},
			[]string{"CPU time cpu-sec/req 90 main.hot"}},
		{"allocation, and what it leads to", map[string]float64{"cpu-sec/req": 2, "gc-cpu-sec/req": 4, "alloc-B/req": 3}, "cpu-sec/req", map[string][]Place{"allocs": {hot}},
			[]string{"garbage collection gc-cpu-sec/req 30", "allocation alloc-B/req -1 main.hot"}},
		{"a lock", map[string]float64{"p50-sec": 2, "mean-sec": 2, "req/s": 0.5, "mutex-wait-sec/req": 900}, "p50-sec", map[string][]Place{"mutex": {hot}},
			[]string{"lock contention mutex-wait-sec/req -1 main.hot"}},
		{"a queue for the CPUs", map[string]float64{"p50-sec": 2, "mean-sec": 2, "req/s": 0.6, "cpu-sec/req": 1.5}, "p50-sec", nil, []string{"CPU time cpu-sec/req -1"}},
		{"a sleep, after which idle CPUs have to be woken", map[string]float64{"p50-sec": 60, "mean-sec": 60, "p99-sec": 12, "req/s": 1. / 60, "cpu-sec/req": 2, "gc-cpu-sec/req": 2}, "p50-sec", nil, nil},
		{"and of its throughput", map[string]float64{"p50-sec": 60, "mean-sec": 60, "p99-sec": 12, "req/s": 1. / 60, "cpu-sec/req": 2, "gc-cpu-sec/req": 2}, "req/s", nil, nil},
		{"a sleep at an even rate that hardly uses a CPU", map[string]float64{"p50-sec": 60, "mean-sec": 60, "req/s": 0.1, "cpu-sec/req": 2}, "p50-sec", nil, nil},
		{"computing alone on a CPU", map[string]float64{"p50-sec": 4, "mean-sec": 4, "req/s": 0.02, "cpu-sec/req": 4}, "p50-sec", nil, []string{"CPU time cpu-sec/req -1"}},
		{"throughput falls as the lock rises", map[string]float64{"req/s": 0.5, "mean-sec": 2, "mutex-wait-sec/req": 900}, "req/s", nil,
			[]string{"lock contention mutex-wait-sec/req -1"}},
		{"many times a nothing lowers no throughput", map[string]float64{"req/s": 0.5, "mean-sec": 2, "mutex-wait-sec/req": 20}, "req/s", nil, nil},
		{"many times a nothing is no cause of latency", map[string]float64{"p50-sec": 2, "mean-sec": 2, "mutex-wait-sec/req": 20}, "p50-sec", nil, nil},
		{"a whole that did not change makes nothing great", map[string]float64{"p99-sec": 0.5, "gc-cpu-sec/req": 0.97}, "p99-sec", nil, nil},
		{"nor does its noise hide a part", map[string]float64{"p99-sec": 2, "gc-cpu-sec/req": 3}, "p99-sec", nil, []string{"garbage collection gc-cpu-sec/req -1"}},
		{"what went the other way is no cause", map[string]float64{"cpu-sec/req": 2, "alloc-B/req": 0.5, "gc-cpu-sec/req": 0.5}, "cpu-sec/req", nil, nil},
		{"fresh memory", map[string]float64{"cpu-sec/req": 2, "minflt/req": 100}, "cpu-sec/req", nil, []string{"fresh memory minflt/req -1"}},
		{"a few faults are no cause", map[string]float64{"cpu-sec/req": 2, "minflt/req": 3}, "cpu-sec/req", nil, nil},
		{"a few bytes are no cause", map[string]float64{"cpu-sec/req": 1.5, "alloc-B/req": 1.1}, "cpu-sec/req", nil, nil},
		{"a heap that is not resident", map[string]float64{"rss-peak-B": 1.1, "heap-peak-B": 50}, "rss-peak-B", nil, []string{"heap heap-peak-B -1"}},
		{"mapped files", map[string]float64{"rss-peak-B": 1.4, "rss-file-B": 3}, "rss-peak-B", nil, []string{"mapped files rss-file-B 100"}},
		{"memory", map[string]float64{"rss-peak-B": 1.4, "heap-peak-B": 2}, "rss-peak-B", nil, []string{"heap heap-peak-B 100"}},
		{"better has causes too", map[string]float64{"cpu-sec/req": 0.5, "gc-cpu-sec/req": 0.1}, "cpu-sec/req", nil,
			[]string{"garbage collection gc-cpu-sec/req 20"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tb := Tabulate(planted(c.factors), Options{Places: func(s dyno.Setting, profile string) []Place {
				if s.String() != "rev=new" {
					t.Errorf("places of %s", s)
				}
				return c.places[profile]
			}})
			var got []string
			found := false
			for _, w := range tb.Settings[1].Why {
				if w.Metric != c.metric {
					continue
				}
				found = true
				for _, x := range w.Causes {
					share := -1.0
					if x.Share == x.Share {
						share = 5 * math.Round(20*float64(x.Share))
					}
					text := fmt.Sprintf("%s %s %.0f", x.Class, x.Metric, share)
					if len(x.Places) > 0 {
						text += " " + x.Places[0].Func
					}
					got = append(got, text)
				}
			}
			if !found {
				t.Fatalf("%s did not change: %+v", c.metric, tb.Settings[1].Versus[c.metric])
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// A limit that the baseline does not have is the first cause, however many requests
// share the wait; one that takes little of the time is none, nor one so uneven that the
// table calls it unclear.
func TestWhyThrottled(t *testing.T) {
	for _, c := range []struct {
		clients, seconds float64 // of throttling in each second
		calm             float64 // that much of it in every other block
		want             bool
	}{{2, 0.9, 1, true}, {200, 0.9, 1, true}, {2, 0.9, 0.1, false}, {2, 0.01, 1, false}} {
		rs := planted(map[string]float64{"p99-sec": 20, "mean-sec": 5, "req/s": 0.2, "mutex-wait-sec/req": 100})
		for _, r := range rs {
			throttled := 0.0
			for i, v := range r.Values {
				if v.Metric == "mean-sec" {
					r.Values[i].Value *= c.clients
				}
			}
			if rate, _ := r.Values.Get("req/s"); r.Trial.Setting.String() == "rev=new" {
				throttled = c.seconds / rate
				if r.Trial.Block%2 == 0 {
					throttled *= c.calm
				}
			}
			r.Values = append(r.Values, dyno.Value{Metric: "throttled-sec/req", Value: throttled})
		}
		for _, w := range Tabulate(rs, Options{}).Settings[1].Why {
			first := Class("")
			if len(w.Causes) > 0 {
				first = w.Causes[0].Class
			}
			if (w.Metric == "p99-sec" || w.Metric == "req/s") && (first == ClassThrottling) != c.want {
				t.Errorf("%v clients, throttled %v of the time: %s has the first cause %q", c.clients, c.seconds, w.Metric, first)
			}
		}
	}
}

// Of the baseline, and of what did not change, nobody asks why.
func TestNoWhy(t *testing.T) {
	tb := Tabulate(planted(map[string]float64{"alloc-B/req": 3}), Options{})
	for _, s := range tb.Settings {
		if len(s.Why) > 0 {
			t.Errorf("%s: %+v", s.Setting, s.Why)
		}
	}
}

// What would be the cause if it were sure is named, and only if it goes the right way.
func TestLikely(t *testing.T) {
	likely := func(times [3]float64) (Class, string, int) {
		rs := planted(map[string]float64{"rss-peak-B": 4})
		for i, r := range rs { // the heap is the cause, but swings
			for j := range r.Values {
				if v := &r.Values[j]; v.Metric == "heap-peak-B" && i%2 == 1 {
					v.Value = 20e6 * times[r.Trial.Block%3]
				}
			}
		}
		return Tabulate(rs, Options{}).Likely(1)
	}
	if class, metric, more := likely([3]float64{0.8, 6, 12}); class != ClassHeap || metric != "heap-peak-B" || more == 0 {
		t.Errorf("%s %s, %d more blocks, want the heap, which is not sure", class, metric, more)
	}
	if class, metric, _ := likely([3]float64{1.2, 0.2, 0.1}); metric != "" {
		t.Errorf("a heap that shrinks, %s %s, is no cause of a larger peak", class, metric)
	}
}

// A share has an interval that covers what was planted, and ends at all of the change.
func TestShareCovers(t *testing.T) {
	const runs, blocks, want = 2000, 8, 0.8
	rng := rand.New(rand.NewPCG(5, 6))
	covers := 0
	for range runs {
		tb := &Table{Blocks: blocks, Settings: []Setting{{Values: map[string]Summary{}}, {Values: map[string]Summary{}}}}
		var part, whole [2][]float64
		var sum [2]float64
		for range blocks {
			for i := range 2 {
				x, rest := 1+0.8*float64(i)+0.1*rng.NormFloat64(), 1+0.2*float64(i)+0.1*rng.NormFloat64()
				part[i], whole[i] = append(part[i], x), append(whole[i], x+rest)
				sum[0], sum[1] = sum[0]+x*float64(2*i-1), sum[1]+(x+rest)*float64(2*i-1)
			}
		}
		for i := range 2 {
			tb.Settings[i].Values["part"], tb.Settings[i].Values["whole"] = Summary{Trials: part[i]}, Summary{Trials: whole[i]}
		}
		if lo, hi := tb.share(1, "part", "whole", sum[0]/sum[1]); lo <= want && want <= hi {
			covers++
		}
	}
	if got := float64(covers) / runs; got < 0.935 || got > 0.965 {
		t.Errorf("the interval of a share covers in %.1f %% of runs", 100*got)
	}
}
