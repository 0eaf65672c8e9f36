package timeline

import (
	"encoding/json"
	"iter"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/stats"
)

// secondsOf are the lines of a log with so many requests each second, which take
// what took says of their second, log-normal by a fifth.
func secondsOf(n, each int, took func(sec float64) float64) iter.Seq2[hist.Line, error] {
	return func(yield func(hist.Line, error) bool) {
		rng := rand.New(rand.NewPCG(1, uint64(n)))
		h := hist.New()
		for s := range n {
			h.Reset()
			for range each {
				h.Add(time.Duration(1e9 * took(float64(s)+0.5) * math.Exp(0.2*rng.NormFloat64())))
			}
			if !yield(hist.Line{From: time.Duration(s) * time.Second, To: time.Duration(s+1) * time.Second, Histogram: h}, nil) {
				return
			}
		}
	}
}

func steadinessOf(t *testing.T, n, each int, took func(sec float64) float64) *Steadiness {
	t.Helper()
	s, err := NewSteadiness(secondsOf(n, each, took), time.Duration(n)*time.Second, int64(n*each))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Each percentile is taken of parts that have the requests for it, at most some
// 500 of them.
func TestSteadinessParts(t *testing.T) {
	level := func(float64) float64 { return 1e-3 }
	for _, c := range []struct {
		seconds, each int
		p50, p99      time.Duration // length of a part
		n50, n99      int           // readings of the trend
	}{
		{100, 2000, time.Second, time.Second, 33, 33},
		{50, 2000, time.Second, time.Second, 50, 50},
		{100, 100, time.Second, 15 * time.Second, 33, 6},
		{100, 1, 30 * time.Second, 1500 * time.Second, 3, 0},
		{6000, 1500, 4 * time.Second, 4 * time.Second, 500, 500},
	} {
		if c.seconds > 1000 && testing.Short() {
			continue
		}
		s := steadinessOf(t, c.seconds, c.each, level)
		if s.P50.Part != c.p50 || s.P99.Part != c.p99 {
			t.Errorf("%d s of %d: parts of %v and %v, want %v and %v", c.seconds, c.each, s.P50.Part, s.P99.Part, c.p50, c.p99)
		}
		if s.P50.N != c.n50 || s.P99.N != c.n99 {
			t.Errorf("%d s of %d: %d and %d readings, want %d and %d", c.seconds, c.each, s.P50.N, s.P99.N, c.n50, c.n99)
		}
	}
}

// A second of stall in each minute is no reason to see no drift.
func TestSteadinessStalls(t *testing.T) {
	s := steadinessOf(t, 300, 2000, func(sec float64) float64 {
		if int(sec)%60 == 30 {
			return 0.5
		}
		return 1e-3 * (1 + sec/1000)
	})
	for _, c := range []*Course{&s.P50, &s.P99} {
		if got := c.Slope / c.Level; c.Shape != stats.Growing || got < 0.8e-3 || got > 1e-3 {
			t.Errorf("%s by %v of its level a second, want growing by some 0.87e-3", c.Shape, got)
		}
	}
}

// What drifts, steps or stays is told, from the latency of each second.
func TestSteadyVerdicts(t *testing.T) {
	for _, c := range []struct {
		name  string
		took  func(sec float64) float64
		want  SteadyVerdict
		slope float64 // sec/h
	}{
		{"steady", func(float64) float64 { return 1e-3 }, TimesSteady, 0},
		{"drifting", func(s float64) float64 { return 1e-3 * (1 + s/200) }, TimesDrifting, 18e-3},
		{"faster and faster", func(s float64) float64 { return 1e-3 * (1 - s/400) }, TimesDrifting, -9e-3},
		{"drifting by a negligible share", func(s float64) float64 { return 1e-3 * (1 + 0.003*s/200) }, TimesSteady, 0.054e-3},
		{"stepped", func(s float64) float64 {
			if s < 120 {
				return 1e-3
			}
			return 1.5e-3
		}, TimesStepped, math.NaN()},
	} {
		s := steadinessOf(t, 200, 2000, c.took)
		r := &dyno.Result{Trial: dyno.Trial{N: 1}, Elapsed: s.Window}
		got := SteadyOf([]*dyno.Result{r}, map[int]*Steadiness{1: s}, 0.01)
		for _, d := range []*Drift{got.P50, got.P99} {
			if d.Verdict != c.want {
				t.Errorf("%s: %s (%+v), want %s: %+v", c.name, d.Verdict, d.Why, c.want, d)
			}
		}
		if d := got.P50; !math.IsNaN(c.slope) && math.Abs(float64(d.Slope)-c.slope) > 0.2e-3 {
			t.Errorf("%s: %v s/h, want %v", c.name, d.Slope, c.slope)
		}
		if d := got.P50; c.want == TimesDrifting && math.Abs(float64(d.PerMillion/1e6*2000-d.Slope/3600)) > 1e-9 {
			t.Errorf("%s: %v s a million requests at 2,000 a second, and %v s an hour", c.name, d.PerMillion, d.Slope)
		}
		if d := got.P50; c.want == TimesStepped && (math.Abs(float64(d.Shift)-0.5e-3) > 0.05e-3 || math.Abs(float64(d.At)-120) > 5) {
			t.Errorf("%s: by %v at %v s", c.name, d.Shift, d.At)
		}
	}
}

func courseOf(shape stats.Shape, slope float64) *Steadiness {
	c := Course{Trend: stats.Trend{N: 100, Shape: shape, Slope: slope, Lo: slope - 1e-7, Hi: slope + 1e-7, Detectable: 4e-7, Shift: slope * 60, At: 20}, Level: 1e-3}
	return &Steadiness{time.Minute, 60_000, c, c}
}

// A verdict is that of most trials, and of none where they differ.
func TestSteadyOfTrials(t *testing.T) {
	grows, falls := courseOf(stats.Growing, 3e-6), courseOf(stats.Falling, -3e-6)
	level, steps := courseOf(stats.Level, 0), courseOf(stats.Stepped, 2e-6)
	slight := courseOf(stats.Growing, 1e-7) // 0.6 % of the level in a minute
	untold := courseOf(stats.Untold, math.NaN())
	untold.P50.Reason = stats.Reason{Kind: stats.FewReadings}
	blind := courseOf(stats.Level, 0)
	blind.P50.Lo = -1e-5
	for _, c := range []struct {
		trials []*Steadiness
		want   SteadyVerdict
		why    WhyKind
	}{
		{[]*Steadiness{grows}, TimesDrifting, ""},
		{[]*Steadiness{grows, level, grows}, TimesDrifting, ""},
		{[]*Steadiness{grows, falls}, TimesUnclear, TrialsDiffer},
		{[]*Steadiness{grows, level}, TimesUnclear, TrialsDiffer},
		{[]*Steadiness{level, slight, grows}, TimesSteady, ""},
		{[]*Steadiness{steps, steps, level}, TimesStepped, ""},
		{[]*Steadiness{untold}, TimesUnclear, "few-readings"},
		{[]*Steadiness{blind}, TimesUnclear, VariesTooMuch},
	} {
		var rs []*dyno.Result
		of := map[int]*Steadiness{}
		for i, s := range c.trials {
			rs = append(rs, &dyno.Result{Trial: dyno.Trial{N: i + 1}, Elapsed: s.Window})
			of[i+1] = s
		}
		got := SteadyOf(rs, of, 0.01)
		if got.P50.Verdict != c.want || got.P50.Why.Kind != c.why {
			t.Errorf("%s, %q; want %s, %q", got.P50.Verdict, got.P50.Why.Kind, c.want, c.why)
		}
		data, err := json.Marshal(got)
		if err != nil || !strings.Contains(string(data), `"verdict":"`+string(c.want)+`"`) {
			t.Errorf("%s, %v", data, err)
		}
	}
	saturated := &dyno.Result{Trial: dyno.Trial{N: 1}, Sent: dyno.Sent{Saturated: "it was busy"}}
	if got := SteadyOf([]*dyno.Result{saturated}, map[int]*Steadiness{1: grows}, 0.01); got != nil {
		t.Errorf("of the generator's own latency: %+v", got)
	}
}

// Modes are those that trials have in common, not the levels of the trials.
func TestSteadyModes(t *testing.T) {
	trial := func(n int, draw func(*rand.Rand) float64) *dyno.Result {
		rng := rand.New(rand.NewPCG(9, uint64(n)))
		r := &dyno.Result{Trial: dyno.Trial{N: n}, Elapsed: time.Second, Latency: hist.New()}
		for range 5000 {
			r.Latency.Add(time.Duration(1e9 * draw(rng)))
		}
		return r
	}
	var alike, apart, odd []*dyno.Result
	for n := range 6 {
		both := func(r *rand.Rand) float64 {
			if r.IntN(100) < 7 {
				return 8.4e-3 * math.Exp(0.1*r.NormFloat64())
			}
			return 1.1e-3 * math.Exp(0.1*r.NormFloat64())
		}
		alike = append(alike, trial(n, both))
		own := func(r *rand.Rand) float64 { return 1e-3 * (1 + 0.2*float64(n)) * math.Exp(0.01*r.NormFloat64()) }
		apart = append(apart, trial(n, own))
		odd = append(odd, trial(n, func(r *rand.Rand) float64 {
			if n == 3 {
				return both(r)
			}
			return 1.1e-3 * math.Exp(0.1*r.NormFloat64())
		}))
	}
	two := SteadyOf(alike, nil, 0.01)
	if two == nil || len(two.Modes) != 2 || math.Abs(two.Modes[1].At-8.4e-3) > 1e-4 || math.Abs(two.Modes[1].Frac-0.07) > 0.01 {
		t.Errorf("two modes in each trial: %+v", two)
	}
	for name, rs := range map[string][]*dyno.Result{"trials of six levels": apart, "a second mode in one of six": odd} {
		if got := SteadyOf(rs, nil, 0.01); got != nil {
			t.Errorf("%s: %+v", name, got.Modes)
		}
		rs[0].Values = dyno.Values{{Metric: "late-frac", Value: 0.25}}
		got := SteadyOf(rs, nil, 0.01)
		if got == nil || got.Late != 0.25 || len(got.Modes) != 1 || math.Abs(got.Modes[0].Frac-1) > 1e-9 || got.P50 != nil {
			t.Errorf("%s, with a deadline: %+v", name, got)
		}
	}
}
