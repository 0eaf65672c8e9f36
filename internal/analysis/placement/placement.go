// Package placement tells what machines have to do with the figures of a run: how well the generators worked
// together, what difference a node makes, and what two equal settings differ by.
package placement

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/stats"
)

// Places is what was found of a run whose load came from other machines.
type Places struct {
	Agents []Agent     `json:"agents"`
	Spread dyno.Number `json:"start-spread-sec"` // the longest time between the first and the last agent's begin, of any trial
	Clock  dyno.Number `json:"clock-error-sec"`  // the greatest bound of the error of an agent's clock
	Share  dyno.Number `json:"share-of-window"`  // by both, of the window in which not all agents may have sent: the worst trial's
	Moved  []Moved     `json:"moved,omitempty"`  // by how much that can have moved a percentile
	Nodes  []Node      `json:"nodes,omitempty"`  // that subjects ran on
	Same   []Same      `json:"same,omitempty"`   // the baseline against itself
	Void   int         `json:"void,omitempty"`   // trials that are void though they were measured again
}

// An Agent is one generator over all trials.
type Agent struct {
	Name      string       `json:"name"`
	Machine   dyno.Machine `json:"machine"`
	Trials    int          `json:"trials"`
	Requests  int64        `json:"requests"`
	Late      dyno.Number  `json:"start-sec"`        // the latest begin against what was agreed
	Clock     dyno.Number  `json:"clock-error-sec"`  // the greatest
	Lateness  dyno.Number  `json:"lateness-p99-sec"` // of an open load, the greatest; else NaN
	CPU       dyno.Number  `json:"cpu-frac"`         // the greatest
	Throttled dyno.Number  `json:"throttled-sec"`    // in all
}

// Moved bounds a percentile of latency that all agents would have had from the first moment to the last, as a
// ratio to the one that was measured: its ranks moved by Places.Share.
type Moved struct {
	Percentile float64     `json:"percentile"` // 0.99
	Lo         dyno.Number `json:"lo"`
	Hi         dyno.Number `json:"hi"`
}

// A Node is a machine that subjects ran on, against the first.
type Node struct {
	Machine dyno.Machine `json:"machine"`
	Blocks  int          `json:"blocks"`
	Effects []Effect     `json:"effects,omitempty"` // none of the first
}

// An Effect is the ratio of a metric on a node to the first node's: of the geometric means of the settings
// of each block. Lo and Hi are its 95 % interval; all are NaN with fewer than two blocks on a node.
type Effect struct {
	Metric string      `json:"metric"`
	Ratio  dyno.Number `json:"ratio"`
	Lo     dyno.Number `json:"lo"`
	Hi     dyno.Number `json:"hi"`
}

// Same is the ratio of a metric in two trials of the baseline, which differ by chance only.
type Same struct {
	Metric string      `json:"metric"`
	Node   string      `json:"node,omitempty"`
	Ratio  dyno.Number `json:"ratio"`
}

// Of returns nil if the results have nothing of other machines.
func Of(rs []*dyno.Result) *Places {
	var good []*dyno.Result
	away := false
	p := new(Places)
	for _, r := range rs {
		away = away || len(r.Generators) > 0 || r.Node != nil || r.Void
		if r.Void {
			p.Void++
		}
		if r.Err == "" && r.Trial.For == "" {
			good = append(good, r)
		}
	}
	if !away {
		return nil
	}
	p.agents(good)
	p.starts(good)
	p.nodes(good)
	p.same(rs)
	return p
}

func (p *Places) agents(rs []*dyno.Result) {
	at := map[string]int{}
	most := func(n *dyno.Number, v float64) { *n = max(*n, dyno.Number(v)) }
	for _, r := range rs {
		for _, g := range r.Generators {
			i, ok := at[g.Name]
			if !ok {
				i = len(p.Agents)
				at[g.Name] = i
				p.Agents = append(p.Agents, Agent{Name: g.Name, Machine: g.Machine, Late: dyno.Number(g.Start), Lateness: dyno.Number(math.NaN())})
			}
			a := &p.Agents[i]
			a.Trials++
			a.Requests += g.Requests
			most(&a.Late, g.Start)
			most(&a.Clock, g.Clock)
			most(&a.CPU, g.CPU)
			a.Throttled += dyno.Number(g.Throttled)
			if g.Lateness > 0 && !(float64(a.Lateness) > g.Lateness) {
				a.Lateness = dyno.Number(g.Lateness)
			}
			most(&p.Clock, g.Clock)
		}
	}
	slices.SortFunc(p.Agents, func(a, b Agent) int { return cmp.Compare(a.Name, b.Name) })
}

// percentiles that may be moved by what agents do not do together.
var percentiles = []float64{0.5, 0.99}

