package probe

import (
	"slices"
	"time"

	"github.com/dynolab/dyno"
)

// points takes the points of a probe's series as they are read.
type points struct {
	sample func(metric string, at time.Duration, v float64) // Target.Sample
	list   []dyno.Series                                    // for the Reading, where sample is nil
}

// add takes a point; the series of a metric begins with its first.
func (p *points) add(metric string, at time.Duration, v float64) {
	if p.sample != nil {
		p.sample(metric, at, v)
		return
	}
	i := slices.IndexFunc(p.list, func(s dyno.Series) bool { return s.Metric == metric })
	if i < 0 {
		i = len(p.list)
		p.list = append(p.list, dyno.Series{Metric: metric})
	}
	s := &p.list[i]
	s.At, s.Value = append(s.At, at), append(s.Value, v)
}
