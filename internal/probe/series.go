package probe

import (
	"slices"
	"time"

	"github.com/dynolab/dyno"
)

// Points takes a probe's points as they are read.
type Points struct {
	Sample func(metric string, at time.Duration, v float64) // Target.Sample
	List   []dyno.Series                                    // for the Reading, where sample is nil
}

// Add adds a point, in the metric's base unit, at a time since the window began.
func (p *Points) Add(metric string, at time.Duration, v float64) {
	if p.Sample != nil {
		p.Sample(metric, at, v)
		return
	}
	i := slices.IndexFunc(p.List, func(s dyno.Series) bool { return s.Metric == metric })
	if i < 0 {
		i = len(p.List)
		p.List = append(p.List, dyno.Series{Metric: metric})
	}
	s := &p.List[i]
	s.At, s.Value = append(s.At, at), append(s.Value, v)
}
