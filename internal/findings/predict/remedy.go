package predict

import (
	"math"
	"slices"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/gcmodel"
	"github.com/dynolab/dyno/internal/store"
)

// A Remedy is a GOGC with which a metric that got worse is predicted to be what it was, or better.
type Remedy struct {
	Metric string
	GOGC   float64
	Memory gcmodel.Estimate // peak memory as a ratio to what it was before; NaN if not known
	CPU    gcmodel.Estimate // CPU time of a request, likewise
	Doubts []gcmodel.Doubt
	Group  string // as Options have it
}

// RemedyOf predicts from the run in a directory. worse is the setting that has got worse, in a metric. changed returns how much a metric changed: the
// measured ratio to what it was before, with its interval; NaN if not known. The remedy is nil if metric is "", if nothing can be predicted, or if
// no GOGC surely makes the metric better than it is now.
func RemedyOf(dir string, worse dyno.Setting, metric string, changed func(metric string) (ratio, lo, hi float64)) *Remedy {
	if metric == "" {
		return nil
	}
	d, err := store.Read(dir)
	if err != nil {
		return nil
	}
	s, err := Read(d, Options{Group: groupOf(worse)})
	if err != nil {
		return nil
	}
	return s.remedy(s.Fit(), metric, changed)
}

func (s *Source) remedy(m Model, metric string, changed func(metric string) (ratio, lo, hi float64)) *Remedy {
	if slices.ContainsFunc(s.Notes, func(n Note) bool { return slices.Contains([]NoteKind{InForce, Implied, Changed}, n.Kind) }) {
		return nil // the program sets GOGC itself, so the variable may do nothing
	}
	now := s.Pooled[0].Setting
	today := m.Predict(now)
	worse, _, _ := changed(metric)
	for _, gogc := range remedies(metric, now.GOGC) {
		p := m.Predict(gcmodel.Setting{GOGC: gogc, Limit: now.Limit})
		if p.Spiral {
			break
		}
		r := &Remedy{metric, gogc, against(p.RSSPeak, today.RSSPeak, memory, changed), against(p.CPU, today.CPU, cpu, changed), p.Doubts, s.Group}
		back := r.Memory
		if metric == cpu {
			back = r.CPU
		}
		if back.Value <= 1 {
			if back.Hi < worse {
				return r
			}
			break // the model does not know this well enough
		}
	}
	return nil
}

// against is a prediction as a ratio to what the metric was before: the change that was measured, times that which is predicted. The errors of
// both add up as squares of logarithms.
func against(of, now gcmodel.Estimate, metric string, changed func(metric string) (ratio, lo, hi float64)) gcmodel.Estimate {
	ratio, lo, hi := changed(metric)
	value := ratio * of.Value / now.Value
	return gcmodel.Estimate{
		Value: value,
		Lo:    value * math.Exp(-math.Hypot(math.Log(of.Value/of.Lo), math.Log(ratio/lo))),
		Hi:    value * math.Exp(math.Hypot(math.Log(of.Hi/of.Value), math.Log(hi/ratio))),
	}
}

const (
	memory = "rss-peak-B"
	cpu    = "cpu-sec/req"
)

// remedies are values of GOGC that may help, the nearest first: less than now for memory, more for CPU time.
func remedies(metric string, now float64) (all []float64) {
	const step, least, most = 5, 20, 400
	switch {
	case now == gcmodel.Off:
	case metric == memory:
		for g := now - step; g >= least; g -= step {
			all = append(all, g)
		}
	case metric == cpu:
		for g := now + step; g <= most; g += step {
			all = append(all, g)
		}
	}
	return all
}
