package predict

import (
	"cmp"
	"math"
	"slices"

	"github.com/dynolab/dyno/internal/analysis/gcmodel"
)

// A Model predicts settings, as *gcmodel.Model does.
type Model interface {
	Predict(gcmodel.Setting) gcmodel.Prediction
	Cliff(gogc, live float64) float64
}

// Fit makes a model of the windows in which a collection ended.
func (s *Source) Fit() *gcmodel.Model {
	var ws []gcmodel.Window
	for _, w := range s.Pooled {
		if len(w.Cycles) > 0 {
			ws = append(ws, w.Window)
		}
	}
	return gcmodel.Fit(ws...)
}

// A Question is which settings are asked for. Its zero value asks for the usual ones.
type Question struct {
	GOGC   []float64 // nil means Ladder, or with Limits that of the first setting and off
	Limits []float64 // in bytes, 0 no limit; nil means some between the cliff and what GOGC=400 takes, unless GOGC is given
	Live   float64   // factor of the live heap; 0 means 1
}

// Ladder is the values of GOGC that are asked for unless said.
var Ladder = []float64{10, 25, 50, 75, 100, 150, 200, 400, 800, 1600, gcmodel.Off}

// A Forecast is the answer to a question.
type Forecast struct {
	Source
	Live  float64 // factor of the live heap
	Cliff float64 // the smallest limit, with GOGC=off, that is no spiral, in bytes; NaN if not known
	Rows  []Row   // without a limit by GOGC, then by limit
}

// A Row is a setting that was predicted.
type Row struct {
	gcmodel.Prediction
	Measured *Window          // the same setting, as measured; nil if it was not, or if the live heap is another
	Met      gcmodel.Estimate // share of requests that meet a collection; NaN if not known
}

// Forecast asks a model for settings. Settings that were measured are among the answers.
func (s *Source) Forecast(m Model, q Question) *Forecast {
	f := &Forecast{Source: *s, Live: cmp.Or(q.Live, 1)}
	f.Cliff = m.Cliff(gcmodel.Off, f.Live)
	if !(f.Cliff > 0) {
		f.Cliff = math.NaN()
	}
	for _, asked := range f.settings(m, q) {
		asked.Live = f.Live
		r := Row{Prediction: m.Predict(asked)}
		r.Setting = asked
		if i := slices.IndexFunc(s.Pooled, func(w Window) bool { return same(w.Setting, asked) }); i >= 0 && f.Live == 1 {
			r.Measured = &s.Pooled[i]
		}
		f.Rows = append(f.Rows, r)
	}
	f.meet(m)
	return f
}

// settings lists what is asked for, in order, each once.
func (f *Forecast) settings(m Model, q Question) (list []gcmodel.Setting) {
	add := func(s gcmodel.Setting) {
		if !slices.ContainsFunc(list, func(t gcmodel.Setting) bool { return same(s, t) }) {
			list = append(list, gcmodel.Setting{GOGC: s.GOGC, Limit: s.Limit})
		}
	}
	switch {
	case q.Limits == nil && q.GOGC == nil:
		for _, limit := range f.limits(m) {
			add(gcmodel.Setting{GOGC: gcmodel.Off, Limit: limit})
		}
		fallthrough
	case q.Limits == nil:
		for _, g := range orLadder(q.GOGC) {
			add(gcmodel.Setting{GOGC: g})
		}
	default:
		gogc := q.GOGC
		if gogc == nil {
			gogc = []float64{f.Pooled[0].GOGC, gcmodel.Off}
		}
		for _, limit := range q.Limits {
			for _, g := range gogc {
				add(gcmodel.Setting{GOGC: g, Limit: limit})
			}
		}
	}
	if f.Live == 1 {
		for _, w := range f.Pooled {
			add(w.Setting)
		}
	}
	slices.SortFunc(list, func(s, t gcmodel.Setting) int {
		return cmp.Or(cmp.Compare(s.Limit, t.Limit), cmp.Compare(s.GOGC, t.GOGC))
	})
	return list
}

func orLadder(gogc []float64) []float64 {
	if gogc == nil {
		return Ladder
	}
	return gogc
}

// mostLimits are chosen unless said.
const mostLimits = 8

// limits chooses round limits between the cliff and what the service takes with GOGC=400.
func (f *Forecast) limits(m Model) []float64 {
	most := m.Predict(gcmodel.Setting{GOGC: 400, Live: f.Live}).HeapPeak.Value
	for _, w := range f.Pooled {
		if w.Overhead > 0 {
			most += w.Overhead
			break
		}
	}
	if !(f.Cliff > 0 && most > f.Cliff) {
		f.Notes = append(slices.Clip(f.Notes), Note{Kind: NoLimits})
		return nil
	}
	return round(f.Cliff, most, mostLimits)
}

// renard are the numbers of ISO 3, R40: each is about 6 % more than the one before. Taking every second,
// fourth or eighth of them gives even steps, too.
var renard = [40]float64{
	1, 1.06, 1.12, 1.18, 1.25, 1.32, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2, 2.12, 2.24, 2.36, 2.5, 2.65, 2.8, 3,
	3.15, 3.35, 3.55, 3.75, 4, 4.25, 4.5, 4.75, 5, 5.3, 5.6, 6, 6.3, 6.7, 7.1, 7.5, 8, 8.5, 9, 9.5,
}

// round lists round sizes from lo to hi, at most so many as most says. They are bytes of whole MiB.
func round(lo, hi float64, most int) (sizes []float64) {
	for step := 1; step <= len(renard); step *= 2 {
		sizes = nil
		for decade := 1.0; decade <= hi/gcmodel.MiB; decade *= 10 {
			for i := 0; i < len(renard); i += step {
				if x := math.Round(decade*renard[i]) * gcmodel.MiB; x >= lo && x <= hi && !slices.Contains(sizes, x) {
					sizes = append(sizes, x)
				}
			}
		}
		if len(sizes) <= most {
			break
		}
	}
	return sizes
}
