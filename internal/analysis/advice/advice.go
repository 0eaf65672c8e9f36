// Package advice says which of the settings of a run to choose: what is offered, at which price, and what
// speaks against it. The rule is in doc/method/verdicts.md.
//
// It owns the decision, as values with a kind; the verdicts are package compare's, the words package words'.
package advice

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/leak"
)

// An Advice says which setting of a service to choose, by the rule in doc/method/verdicts.md.
// Secondary metrics have no say: who changes a setting for them knows why.
type Advice struct {
	Kind    Kind     `json:"kind"`
	Text    string   `json:"text,omitempty"`     // in words; package words has them
	Lacks   []Lack   `json:"lacks,omitempty"`    // why there is none
	Choices []Choice `json:"settings,omitempty"` // those that changed, in the order in which they are to be told

	AllBreak bool `json:"all-break,omitempty"` // all settings break the thresholds that the baseline breaks
}

// An Kind is what an advice comes to.
type Kind string

const (
	None    Kind = "none"         // the run lacks something that may speak against a setting
	Choose  Kind = "choose"       // the first choice: it gains, and costs nothing, or little beside that
	Allowed Kind = "allowed"      // the first choice: it keeps all thresholds, and the baseline breaks one
	Broken  Kind = "broken"       // the baseline breaks a threshold, and no setting surely keeps all
	Mend    Kind = "mend"         // the first choice has not what is wrong with the baseline
	Wait    Kind = "wait"         // the first choice gains, but what it costs is not settled
	Trade   Kind = "trade-off"    // choices have a price that one could pay
	Keep    Kind = "keep"         // the baseline: no other setting is worth its price
	Unclear Kind = "unclear"      // settings are worse in something, but most comparisons are unclear
	Nothing Kind = "nothing"      // no setting is shown to be better or worse
	Same    Kind = "same"         // no setting differs
	Untold  Kind = "not-compared" // nothing could be compared
)

// A Lack is what a run lacks for an advice.
type Lack struct {
	Kind LackKind `json:"kind"`
	N    int      `json:"n,omitempty"` // trials: run, or saturated
	Of   int      `json:"of,omitempty"`
}

// A LackKind is why there is no advice.
type LackKind string

const (
	LackApart     LackKind = "separate"  // the runs are of different times
	LackPlanned   LackKind = "partial"   // N of Of planned trials were run
	LackSaturated LackKind = "saturated" // in N trials the generator may have been the limit
)

// A Choice is one setting beside the baseline, as an advice sees it.
type Choice struct {
	Setting int         `json:"-"`       // place in Table.Settings
	Name    string      `json:"setting"` // of it
	Kind    ChoiceKind  `json:"kind"`
	Gain    string      `json:"gain,omitempty"`       // the metric that gains most; "" if none does
	Price   string      `json:"price,omitempty"`      // the metric that costs most; "" if none does
	More    int         `json:"more-worse,omitempty"` // further primary metrics that are worse
	Against []Objection `json:"against,omitempty"`
	Mends   []Objection `json:"mends,omitempty"` // that the baseline has, and this setting has not
	Risks   []Risk      `json:"risks,omitempty"`
	stand   Stand
	dubious bool // what is unclear costs more than it gains, as far as it was measured
}

// A ChoiceKind is what a setting is worth.
type ChoiceKind string

const (
	ChoiceGain  ChoiceKind = "gain"  // better in something, at no price or one that anybody would pay, and nothing speaks against it
	ChoiceMends ChoiceKind = "mends" // the baseline has a fault that it has not: it leaks, or requests or trials fail
	ChoiceRisk  ChoiceKind = "risk"  // it gains, but Against is not settled; or it costs nothing, but by its Risks may
	ChoiceTrade ChoiceKind = "trade" // its price is payable
	ChoiceDear  ChoiceKind = "dear"  // its price is not
	ChoiceBar   ChoiceKind = "bar"   // Against has what rules it out
	ChoiceWorse ChoiceKind = "worse" // better in nothing
	ChoiceNone  ChoiceKind = ""      // nothing is shown
)

// An Objection is what speaks against a setting, beside its verdicts.
type Objection struct {
	Kind       ObjectionKind    `json:"kind"`
	Metrics    []string         `json:"metrics,omitempty"`
	Thresholds []dyno.Threshold `json:"-"`
	N          int              `json:"n,omitempty"` // trials that failed
	All        bool             `json:"all,omitempty"`
}

