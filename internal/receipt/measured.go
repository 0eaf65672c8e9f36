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
		if p, ok := launch(v.Trials); ok {
			p.Setting, p.Metric = of, m.Name
			ps = append(ps, p)
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

// launch promises what another launch measures, of the trials of some.
func launch(trials []float64) (p Promise, ok bool) {
	var logs []float64
	sum := 0.0
	for _, x := range trials {
		if !(x > 0) || math.IsInf(x, 1) {
			return p, false
		}
		logs = append(logs, math.Log(x))
		sum += math.Log(x)
	}
	n := float64(len(logs))
	if n < fewestTrials {
		return p, false
	}
	variance := 0.0
	for _, x := range logs {
		variance += (x - sum/n) * (x - sum/n) / (n - 1)
	}
	p = Promise{Interval: Interval{Value: Number(stats.Median(trials))}, Level: launchLevel, Launches: len(trials), Spread: math.Sqrt(variance)}
	p.Interval = p.of(1)
	return p, true
}

// of is the interval in which the median of so many later launches lies, by Student's t of the logarithms. Note: the variance
// of the promise's own value is that of a mean. How far its median lies beside that goes with the spread, and needs no wide tails.
func (p *Promise) of(launches int) Interval {
	sd := p.Spread * math.Sqrt(1/float64(p.Launches)+medianVariance(launches))
	by := Number(math.Exp(distuv.StudentsT{Sigma: 1, Nu: float64(p.Launches - 1)}.Quantile(0.5+launchLevel/2) * sd))
	return Interval{p.Value, p.Value / by, p.Value * by}
}

// medianVariance is the variance of the median of n values by that of one, if they are normal. It is right within 5 % but for two.
func medianVariance(n int) float64 { return math.Pi / 2 / (float64(n) + math.Pi/2 - 1) }
