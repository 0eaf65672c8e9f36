package certify

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/compare"
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

func TestSizes(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		found        []int
		half, mostly float64
		atMost       bool    // of half
		smallest     float64 // found mostly; 0 for none
	}{
		{[]int{0, 10, 10}, math.Sqrt(0.01 * 0.03), 0.01 * math.Pow(3, 0.9), false, 0.03},
		{[]int{10, 10, 10}, 0.01, 0.01, true, 0.01},
		{[]int{0, 0, 4}, nan, nan, false, 0},
		{[]int{5, 9, 10}, 0.01, 0.03, true, 0.03},
		{[]int{9, 7, 10}, 0.01, 0.03 * math.Pow(10./3, 0.5), true, 0.1}, // pooled: 8, 8, 10
		{[]int{2, 6, 4, 8}, 0.03, nan, false, 0},                        // pooled: 2, 5, 5, 8
		{nil, nan, nan, false, 0},
	} {
		shares := sharesOf(c.found...)
		half, atMost := At(shares, Half)
		mostly, _ := At(shares, Mostly)
		same := func(a, b float64) bool { return near(a, b, 1e-9) || math.IsNaN(a) && math.IsNaN(b) }
		if !same(half, c.half) || atMost != c.atMost || !same(mostly, c.mostly) {
			t.Errorf("%v: half at %v (%t), mostly at %v; want %v (%t) and %v", c.found, half, atMost, mostly, c.half, c.atMost, c.mostly)
		}
		if s, ok := Smallest(shares, Mostly); s.Size != c.smallest || ok != (c.smallest > 0) {
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
	b := Base{CPU: 100e-6, P50: 1e-3, P99: 5e-3, RSS: 20e6, Requests: 1000, Spin: 2e-9}
	for _, c := range []struct {
		change Change
		want   Amount
	}{
		{Change{Equal, 0}, Amount{}},
		{Change{CPU, 0.03}, Amount{Spins: 1500}},
		{Change{Memory, 0.1}, Amount{Retain: 2000}},
		{Change{Lock, 0.1}, Amount{Hold: 0.1 * 1e-3}},
	} {
		c.want.Change = c.change
		if got := b.Amount(c.change); got != c.want {
			t.Errorf("%v: %+v, want %+v", c.change, got, c.want)
		}
	}
}

// run is a table of 12 blocks under opaque names, the second setting with metrics that are factors of
// the first.
func run(factors map[string]float64) *compare.Table {
	var rs []*dyno.Result
	settings := []dyno.Setting{{{Factor: "DYNO_PLANT", Value: "a1"}}, {{Factor: "DYNO_PLANT", Value: "b2"}}}
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
		j := Judge(run(c.factors))
		o := j.Open(c.change)
		if !j.Whole || o.Found != c.found || !reflect.DeepEqual(o.Changed, c.changed) || o.Tested != 5 || o.Blocks != 12 {
			t.Errorf("%v planted as %v: whole %t, %+v", c.factors, c.change, j.Whole, o)
		}
		if f, ok := c.factors["cpu-sec/req"]; ok && !near(o.Ratio, f, 0.01) {
			t.Errorf("%v: ratio %v", c.factors, o.Ratio)
		}
	}
	if j := Judge(compare.Tabulate(nil, compare.Options{})); j.Whole {
		t.Error("a run without results is whole")
	}
}

func TestShares(t *testing.T) {
	c := Certificate{Outcomes: []Outcome{
		{Change: Change{Tail, 0.1}, Ratio: 1.1, Lo: 1, Hi: 1.21, Elapsed: 5},
		{Change: Change{CPU, 0.03}, Found: true, Ratio: 1.02, Lo: 1.02, Hi: 1.02, Elapsed: 10},
		{Change: Change{CPU, 0.03}, Err: "it failed", Found: true},
		{Change: Change{Equal, 0}},
		{Change: Change{CPU, 0.01}},
		{Change: Change{CPU, 0.03}, Ratio: 1.04, Lo: 1.04, Hi: 1.04, Elapsed: 30},
	}}
	var got []Change
	for _, s := range c.Shares() {
		got = append(got, s.Change)
	}
	if want := []Change{{Equal, 0}, {CPU, 0.01}, {CPU, 0.03}, {Tail, 0.1}}; !reflect.DeepEqual(got, want) {
		t.Fatalf("shares of %v, want %v", got, want)
	}
	if s := c.Shares()[2]; s.Runs != 2 || s.Found != 1 || !near(s.Ratio, 1.03, 1e-9) || s.Half != 0 || s.Elapsed != 20*time.Second {
		t.Errorf("%+v", s)
	}
	if s := c.Shares()[3]; !near(s.Half, 0.1, 1e-9) {
		t.Errorf("half-width %v of 1 to 1.21, want 0.1", s.Half)
	}
	if s := c.Shares()[0]; !math.IsNaN(s.Ratio) || !math.IsNaN(s.Half) {
		t.Errorf("a ratio of nothing: %+v", s)
	}
	if got := c.OfKind(CPU); len(got) != 2 || got[0].Size != 0.01 {
		t.Errorf("of CPU: %v", got)
	}
	text, err := json.Marshal(c)
	var again Certificate
	if err != nil || json.Unmarshal(text, &again) != nil || len(again.Shares()) != 4 || !math.IsNaN(again.Shares()[0].Ratio) {
		t.Errorf("read again from %s: %v", text, err)
	}
}

func TestExpired(t *testing.T) {
	of := Identity{"6.1", "EPYC", 2, "go1.26.8 abc", "closed"}
	c := Certificate{Of: of}
	if why := c.Expired(Identity{"6.1", "EPYC", 2, "go1.26.8 def", "closed"}, of); why != nil {
		t.Errorf("with the same executable among others: %v", why)
	}
	for want, change := range map[Expiry]func(*Identity){
		OtherKernel:  func(i *Identity) { i.Kernel = "6.2" },
		OtherCPU:     func(i *Identity) { i.CPUs = 4 },
		OtherService: func(i *Identity) { i.Subject = "go1.26.8 def" },
		OtherLoad:    func(i *Identity) { i.Load = "open" },
	} {
		now := of
		change(&now)
		if why := c.Expired(now); !reflect.DeepEqual(why, []Expiry{want}) {
			t.Errorf("%s: %v", want, why)
		}
	}
}