// An ObjectionKind is what an objection is about.
type ObjectionKind string

const (
	ObjectBreaks   ObjectionKind = "breaks"    // Thresholds
	ObjectFails    ObjectionKind = "failures"  // more requests, as FailedMore counts
	ObjectLeaks    ObjectionKind = "leaks"     // memory, and the other does not
	ObjectCrashes  ObjectionKind = "crashes"   // N trials failed, or All, and none of the other
	ObjectMayBreak ObjectionKind = "may-break" // Thresholds: the trials cannot tell
	ObjectLacks    ObjectionKind = "lacks"     // Metrics, in some trials
)

// Final reports whether an objection rules a setting out, rather than leave it open.
func (o *Objection) Final() bool { return o.Kind != ObjectMayBreak && o.Kind != ObjectLacks }

// A Risk is an unclear metric that may be worse by more than the bearable 5 %.
type Risk struct {
	Metric string      `json:"metric"`
	Worst  dyno.Number `json:"worst"` // end of the ratio's interval on the worse side; NaN if it has none
	More   int         `json:"-"`     // blocks that would settle it; math.MaxInt if that cannot be said
	size   float64
}

// Of advises on the choice between the settings of a service; nil if there is nothing to compare, or
// nothing to choose, as the settings differ in their load alone.
func Of(t *compare.Table) *Advice {
	if t.Kind == compare.OfBenchmarks || t.Trials == 0 || len(t.Settings) < 2 || t.Settings[0].Trials == 0 || loadsDiffer(t) {
		return nil
	}
	if lacks := lacks(t); lacks != nil {
		return &Advice{Kind: None, Lacks: lacks}
	}
	a := &Advice{}
	unclear, same, untold, all := 0, 0, 0, 0
	for i := 1; i < len(t.Settings); i++ {
		c := ChoiceOf(t, i)
		unclear, same, untold = unclear+len(c.stand.Unclear), same+len(c.stand.Same), untold+len(c.stand.Untold)
		all += len(c.stand.Unclear) + len(c.stand.Same) + len(c.stand.Better) + len(c.stand.Worse)
		a.Choices = append(a.Choices, c)
	}
	if ths := broken(t, 0, compare.Failed); ths != nil && !slices.ContainsFunc(a.Choices, func(c Choice) bool { return !breaksAll(t, c.Setting, ths) }) {
		a.AllBreak = true // so thresholds do not help to choose
	} else if ths != nil {
		return allowed(t, a)
	}
	a.Choices = slices.DeleteFunc(a.Choices, func(c Choice) bool { return c.Kind == ChoiceNone })
	slices.SortStableFunc(a.Choices, compareChoices)
	a.Choices = undominated(t, a.Choices)
	first := func(kinds ...ChoiceKind) bool { return len(a.Choices) > 0 && slices.Contains(kinds, a.Choices[0].Kind) }
	switch {
	case first(ChoiceGain):
		a.Kind = Choose
	case first(ChoiceMends):
		a.Kind = Mend
	case first(ChoiceRisk):
		a.Kind = Wait
	case first(ChoiceTrade):
		a.Kind = Trade
	case first(ChoiceWorse) && 2*unclear > all && slices.ContainsFunc(a.Choices, func(c Choice) bool { return c.hopeful(t) }):
		a.Kind = Unclear
	case first(ChoiceDear, ChoiceBar, ChoiceWorse):
		a.Kind = Keep
	case unclear == 0 && same == 0:
		a.Kind = Untold
	case unclear == 0 && untold == 0:
		a.Kind = Same
	default:
		a.Kind = Nothing
	}
	return a
}

// loadsDiffer reports whether the settings differ in their load alone. Users send the load; who runs the service cannot choose it.
func loadsDiffer(t *compare.Table) (differ bool) {
	for _, s := range t.Settings[1:] {
		for _, l := range s.Setting {
			switch {
			case slices.Contains(t.Settings[0].Setting, l):
			case strings.HasPrefix(l.Factor, "load."):
				differ = true
			default:
				return false
			}
		}
	}
	return differ
}

