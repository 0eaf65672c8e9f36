package placement

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
)

// trial is one on a node, 20 % slower on b, with two agents that began so much apart.
func trial(rng *rand.Rand, n, block int, setting, node string, apart float64) *dyno.Result {
	slow := map[string]float64{"a": 1, "b": 1.2}[node] * math.Exp(0.01*rng.NormFloat64())
	r := &dyno.Result{
		Trial:   dyno.Trial{N: n, Block: block, Setting: dyno.Setting{{Factor: "GOGC", Value: setting}}},
		Node:    &dyno.Machine{Name: node},
		Elapsed: 10 * time.Second,
		Values:  dyno.Values{{Metric: "p50-sec", Value: 0.001 * slow}, {Metric: "req/s", Value: 1000}},
		Latency: hist.New(),
		Generators: []dyno.Generator{
			{Name: "x", Start: 0.001, Clock: 0.0005, Requests: 5000}, {Name: "y", Start: 0.001 + apart, Clock: 0.0001, Requests: 5000},
		},
	}
	for i := range 10_000 {
		r.Latency.Add(time.Duration(i+1) * time.Microsecond)
	}
	r.Sent.Requests = 10_000
	return r
}

func TestOf(t *testing.T) {
	if Of([]*dyno.Result{{}}) != nil {
		t.Error("a run on this machine has places")
	}
	rng := rand.New(rand.NewPCG(1, 1))
	var rs []*dyno.Result
	for block := 1; block <= 6; block++ {
		node := []string{"a", "b"}[block%2]
		for _, s := range []string{"100", "50"} {
			rs = append(rs, trial(rng, len(rs)+1, block, s, node, 0.004))
		}
	}
	slow := trial(rng, 13, 1, "25", "b", 0.004) // of a setting that other blocks lack
	slow.Values[0].Value = 1
	rs = append(rs, slow)
	for n := range 2 {
		r := trial(rng, 14+n, 1, "100", "a", 0)
		r.Trial.For = dyno.ForSame
		r.Values = dyno.Values{{Metric: "p50-sec", Value: 0.001 * float64(1+n)}}
		rs = append(rs, r)
	}
	rs = append(rs, &dyno.Result{Void: true, Err: "the trial is void: x"})
	p := Of(rs)
	if len(p.Agents) != 2 || p.Agents[1].Trials != 13 || p.Agents[1].Requests != 65_000 || math.Abs(float64(p.Agents[1].Late)-0.005) > 1e-9 || p.Void != 1 {
		t.Errorf("agents %+v, %d void", p.Agents, p.Void)
	}
	// 4 ms apart and clocks known to 0.5 ms, at both ends of 10 s.
	if want := 2 * (0.004 + 2*0.0005) / 10; math.Abs(float64(p.Share)-want) > 1e-9 {
		t.Errorf("a share of %v, want %v", p.Share, want)
	}
	for _, m := range p.Moved { // latencies are even, so ranks are
		if want := 1 - float64(p.Share)/m.Percentile; math.Abs(float64(m.Lo)-want) > 0.002 {
			t.Errorf("p%v may be %v of itself, want %v", 100*m.Percentile, m.Lo, want)
		}
	}
	if len(p.Nodes) != 2 || p.Nodes[1].Machine.Name != "b" || p.Nodes[1].Blocks != 3 {
		t.Fatalf("nodes %+v", p.Nodes)
	}
	e := p.Nodes[1].Effects[0]
	if e.Metric != "p50-sec" || e.Lo > 1.2 || e.Hi < 1.2 || e.Hi-e.Lo > 0.2 {
		t.Errorf("effect of the node %+v, want 1.2", e)
	}
	if len(p.Same) != 1 || p.Same[0].Ratio != 2 || p.Same[0].Node != "a" {
		t.Errorf("same %+v", p.Same)
	}
}
