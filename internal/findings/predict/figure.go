package predict

import "github.com/dynolab/dyno/internal/analysis/gcmodel"

// A Figure is a quantity that is predicted of a setting, and measured in a window of it.
type Figure struct {
	Metric   string // its full name; with the unit of Per after "/" if it is divided by that
	Of       func(*gcmodel.Prediction) gcmodel.Estimate
	Measured func(*Window) float64 // NaN if it is not known
}

// Figures are those of which an interval is promised. They have the same definition before and after.
func Figures(per Per) []Figure {
	unit := map[Per]string{Request: "/req", Minute: "/min"}[per]
	return []Figure{
		{"gc-cycles" + unit, func(p *gcmodel.Prediction) gcmodel.Estimate { return p.Cycles }, func(w *Window) float64 { return float64(len(w.Cycles)) / w.Requests }},
		{"gc-cpu-idle-sec" + unit, func(p *gcmodel.Prediction) gcmodel.Estimate { return p.GCCPU }, func(w *Window) float64 { return w.GCCPU / w.Requests }},
		{"cpu-sec" + unit, func(p *gcmodel.Prediction) gcmodel.Estimate { return p.CPU }, func(w *Window) float64 { return w.CPU / w.Requests }},
		{"heap-peak-B", func(p *gcmodel.Prediction) gcmodel.Estimate { return p.HeapPeak }, func(w *Window) float64 { return w.HeapPeak }},
		{"rss-peak-B", func(p *gcmodel.Prediction) gcmodel.Estimate { return p.RSSPeak }, func(w *Window) float64 { return w.RSSPeak }},
	}
}
