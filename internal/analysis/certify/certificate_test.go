package certify

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/analysis/compare"
)

func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance }

// Clopper and Pearson's interval of every share covers it in 95 % of campaigns, to be counted exactly.
func TestShareInterval(t *testing.T) {
	for _, c := range []struct {
		found, n int
		lo, hi   float64
	}{
		{0, 40, 0, 0.0881}, {19, 20, 0.7513, 0.9987}, {20, 20, 0.8316, 1}, {0, 0, 0, 1}, {5, 10, 0.1871, 0.8129},
	} {
		if lo, hi := ShareInterval(c.found, c.n); !near(lo, c.lo, 1e-4) || !near(hi, c.hi, 1e-4) {
			t.Errorf("%d of %d: %.4f to %.4f, want %.4f to %.4f", c.found, c.n, lo, hi, c.lo, c.hi)
		}
	}
	const n = 20
	for p := 0.01; p < 1; p += 0.01 {
		covered := 0.0
		for k := range n + 1 {
			if lo, hi := ShareInterval(k, n); lo <= p && p <= hi {
				whole, _ := math.Lgamma(n + 1)
				in, _ := math.Lgamma(float64(k + 1))
				out, _ := math.Lgamma(float64(n - k + 1))
				covered += math.Exp(whole - in - out + float64(k)*math.Log(p) + float64(n-k)*math.Log(1-p))
			}
		}
		if covered < 0.95 {
			t.Errorf("a share of %.2f is covered in %.4f of campaigns", p, covered)
		}
	}
}

func sharesOf(found ...int) (shares []Share) {
	sizes := []float64{0.01, 0.03, 0.1, 0.3}
	for i, f := range found {
		shares = append(shares, Share{Change: Change{CPU, sizes[i]}, Runs: 10, Found: f})
	}
	return shares
}

func TestSmallest(t *testing.T) {
	for _, c := range []struct {
		found    []int
		smallest float64 // 0 for none
	}{
		{[]int{0, 10, 10}, 0.03},
		{[]int{10, 10, 10}, 0.01},
		{[]int{0, 0, 4}, 0},
		{[]int{9, 7, 10}, 0.1}, // the smallest had luck
		{[]int{2, 6, 4, 8}, 0},
		{nil, 0},
	} {
		if s, ok := Smallest(sharesOf(c.found...), Mostly); s.Size != c.smallest || ok != (c.smallest > 0) {
			t.Errorf("%v: the smallest is %v, %t; want %v", c.found, s.Size, ok, c.smallest)
		}
	}
}

// The delay moves p99 of known latencies by the size.
func TestDelay(t *testing.T) {
	slower := map[string]func(x float64) float64{ // the share that takes longer than x
		"exponential": func(x float64) float64 { return math.Exp(-max(0, x)) },
		"Pareto":      func(x float64) float64 { return math.Pow(max(1, x), -2) },
	}
	quantile := map[string]func(q float64) float64{
		"exponential": func(q float64) float64 { return -math.Log(1 - q) },
		"Pareto":      func(q float64) float64 { return math.Pow(1-q, -0.5) },
	}
	for name, q := range quantile {
		for _, size := range []float64{0, 0.05, 0.2, 1} {
			b := Base{Quantile: q}
			x := q(0.99) * (1 + size)
			beyond := (1-delayed)*slower[name](x) + delayed*slower[name](x-b.delay(size))
			if !near(beyond, 0.01, 1e-4) {
				t.Errorf("%s: with p99 longer by %v, %.5f of the requests take longer than it (want 0.01)", name, size, beyond)
			}
		}
	}
}

