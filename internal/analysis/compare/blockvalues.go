package compare

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/units"
	"github.com/dynolab/dyno/internal/stats"
)

// benchUnits are those of package testing that every benchmark has, in the order of
// reports.
var benchUnits = []string{"sec/op", "B/op", "allocs/op"}

// benchmark fills in all but Settled, and puts the cells into the table.
func (run *benchRun) benchmark(t *Table, d *benchData) *Benchmark {
	row := &Benchmark{Package: d.pkg, Name: d.name, Faults: run.faults(d)}
	for _, s := range d.surveys {
		if s != nil && row.Source.File == "" {
			row.Source = s.Source
		}
	}
	for _, block := range d.blocks {
		measured := 0
		for i, b := range block {
			if b == nil || !slices.ContainsFunc(b.Launches, func(l []dyno.Values) bool { return len(l) > 0 }) {
				continue
			}
			measured++
			if i == 0 {
				row.N = b.N
			}
		}
		if measured >= min(2, len(run.settings)) {
			row.Blocks++
		}
		row.Pairs += pairsOf(block)
	}
	for _, unit := range d.units() {
		u := Row{Metric: dyno.Metric{Name: unit, Better: units.Better(unit)}, Key: row.Full() + " " + unit, Benchmark: row}
		row.Units = append(row.Units, u)
		run.cells(t, d, u)
	}
	return row
}

// pairsOf counts, launch by launch, the baseline samples that can be paired with a sample
// of another setting. With a single setting it counts all.
func pairsOf(block []*dyno.Benchmark) (n int) {
	base := block[0]
	if base == nil {
		return 0
	}
	for l, samples := range base.Launches {
		most := 0
		if len(block) == 1 {
			most = len(samples)
		}
		for _, b := range block[1:] {
			if b != nil && l < len(b.Launches) {
				most = max(most, min(len(samples), len(b.Launches[l])))
			}
		}
		n += most
	}
	return n
}

func (d *benchData) units() []string {
	seen := map[string]bool{}
	for _, block := range d.blocks {
		for _, b := range block {
			if b == nil {
				continue
			}
			for _, vs := range slices.Concat(b.Launches...) {
				for _, v := range vs {
					seen[v.Metric] = true
				}
			}
		}
	}
	place := func(unit string) int {
		if i := slices.Index(benchUnits, unit); i >= 0 {
			return i
		}
		return len(benchUnits)
	}
	return slices.SortedFunc(maps.Keys(seen), func(a, b string) int { return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b)) })
}

func (run *benchRun) cells(t *Table, d *benchData, u Row) {
	for i := range t.Settings {
		if xs := d.centers(u.Name, i); len(xs) > 0 {
			c := stats.Summarize(xs)
			t.Settings[i].Values[u.Key] = Summary{Center: c.Center, Lo: c.Lo, Hi: c.Hi, Trials: xs}
		}
		if i == 0 {
			continue
		}
		values, logs := d.values(u.Name, i)
		v := run.compare(values, logs, u.Better)
		if logs && v.Comparison.N > 0 {
			v.Diff = t.Settings[i].Values[u.Key].Center - t.Settings[0].Values[u.Key].Center
		}
		if u.Name == "sec/op" && logs {
			v.ByBlock = map[int]float64{}
			for n, block := range d.blocks {
				if x := blockValue(block[0], block[i], u.Name, logs); !math.IsNaN(x) {
					v.ByBlock[d.numbers[n]] = x
				}
			}
		}
		t.Settings[i].Versus[u.Key] = v
	}
}

// compare makes a Versus. Its Diff is the estimate of the differences within blocks; where there is a ratio, cells sets it.
func (run *benchRun) compare(values []float64, logs bool, better int) Versus {
	c := stats.CompareRanks(values, logs, run.looks)
	if run.anytime {
		c = stats.GateRanks(values, logs)
	}
	rule := run.rule
	rule.Better = better
	return Versus{Ratio: c.Ratio, Lo: c.Lo, Hi: c.Hi, P: c.Adjusted, Diff: c.Diff, Verdict: c.Verdict(rule), Comparison: c}
}

