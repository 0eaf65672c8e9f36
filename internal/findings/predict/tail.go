package predict

import (
	"math"
	"slices"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/analysis/gcmodel"
	"github.com/dynolab/dyno/internal/analysis/tail"
)

// A Tail is what the requests of the first setting had to do with collections. A p99 is not predicted:
// how many requests meet a collection is, and what those took was measured.
type Tail struct {
	Setting  gcmodel.Setting
	Met      float64 // share of requests that met a collection
	MetP50   float64 // seconds, of those that did
	MetP99   float64
	ClearP50 float64 // of those that did not
	ClearP99 float64

	mean float64 // seconds, of those that met none
}

// leastMet is of how many requests a p99 is known.
const leastMet = 100

// mostRead is the number of kept requests that are read, some 15 ns each.
const mostRead = 20_000_000

// tail reads the requests of the first setting, nil if too few were kept.
func (rd *reader) tail() *Tail {
	first := rd.Pooled[0].Setting
	met, clear := hist.New(), hist.New()
	for _, r := range rd.trials {
		if told := rd.order[slices.Index(rd.settings, r.Trial.Setting.String())]; !same(told, first) || !dyno.Counts(r, "p99-sec") || met.Count()+clear.Count() > mostRead {
			continue
		}
		cs, err := findings.Collections(rd.dir, r)
		if err != nil {
			continue // a note says so
		}
		m, c, err := tail.Split(rd.dir.Times(r.Trial.N, 0, math.MaxInt64), cs)
		if err != nil {
			continue // requests that were not kept, or whose file is broken, as the report says
		}
		met.Merge(m)
		clear.Merge(c)
	}
	if met.Count() < leastMet || clear.Count() < leastMet {
		return nil
	}
	return &Tail{
		Setting: first, Met: float64(met.Count()) / float64(met.Count()+clear.Count()),
		MetP50: met.Quantile(0.5).Seconds(), MetP99: met.Quantile(0.99).Seconds(),
		ClearP50: clear.Quantile(0.5).Seconds(), ClearP99: clear.Quantile(0.99).Seconds(),
		mean: clear.Mean(),
	}
}

// meet predicts the share of requests that meet a collection. A request that takes t meets one if it begins
// during the collection, or less than t before it. So the share is the part of the time in which a collection
// is under way, and t for each collection. The load changes that share, for example because clients wait for
// the same collection. The factor was measured at one setting, and is taken as the same for all.
func (f *Forecast) meet(m Model) {
	unknown := gcmodel.Estimate{Value: math.NaN(), Lo: math.NaN(), Hi: math.NaN()}
	for i := range f.Rows {
		f.Rows[i].Met = unknown
	}
	if f.Tail == nil {
		return
	}
	rate := f.Pooled[0].Requests / f.Pooled[0].Elapsed
	plain := func(marking, cycles float64) float64 { return marking + cycles*rate*f.Tail.mean }
	base := m.Predict(f.Tail.Setting)
	factor := f.Tail.Met / plain(base.Marking.Value, base.Cycles.Value)
	if math.IsNaN(factor) || math.IsInf(factor, 0) {
		return
	}
	share := func(marking, cycles float64) float64 { return min(1, factor*plain(marking, cycles)) }
	for i := range f.Rows {
		r := &f.Rows[i]
		r.Met = gcmodel.Estimate{
			Value: share(r.Marking.Value, r.Cycles.Value), Lo: share(r.Marking.Lo, r.Cycles.Lo), Hi: share(r.Marking.Hi, r.Cycles.Hi),
		}
	}
}
