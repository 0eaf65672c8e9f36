package tune

import (
	"math"
	"slices"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/stats"
)

// A Case is another day than that of the plan: another load, or a larger live heap.
type Case struct {
	Kind   CaseKind
	Levels dyno.Setting // that make it
}

// A CaseKind names a case.
type CaseKind string

const (
	HalfLoad   CaseKind = "half-load"
	DoubleLoad CaseKind = "double-load"
	Live25     CaseKind = "live+25%"
	Live50     CaseKind = "live+50%"
)

// A Headroom is what was measured of a case. It judges nothing: its blocks are few.
type Headroom struct {
	Case
	Today, Best  map[string]compare.Summary // Best is nil where today's is kept
	TodayFailed  bool                       // in some trial
	BestFailed   bool
	Gain, Lo, Hi float64 // of the goal, with its interval of 95 %; NaN if it is not known
	Blocks       int
}

// HeadroomSettings are today's and the recommended setting in each case.
func (o *Outcome) HeadroomSettings(cases []Case) (settings []dyno.Setting) {
	for _, c := range cases {
		settings = append(settings, With(o.Problem.Today, c.Levels...))
		if o.Best != nil {
			settings = append(settings, With(o.Best.Setting, c.Levels...))
		}
	}
	return settings
}

// Headrooms are what was measured of the HeadroomSettings of cases.
func (o *Outcome) Headrooms(cases []Case, m Measured) (hs []Headroom) {
	at := func(s dyno.Setting) (x compare.Setting, failed bool) {
		if i := m.Table.Find(s.String()); i >= 0 {
			x = m.Table.Settings[i]
		}
		return x, slices.ContainsFunc(m.Table.Failed, func(r *dyno.Result) bool { return r.Trial.Setting.String() == s.String() })
	}
	for _, c := range cases {
		nan := math.NaN()
		h := Headroom{Case: c, Gain: nan, Lo: nan, Hi: nan}
		today := With(o.Problem.Today, c.Levels...)
		base, failed := at(today)
		h.Today, h.TodayFailed = base.Values, failed
		if o.Best != nil {
			best := With(o.Best.Setting, c.Levels...)
			x, failed := at(best)
			h.Best, h.BestFailed = x.Values, failed
			r := Round{Settings: []dyno.Setting{today, best}, Table: &compare.Table{Settings: []compare.Setting{base}}}
			if cs := stats.Compare(o.blocks(&r, m.Results)); len(cs) > 0 && cs[0].N > 0 {
				h.Gain, h.Blocks = o.Goal.gain(cs[0].Ratio), cs[0].N
				h.Lo, h.Hi = o.Goal.gains(cs[0].Lo, cs[0].Hi)
			}
		}
		hs = append(hs, h)
	}
	return hs
}
