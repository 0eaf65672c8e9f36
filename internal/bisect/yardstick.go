package bisect

import (
	"maps"
	"math"
	"slices"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/stats"
)

// A Yardstick is what versions are compared by: a metric of the service, or of one of its benchmarks.
type Yardstick struct {
	Metric        string // "" as long as none is chosen
	Package, Name string // of a benchmark; "" of a service

	// Plain is true if the metric is 0 somewhere, as allocations of a benchmark may be: then changes are differences, not ratios.
	Plain bool
}

// Benchmark is its full name, "" of a service.
func (y *Yardstick) Benchmark() string {
	if y.Name == "" {
		return ""
	}
	return y.Package + "." + y.Name
}

// key is that of its row in a table.
func (y *Yardstick) key() string {
	if y.Name == "" {
		return y.Metric
	}
	return y.Benchmark() + " " + y.Metric
}

// versus compares the last of two versions with the first.
func (y *Yardstick) versus(t *compare.Table) compare.Versus { return t.Settings[1].Versus[y.key()] }

// value is that of a result, as the search computes with it: the logarithm, unless it is plain.
func (y *Yardstick) value(r *dyno.Result) (value float64, ok bool) {
	value, ok = y.raw(r)
	if !y.Plain {
		value, ok = math.Log(value), ok && value > 0
	}
	return value, ok
}

func (y *Yardstick) zero(r *dyno.Result) bool {
	value, ok := y.raw(r)
	return ok && value == 0
}

func (y *Yardstick) raw(r *dyno.Result) (value float64, ok bool) {
	if y.Name == "" {
		value, ok = r.Values.Get(y.Metric)
		ok = ok && dyno.Counts(r, y.Metric)
	} else if i := slices.IndexFunc(r.Benchmarks, func(b dyno.Benchmark) bool { return b.Package == y.Package && b.Name == y.Name }); i >= 0 {
		value = compare.BlockCenter(&r.Benchmarks[i], y.Metric)
		ok = !math.IsNaN(value)
	}
	return value, ok
}

// choose finds the metric that is surely worse at the bad end, or the one that was asked for: of a service the first, of benchmarks the
// one that changed most. Versus has no verdict if there is no such row.
func choose(t *compare.Table, metric string) (y Yardstick, ends compare.Versus) {
	rank := func(v compare.Versus) int {
		switch {
		case v.Verdict == stats.Worse:
			return 3
		case v.Verdict == stats.Better && metric != "":
			return 2
		case v.Verdict != "":
			return 1
		}
		return 0
	}
	size := func(v compare.Versus) float64 {
		if s := math.Abs(math.Log(v.Ratio)); !math.IsNaN(s) {
			return s
		}
		return math.Inf(1) // from nothing, or to it
	}
	for _, row := range t.Rows {
		v, ok := t.Settings[1].Versus[row.Key]
		b := row.Benchmark
		switch {
		case !ok || metric != "" && row.Name != metric || metric == "" && b == nil && !row.Primary || metric == "" && b != nil && row.Better == 0:
			continue
		case b != nil && t.Echoes(row, 1):
			continue
		case rank(v) < rank(ends) || rank(v) == rank(ends) && (b == nil || metricOrder(row.Name) > metricOrder(y.Metric) || row.Name == y.Metric && size(v) <= size(ends)):
			continue
		}
		y, ends = Yardstick{Metric: row.Name}, v
		if b != nil {
			y.Package, y.Name = b.Package, b.Name
		}
	}
	y.Plain = (ends.Verdict == stats.Worse || ends.Verdict == stats.Better) && math.IsNaN(ends.Ratio)
	return y, ends
}

// others counts benchmarks beside the chosen one that are surely worse, too.
func others(t *compare.Table, y Yardstick, metric string) (n int) {
	for _, b := range t.Benchmarks {
		worse := slices.ContainsFunc(b.Units, func(u compare.Row) bool {
			return (metric == "" || u.Name == metric) && t.Settings[1].Versus[u.Key].Verdict == stats.Worse
		})
		if worse && (b.Package != y.Package || b.Name != y.Name) {
			n++
		}
	}
	return n
}

// metricOrder puts the time of benchmarks before what they allocate.
func metricOrder(unit string) int {
	order := []string{"sec/op", "allocs/op", "B/op"}
	if i := slices.Index(order, unit); i >= 0 {
		return i
	}
	return len(order)
}

// ranks are signed ranks of the changes within the blocks of a run of two versions, which may be looked at after any block.
func (s *Search) ranks(t *compare.Table, obs []Observation) stats.Comparison {
	if s.Answer.Name == "" && !s.Answer.Plain {
		return s.Answer.versus(t).Gate
	}
	if pairs := s.Answer.versus(t).ByBlock; pairs != nil && !s.Answer.Plain { // of samples that took turns
		return stats.GateRanks(slices.Collect(maps.Values(pairs)), true)
	}
	blocks := map[int][]Observation{}
	for _, o := range obs {
		blocks[o.Block] = append(blocks[o.Block], o)
	}
	var changes []float64
	for _, block := range slices.Sorted(maps.Keys(blocks)) {
		of := blocks[block]
		if len(of) != 2 {
			continue
		}
		slices.SortFunc(of, func(a, b Observation) int { return a.Version - b.Version })
		changes = append(changes, of[1].Value-of[0].Value)
	}
	return stats.GateRanks(changes, !s.Answer.Plain)
}

// better is the direction of the metric.
func (s *Search) better(t *compare.Table) int {
	i := slices.IndexFunc(t.Rows, func(row compare.Row) bool { return row.Key == s.Answer.key() })
	if i < 0 {
		return 0
	}
	return t.Rows[i].Better
}

// negligible is the greatest change that the plan calls the same, as a rule has it.
func negligible(e *dyno.Experiment) float64 {
	all := e.Resolved()
	if x := float64(*all.Negligible); x > 0 {
		return x
	}
	return -1
}

// leastWhole is the part of a difference from or to nothing that a pair has to have, to be all of it.
const leastWhole = 0.8

// partly reports whether the pair's change is probably smaller than that of the ends.
func (a *Answer) partly() bool { return a.PartOf(a.Ends) }

// PartOf reports whether the pair's change is probably smaller than another: by their intervals, as if those were of a normal.
func (a *Answer) PartOf(whole compare.Versus) bool {
	if a.Plain {
		return math.Abs(a.Pair.Diff) < leastWhole*math.Abs(whole.Diff)
	}
	size := func(v compare.Versus) float64 { return math.Abs(math.Log(v.Ratio)) }
	width := func(v compare.Versus) float64 { return math.Log(v.Hi/v.Lo) / 2 }
	return size(whole)-size(a.Pair) > math.Hypot(width(a.Pair), width(whole))
}