// Recommended is the setting to choose in place of the baseline; nil if there is none.
func Recommended(t *compare.Table) dyno.Setting {
	if a := Of(t); a != nil && (a.Kind == Choose || a.Kind == Allowed) {
		return t.Settings[a.Choices[0].Setting].Setting
	}
	return nil
}

func lacks(t *compare.Table) (ls []Lack) {
	if t.Separate {
		ls = append(ls, Lack{Kind: LackApart})
	}
	if done := t.Ran(); done < t.Planned {
		ls = append(ls, Lack{Kind: LackPlanned, N: done, Of: t.Planned})
	}
	saturated := 0
	for i := range t.Settings {
		saturated += len(t.Settings[i].Saturated)
	}
	if saturated > 0 {
		ls = append(ls, Lack{Kind: LackSaturated, N: saturated})
	}
	return ls
}

// ChoiceOf is what a setting is worth beside the baseline.
func ChoiceOf(t *compare.Table, i int) Choice {
	d := StandOf(t, i)
	c := Choice{Setting: i, Name: t.Settings[i].Setting.String(), Gain: d.gain, Price: d.price, More: max(len(d.Worse)-1, 0), stand: d}
	c.Against, c.Risks, c.Mends = against(t, &d), risks(t, &d), faults(t, 0, i)
	switch {
	case slices.ContainsFunc(c.Against, func(o Objection) bool { return o.Final() }):
		c.Kind = ChoiceBar
	case c.Mends != nil && c.Against == nil:
		c.Kind = ChoiceMends
	case len(d.Better) == 0 && len(d.Worse) > 0:
		c.Kind = ChoiceWorse
	case len(d.Better) == 0:
		c.Against, c.Risks = nil, nil
	case len(d.Worse) > 0 && !d.payable():
		c.Kind = ChoiceDear
	case c.Against != nil:
		c.Kind = ChoiceRisk
	case d.bargain(c.Risks):
		c.Kind = ChoiceGain
	case len(d.Worse) > 0:
		c.Kind = ChoiceTrade
	default:
		c.Kind = ChoiceRisk
	}
	measured := d
	for _, r := range c.Risks {
		size := compare.Magnitude(t.Settings[i].Versus[r.Metric].Ratio)
		measured.worse[classOf(r.Metric)] = max(measured.worse[classOf(r.Metric)], size)
	}
	c.dubious = c.Kind == ChoiceRisk && c.Risks != nil && measured.net() < 0
	return c
}

// hopeful reports whether a setting that is worse could be worth its price, if all that is unclear came out at its best.
func (c *Choice) hopeful(t *compare.Table) bool {
	d := c.stand
	for _, name := range d.Unclear {
		x := t.Settings[d.At].Versus[name]
		m, _ := dyno.MetricByName(name)
		best := x.Lo
		if m.Better > 0 {
			best = x.Hi
		}
		if better := m.Better < 0 && best < 1 || m.Better > 0 && best > 1; better || math.IsNaN(best) {
			d.better[classOf(name)] = max(d.better[classOf(name)], compare.Magnitude(best))
		}
	}
	return d.payable()
}

// undominated leaves out offers for which another is as good, at a price that is surely lower.
func undominated(t *compare.Table, cs []Choice) []Choice {
	return slices.DeleteFunc(slices.Clone(cs), func(c Choice) bool {
		return c.Kind == ChoiceTrade && slices.ContainsFunc(cs, func(o Choice) bool {
			if o.Kind != ChoiceTrade || o.Setting == c.Setting || o.Gain != c.Gain || o.Price != c.Price {
				return false
			}
			of := func(c Choice, metric string) (lo, hi float64) { // how much it changes, by its interval
				x := t.Settings[c.Setting].Versus[metric]
				a, b := compare.Magnitude(x.Lo), compare.Magnitude(x.Hi)
				return min(a, b), max(a, b)
			}
			_, other := of(o, c.Gain)
			price, _ := of(c, c.Price)
			_, lower := of(o, c.Price)
			return compare.Magnitude(t.Settings[c.Setting].Versus[c.Gain].Ratio) <= other && lower < price
		})
	})
}

