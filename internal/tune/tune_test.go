package tune

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/gcmodel"
	"github.com/dynolab/dyno/internal/stats"
)

// A service is a simulated one: collection of a live heap costs CPU time in inverse proportion to GOGC, and memory in
// proportion to it. It is its own model, with errors.
type service struct {
	rng    *rand.Rand
	live   float64 // bytes
	share  float64 // of CPU time at GOGC=100 that is collection
	noise  float64 // of one trial, as a fraction
	error  float64 // of the model's share
	most   int     // blocks that there is time for
	stages []Stage
	asked  [][]dyno.Setting
	fail   Stage   // that is interrupted
	blind  bool    // no collection is known
	late   bool    // there is no time for a second round
	far    float64 // GOGC from which the first model doubts itself; 0: it never does
}

func (s *service) cpu(gogc, share float64) float64 { return 1e-3 * (1 - share + share*100/gogc) }
func (s *service) rss(gogc, limit float64) float64 {
	heap := s.live * (1 + gogc/100)
	if limit > 0 {
		heap = min(heap, limit)
	}
	return heap + 8*gcmodel.MiB
}

// effective is the GOGC that a setting amounts to.
func (s *service) effective(c gcmodel.Setting) float64 {
	if c.Limit == 0 {
		return c.GOGC
	}
	return min(c.GOGC, max((c.Limit/s.live-1)*100, 1))
}

func (s *service) Predict(c gcmodel.Setting) gcmodel.Prediction {
	gogc := s.effective(c)
	around := func(v, width float64) gcmodel.Estimate {
		return gcmodel.Estimate{Value: v, Lo: v * (1 - width), Hi: v * (1 + width)}
	}
	share := s.share * s.error
	p := gcmodel.Prediction{
		Setting: c, CPU: around(s.cpu(gogc, share), 0.03), GCCPU: around(1e-3*share*100/gogc, 0.15),
		RSSPeak: around(s.rss(c.GOGC, c.Limit), 0.03), Limited: c.Limit > 0 && gogc < c.GOGC,
	}
	if s.far > 0 && c.GOGC > s.far {
		p.Doubts = append(p.Doubts, gcmodel.FarAway)
	}
	if gogc < 20 {
		p.Doubts = append(p.Doubts, gcmodel.NearCliff)
	}
	p.Spiral = gogc < 5
	return p
}

func (s *service) Cliff(_, live float64) float64 { return 1.1 * s.live * live }

func collector(t *testing.T, s dyno.Setting) (c gcmodel.Setting) {
	t.Helper()
	for _, l := range s {
		switch l.Factor {
		case "GOGC":
			c.GOGC = gcmodel.Off
			if l.Value != "off" {
				c.GOGC, _ = strconv.ParseFloat(l.Value, 64)
			}
		case "GOMEMLIMIT":
			if l.Value == "off" {
				continue
			}
			size, err := dyno.ParseSize(l.Value)
			if err != nil {
				t.Fatal(err)
			}
			c.Limit = float64(size)
		}
	}
	return c
}

var errStopped = errors.New("stopped")

func (s *service) tune(t *testing.T, p Problem) (*Outcome, error) {
	t.Helper()
	return Run(t.Context(), p, Hands{
		Fit: func(ws []gcmodel.Window) Model {
			if len(ws) > 1 {
				s.far = 0
			}
			return s
		},
		Measure: func(_ context.Context, stage Stage, settings []dyno.Setting, enough func(*compare.Table, []*dyno.Result) bool) (m Measured, err error) {
			s.stages, s.asked = append(s.stages, stage), append(s.asked, settings)
			if stage == s.fail {
				return m, errStopped
			}
			if stage == StageMore && s.late {
				return m, ErrNoTime
			}
			for block := 1; block <= s.most; block++ {
				for i, x := range settings {
					c := collector(t, x)
					v := func(v float64) float64 { return v * math.Exp(s.noise*s.rng.NormFloat64()) }
					m.Results = append(m.Results, &dyno.Result{
						Trial: dyno.Trial{N: block*len(settings) + i, Block: block, Setting: x},
						Values: dyno.Values{{Metric: "p99-sec", Value: v(5e-3)}, {Metric: cpuMetric, Value: v(s.cpu(s.effective(c), s.share))},
							{Metric: memoryMetric, Value: v(s.rss(c.GOGC, c.Limit))}},
					})
				}
				if block < s.most && block != stats.FewestBlocks && block%5 > 0 {
					continue // a table takes its time
				}
				m.Table = compare.Tabulate(m.Results, compare.Options{Settings: settings, Sequential: len(settings) > 1, Thresholds: p.Limits()})
				if enough != nil && enough(m.Table, m.Results) {
					break
				}
			}
			if !s.blind {
				m.Windows = []gcmodel.Window{{}}
			}
			return m, nil
		},
	})
}