func TestAmount(t *testing.T) {
	b := Base{CPU: 100e-6, RSS: 20e6, Requests: 1000, Spin: 2e-9, Quantile: func(q float64) float64 { return -math.Log(1 - q) }}
	for _, c := range []struct {
		change Change
		want   Amount
	}{
		{Change{Equal, 0}, Amount{}},
		{Change{CPU, 0.03}, Amount{Spins: 1500}},
		{Change{Memory, 0.1}, Amount{Retain: 2000}},
		{Change{Lock, 0.1}, Amount{Hold: 0.1 * 100e-6}},
		{Change{Burn, 0.2}, Amount{Burn: 0.2}},
	} {
		c.want.Change = c.change
		if got, ok := b.Amount(c.change); got != c.want || !ok {
			t.Errorf("%v: %+v, %t, want %+v", c.change, got, ok, c.want)
		}
	}
	if a, ok := b.Amount(Change{Tail, 0.1}); !ok || a.Delay <= 0 || a.Share != delayed {
		t.Errorf("p99 longer: %+v, %t", a, ok)
	}
	unknown := Base{CPU: dyno.Number(math.NaN()), RSS: dyno.Number(math.NaN()), Quantile: func(float64) float64 { return 0 }}
	if a, ok := b.Amount(Change{Burn, 1}); ok {
		t.Errorf("a goroutine that never rests: %+v", a)
	}
	for _, k := range Kinds {
		if k == Burn { // is of a CPU, whatever the service costs
			continue
		}
		if a, ok := unknown.Amount(Change{k, 0.1}); ok {
			t.Errorf("%s of a service of which nothing is known: %+v", k, a)
		}
	}
}

// A base is what one of the settings costs, and not the other.
func TestBaseOf(t *testing.T) {
	settings := labelled("a1", "b2")
	var rs []*dyno.Result
	for i := range 6 {
		r := &dyno.Result{Trial: dyno.Trial{Setting: settings[i%2]}, Latency: hist.New(), Sent: dyno.Sent{Requests: 100}}
		r.Latency.Add(time.Duration(1+i%2) * time.Second)
		r.Values = dyno.Values{{Metric: "cpu-sec/req", Value: float64(1 + i%2)}, {Metric: "rss-peak-B", Value: float64(100 + i)}}
		rs = append(rs, r)
	}
	b := BaseOf(rs, settings[0], 7)
	if b.CPU != 1 || b.RSS != 102 || b.Requests != 100 || b.Spin != 7 || !near(b.Quantile(0.5), 1, 0.01) || CostOf(rs, settings[1]) != 2 {
		t.Errorf("%+v, median %v", b, b.Quantile(0.5))
	}
	if rs[0].Latency.Count() != 1 {
		t.Error("a result was changed")
	}
}

func labelled(labels ...string) (settings []dyno.Setting) {
	for _, l := range labels {
		settings = append(settings, dyno.Setting{{Factor: "DYNO_PLANT", Value: l}})
	}
	return settings
}

// run is a table of 12 blocks, the second setting with metrics that are factors of the first.
func run(factors map[string]float64, labels ...string) *compare.Table {
	settings := labelled(labels...)
	var rs []*dyno.Result
	for block := range 12 {
		for i, s := range settings {
			noise := 1 + 0.005*float64((block*7+i*3)%5)
			r := &dyno.Result{Trial: dyno.Trial{N: len(rs) + 1, Block: block + 1, Setting: s}}
			for _, m := range []string{"p50-sec", "p99-sec", "req/s", "cpu-sec/req", "rss-peak-B", "gc-cycles"} {
				f := 1.0
				if x, ok := factors[m]; ok && i == 1 {
					f = x
				}
				r.Values = append(r.Values, dyno.Value{Metric: m, Value: 100 * f * noise})
			}
			rs = append(rs, r)
		}
	}
	return compare.Tabulate(rs, compare.Options{Settings: settings})
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		factors map[string]float64
		change  Change
		found   bool
		changed []string
	}{
		{nil, Change{Equal, 0}, false, nil},
		{map[string]float64{"gc-cycles": 2}, Change{Equal, 0}, false, nil}, // it is not primary
		{map[string]float64{"p99-sec": 0.8}, Change{Equal, 0}, true, []string{"p99-sec"}},
		{map[string]float64{"cpu-sec/req": 1.1}, Change{CPU, 0.1}, true, []string{"cpu-sec/req"}},
		{map[string]float64{"cpu-sec/req": 0.9}, Change{CPU, 0.1}, false, []string{"cpu-sec/req"}}, // the wrong way
		{map[string]float64{"p99-sec": 1.1}, Change{CPU, 0.1}, false, []string{"p99-sec"}},         // the wrong metric
		{map[string]float64{"req/s": 0.8}, Change{Lock, 0.1}, true, []string{"req/s"}},
		{map[string]float64{"rss-peak-B": 1.2, "p50-sec": 1.1}, Change{Memory, 0.1}, true, []string{"p50-sec", "rss-peak-B"}},
	} {
		j := Judge(run(c.factors, "a1", "b2"), "b2")
		var key Key
		key.Put("b2", c.change)
		o := key.Open(j)[0]
		if j.Err != "" || o.Found != c.found || !reflect.DeepEqual(j.Changed(), c.changed) || len(j.Seen) != 5 || j.Blocks != 12 || o.Change != c.change {
			t.Errorf("%v planted as %v: %+v", c.factors, c.change, o)
		}
		if f, ok := c.factors["cpu-sec/req"]; ok {
			if x, _ := j.of("cpu-sec/req"); !near(float64(x.Ratio), f, 0.01) {
				t.Errorf("%v: ratio %v", c.factors, x.Ratio)
			}
		}
	}
	failed := &dyno.Result{Trial: dyno.Trial{N: 1, Block: 1, Setting: labelled("a1")[0]}, Err: "it died"}
	if j := Judge(compare.Tabulate([]*dyno.Result{failed}, compare.Options{Settings: labelled("a1", "b2")}), "b2"); j.Err != "it died" {
		t.Errorf("of a run whose trial failed: %+v", j)
	}
	if j := Judge(compare.Tabulate(nil, compare.Options{}), ""); j.Err == "" {
		t.Error("a run without results is judged")
	}
}

