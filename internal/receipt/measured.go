package receipt

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/stats"
)

// Compared promises what was measured of a setting side by side with another: figures of a later run, and the changes.
func Compared(of, against answer.Setting, values map[string]compare.Summary, versus func(metric string) (compare.Versus, bool)) (ps []Promise) {
	for _, m := range dyno.Metrics {
		v, ok := values[m.Name]
		if !m.Primary && m.Name != "gc-cpu-sec/req" || m.Name == "req/s" || !ok || v.Saturated { // the rate is the load
			continue
		}
		if i, ok := launch(v.Trials); ok {
			ps = append(ps, Promise{Setting: of, Metric: m.Name, Interval: i, Level: launchLevel})
		}
		if x, ok := versus(m.Name); ok && !math.IsNaN(x.Lo) {
			ps = append(ps, Promise{Setting: of, Metric: m.Name, Against: &against, Interval: Interval{Number(x.Ratio), Number(x.Lo), Number(x.Hi)}, Level: 0.95, Truth: true})
		}
	}
	return ps
}

// LoadOf is the load under which values were measured.
func LoadOf(under *dyno.Load, values map[string]compare.Summary) Load {
	l := Under(under)
	rate, each, marked := values["req/s"], values["alloc-B/req"], values["heap-live-B"]
	if len(rate.Trials) > 0 {
		l.Rate = Number(rate.Center)
		if len(each.Trials) > 0 {
			l.Alloc = Number(each.Center * rate.Center)
		}
	}
	if len(marked.Trials) > 0 {
		l.Marked = Number(marked.Center)
	}
	return l
}

const (
	launchLevel  = 0.9
	fewestTrials = 3
)

// launch is the interval in which another launch lies, by Student's t of the logarithms. Note: that of the median would be of this
// run alone, and two runs differ by more than their launches' medians do.
func launch(trials []float64) (i Interval, ok bool) {
	var logs []float64
	sum := 0.0
	for _, x := range trials {
		if !(x > 0) || math.IsInf(x, 1) {
			return i, false
		}
		logs = append(logs, math.Log(x))
		sum += math.Log(x)
	}
	n := float64(len(logs))
	if n < fewestTrials {
		return i, false
	}
	variance := 0.0
	for _, x := range logs {
		variance += (x - sum/n) * (x - sum/n) / (n - 1)
	}
	by := math.Exp(distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(0.5+launchLevel/2) * math.Sqrt(variance*(1+1/n)))
	center := stats.Median(trials)
	return Interval{Number(center), Number(center / by), Number(center * by)}, true
}