func newService(seed uint64) *service {
	return &service{rng: rand.New(rand.NewPCG(seed, 17)), live: 60 * gcmodel.MiB, share: 0.2, noise: 0.02, error: 1, most: 20}
}

func problem(t *testing.T, gogc, goal string, constraints ...string) Problem {
	t.Helper()
	g, err := ParseGoal(goal, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := Problem{Today: dyno.Setting{{Factor: "GOGC", Value: gogc}}, Goal: g}
	p.Collector = collector(t, p.Today)
	for _, text := range constraints {
		th, err := dyno.ParseThreshold(text)
		if err != nil {
			t.Fatal(err)
		}
		p.Constraints = append(p.Constraints, th)
	}
	return p
}

// Where no setting helps by the margin, at most one tuning in 30 recommends one, however wrong the model is.
func TestDoNoHarm(t *testing.T) {
	recommended, kept := 0, map[Why]int{}
	for seed := range uint64(30) {
		s := newService(seed)
		s.live = float64(20+20*(seed%5)) * gcmodel.MiB
		s.share = []float64{0.001, 0.005, 0.012}[seed%3] // GOGC=1600 gains at most the last
		s.noise = []float64{0.01, 0.03, 0.06}[seed/3%3]
		s.error = []float64{1, 3, 20}[seed/9%3]
		o, err := s.tune(t, problem(t, "100", "min cpu_per_req"))
		if err != nil {
			t.Fatal(err)
		}
		if o.Best != nil {
			recommended++
			t.Logf("seed %d: %s", seed, o.Best.Setting)
		}
		kept[o.Why]++
	}
	if recommended > 1 {
		t.Errorf("%d of 30 recommend a setting that gains nothing", recommended)
	}
	if kept[Unclear] == 30 || kept[NoneBetter] == 0 {
		t.Errorf("why: %v; want some that are sure", kept)
	}
}

// A gain of 10 % is found, and the setting that is proposed has it.
func TestGainIsFound(t *testing.T) {
	found := 0
	for seed := range uint64(20) {
		s := newService(seed)
		s.share = 0.14 // GOGC=400 saves 10.5 %
		o, err := s.tune(t, problem(t, "100", "min cpu_per_req", "rss_peak < 400MiB"))
		if err != nil {
			t.Fatal(err)
		}
		if o.Best == nil {
			t.Logf("seed %d: %s", seed, o.Why)
			continue
		}
		found++
		gain := 1 - s.cpu(o.Best.Collector.GOGC, s.share)/s.cpu(100, s.share)
		if gain < 0.08 || s.rss(o.Best.Collector.GOGC, 0) > 400*gcmodel.MiB {
			t.Errorf("seed %d: %s gains %.3f with %.0f MiB", seed, o.Best.Setting, gain, s.rss(o.Best.Collector.GOGC, 0)/gcmodel.MiB)
		}
	}
	if found < 19 {
		t.Errorf("found in %d of 20", found)
	}
}

// The sum has its least where the price of memory says.
func TestSumWeighsMemory(t *testing.T) {
	for _, test := range []struct {
		price  float64
		lo, hi float64
	}{{0.05, 250, 1600}, {2, 20, 60}} {
		s := newService(1)
		p := problem(t, "100", "")
		p.Goal.Price = test.price
		o, err := s.tune(t, p)
		if err != nil {
			t.Fatal(err)
		}
		if o.Best == nil || o.Best.Collector.GOGC < test.lo || o.Best.Collector.GOGC > test.hi {
			t.Errorf("price %g: best %v (%s)", test.price, o.Best, o.Why)
		}
	}
}

// A setting of today that breaks a constraint gives way to the best that keeps it, though it costs CPU time.
func TestConstraintBeforeGoal(t *testing.T) {
	s := newService(3)
	o, err := s.tune(t, problem(t, "400", "min cpu_per_req", "rss_peak < 200MiB"))
	if err != nil {
		t.Fatal(err)
	}
	if o.Best == nil || o.Why != Allowed {
		t.Fatalf("best %v: %s", o.Best, o.Why)
	}
	if rss := s.rss(o.Best.Collector.GOGC, 0); rss > 200*gcmodel.MiB || rss < 130*gcmodel.MiB {
		t.Errorf("%s has %.0f MiB", o.Best.Setting, rss/gcmodel.MiB)
	}
}

// Limits, and GOGC=off, are for memory that is reserved; the common ratios are among them.
func TestLimitsOnlyWhereReserved(t *testing.T) {
	p := problem(t, "100", "min cpu_per_req")
	for _, c := range p.grid() {
		if c.Collector.Limit != 0 || math.IsInf(c.Collector.GOGC, 1) {
			t.Errorf("%s without reserved memory", c.Setting)
		}
	}
	s := newService(4)
	s.live = 85 * gcmodel.MiB
	p.Reserved = 100 * gcmodel.MiB
	o, err := s.tune(t, p)
	if err != nil {
		t.Fatal(err)
	}
	for _, ratio := range CommonRatios {
		found := false
		for _, c := range o.Candidates {
			found = found || c.Ratio == ratio && math.IsInf(c.Collector.GOGC, 1)
		}
		if !found {
			t.Errorf("%g is no candidate", ratio)
		}
	}
	for _, c := range o.Candidates {
		if c.Chosen != "" && (c.Prediction.Spiral || c.Breaks) {
			t.Errorf("%s was to be measured", c.Setting)
		}
	}
}

// Where today's limit leaves hardly any room, a low GOGC without a limit is a candidate, and found.
func TestWithoutTheLimit(t *testing.T) {
	s := newService(6)
	p := problem(t, "100", "min cpu_per_req")
	p.Today = append(p.Today, dyno.Level{Factor: "GOMEMLIMIT", Value: "64MiB"})
	p.Collector = collector(t, p.Today)
	p.Reserved = 88 * gcmodel.MiB
	o, err := s.tune(t, p)
	if err != nil {
		t.Fatal(err)
	}
	if o.Best == nil || o.Best.Collector.Limit != 0 || o.Best.Gain < 0.3 {
		t.Errorf("%s; measured %v", o.Why, s.asked)
	}
}

// What may be better and breaks a constraint is the reason to keep today's.
func TestBetterBreaksConstraint(t *testing.T) {
	s := newService(7)
	o, err := s.tune(t, problem(t, "100", "min cpu_per_req", "change(rss_peak) < 1%"))
	if err != nil {
		t.Fatal(err)
	}
	if o.Best != nil || o.Why == NoneBetter && slices.ContainsFunc(o.Options, func(x *Option) bool { return !x.Vain }) {
		t.Errorf("best %v: %s", o.Best, o.Why)
	}
}

// What is far from today's is left for a second round, when the model knows settings that are nearer to it.
func TestSecondRound(t *testing.T) {
	s := newService(5)
	s.share, s.far = 0.3, 400
	o, err := s.tune(t, problem(t, "100", "min cpu_per_req", "rss_peak < 800MiB"))
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Rounds) != 2 || o.Rounds[1].Stage != StageMore {
		t.Fatalf("stages %v; want a second round", s.stages)
	}
	for _, c := range o.Candidates {
		if c.Chosen == StageCandidates && c.Collector.GOGC > 400 {
			t.Errorf("%s was in the first round", c.Setting)
		}
	}
	if got := o.Rounds[1].Settings; got[0].String() != "GOGC=100" || len(got) < 3 {
		t.Errorf("second round %v; want today's, the best of before and others", got)
	}
	if o.Best == nil || o.Best.Collector.GOGC <= 400 {
		t.Errorf("best %v: %s", o.Best, o.Why)
	}
}

