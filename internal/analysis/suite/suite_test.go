package suite

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/stats"
)

// table has benchmarks of packages, whose ratios in blocks are given.
func table(of map[string][]map[int]float64, verdict stats.Verdict) *compare.Table {
	t := &compare.Table{Settings: []compare.Setting{{}, {Setting: dyno.Setting{{Factor: "rev", Value: "b"}}, Versus: map[string]compare.Versus{}}}}
	for pkg, members := range of {
		for n, ratios := range members {
			b := &compare.Benchmark{Package: pkg, Name: fmt.Sprint(n)}
			key := b.Full() + " sec/op"
			b.Units = []compare.Row{{Metric: dyno.Metric{Name: "sec/op"}, Key: key, Benchmark: b}}
			v := compare.Versus{Ratio: 1, Verdict: verdict, ByBlock: map[int]float64{}, Comparison: stats.Comparison{N: len(ratios)}}
			for block, ratio := range ratios {
				v.ByBlock[block] = math.Log(ratio)
			}
			t.Settings[1].Versus[key] = v
			t.Benchmarks = append(t.Benchmarks, b)
		}
	}
	slices.SortFunc(t.Benchmarks, func(a, b *compare.Benchmark) int { return slices.Compare([]string{a.Full()}, []string{b.Full()}) })
	return t
}

// The mean of a package is that of its benchmarks in the blocks that they share; one that has few blocks is left out of it.
func TestPackages(t *testing.T) {
	blocks := func(from, to int, ratio float64) map[int]float64 {
		m := map[int]float64{}
		for block := from; block <= to; block++ {
			m[block] = ratio * (1 + 0.001*float64(block%3-1))
		}
		return m
	}
	two := []map[int]float64{blocks(1, 10, 1.21), blocks(1, 10, 1)}
	for _, c := range []struct {
		name       string
		of         []map[int]float64
		in, blocks int
		ratio      float64
	}{
		{"two", two, 2, 10, 1.1},
		{"one that has two blocks", append(two, blocks(1, 2, 5)), 2, 10, 1.1},
		{"one that began later", []map[int]float64{blocks(1, 10, 1.21), blocks(4, 10, 1)}, 2, 7, 1.1},
		{"few blocks", []map[int]float64{blocks(1, 4, 1.21), blocks(1, 4, 1), blocks(1, 2, 7)}, 2, 4, 1.1},
		{"two blocks", []map[int]float64{blocks(1, 2, 1.21), blocks(1, 2, 1)}, 2, 2, 1.1},
		{"none in common", []map[int]float64{blocks(1, 2, 1.1), blocks(3, 4, 1)}, 1, 2, 1.1},
	} {
		ps := Packages(table(map[string][]map[int]float64{"m/p": c.of}, stats.Unclear), 1)
		if len(ps) != 1 {
			t.Fatalf("%s: %d packages", c.name, len(ps))
		}
		p := ps[0]
		if p.Path != "m/p" || p.Benchmarks != len(c.of) || p.Unclear != len(c.of) || p.Of != c.in || p.Mean.N != c.blocks || math.Abs(p.Mean.Ratio/c.ratio-1) > 0.002 {
			t.Errorf("%s: %+v", c.name, p)
		}
		if (c.blocks >= stats.FewBlocks) != (p.Mean.Lo < c.ratio && c.ratio < p.Mean.Hi) {
			t.Errorf("%s: the interval is %v to %v", c.name, p.Mean.Lo, p.Mean.Hi)
		}
	}
	all := Packages(table(map[string][]map[int]float64{"a": {blocks(1, 8, 1.01)}, "b": {blocks(1, 8, 0.9)}, "c": {blocks(1, 8, 1.05)}}, stats.Worse), 1)
	var order []string
	for _, p := range all {
		order = append(order, p.Path)
	}
	if !slices.Equal(order, []string{"b", "c", "a"}) || all[0].Worse != 1 {
		t.Errorf("the order is %v", order)
	}
}
