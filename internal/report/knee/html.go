package knee

import (
	"fmt"
	"io"
	"math"

	"github.com/dynolab/dyno/internal/capacity"
	"github.com/dynolab/dyno/internal/report/chart"
	"github.com/dynolab/dyno/internal/report/layout"
)

// First is the answer in a sentence.
func (r *Report) First() string { return r.first(r.answers()) }

// HTML writes the answer as one self-contained page. The error is w's.
func (r *Report) HTML(w io.Writer) error {
	answers := r.answers()
	o, _ := r.shown(answers)
	a := r.said(0)
	a.Figure, a.Picture = fmt.Sprintf("%s against the rate", o.Name), r.figure(answers)
	a.Shows = fmt.Sprintf("Each mark is a window at one rate (right), with what was seen there (up); the line is the limit, %s. Both axes are logarithmic.", o.Threshold)
	return a.HTML(w)
}

// figure has the windows of each setting, or those that held and did not of the only one.
func (r *Report) figure(answers []capacity.Answer) chart.SVG {
	o, limit := r.shown(answers)
	line := chart.Cloud{Name: "limit", Joined: true}
	held, not := chart.Cloud{Name: "held"}, chart.Cloud{Name: "not held"}
	each := make([]chart.Cloud, len(r.Settings))
	least, most := math.Inf(1), 0.0
	r.near(answers, func(i int, w *capacity.Window, y float64) {
		spot := chart.Spot{Tip: fmt.Sprintf("%s: %s", perSecond(w.Rate), seen(o, y)), X: chart.At(w.Rate), Y: chart.At(y)}
		each[i].Name = layout.Label(r.Settings[i].String())
		each[i].Spots = append(each[i].Spots, spot)
		if r.Searches[i].Held(w) {
			held.Spots = append(held.Spots, spot)
		} else {
			not.Spots = append(not.Spots, spot)
		}
		least, most = min(least, w.Rate), max(most, w.Rate)
	})
	if most == 0 {
		return ""
	}
	for _, rate := range []float64{least, most} {
		line.Spots = append(line.Spots, chart.Spot{X: chart.At(rate), Y: chart.At(limit)})
	}
	clouds := []chart.Cloud{held, not, line}
	if len(each) > 1 {
		clouds = append(each, line)
	}
	return chart.Scatter(clouds, "requests per second", o.Name, perSecond, layout.Axis(func(x float64) string { return seen(o, x) }))
}