// Without time for a second round the tuning ends with what it has, and names what it did not try.
func TestNoTime(t *testing.T) {
	s := newService(5)
	s.share, s.far, s.late = 0.3, 400, true
	o, err := s.tune(t, problem(t, "100", "min cpu_per_req", "rss_peak < 800MiB"))
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Rounds) != 1 || len(o.Untried) == 0 || o.Best == nil || o.Why != Better {
		t.Errorf("%d rounds, untried %d, best %v: %s", len(o.Rounds), len(o.Untried), o.Best, o.Why)
	}
}

// Where collections are not known, some settings are tried all the same.
func TestBlind(t *testing.T) {
	s := newService(6)
	s.blind = true
	o, err := s.tune(t, problem(t, "100", "min cpu_per_req"))
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Options) == 0 || o.Best == nil {
		t.Errorf("measured %v: %s", s.asked, o.Why)
	}
}

// An interrupt keeps the stages that are over, and recommends nothing by halves.
func TestInterrupted(t *testing.T) {
	s := newService(7)
	s.fail = StageCandidates
	o, err := s.tune(t, problem(t, "100", "min cpu_per_req"))
	if !errors.Is(err, errStopped) {
		t.Fatalf("err %v", err)
	}
	if o.Base == nil || len(o.Candidates) == 0 || o.Best != nil || o.Why != NotMeasured {
		t.Errorf("base %v, %d candidates, best %v: %s", o.Base != nil, len(o.Candidates), o.Best, o.Why)
	}
}