// compareChoices puts the more useful choice first. The kind counts first. Then counts what a gain leaves after its price, then how many
// metrics are better, how many are unclear, and the gain.
func compareChoices(a, b Choice) int {
	kinds := []ChoiceKind{ChoiceGain, ChoiceMends, ChoiceRisk, ChoiceTrade, ChoiceDear, ChoiceBar, ChoiceWorse}
	open := func(c Choice) int { return min(len(c.Against), 1) } // whose risks more blocks may settle come first
	place := func(c Choice) int {
		if c.Kind == ChoiceRisk && c.dubious { // it hides no trade-off
			return slices.Index(kinds, ChoiceTrade) + 1
		}
		return slices.Index(kinds, c.Kind)
	}
	if by := cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(open(a), open(b))); by != 0 {
		return by
	}
	if a.Kind == ChoiceGain || a.Kind == ChoiceTrade {
		if by := cmp.Compare(b.stand.net(), a.stand.net()); by != 0 {
			return by
		}
	}
	return cmp.Or(cmp.Compare(len(a.stand.Worse), len(b.stand.Worse)), cmp.Compare(len(b.stand.Better), len(a.stand.Better)), cmp.Compare(len(a.stand.Unclear), len(b.stand.Unclear)),
		cmp.Compare(b.stand.total, a.stand.total))
}

// allowed advises where the baseline breaks a threshold: a setting that keeps all of them is to be
// chosen, whatever else it costs, the one that costs least for what it gains first.
func allowed(t *compare.Table, a *Advice) *Advice {
	keeps := slices.DeleteFunc(slices.Clone(a.Choices), func(c Choice) bool {
		return t.Settings[c.Setting].Trials == 0 || against(t, &c.stand) != nil
	})
	a.Kind, a.Choices = Broken, nil
	if len(keeps) > 0 {
		slices.SortStableFunc(keeps, func(a, b Choice) int { return cmp.Compare(b.stand.net(), a.stand.net()) })
		a.Kind, a.Choices = Allowed, keeps
	}
	return a
}

// Breaks are the thresholds that a setting breaks.
func Breaks(t *compare.Table, i int) []dyno.Threshold { return broken(t, i, compare.Failed) }

// broken are the thresholds of a setting with an outcome; those that only lack data are not among them.
func broken(t *compare.Table, i int, is compare.Outcome) (ths []dyno.Threshold) {
	for _, j := range t.Thresholds {
		if j.Setting == i && j.Outcome == is && !j.NoData && !slices.Contains(ths, j.Threshold) {
			ths = append(ths, j.Threshold)
		}
	}
	return ths
}

// against is what speaks against a setting, beside its verdicts.
func against(t *compare.Table, d *Stand) (os []Objection) {
	s, base := &t.Settings[d.At], &t.Settings[0]
	ths := broken(t, d.At, compare.Failed)
	then := broken(t, 0, compare.Failed)
	if ths = slices.DeleteFunc(ths, func(th dyno.Threshold) bool { return slices.Contains(then, th) }); len(ths) > 0 {
		os = append(os, Objection{Kind: ObjectBreaks, Thresholds: ths})
	}
	os = append(os, faults(t, d.At, 0)...)
	if ths := broken(t, d.At, compare.Unclear); ths != nil {
		os = append(os, Objection{Kind: ObjectMayBreak, Thresholds: ths})
	}
	var lacking []string
	for _, m := range t.Rows {
		now, then := s.Values[m.Name].Trials, base.Values[m.Name].Trials
		if m.Primary && len(now)+len(then) > 0 && (len(now) < s.Trials || len(then) < base.Trials || slices.Contains(d.Untold, m.Name)) {
			lacking = append(lacking, m.Name)
		}
	}
	if lacking != nil {
		os = append(os, Objection{Kind: ObjectLacks, Metrics: lacking})
	}
	return os
}

// breaksAll reports whether a setting breaks all of some thresholds.
func breaksAll(t *compare.Table, i int, ths []dyno.Threshold) bool {
	breaks := broken(t, i, compare.Failed)
	return !slices.ContainsFunc(ths, func(th dyno.Threshold) bool { return !slices.Contains(breaks, th) })
}

