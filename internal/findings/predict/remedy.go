package predict

import (
	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/gcmodel"
	"github.com/dynolab/dyno/internal/store"
)

// A Remedy is a GOGC with which a metric that got worse is predicted to be what it was.
type Remedy struct {
	Metric string
	GOGC   float64
	Memory gcmodel.Estimate // peak memory as a ratio to what it was before
	CPU    gcmodel.Estimate // CPU time of a request, likewise
	Doubts []gcmodel.Doubt
	Group  string // as Options have it
}

// RemedyOf predicts from the run in a directory, of the setting in it that got worse. changed are the ratios of the metrics to what they
// were before, as measured; NaN if not known. It is nil if metric is "", no GOGC is predicted to help, or nothing can be predicted.
func RemedyOf(dir string, worse dyno.Setting, metric string, changed func(metric string) float64) *Remedy {
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

func (s *Source) remedy(m Model, metric string, changed func(metric string) float64) *Remedy {
	now := s.Pooled[0].Setting
	today := m.Predict(now)
	for _, gogc := range remedies(metric, now.GOGC) {
		p := m.Predict(gcmodel.Setting{GOGC: gogc, Limit: now.Limit})
		if p.Spiral {
			break
		}
		ratio := func(of, to gcmodel.Estimate, metric string) gcmodel.Estimate {
			by := changed(metric) / to.Value
			return gcmodel.Estimate{Value: by * of.Value, Lo: by * of.Lo, Hi: by * of.Hi}
		}
		r := &Remedy{metric, gogc, ratio(p.RSSPeak, today.RSSPeak, memory), ratio(p.CPU, today.CPU, cpu), p.Doubts, s.Group}
		if metric == memory && r.Memory.Value <= 1 || metric == cpu && r.CPU.Value <= 1 {
			return r
		}
	}
	return nil
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