func TestFront(t *testing.T) {
	versus := func(cpu, memory, tail float64) *Option {
		return &Option{versus: map[string]compare.Versus{cpuMetric: {Ratio: cpu}, memoryMetric: {Ratio: memory}, tailMetric: {Ratio: tail}}}
	}
	xs := []*Option{versus(0.9, 1.5, 1), versus(0.95, 1.6, 1), versus(1.1, 0.8, 1.1), versus(1.01, 1.01, 1.2)}
	front(xs)
	for i, want := range []bool{true, false, true, false} {
		if xs[i].Front != want {
			t.Errorf("option %d: on the front %t", i, xs[i].Front)
		}
	}
}

func TestParseGoal(t *testing.T) {
	for text, want := range map[string]string{
		"min cpu_per_req": "min cpu_per_req", " max  req_per_s ": "max req_per_s", "min p99": "min p99", "": "min cpu_per_req% + 0.5 rss_peak%",
	} {
		g, err := ParseGoal(text, nil)
		if err != nil || g.String() != want {
			t.Errorf("%q: %v, %v; want %s", text, g, err, want)
		}
	}
	for text, want := range map[string]string{
		"cpu_per_req":         `bad goal "cpu_per_req" (want min or max and a metric, for example min cpu_per_req)`,
		"min cpu_per_reqs":    `bad goal "min cpu_per_reqs": unknown metric cpu_per_reqs (did you mean cpu_per_req?)`,
		"min req_per_s":       `bad goal "min req_per_s": more of req_per_s is better (did you mean max req_per_s?)`,
		"max p99":             `bad goal "max p99": less of p99 is better (did you mean min p99?)`,
		"min sent_per_s":      `bad goal "min sent_per_s": sent_per_s is never compared (want for example min cpu_per_req, min p99 or max req_per_s)`,
		"min cpu-sec/req":     `bad goal "min cpu-sec/req": "cpu-sec/req" is not the name of a metric in goals (did you mean cpu_per_req?)`,
		"min p99 < 30ms":      `bad goal "min p99 < 30ms" (want min or max and a metric, for example min cpu_per_req)`,
		"minimise cpu_per_re": `bad goal "minimise cpu_per_re" (want min or max and a metric, for example min cpu_per_req)`,
	} {
		if _, err := ParseGoal(text, nil); err == nil || err.Error() != want {
			t.Errorf("%q: %v; want %s", text, err, want)
		}
	}
}
