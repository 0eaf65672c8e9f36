package tune

import (
	"fmt"
	"math"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/gcmodel"
)

// A Goal is what a setting is to make least or most of. Without a metric it is one sum: CPU time per request
// and peak memory, each as a share of today's, as ZGC's automatic heap sizing weighs them.
type Goal struct {
	Metric dyno.Metric // Name "" means the sum
	Price  float64     // of the sum: what 1 % of memory may cost in per cent of CPU time
}

// DefaultPrice is that of memory where the user says none. It makes GOGC=100 the least sum of a service
// with collection taking a quarter of its CPU time.
const DefaultPrice = 0.5

// ParseGoal reads "min NAME" or "max NAME", with names as thresholds have them; "" is the sum. others are as of
// [dyno.Threshold.Of].
func ParseGoal(text string, others []string) (Goal, error) {
	if strings.TrimSpace(text) == "" {
		return Goal{Price: DefaultPrice}, nil
	}
	words := strings.Fields(text)
	if len(words) != 2 || words[0] != "min" && words[0] != "max" {
		return Goal{}, fmt.Errorf("bad goal %q (want min or max and a metric, for example min cpu_per_req)", text)
	}
	m, err := dyno.MetricOf(words[1], others)
	if err != nil {
		if means := dyno.ThresholdName(words[1]); means != words[1] && means != "" {
			return Goal{}, fmt.Errorf("bad goal %q: %q is not the name of a metric in goals (did you mean %s?)", text, words[1], means)
		}
		return Goal{}, fmt.Errorf("bad goal %q: %w", text, err)
	}
	switch {
	case m.Better == 0:
		return Goal{}, fmt.Errorf("bad goal %q: %s is never compared (want for example min cpu_per_req, min p99 or max req_per_s)", text, words[1])
	case m.Better > 0 && words[0] == "min":
		return Goal{}, fmt.Errorf("bad goal %q: more of %s is better (did you mean max %[2]s?)", text, words[1])
	case m.Better < 0 && words[0] == "max":
		return Goal{}, fmt.Errorf("bad goal %q: less of %s is better (did you mean min %[2]s?)", text, words[1])
	}
	return Goal{Metric: m}, nil
}

// Sum reports whether the goal is the sum.
func (g Goal) Sum() bool { return g.Metric.Name == "" }

// String is the goal as ParseGoal reads it; of the sum, how it weighs.
func (g Goal) String() string {
	switch {
	case g.Sum():
		return fmt.Sprintf("min cpu_per_req%% + %g rss_peak%%", g.Price)
	case g.Metric.Better > 0:
		return "max " + dyno.ThresholdName(g.Metric.Name)
	}
	return "min " + dyno.ThresholdName(g.Metric.Name)
}

// The metrics of the sum, of recommendations and of the front.
const (
	cpuMetric    = "cpu-sec/req"
	memoryMetric = "rss-peak-B"
	tailMetric   = "p99-sec"
)

// value is that of the goal in a result, with what is measured of today's for the sum; false if it is not known
// or does not count.
func (g Goal) value(r *dyno.Result, cpu, memory float64) (float64, bool) {
	get := func(metric string) float64 {
		v, ok := r.Values.Get(metric)
		if !ok || !dyno.Counts(r, metric) {
			return math.NaN()
		}
		return v
	}
	v := 0.0
	if g.Sum() {
		v = (get(cpuMetric)/cpu + g.Price*get(memoryMetric)/memory) / (1 + g.Price)
	} else {
		v = get(g.Metric.Name)
	}
	return v, !math.IsNaN(v)
}

// gain is by what fraction a ratio to today's is better: 0.1 for 10 % less of what is to be least.
func (g Goal) gain(ratio float64) float64 {
	if !g.Sum() && g.Metric.Better > 0 {
		return ratio - 1
	}
	return 1 - ratio
}

// gains is gain of an interval, the least first.
func (g Goal) gains(lo, hi float64) (least, most float64) {
	a, b := g.gain(lo), g.gain(hi)
	return min(a, b), max(a, b)
}

// Stands says by which metric settings are ranked before they are measured: the goal's, or, as nothing predicts
// that, the CPU time per request that goes with it.
func (g Goal) Stands() string {
	if g.Sum() {
		return ""
	}
	if _, ok := predicted(&gcmodel.Prediction{}, g.Metric.Name); ok {
		return g.Metric.Name
	}
	return cpuMetric
}

// predicted is what a prediction says of a metric; false if it says nothing of it.
func predicted(p *gcmodel.Prediction, metric string) (gcmodel.Estimate, bool) {
	switch metric {
	case cpuMetric:
		return p.CPU, true
	case "gc-wall-frac":
		return p.Marking, true
	case "gc-cycles", "req/gc":
		e := p.Cycles
		if metric == "req/gc" {
			e = gcmodel.Estimate{Value: 1 / e.Value, Lo: 1 / e.Hi, Hi: 1 / e.Lo}
		}
		return e, true
	case "heap-peak-B":
		return p.HeapPeak, true
	case memoryMetric:
		return p.RSSPeak, true
	}
	return gcmodel.Estimate{}, false
}

func over(e gcmodel.Estimate, by float64) gcmodel.Estimate {
	return gcmodel.Estimate{Value: e.Value / by, Lo: e.Lo / by, Hi: e.Hi / by}
}

// expected is the gain that is predicted against today's prediction; NaN if it is not known.
func (g Goal) expected(p, today *gcmodel.Prediction) gcmodel.Estimate {
	ratio := gcmodel.Estimate{}
	if g.Sum() {
		cpu, memory := over(p.CPU, today.CPU.Value), over(p.RSSPeak, today.RSSPeak.Value)
		sum := func(c, m float64) float64 { return (c + g.Price*m) / (1 + g.Price) }
		ratio = gcmodel.Estimate{Value: sum(cpu.Value, memory.Value), Lo: sum(cpu.Lo, memory.Lo), Hi: sum(cpu.Hi, memory.Hi)}
	} else {
		metric := g.Stands()
		e, _ := predicted(p, metric)
		t, _ := predicted(today, metric)
		ratio = over(e, t.Value)
		if metric == cpuMetric && g.Metric.Better > 0 { // more requests of the same CPUs
			ratio = gcmodel.Estimate{Value: 1 / ratio.Value, Lo: 1 / ratio.Hi, Hi: 1 / ratio.Lo}
		}
	}
	least, most := g.gains(ratio.Lo, ratio.Hi)
	e := gcmodel.Estimate{Value: g.gain(ratio.Value), Lo: least, Hi: most}
	if math.IsNaN(e.Value) || math.IsInf(e.Value, 0) {
		nan := math.NaN()
		return gcmodel.Estimate{Value: nan, Lo: nan, Hi: nan}
	}
	return e
}