// faults are those of a setting that another has not: trials that failed, requests that failed, a leak.
func faults(t *compare.Table, i, other int) (os []Objection) {
	if n := len(t.FailedOf(i)); n > 0 && len(t.FailedOf(other)) == 0 {
		os = append(os, Objection{Kind: ObjectCrashes, N: n, All: t.Settings[i].Trials == 0})
	}
	if _, _, _, often := failedMore(t, i, other); often {
		os = append(os, Objection{Kind: ObjectFails})
	}
	leaks := func(s *compare.Setting) bool {
		return s.Leak != nil && (s.Leak.Memory != nil && s.Leak.Memory.Verdict == leak.Leaking || s.Leak.Outside != nil && s.Leak.Outside.Verdict == leak.Leaking)
	}
	if leaks(&t.Settings[i]) && !leaks(&t.Settings[other]) {
		os = append(os, Objection{Kind: ObjectLeaks})
	}
	return os
}

// risks are the unclear metrics that may be worse by more than the bearable, the greatest first.
func risks(t *compare.Table, d *Stand) (all []Risk) {
	for _, name := range d.Unclear {
		x := t.Settings[d.At].Versus[name]
		r := Risk{Metric: name, Worst: dyno.Number(math.NaN()), More: cmp.Or(x.MoreBlocks, math.MaxInt)}
		m, _ := dyno.MetricByName(name)
		switch {
		case m.Better < 0 && !math.IsNaN(x.Hi):
			r.Worst = dyno.Number(x.Hi)
		case m.Better > 0 && x.Lo > 0:
			r.Worst = dyno.Number(x.Lo)
		}
		r.size = compare.Magnitude(float64(r.Worst))
		if r.size > math.Log1p(float64(Bearable)) && !(m.Better < 0 && r.Worst < 1) && !(m.Better > 0 && r.Worst > 1) {
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(a, b Risk) int { return cmp.Compare(b.size, a.size) })
	return all
}

// The classes of metrics whose changes are weighed against each other.
const (
	ofTime = iota // response times and throughput, which are one thing in a closed loop, and all else
	ofCPU         // and what else a request takes
	ofMemory
	classes
)

// weights are what a rise counts in the rule. One per cent of memory is worth between 1/8 and 1 per cent of
// time or CPU time: tune takes 1/2 (tune.DefaultPrice), and machines and budgets differ.
var weights = [classes]float64{ofTime: 1, ofCPU: 1, ofMemory: 0.25}

// leastWorth is what a fall is worth at least, to [Stand.bargain].
var leastWorth = [classes]float64{ofTime: 1, ofCPU: 1, ofMemory: 0.125}

const (
	mostForGain = 2 // times the gain that anybody would want, to [Stand.bargain]
	mostRise    = 4 // times as much of anything that one could pay
)

// mostWorth is what a fall is worth at most, to [Stand.payable].
var mostWorth = [classes]float64{ofTime: 2, ofCPU: 2, ofMemory: 1}

func classOf(metric string) int {
	switch {
	case strings.HasSuffix(metric, "-B"):
		return ofMemory
	case strings.HasSuffix(metric, "/req"):
		return ofCPU
	}
	return ofTime
}

// payable reports whether a sensible person could pay for a gain: the greatest rise of each class, memory
// counted a quarter, is in sum at most what the greatest gains are worth, and none is more than mostRise times.
func (d *Stand) payable() bool {
	return slices.Max(d.worse[:]) <= math.Log(mostRise) && d.net() >= 0
}

// bargain reports whether anybody would take a gain, even if all that is unclear came out at its worst: here
// the gain is worth its least, and the price its most.
func (d *Stand) bargain(risks []Risk) bool {
	worst := d.worse
	for _, r := range risks {
		worst[classOf(r.Metric)] = max(worst[classOf(r.Metric)], r.size)
	}
	gain, price := 0.0, 0.0
	for class, w := range leastWorth {
		gain, price = gain+w*d.better[class], price+mostForGain*worst[class]
	}
	return slices.Max(worst[:]) <= math.Log(mostRise) && price <= gain
}

// net is the greatest worth of the gain, less the price. Shorter response times are no gain where throughput falls: fewer requests
// were answered.
func (d *Stand) net() (left float64) {
	for class, w := range weights {
		if class != ofTime || !slices.Contains(d.Worse, "req/s") {
			left += mostWorth[class] * d.better[class]
		}
		left -= w * d.worse[class]
	}
	return left
}
