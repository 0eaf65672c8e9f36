package tuned

import (
	"fmt"
	"io"

	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/chart"
	"github.com/dynolab/dyno/internal/report/layout"
)

// First is the recommendation in a sentence.
func (r *Report) First() string { return r.first() }

// HTML writes the recommendation as one self-contained page. The error is w's.
func (r *Report) HTML(w io.Writer) error {
	a := r.said()
	a.Figure, a.Picture = "CPU time against peak memory", r.figure()
	a.Shows = "Each mark is a setting that was measured beside today's: right is more memory, up is more CPU time. Both axes are logarithmic."
	return a.HTML(w)
}

// figure has today's setting, the recommended one, and the others.
func (r *Report) figure() chart.SVG {
	if len(r.Options) == 0 {
		return ""
	}
	base := r.Rounds[0].Table.Settings[0].Values
	size, time := layout.ScaleOf(memory, base[memory].Center), layout.ScaleOf(cpu, base[cpu].Center)
	spot := func(name string, values map[string]compare.Summary) chart.Spot {
		x, y := values[memory].Center, values[cpu].Center
		return chart.Spot{Label: name, Tip: fmt.Sprintf("%s: %s, %s", name, size.With(x), time.With(y)), X: chart.At(x), Y: chart.At(y)}
	}
	today := chart.Cloud{Name: "today's", Spots: []chart.Spot{spot(short(r.Problem.Today), base)}}
	best, others := chart.Cloud{Name: "recommended"}, chart.Cloud{Name: "others"}
	for _, x := range r.Options {
		at := spot(short(Changed(r.Problem.Today, x.Setting)), x.Values)
		if x == r.Best {
			best.Spots = append(best.Spots, at)
		} else {
			others.Spots = append(others.Spots, at)
		}
	}
	clouds := []chart.Cloud{today, others}
	if r.Best != nil {
		clouds = append(clouds, best)
	}
	return chart.Scatter(clouds, "peak memory", "CPU time per request", layout.Axis(size.With), layout.Axis(time.With))
}
