package main

import (
	"math"
	"slices"
)

// compared are the metrics of truth, with a unit for people.
var compared = []struct {
	name, unit string
	scale      float64
}{
	{"cpu-sec/req", "µs", 1e6},
	{"gc-cycles/req", "/1000", 1e3},
	{"gc-cpu-sec/req", "µs", 1e6},
	{"alloc-B/req", "kB", 1e-3},
	{"rss-peak-B", "MB", 1e-6},
	{"p50-sec", "ms", 1e3},
	{"p99-sec", "ms", 1e3},
	{"req/s", "/s", 1},
}

// A launched block has values by level and metric.
type launched map[string]map[string]float64

// blocksOf parts trials into blocks, by the level of a factor.
func blocksOf(trials []trial, factor string) []launched {
	var blocks []launched
	at := map[int]int{}
	for _, t := range trials {
		i, ok := at[t.Block]
		if !ok {
			i = len(blocks)
			at[t.Block] = i
			blocks = append(blocks, launched{})
		}
		blocks[i][t.Levels[factor]] = t.Values
	}
	return blocks
}

// ratios are those of a metric at two levels, block by block. A block without one of the two
// values has no ratio.
func ratios(blocks []launched, base, level, metric string) (rs []float64) {
	for _, b := range blocks {
		x, ok1 := b[base][metric]
		y, ok2 := b[level][metric]
		if !ok1 || !ok2 {
			continue
		}
		if x == 0 && y == 0 {
			rs = append(rs, math.NaN())
			continue
		}
		rs = append(rs, y/x)
	}
	return rs
}

// levelMedian is the median of the blocks at one level.
func levelMedian(blocks []launched, level, metric string) float64 {
	var vs []float64
	for _, b := range blocks {
		if v, ok := b[level][metric]; ok {
			vs = append(vs, v)
		}
	}
	return median(vs)
}

// A comparison is the change of a metric between two levels in one arm, beside the first arm's.
type comparison struct {
	metric, level string
	arm           int
	estimate               // of the change
	from          estimate // ratio of the change to the first arm's; of the first arm, nothing
	lost          int      // blocks whose ratio has no logarithm
}

// comparisons are those of all metrics that any arm measured, each metric's arms in order.
func comparisons(arms [][]launched, levels []string) (cs []comparison) {
	for _, level := range levels[1:] {
		for _, m := range compared {
			var first estimate
			for i, blocks := range arms {
				e, lost := estimated(ratios(blocks, levels[0], level, m.name))
				c := comparison{metric: m.name, level: level, arm: i, estimate: e, lost: lost}
				if i == 0 {
					first = e
				} else {
					c.from = e.less(first)
				}
				cs = append(cs, c)
			}
		}
	}
	return slices.DeleteFunc(cs, func(c comparison) bool { return math.IsNaN(c.log) && c.lost == 0 })
}

// Words of an arm's comparison with the first.
const (
	agrees  = ""
	doubt   = "doubt"   // the plain 95 % interval of the difference leaves 0 out
	differs = "differs" // one for all comparisons of the arm does, too
	unknown = "?"
)

// word is for one of n comparisons of an arm.
func (c comparison) word(n int) string {
	plain, isKnown := c.from.differs(0.05)
	all, _ := c.from.differs(0.05 / float64(n))
	switch {
	case !isKnown:
		return unknown
	case all:
		return differs
	case plain:
		return doubt
	}
	return agrees
}
