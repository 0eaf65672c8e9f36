package tune

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/gcmodel"
)

// A Candidate is a setting that may be measured, with its prediction.
type Candidate struct {
	Setting    dyno.Setting
	Collector  gcmodel.Setting     // what it tells the collector
	Axis       string              // what it changes that is not the collector's, see Extra; "" if nothing
	Ratio      float64             // its limit as a share of Problem.Reserved; 0 without one
	Prediction *gcmodel.Prediction // nil if the model says nothing of it
	Gain       gcmodel.Estimate    // of the goal against today's, as a fraction; NaN if it is not known
	Breaks     bool                // a constraint does not hold in all of its predicted interval
	Strained   bool                // a constraint does not hold by its predicted value
	Tight      bool                // in reserved memory, a live heap that is larger by a quarter has no room
	Chosen     Stage               // in which it was to be measured; "" if in none
}

// The settings that are predicted. A grid finer than that tells nothing: 20 % of GOGC is less than what two
// runs differ by.
var (
	gogcs  = []float64{15, 20, 25, 30, 35, 40, 50, 60, 70, 85, 100, 120, 140, 170, 200, 240, 280, 340, 400, 480, 560, 680, 800, 960, 1120, 1360, 1600}
	ratios = []float64{0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95}
)

// CommonRatios are what projects set GOMEMLIMIT to, as shares of a container's limit.
var CommonRatios = []float64{0.7, 0.8, 0.9, 0.95}

// grid lists the settings that are predicted, without today's. With a limit GOGC is off only where memory is reserved:
// else a neighbour that takes it turns the limit into a spiral or worse.
func (p *Problem) grid() (cs []*Candidate) {
	add := func(gogc, limit, ratio float64) {
		levels := dyno.Setting{{Factor: "GOGC", Value: spellGOGC(gogc)}}
		if limit != p.Collector.Limit {
			levels = append(levels, dyno.Level{Factor: "GOMEMLIMIT", Value: spellLimit(limit)})
		}
		c := &Candidate{Setting: With(p.Today, levels...), Ratio: ratio, Collector: gcmodel.Setting{GOGC: gogc, Limit: limit}}
		same := func(x *Candidate) bool { return x.Setting.String() == c.Setting.String() }
		if i := slices.IndexFunc(cs, same); i >= 0 {
			cs[i].Ratio = ratio
		} else if c.Setting.String() != p.Today.String() {
			cs = append(cs, c)
		}
	}
	for _, gogc := range gogcs {
		add(gogc, p.Collector.Limit, 0)
	}
	if p.Reserved == 0 {
		return cs
	}
	if p.Collector.Limit > 0 {
		for _, gogc := range gogcs {
			add(gogc, 0, 0)
		}
	}
	for _, ratio := range ratios {
		limit := LimitOf(ratio, p.Reserved)
		if limit == 0 {
			continue
		}
		beside := []float64{200, 400, gcmodel.Off}
		if !slices.Contains(beside, p.Collector.GOGC) {
			beside = append(beside, p.Collector.GOGC)
		}
		for _, gogc := range beside {
			add(gogc, limit, ratio)
		}
	}
	return cs
}

// LimitOf is a share of reserved memory as a limit: whole MiB.
func LimitOf(ratio, reserved float64) float64 {
	return math.Round(ratio*reserved/gcmodel.MiB) * gcmodel.MiB
}

func spellGOGC(gogc float64) string {
	if math.IsInf(gogc, 1) {
		return "off"
	}
	return strconv.FormatFloat(gogc, 'f', -1, 64)
}

func spellLimit(bytes float64) string {
	if bytes == 0 {
		return "off"
	}
	return dyno.Size(bytes).String()
}

// With is a setting with levels added, or in the place of its own of these factors.
func With(s dyno.Setting, levels ...dyno.Level) dyno.Setting {
	s = slices.Clone(s)
	for _, l := range levels {
		if i := slices.IndexFunc(s, func(x dyno.Level) bool { return x.Factor == l.Factor }); i >= 0 {
			if l.Factor == "build" {
				l.Value = s[i].Value + " " + l.Value
			}
			s[i] = l
		} else {
			s = append(s, l)
		}
	}
	return s
}

// predict lists the candidates with what a model expects of them, the best first, and what it expects of today's. A nil model
// expects nothing.
func (o *Outcome) predict(m Model) (cs []*Candidate, today gcmodel.Prediction) {
	cs = o.grid()
	nan := math.NaN()
	if m == nil {
		for _, c := range cs {
			c.Gain = gcmodel.Estimate{Value: nan, Lo: nan, Hi: nan}
		}
		return cs, today
	}
	today = m.Predict(o.Collector)
	for _, c := range cs {
		p := m.Predict(c.Collector)
		c.Prediction, c.Gain = &p, o.Goal.expected(&p, &today)
		for _, t := range o.Limits() {
			o.strain(c, t, &today)
		}
		if o.Reserved > 0 {
			larger := c.Collector
			larger.Live = grown
			x := m.Predict(larger)
			c.Tight = x.Spiral || larger.Limit == 0 && x.RSSPeak.Value > o.Reserved
		}
	}
	slices.SortStableFunc(cs, func(a, b *Candidate) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), -cmp.Compare(a.Gain.Value, b.Gain.Value))
	})
	return cs, today
}

