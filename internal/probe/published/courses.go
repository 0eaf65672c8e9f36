package published

import (
	"math"
	"slices"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/probe"
)

type number struct {
	name  string
	value float64
	use   use
}

// A use says what becomes of a number over the window: names of metrics, or "".
type use struct {
	mean, most  string // of the samples
	last, grown string // at the end of the window; and by how much it is more than at the beginning
	series      string // of the samples or, of a number with grown, of its growth per second
	own         bool   // the names are the service's own, not those of dyno.Metrics
}

type published struct {
	points  probe.Points
	courses []*course     // in the order in which they were seen first
	at      time.Duration // of the latest page
	fell    bool          // a counter of the runtime was less than before: another process answers
}

type course struct {
	number               // the latest
	at     time.Duration // of it
	first  float64
	most   float64
	sum    float64
	n      int
	fell   bool // what should only grow was less than before
}

func (p *published) sample(at time.Duration, numbers []number) {
	for _, n := range numbers {
		if math.IsNaN(n.value) || math.IsInf(n.value, 0) {
			continue
		}
		c := p.course(n)
		if c == nil {
			continue
		}
		if n.use.grown != "" && n.value < c.value {
			c.fell = true
			p.fell = p.fell || !n.use.own
		}
		sec := (at - c.at).Seconds()
		switch {
		case c.use.grown == "" && c.use.series != "":
			p.points.Add(c.use.series, at, n.value)
		case c.use.grown == "":
		case at == 0:
			c.first = n.value
		case sec > 0 && n.value >= c.value && c.use.series != "":
			p.points.Add(c.use.series, at, (n.value-c.value)/sec)
		}
		c.value, c.at, c.most, c.sum, c.n = n.value, at, max(c.most, n.value), c.sum+n.value, c.n+1
	}
	p.at = at
}

// mostCourses bounds what a service that goes on publishing new names makes dyno keep.
const mostCourses = 1024

// course finds a number's course or begins it; nil if there are too many. A counter that
// appears later was 0 until then.
func (p *published) course(n number) *course {
	for _, c := range p.courses {
		if c.name == n.name && c.use.own == n.use.own {
			return c
		}
	}
	if len(p.courses) == mostCourses {
		return nil
	}
	c := &course{number: n, at: p.at, most: math.Inf(-1)}
	c.value = 0
	p.courses = append(p.courses, c)
	return c
}

// reading sums up the window. Totals need its last page, and the same process throughout.
func (p *published) reading(whole bool) probe.Reading {
	r := probe.Reading{Series: p.points.List}
	if p.fell {
		r.Warnings.AddOf(dyno.WarnProbe, "counters", "the runtime's counters fell, as after a restart of the service: totals are left out (consider: the address of one process)")
	}
	for _, c := range p.courses {
		to := &r.Values
		if c.use.own {
			to = &r.Own
		}
		total := whole && !p.fell && !c.fell && c.at == p.at
		if c.fell && !p.fell {
			r.Warnings.AddOf(dyno.WarnMetric, c.name, "counter %s fell: its total is left out", c.name)
		}
		for _, v := range []struct {
			metric string
			value  float64
			known  bool
		}{
			{c.use.mean, c.sum / float64(c.n), true},
			{c.use.most, c.most, true},
			{c.use.last, c.value, total},
			{c.use.grown, c.value - c.first, total},
		} {
			if v.metric != "" && v.known {
				*to = append(*to, dyno.Value{Metric: v.metric, Value: v.value})
			}
		}
	}
	return r
}

func (p *published) has(name string) bool {
	return slices.ContainsFunc(p.courses, func(c *course) bool { return c.use.own && c.name == name })
}
