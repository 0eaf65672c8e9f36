// Package tune decides which settings of the garbage collector to measure next, by what a model predicts of them, and
// what to recommend when they are measured.
//
// It owns goals, candidates, the order of rounds and the verdict. It measures nothing and writes nothing: its caller
// does, by the functions of [Hands]. The model is package gcmodel's, sentences are package report/tuned's.
package tune

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/gcmodel"
)

// A Problem is a goal with its constraints.
type Problem struct {
	Today       dyno.Setting     // what runs today: has a level of GOGC
	Collector   gcmodel.Setting  // what Today tells the collector
	Goal        Goal             //
	Constraints []dyno.Threshold // what has to hold
	Others      []string         // metrics beside dyno.Metrics, as of dyno.Threshold.Of
	Reserved    float64          // bytes of memory that the service has for itself; 0: not known, so no limits are tried
	Margin      float64          // what a setting has to gain to be worth a change; 0 means DefaultMargin
	Most        int              // settings of the collector in the first round, 2 to 4; 0 means 3
	Try         []Extra          // settings of something else
}

// DefaultMargin is what a setting has to gain at least, as a fraction.
const DefaultMargin = 0.02

// An Extra is a level of another factor than the collector's, to try against today's.
type Extra struct {
	Axis   string       // "GOMAXPROCS", "pgo", "go", "GOEXPERIMENT"
	Levels dyno.Setting // that are added to today's, or replace its
}

// A Model predicts; *gcmodel.Model is one.
type Model interface {
	Predict(gcmodel.Setting) gcmodel.Prediction
	Cliff(gogc, live float64) float64
}

// A Stage is a part of a tuning, with a run of its own.
type Stage string

const (
	StageToday      Stage = "today"
	StageCandidates Stage = "candidates"
	StageMore       Stage = "more"
	StageHeadroom   Stage = "headroom"
)

// Measured is what came of a stage.
type Measured struct {
	Results []*dyno.Result
	Table   *compare.Table   // of Results; its first setting is the first that was asked for
	Windows []gcmodel.Window // for the model; none if collections are not known
}

// Hands do what this package does not.
type Hands struct {
	Fit func(ws []gcmodel.Window) Model // gcmodel.Fit; ws has one at least
	// Measure measures settings side by side, today's first; of StageToday it alone. enough says after a block of a run
	// that decides itself how many it takes whether more would change the verdict.
	Measure func(ctx context.Context, s Stage, settings []dyno.Setting, enough func(*compare.Table, []*dyno.Result) bool) (Measured, error)
	// Predicted is told what is predicted before the stage is measured. May be nil.
	Predicted func(s Stage, o *Outcome) error
}

// An Outcome has the results of a problem, more after every stage.
type Outcome struct {
	Problem
	Base       *compare.Table     // of StageToday
	Today      gcmodel.Prediction // of today's setting, by the first model
	Candidates []*Candidate       // what was predicted, by the first model; the best first
	Refitted   []*Candidate       // by the model of two settings or more, nil before
	Again      gcmodel.Prediction // of today's setting, by that model
	Rounds     []Round            // what was measured side by side
	Options    []*Option          // every setting that was measured against today's, in the order in which they were
	Untried    []*Candidate       // for which there was no time
	Best       *Option            // what is recommended; nil means today's
	Why        Why                // why it is, or today's stays
	Cliffs     []Cliff            // of the setting that is recommended, or today's
	Model      Model              // the last that was fitted; nil if nothing was known
}

// A Round is a stage with candidates.
type Round struct {
	Stage    Stage
	Settings []dyno.Setting // today's first
	Table    *compare.Table
	Alpha    float64 // error of each comparison with today's, two-sided
}

// A Cliff is the smallest GOMEMLIMIT under which a live heap can be collected without a spiral.
type Cliff struct {
	Live  float64          // factor of the live heap that was measured
	Limit float64          // bytes; NaN if it is not known
	RSS   gcmodel.Estimate // what the setting itself then takes at its peak, in bytes
}

// The errors of rounds, two-sided, over all their comparisons. What is recommended is only better, so that at most half
// of their sum are recommendations of what does not gain the margin.
const (
	firstError = 0.035
	moreError  = 0.015
)

// ErrNoTime is the error of a Measure that has no time for enough blocks. In StageMore, it ends the tuning
// with the results so far.
var ErrNoTime = errors.New("no time is left for another round")

// FewestBlocks is how many blocks a second round has to have time for: fewer are no proof of anything.
const FewestBlocks = 4