// starts bounds what the starts and the clocks can have done: for so long not all agents sent at the
// begin, and at the end.
func (p *Places) starts(rs []*dyno.Result) {
	var worst *dyno.Result
	for _, r := range rs {
		if len(r.Generators) == 0 {
			continue
		}
		first, last, clock := math.Inf(1), math.Inf(-1), 0.0
		for _, g := range r.Generators {
			start := max(g.Start, 0) // who is early waits
			first, last, clock = min(first, start), max(last, start), max(clock, g.Clock)
		}
		p.Spread = max(p.Spread, dyno.Number(last-first))
		own := r.Elapsed.Seconds()
		if rate, ok := r.Values.Get("req/s"); ok && rate > 0 {
			own = min(own, float64(r.Sent.Requests)/rate)
		}
		if share := dyno.Number(2 * (last - first + 2*clock) / own); share > p.Share || worst == nil {
			p.Share, worst = share, r
		}
	}
	if worst == nil || worst.Latency == nil || !worst.Latency.Whole() || worst.Latency.Count() == 0 {
		return
	}
	for _, q := range percentiles {
		p.Moved = append(p.Moved, moved(worst.Latency, q, float64(p.Share)))
	}
}

// moved: a share of the requests could all have been below the percentile, or all above it.
func moved(h *hist.Histogram, q, share float64) Moved {
	at := func(q float64) time.Duration { return h.Quantile(min(max(q, 0), 1)) }
	now := float64(max(at(q), 1))
	return Moved{q, dyno.Number(float64(at(q-share)) / now), dyno.Number(float64(at(q+share)) / now)}
}

// nodes compares the blocks of each node with those of the first. A setting counts that all blocks have:
// where the slowest is missing, the others' mean is another one.
func (p *Places) nodes(rs []*dyno.Result) {
	type block map[string][]float64 // values by metric
	blocks := map[string]map[int]block{}
	machines := map[string]dyno.Machine{}
	in := map[string]map[string]bool{} // blocks, by setting
	all := map[string]bool{}
	of := func(r *dyno.Result) string { return fmt.Sprint(r.Node.Name, " ", r.Trial.Block) }
	rs = slices.DeleteFunc(slices.Clone(rs), func(r *dyno.Result) bool { return r.Node == nil })
	for _, r := range rs {
		s := r.Trial.Setting.String()
		if in[s] == nil {
			in[s] = map[string]bool{}
		}
		in[s][of(r)], all[of(r)] = true, true
	}
	for _, r := range rs {
		if len(in[r.Trial.Setting.String()]) < len(all) {
			continue
		}
		machines[r.Node.Name] = *r.Node
		if blocks[r.Node.Name] == nil {
			blocks[r.Node.Name] = map[int]block{}
		}
		b := blocks[r.Node.Name][r.Trial.Block]
		if b == nil {
			b = block{}
			blocks[r.Node.Name][r.Trial.Block] = b
		}
		for _, v := range r.Values {
			if m, ok := dyno.MetricByName(v.Metric); ok && m.Primary {
				b[v.Metric] = append(b[v.Metric], v.Value)
			}
		}
	}
	means := func(node, metric string) (xs []float64) {
		for _, n := range slices.Sorted(maps.Keys(blocks[node])) {
			sum, vs := 0.0, blocks[node][n][metric]
			for _, v := range vs {
				sum += math.Log(v)
			}
			if len(vs) > 0 {
				xs = append(xs, math.Exp(sum/float64(len(vs))))
			}
		}
		return xs
	}
	names := slices.Sorted(maps.Keys(blocks))
	for i, name := range names {
		n := Node{Machine: machines[name], Blocks: len(blocks[name])}
		for _, m := range dyno.Metrics {
			if i == 0 || !m.Primary {
				continue
			}
			base, other := means(names[0], m.Name), means(name, m.Name)
			if len(base) == 0 || len(other) == 0 {
				continue
			}
			ratio, lo, hi := stats.Unpaired(base, other)
			n.Effects = append(n.Effects, Effect{m.Name, dyno.Number(ratio), dyno.Number(lo), dyno.Number(hi)})
		}
		p.Nodes = append(p.Nodes, n)
	}
}

// same compares the trials ForSame of a block with each other.
func (p *Places) same(rs []*dyno.Result) {
	blocks := map[int][]*dyno.Result{}
	for _, r := range rs {
		if r.Err == "" && r.Trial.For == dyno.ForSame {
			blocks[r.Trial.Block] = append(blocks[r.Trial.Block], r)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(blocks)) {
		pair := blocks[n]
		if len(pair) != 2 {
			continue
		}
		slices.SortFunc(pair, func(a, b *dyno.Result) int { return a.Trial.N - b.Trial.N })
		for _, m := range dyno.Metrics {
			a, ok1 := pair[0].Values.Get(m.Name)
			b, ok2 := pair[1].Values.Get(m.Name)
			if !m.Primary || !ok1 || !ok2 || a <= 0 {
				continue
			}
			s := Same{Metric: m.Name, Ratio: dyno.Number(b / a)}
			if pair[0].Node != nil {
				s.Node = pair[0].Node.Name
			}
			p.Same = append(p.Same, s)
		}
	}
}
