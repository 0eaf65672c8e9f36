// Package suite sums up many benchmarks by their packages.
package suite

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/stats"
)

// A Package sums up the times (sec/op) of a package's benchmarks in one setting against the baseline.
type Package struct {
	Path string `json:"package"`

	Benchmarks int `json:"benchmarks"` // those that were compared
	Better     int `json:"better"`
	Worse      int `json:"worse"`
	Same       int `json:"same"`
	Unclear    int `json:"unclear"`

	// Mean is of the logarithms of their ratios, block by block, in the blocks that all of Of have. It has no interval with fewer than
	// stats.FewBlocks.
	Mean stats.Comparison `json:"-"`
	Of   int              `json:"mean-of"` // benchmarks that are in the mean: with those that are in fewer blocks there would be too few
}

// Packages are those of a table in setting i: the ones with changes first, then those whose mean most likely changed.
func Packages(t *compare.Table, i int) (all []Package) {
	at := map[string]int{}
	members := map[string][]map[int]float64{} // log ratios by block
	for _, b := range t.Benchmarks {
		if len(b.Units) == 0 || b.Units[0].Name != "sec/op" {
			continue
		}
		v := t.Versus(b.Units[0], i)
		if v == nil || math.IsNaN(v.Ratio) {
			continue
		}
		n, ok := at[b.Package]
		if !ok {
			n = len(all)
			at[b.Package] = n
			all = append(all, Package{Path: b.Package})
		}
		p := &all[n]
		p.Benchmarks++
		switch v.Verdict {
		case stats.Better:
			p.Better++
		case stats.Worse:
			p.Worse++
		case stats.Same:
			p.Same++
		default:
			p.Unclear++
		}
		members[b.Package] = append(members[b.Package], v.ByBlock)
	}
	for n := range all {
		p := &all[n]
		p.Mean, p.Of = mean(members[p.Path])
	}
	slices.SortStableFunc(all, func(a, b Package) int {
		return cmp.Or(cmp.Compare(b.Better+b.Worse, a.Better+a.Worse), cmp.Compare(a.Mean.P, b.Mean.P), cmp.Compare(math.Abs(math.Log(b.Mean.Ratio)), math.Abs(math.Log(a.Mean.Ratio))))
	})
	return all
}

// A Form is a Package as JSON has it.
type Form struct {
	Setting string `json:"setting"`
	Package
	Ratio dyno.Number `json:"ratio"` // setting over baseline: the geometric mean
	Lo    dyno.Number `json:"lo"`    // of its 95 % interval
	Hi    dyno.Number `json:"hi"`
}

// Forms are the packages in all settings but the baseline.
func Forms(t *compare.Table) (all []Form) {
	for i := range t.Settings {
		if i == 0 {
			continue
		}
		for _, p := range Packages(t, i) {
			all = append(all, Form{t.Settings[i].Setting.String(), p, dyno.Number(p.Mean.Ratio), dyno.Number(p.Mean.Lo), dyno.Number(p.Mean.Hi)})
		}
	}
	return all
}

// mean compares the means of block values over the benchmarks that are in most blocks: those that have RankBlocks blocks in common, if these
// are half of all, or else FewBlocks, or any.
func mean(members []map[int]float64) (stats.Comparison, int) {
	slices.SortStableFunc(members, func(a, b map[int]float64) int { return cmp.Compare(len(b), len(a)) })
	for _, least := range []int{stats.RankBlocks, stats.FewBlocks, 1} {
		for of := len(members); of > 0 && (2*of >= len(members) || least == 1); of-- {
			if values := common(members[:of]); len(values) >= least {
				return stats.CompareRanks(values, true, nil), of
			}
		}
	}
	return stats.CompareRanks(nil, true, nil), 0
}

// common are the means in the blocks that all have.
func common(members []map[int]float64) (values []float64) {
	for _, block := range slices.Sorted(maps.Keys(members[0])) {
		sum, n := 0.0, 0
		for _, m := range members {
			if v, ok := m[block]; ok {
				sum, n = sum+v, n+1
			}
		}
		if n == len(members) {
			values = append(values, sum/float64(n))
		}
	}
	return values
}