// roomy is the share of reserved memory that a setting may take at its peak. More leaves no room for an hour that is worse
// than those that were measured, and beyond all of it the service is killed.
const roomy = 0.95

// grown is by how much a live heap grows in an ordinary year, as a factor: who tunes for today alone is killed then.
const grown = 1.25

// Limits are the constraints, with that of reserved memory.
func (p *Problem) Limits() []dyno.Threshold {
	if p.Reserved == 0 {
		return p.Constraints
	}
	most := math.Floor(roomy*p.Reserved/gcmodel.MiB) * gcmodel.MiB
	return append(slices.Clip(p.Constraints), dyno.Threshold{Name: "rss_peak", Op: "<", Literal: spellLimit(most)})
}

// strain notes whether a candidate can keep a constraint, by its prediction.
func (o *Outcome) strain(c *Candidate, t dyno.Threshold, today *gcmodel.Prediction) {
	m, limit, err := t.Of(o.Others)
	if err != nil || m.Name == "gc-cycles" { // whose prediction is of one request
		return
	}
	e, ok := predicted(c.Prediction, m.Name)
	if base, _ := predicted(today, m.Name); t.Change {
		e = over(e, base.Value)
		limit++
	}
	if !ok || math.IsNaN(e.Value) {
		return
	}
	c.Strained = c.Strained || !t.Holds(e.Value, limit)
	c.Breaks = c.Breaks || !t.Holds(e.Lo, limit) && !t.Holds(e.Hi, limit)
}

// Risks of candidates, the least first.
const (
	riskNone = iota
	riskDoubt
	riskCliff
	riskSpiral
)

// risk is how doubtful the prediction of a candidate is, beside doubts that all have in common.
func (c *Candidate) risk() int {
	p := c.Prediction
	has := func(ds ...gcmodel.Doubt) bool {
		return slices.ContainsFunc(ds, func(d gcmodel.Doubt) bool { return slices.Contains(p.Doubts, d) })
	}
	switch {
	case p == nil:
		return riskNone
	case p.Spiral:
		return riskSpiral
	case has(gcmodel.NearCliff):
		return riskCliff
	case c.Tight, has(gcmodel.FarAway, gcmodel.MuchGC):
		return riskDoubt
	}
	return riskNone
}

// rank is the order of candidates before that by gain.
func rank(c *Candidate) int {
	n := c.risk()
	if c.Strained {
		n += 4
	}
	if c.Breaks {
		n += 8
	}
	return n
}

// Two candidates that are measured differ by so much in peak memory, as logarithms, or they would be one question asked twice.
const (
	apart        = 0.2
	apartLimited = 0.06
)

// choose takes the most promising candidates, which are in the order of rank and gain. What is doubtful is taken only if less
// than two others may be better than today's, and what is near the cliff only if today's is, too; what is known to
// break a constraint or to be a spiral, never.
func choose(cs []*Candidate, most int, today *gcmodel.Prediction) (chosen []*Candidate) {
	if len(cs) > 0 && !slices.ContainsFunc(cs, func(c *Candidate) bool { return !math.IsNaN(c.Gain.Value) }) {
		return unpredicted(cs, most)
	}
	take := func(wanted func(*Candidate) bool) {
		for _, c := range cs {
			if len(chosen) < most && !c.Breaks && c.risk() < riskSpiral && !math.IsNaN(c.Gain.Value) && wanted(c) &&
				!slices.ContainsFunc(chosen, func(x *Candidate) bool { return near(c, x) }) {
				chosen = append(chosen, c)
			}
		}
	}
	take(func(c *Candidate) bool { return c.risk() == riskNone && !c.Strained && c.Gain.Value > 0 })
	if len(chosen) >= 2 {
		return chosen
	}
	most = min(most, 2)
	dared := max(riskDoubt, min((&Candidate{Prediction: today}).risk(), riskCliff))
	take(func(c *Candidate) bool { return c.risk() <= dared && !c.Strained && c.Gain.Hi > 0 })
	take(func(c *Candidate) bool { return c.risk() <= dared && c.Gain.Hi > 0 })
	take(func(c *Candidate) bool { return c.risk() <= riskDoubt }) // none may be better: so that this is measured
	return chosen
}

// near reports whether two candidates are much alike.
func near(a, b *Candidate) bool {
	least := apart
	if a.Prediction.Limited || b.Prediction.Limited {
		least = apartLimited
	}
	d := math.Abs(math.Log(a.Prediction.RSSPeak.Value / b.Prediction.RSSPeak.Value))
	if math.IsNaN(d) {
		d = math.Abs(math.Log(a.Collector.GOGC / b.Collector.GOGC))
	}
	return d < least
}

// unpredicted are settings to try where nothing is predicted, with today's limit: the cliff of others is not known.
func unpredicted(cs []*Candidate, most int) (chosen []*Candidate) {
	for _, gogc := range []float64{200, 50, 400, 100} {
		for _, c := range cs {
			if c.Collector.GOGC == gogc && c.Ratio == 0 && !slices.ContainsFunc(c.Setting, lifted) && len(chosen) < most {
				chosen = append(chosen, c)
			}
		}
	}
	return chosen
}

// lifted is the level that takes today's limit away.
func lifted(l dyno.Level) bool { return l.Factor == "GOMEMLIMIT" && l.Value == "off" }
