package tables

import (
	"math"

	"github.com/dynolab/dyno/analysis/compare"
)

const mostSparks = 24

const fewestSparks = 3

// sparklines shows the trials of a metric in the order of blocks, a line for each setting:
// each trial's distance from the median, as a factor where all are positive. All settings
// have one scale. Negligible changes are flat. A setting of fewer than three trials has "".
func (v *View) sparklines(metric string) []string {
	courses := make([][]float64, len(v.Settings))
	positive := true
	for i := range v.Settings {
		x, ok := v.Settings[i].Values[metric]
		if !ok || x.Saturated || len(x.Trials) < fewestSparks {
			continue
		}
		courses[i] = x.Trials
		for _, trial := range append([]float64{x.Center}, x.Trials...) {
			positive = positive && trial > 0
		}
	}
	most := 0.0
	for i := range courses {
		courses[i] = squeeze(deviations(courses[i], v.Settings[i].Values[metric], positive))
		for _, d := range courses[i] {
			if !math.IsInf(d, 0) {
				most = max(most, math.Abs(d)) // NaN never is: see deviations
			}
		}
	}
	if positive {
		most = max(most, v.Negligible)
	}
	lines := make([]string, len(courses))
	for i, course := range courses {
		for _, d := range course {
			lines[i] += level(d, most)
		}
	}
	return lines
}

func deviations(trials []float64, x compare.Summary, ratio bool) []float64 {
	ds := make([]float64, len(trials))
	for i, trial := range trials {
		ds[i] = trial - x.Center
		if ratio {
			ds[i] = math.Log(trial / x.Center)
		}
		if math.IsNaN(ds[i]) {
			ds[i] = 0
		}
	}
	return ds
}

// squeeze keeps of each stretch the value farthest from the median.
func squeeze(ds []float64) []float64 {
	n := len(ds)
	if n <= mostSparks {
		return ds
	}
	out := make([]float64, mostSparks)
	for i := range out {
		for _, d := range ds[i*n/mostSparks : (i+1)*n/mostSparks] {
			if math.Abs(d) > math.Abs(out[i]) {
				out[i] = d
			}
		}
	}
	return out
}

// level is one of seven characters; the fourth is the median.
func level(d, most float64) string {
	levels := [...]string{"▁", "▂", "▃", "▄", "▅", "▆", "▇"}
	if most == 0 {
		return levels[3]
	}
	return levels[int(math.Round(3+3*max(-1, min(d/most, 1))))]
}