// A verdict is the same whatever the labels are, and has nothing of what they stand for: a key that was
// changed after it changes what was found, and not the verdict.
func TestBlind(t *testing.T) {
	factors := map[string]float64{"cpu-sec/req": 1.1}
	one, other := Judge(run(factors, "a1", "b2"), "b2"), Judge(run(factors, "ff", "00"), "00")
	other.Label = one.Label
	if !reflect.DeepEqual(one, other) {
		t.Errorf("under other labels %+v, not %+v", other, one)
	}
	for change, found := range map[Change]bool{{CPU, 0.1}: true, {Memory, 0.1}: false, {Equal, 0}: true} {
		var key Key
		key.Put("b2", change)
		if o := key.Open(one)[0]; o.Found != found || !reflect.DeepEqual(o.Judged, one) {
			t.Errorf("opened as %v: %+v", change, o)
		}
	}
}

// A change as great as the limit is found in half of the runs, whatever the noise.
func TestLimits(t *testing.T) {
	const blocks, campaigns = 10, 400
	rng := rand.New(rand.NewPCG(1, 2))
	campaign := func(ratio float64) (c Certificate) {
		settings := labelled("a1", "b2")
		var key Key
		key.Put("b2", Change{CPU, ratio - 1})
		for range campaigns {
			var rs []*dyno.Result
			for b := range blocks {
				for i, s := range settings {
					r := &dyno.Result{Trial: dyno.Trial{N: len(rs) + 1, Block: b + 1, Setting: s}}
					for _, m := range []string{"p50-sec", "p99-sec", "req/s", "cpu-sec/req", "rss-peak-B"} {
						x := math.Exp(0.03 * rng.NormFloat64())
						if i == 1 && m == "cpu-sec/req" {
							x *= ratio
						}
						r.Values = append(r.Values, dyno.Value{Metric: m, Value: x})
					}
					rs = append(rs, r)
				}
			}
			c.Outcomes = append(c.Outcomes, key.Open(Judge(compare.Tabulate(rs, compare.Options{Settings: settings}), "b2"))...)
		}
		return c
	}
	limit := func(c Certificate) float64 {
		for _, l := range c.Limits() {
			if l.Metric == "cpu-sec/req" {
				return l.Size
			}
		}
		return 0
	}
	size := limit(campaign(1))
	c := campaign(1 + size)
	s := c.Shares()[0]
	if share := float64(s.Found) / float64(s.Runs); share < 0.42 || share > 0.58 {
		t.Errorf("a change of %.3f is found in %.2f of the runs, want half", size, share)
	}
	if again := limit(c); !near(again, size, size/10) {
		t.Errorf("the limit is %.4f where a change was planted, and %.4f where none was", again, size)
	}
	var unknown Certificate
	unknown.Outcomes = []Outcome{{Judged: Judged{Seen: []Seen{{Metric: "p99-sec"}}}}, {Judged: Judged{Err: "x", Seen: []Seen{{Metric: "req/s", Visible: 1}}}}}
	if l := unknown.Limits(); len(l) != 1 || !math.IsInf(l[0].Size, 1) {
		t.Errorf("of nothing: %v", l)
	}
}