// values are log ratios of setting i over the baseline, one of each block that has both;
// differences if any paired sample is zero or negative.
func (d *benchData) values(unit string, i int) (values []float64, logs bool) {
	logs = true
	for _, block := range d.blocks {
		eachPair(block[0], block[i], unit, func(_ int, x, y float64) { logs = logs && x > 0 && y > 0 })
	}
	for _, block := range d.blocks {
		if v := blockValue(block[0], block[i], unit, logs); !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	return values, logs
}

// blockValue compares a setting with the baseline in one block: the median over the pairs
// of each launch, and the mean of these, as each launch has its own place in memory.
func blockValue(base, other *dyno.Benchmark, unit string, logs bool) float64 {
	var launches [][]float64
	eachPair(base, other, unit, func(launch int, x, y float64) {
		for len(launches) <= launch {
			launches = append(launches, nil)
		}
		v := y - x
		if logs {
			v = math.Log(y) - math.Log(x)
		}
		launches[launch] = append(launches[launch], v)
	})
	return meanOfMedians(launches)
}

// eachPair yields the samples of a block that took turns beside one another. Where one
// setting has fewer, the others' last are left out.
func eachPair(base, other *dyno.Benchmark, unit string, yield func(launch int, x, y float64)) {
	if base == nil || other == nil {
		return
	}
	for l := range min(len(base.Launches), len(other.Launches)) {
		a, b := base.Launches[l], other.Launches[l]
		for j := range min(len(a), len(b)) {
			x, okx := a[j].Get(unit)
			y, oky := b[j].Get(unit)
			if okx && oky && finite(x) && finite(y) {
				yield(l, x, y)
			}
		}
	}
}

func (d *benchData) centers(unit string, i int) (xs []float64) {
	for _, block := range d.blocks {
		if x := BlockCenter(block[i], unit); !math.IsNaN(x) {
			xs = append(xs, x)
		}
	}
	return xs
}

// BlockCenter is a benchmark's value in one block: the mean over launches of the median of
// the launch's finite samples. It is NaN without any.
func BlockCenter(b *dyno.Benchmark, unit string) float64 {
	if b == nil {
		return math.NaN()
	}
	var launches [][]float64
	for _, samples := range b.Launches {
		var xs []float64
		for _, vs := range samples {
			if x, ok := vs.Get(unit); ok && finite(x) {
				xs = append(xs, x)
			}
		}
		launches = append(launches, xs)
	}
	return meanOfMedians(launches)
}

// meanOfMedians is NaN if no launch has values.
func meanOfMedians(launches [][]float64) (mean float64) {
	launches = slices.DeleteFunc(launches, func(xs []float64) bool { return len(xs) == 0 })
	if len(launches) == 0 {
		return math.NaN()
	}
	for _, xs := range launches {
		mean += stats.Median(xs) / float64(len(launches))
	}
	return mean
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// faults say why a benchmark has no numbers, or fewer.
func (run *benchRun) faults(d *benchData) (fs []Fault) {
	for i := range run.settings {
		f := Fault{Setting: i}
		for _, block := range d.blocks {
			if block[i] != nil {
				f.Tried++
			}
			if block[i] != nil && block[i].Err != "" {
				f.Said = cmp.Or(f.Said, block[i].Err)
				f.Blocks++
			}
		}
		switch survey := d.surveys[i]; {
		case f.Blocks > 0 && f.Blocks < f.Tried:
			f.Kind = FaultBlocks
		case f.Blocks > 0:
			f.Kind = FaultFailed
		case survey != nil && strings.HasPrefix(survey.Err, dyno.SurveySkipped):
			f.Kind, f.Said = FaultSkipped, survey.Err
		case survey != nil && survey.Err != "":
			f.Kind, f.Said = FaultFailed, survey.Err
		case survey == nil && f.Tried == 0 && slices.ContainsFunc(run.data, func(d *benchData) bool { return d.surveys[i] != nil }):
			f.Kind = FaultMissing
		default:
			continue
		}
		fs = append(fs, f)
	}
	return fs
}