// Run tunes. With an error, which may be the context's, the outcome has the complete stages.
func Run(ctx context.Context, p Problem, h Hands) (*Outcome, error) {
	o := &Outcome{Problem: p}
	if p.Margin == 0 {
		o.Margin = DefaultMargin
	}
	base, err := h.Measure(ctx, StageToday, []dyno.Setting{p.Today}, nil)
	o.Base = base.Table
	if err != nil {
		return o, err
	}
	windows := base.Windows
	if len(windows) > 0 {
		o.Model = h.Fit(windows)
	}
	o.Candidates, o.Today = o.predict(o.Model)
	chosen := choose(o.Candidates, o.most(), &o.Today)
	for _, t := range p.Try {
		chosen = append(chosen, &Candidate{Setting: With(p.Today, t.Levels...), Axis: t.Axis, Collector: p.Collector})
	}
	if len(chosen) == 0 {
		o.conclude()
		return o, nil
	}
	found, err := o.round(ctx, h, StageCandidates, chosen, firstError)
	if err == nil && len(found.Windows) > 0 {
		windows = append(windows, found.Windows...)
		o.Model = h.Fit(windows)
		o.Refitted, o.Again = o.predict(o.Model)
		if more := o.more(); len(more) > 0 {
			if _, err = o.round(ctx, h, StageMore, more, moreError); errors.Is(err, ErrNoTime) {
				o.Untried, err = more, nil
			}
		}
	}
	o.conclude()
	return o, err
}

func (p *Problem) most() int {
	if p.Most == 0 {
		return 3
	}
	return min(max(p.Most, 2), 4)
}

// round measures candidates beside today's.
func (o *Outcome) round(ctx context.Context, h Hands, s Stage, chosen []*Candidate, alpha float64) (Measured, error) {
	for _, c := range chosen {
		c.Chosen = s
		for _, x := range o.Refitted {
			if x.Setting.String() == c.Setting.String() {
				x.Chosen = s
			}
		}
	}
	r := Round{Stage: s, Settings: []dyno.Setting{o.Problem.Today}, Alpha: alpha / float64(len(chosen))}
	for _, c := range chosen {
		r.Settings = append(r.Settings, c.Setting)
	}
	if h.Predicted != nil {
		if err := h.Predicted(s, o); err != nil {
			return Measured{}, err
		}
	}
	enough := func(t *compare.Table, rs []*dyno.Result) bool {
		r.Table = t
		return o.enough(t, o.options(&r, rs, chosen))
	}
	found, err := h.Measure(ctx, s, r.Settings, enough)
	if r.Table = found.Table; r.Table == nil || r.Table.Trials == 0 {
		return found, err
	}
	o.Rounds = append(o.Rounds, r)
	o.take(o.options(&r, found.Results, chosen))
	return found, err
}

// more are candidates for another round: those of which the model, fitted to what was measured, expects more by the
// margin than was measured of the best. The best of before is measured beside them.
func (o *Outcome) more() (chosen []*Candidate) {
	best := o.leading()
	gain, known := 0.0, map[string]bool{o.Problem.Today.String(): true}
	if best != nil {
		gain = best.Gain
	}
	for _, x := range o.Options {
		known[x.Setting.String()] = true
	}
	old := func(c *Candidate) bool { // by the same model
		return known[c.Setting.String()] || slices.ContainsFunc(o.Refitted, func(x *Candidate) bool { return known[x.Setting.String()] && near(x, c) })
	}
	var fresh []*Candidate
	for _, c := range o.Refitted {
		if c.Gain.Value > gain+o.Margin && c.risk() < riskDoubt && !c.Breaks && !c.Strained && !old(c) {
			fresh = append(fresh, c)
		}
	}
	if fresh = choose(fresh, 2, &o.Again); len(fresh) == 0 {
		return nil
	}
	if best != nil {
		again := *best.Candidate
		chosen = append(chosen, &again)
	}
	for _, c := range fresh { // what is said of it was predicted before anything else was measured
		again := *o.first(c)
		chosen = append(chosen, &again)
	}
	return chosen
}

// first is a candidate as the first model has it.
func (o *Outcome) first(c *Candidate) *Candidate {
	for _, x := range o.Candidates {
		if x.Setting.String() == c.Setting.String() {
			return x
		}
	}
	return c
}

// conclude says what is recommended, and why.
func (o *Outcome) conclude() {
	o.Best, o.Why = o.recommend()
	front(o.Options)
	if o.Model == nil {
		return
	}
	at := o.Collector
	if o.Best != nil {
		at = o.Best.Collector
	}
	for _, live := range []float64{1, 1.25, 1.5} {
		limit := o.Model.Cliff(at.GOGC, live)
		if limit <= 0 {
			limit = math.NaN()
		}
		at.Live = live
		o.Cliffs = append(o.Cliffs, Cliff{live, limit, o.Model.Predict(at).RSSPeak})
	}
}