func outcome(c Change, found bool, ratio, elapsed float64) Outcome {
	return Outcome{Change: c, Found: found, Judged: Judged{
		Elapsed: elapsed, Seen: []Seen{{Metric: Shown(c.Kind), Ratio: dyno.Number(ratio), Lo: dyno.Number(math.NaN()), Hi: dyno.Number(math.Inf(1))}},
	}}
}

func TestShares(t *testing.T) {
	failed := outcome(Change{CPU, 0.03}, true, 9, 1)
	failed.Err = "it failed"
	c := Certificate{Outcomes: []Outcome{
		outcome(Change{Tail, 0.1}, false, 1.1, 5),
		outcome(Change{CPU, 0.03}, true, 1.02, 10),
		failed,
		outcome(Change{Equal, 0}, false, math.NaN(), 3),
		outcome(Change{CPU, 0.01}, false, 1, 3),
		outcome(Change{CPU, 0.03}, false, 1.04, 30),
	}}
	var got []Change
	for _, s := range c.Shares() {
		got = append(got, s.Change)
	}
	if want := []Change{{Equal, 0}, {CPU, 0.01}, {CPU, 0.03}, {Tail, 0.1}}; !reflect.DeepEqual(got, want) {
		t.Fatalf("shares of %v, want %v", got, want)
	}
	if s := c.Shares()[2]; s.Runs != 2 || s.Found != 1 || !near(s.Ratio, 1.03, 1e-9) || s.Elapsed != 20*time.Second {
		t.Errorf("%+v", s)
	}
	if s := c.Shares()[0]; !math.IsNaN(s.Ratio) {
		t.Errorf("a ratio of nothing: %+v", s)
	}
	if got := c.OfKind(CPU); len(got) != 2 || got[0].Size != 0.01 {
		t.Errorf("of CPU: %v", got)
	}
	if good, failed := c.Runs(); good != 5 || failed != 1 {
		t.Errorf("%d runs, %d failed", good, failed)
	}
	text, err := json.Marshal(c)
	var again Certificate
	if err != nil || json.Unmarshal(text, &again) != nil || len(again.Shares()) != 4 || !math.IsNaN(again.Shares()[0].Ratio) || again.Shares()[2] != c.Shares()[2] {
		t.Errorf("read again from %s: %v", text, err)
	}
}

func TestExpired(t *testing.T) {
	of := Identity{"6.1", "EPYC", 2, "go1.26.8 abc", "b1", "s", "l", false}
	c := Certificate{Of: of}
	for what, now := range map[string]Identity{
		"the same":                            of,
		"another checkout of the same commit": {"6.1", "EPYC", 2, "go1.26.8 abc", "b2", "s", "l", false},
	} {
		if why := c.Expired(Identity{"6.1", "EPYC", 2, "go1.26.8 def", "b3", "s", "l", false}, now); why != nil {
			t.Errorf("%s, among others: %v", what, why)
		}
	}
	for what, test := range map[string]struct {
		why    Expiry
		change func(*Identity)
	}{
		"kernel":         {OtherKernel, func(i *Identity) { i.Kernel = "6.2" }},
		"model":          {OtherCPU, func(i *Identity) { i.CPU = "Xeon" }},
		"number of CPUs": {OtherCPU, func(i *Identity) { i.CPUs = 4 }},
		"commit":         {OtherService, func(i *Identity) { i.Subject, i.Build = "go1.26.8 def", "b2" }},
		"toolchain":      {OtherService, func(i *Identity) { i.Subject, i.Build = "go1.27 abc", "b2" }},
		"arguments":      {OtherService, func(i *Identity) { i.Start = "x" }},
		"load":           {OtherLoad, func(i *Identity) { i.Load = "open" }},
		"order":          {OtherTurns, func(i *Identity) { i.Alone = true }},
	} {
		now := of
		test.change(&now)
		if why := c.Expired(now); !reflect.DeepEqual(why, []Expiry{test.why}) {
			t.Errorf("%s: %v", what, why)
		}
	}
	for _, unsure := range []string{"go1.26.8 abc+dirty", "go1.26.8", ""} {
		c.Of.Subject, c.Of.Build = unsure, "b1"
		now := c.Of
		now.Build = "b2"
		if why := c.Expired(now); !reflect.DeepEqual(why, []Expiry{OtherService}) {
			t.Errorf("another build of %q: %v", unsure, why)
		}
	}
}
