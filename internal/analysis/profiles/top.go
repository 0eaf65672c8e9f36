package profiles

import (
	"cmp"
	"math"
	"slices"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/stats"
)

// A FunctionCost is what a function costs per request: means over trials, in the base unit
// of Profiles.Metric.
type FunctionCost struct {
	*Function
	Own   float64     `json:"own-value"` // ByOwn: the libraries it calls included
	Flat  float64     `json:"flat"`
	Cum   float64     `json:"cum"`
	Count float64     `json:"count,omitempty"` // of Profiles.Counts, in the order's attribution
	Lo    dyno.Number `json:"lo"`              // 95 % interval of the value in the order's attribution; null with one trial
	Hi    dyno.Number `json:"hi"`
	Share float64     `json:"share"` // of that value in all
}

// A Top lists the functions of one setting.
type Top struct {
	Kind    string         `json:"type"`
	Metric  string         `json:"metric"`
	Counts  string         `json:"counts,omitempty"`
	Setting string         `json:"setting"`
	Trials  int            `json:"trials"`
	Order   string         `json:"order"` // own, flat or cum
	Total   float64        `json:"total"`
	Rows    []FunctionCost `json:"functions"`
}

var attributions = [...]string{ByOwn: "own", ByFlat: "flat", ByCum: "cum"}

// Top lists what the functions of a setting cost, the most costly first. A
// setting without profiles gives no rows.
func (p *Profiles) Top(setting string, by Order) *Top {
	ts := p.trials[setting]
	top := &Top{Kind: p.Kind, Metric: p.Metric, Counts: p.Counts, Setting: setting, Trials: len(ts), Order: attributions[by]}
	n := float64(len(ts))
	rows := map[*Function]*FunctionCost{}
	values := map[*Function][]float64{}
	size := 0.0
	for i, t := range ts {
		top.Total += t.total.value / n
		size += t.size / n
		s := p.sum(t)
		for at, m := range s.by {
			for fn, a := range m {
				row := entry(rows, fn)
				if row.Function == nil {
					row.Function, values[fn] = fn, make([]float64, len(ts))
				}
				*row.value(Order(at)) += a.value / n
				if Order(at) == by {
					row.Count += a.count / n
					values[fn][i] = a.value
				}
			}
		}
	}
	for fn, row := range rows {
		m := stats.MeanOf(values[fn])
		row.Lo, row.Hi = dyno.Number(m.Lo), dyno.Number(m.Hi)
		if size > 0 {
			row.Share = *row.value(by) / size
		}
		if p.Counts == "" {
			row.Count = 0
		}
		if *row.value(by) != 0 {
			top.Rows = append(top.Rows, *row)
		}
	}
	slices.SortFunc(top.Rows, func(a, b FunctionCost) int {
		return cmp.Or(
			cmp.Compare(math.Abs(*b.value(by)), math.Abs(*a.value(by))),
			cmp.Compare(math.Abs(b.Cum), math.Abs(a.Cum)), cmp.Compare(a.Name, b.Name))
	})
	return top
}

func (c *FunctionCost) value(by Order) *float64 {
	return [...]*float64{ByOwn: &c.Own, ByFlat: &c.Flat, ByCum: &c.Cum}[by]
}
