// Package tuned writes what dyno tune found: a screen of text, tune.json, predictions.json, and the change as a patch.
// Package tune decides; here are its sentences.
package tuned

import (
	"math"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/gcmodel"
	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/tune"
)

// Schema is the version of tune.json and predictions.json.
const Schema = 1

// A Report is a tuning with what surrounds it.
type Report struct {
	*tune.Outcome
	Name        string           // of the service
	Dyno        string           // version
	Plan        *dyno.Experiment // as asked, without credentials
	Made        time.Time
	Dir         string // of the tuning
	Load        string // what was put on the service
	Headroom    []tune.Headroom
	Interrupted bool
	Notes       []string // what was left out, and why
}

// The shapes of tune.json and predictions.json, which doc/format.md describes.
type (
	document struct {
		answer.Envelope[answer.Setting, string]

		Name        string           `json:"name"`
		Load        string           `json:"load,omitempty"`
		Today       dyno.Setting     `json:"today"`
		Goal        string           `json:"goal"`
		SubjectTo   []dyno.Threshold `json:"subject_to,omitempty"`
		Margin      float64          `json:"margin-frac"`
		Reserved    float64          `json:"reserved-B,omitempty"`
		Recommend   dyno.Setting     `json:"recommend,omitempty"`
		Why         tune.Why         `json:"why,omitempty"`
		Measured    []measured       `json:"measured,omitempty"`
		Rounds      []round          `json:"rounds,omitempty"`
		TodayFront  *bool            `json:"today_on_front,omitempty"`
		Predictions []prediction     `json:"predictions,omitempty"`
		Refitted    []prediction     `json:"refitted,omitempty"`
		Cliffs      []cliff          `json:"cliffs,omitempty"`
		Headroom    []headroom       `json:"headroom,omitempty"`
	}
	prediction struct {
		Setting  dyno.Setting     `json:"levels"`
		Ratio    float64          `json:"limit-frac,omitempty"`
		Chosen   tune.Stage       `json:"stage,omitempty"`
		Gain     *answer.Estimate `json:"gain-frac,omitempty"`
		CPU      *answer.Estimate `json:"cpu-sec/req,omitempty"`
		GCCPU    *answer.Estimate `json:"gc-cpu-idle-sec/req,omitempty"`
		Cycles   *answer.Estimate `json:"gc-cycles/req,omitempty"`
		Heap     *answer.Estimate `json:"heap-peak-B,omitempty"`
		RSS      *answer.Estimate `json:"rss-peak-B,omitempty"`
		Marking  *answer.Estimate `json:"gc-wall-frac,omitempty"`
		Limited  bool             `json:"limited,omitempty"`
		Spiral   bool             `json:"spiral,omitempty"`
		Breaks   bool             `json:"breaks_constraint,omitempty"`
		Strained bool             `json:"may_break_constraint,omitempty"`
		Tight    bool             `json:"tight,omitempty"`
		Doubts   []gcmodel.Doubt  `json:"doubts,omitempty"`
	}
	measured struct {
		Setting     dyno.Setting           `json:"levels"`
		Axis        string                 `json:"axis,omitempty"`
		Stage       tune.Stage             `json:"stage"`
		Blocks      int                    `json:"blocks"`
		Gain        dyno.Number            `json:"gain-frac"`
		Lo          dyno.Number            `json:"lo"`
		Hi          dyno.Number            `json:"hi"`
		Error       float64                `json:"error"`
		Proven      bool                   `json:"proven"`
		Vain        bool                   `json:"vain"`
		Front       bool                   `json:"front"`
		Constraints []judged               `json:"constraints,omitempty"`
		Values      map[string]dyno.Number `json:"values"`
	}
	judged struct {
		Threshold dyno.Threshold  `json:"threshold"`
		Outcome   compare.Outcome `json:"outcome"`
		Value     dyno.Number     `json:"value"`
	}
	round struct {
		Stage    tune.Stage     `json:"stage"`
		Dir      string         `json:"dir"`
		Settings []dyno.Setting `json:"settings"`
		Blocks   int            `json:"blocks"`
	}
	cliff struct {
		Live  float64     `json:"live"`
		Limit dyno.Number `json:"limit-B"`
		RSS   dyno.Number `json:"rss-peak-B"`
	}
	headroom struct {
		Case   tune.CaseKind          `json:"case"`
		Levels dyno.Setting           `json:"levels"`
		Today  map[string]dyno.Number `json:"today"`
		Best   map[string]dyno.Number `json:"recommended,omitempty"`
		Failed []string               `json:"failed,omitempty"`
		Gain   dyno.Number            `json:"gain-frac"`
		Lo     dyno.Number            `json:"lo"`
		Hi     dyno.Number            `json:"hi"`
		Blocks int                    `json:"blocks"`
	}
)

// Dirs are the names of the stages' run directories below the tuning's.
var Dirs = map[tune.Stage]string{
	tune.StageToday: "1-today", tune.StageCandidates: "2-candidates", tune.StageMore: "3-more", tune.StageHeadroom: "4-headroom",
}

// head has today's setting and others.
func (r *Report) head(kind string, others []dyno.Setting) document {
	settings := []answer.Setting{answer.SettingOf(r.Problem.Today)}
	for _, s := range others {
		settings = append(settings, answer.SettingOf(s))
	}
	return document{
		Envelope: answer.New(kind, Schema, answer.Head{Dyno: r.Dyno, Plan: r.Plan, Made: r.Made, Interrupted: r.Interrupted}, settings, r.Notes), Name: r.Name, Load: r.Load, Today: r.Problem.Today, Goal: r.Goal.String(),
		SubjectTo: r.Constraints, Margin: r.Margin, Reserved: r.Reserved,
	}
}

// Predictions is predictions.json: what is expected of each setting, and when that was written down.
func (r *Report) Predictions() any {
	var settings []dyno.Setting
	for _, c := range r.Candidates {
		settings = append(settings, c.Setting)
	}
	d := r.head("predictions", settings)
	d.Predictions, d.Refitted = predictions(r.Candidates), predictions(r.Refitted)
	return d
}

// Document is tune.json.
func (r *Report) Document() any {
	var settings []dyno.Setting
	for _, x := range r.Options {
		settings = append(settings, x.Setting)
	}
	d := r.head("tune", settings)
	d.Why = r.Why
	if r.Best != nil {
		d.Recommend = r.Best.Setting
	}
	d.Predictions, d.Refitted = predictions(r.Candidates), predictions(r.Refitted)
	for _, x := range r.Options {
		m := measured{
			Setting: x.Setting, Axis: x.Axis, Stage: x.Stage, Blocks: x.Blocks, Error: x.Alpha, Proven: x.Proven, Vain: x.Vain, Front: x.Front,
			Gain: dyno.Number(x.Gain), Lo: dyno.Number(x.Lo), Hi: dyno.Number(x.Hi), Values: centers(x.Values),
		}
		for _, j := range x.Judgements {
			m.Constraints = append(m.Constraints, judged{j.Threshold, j.Outcome, dyno.Number(j.Value)})
		}
		d.Measured = append(d.Measured, m)
	}
	for _, x := range r.Rounds {
		d.Rounds = append(d.Rounds, round{x.Stage, Dirs[x.Stage], x.Settings, x.Table.Blocks})
	}
	if len(r.Options) > 0 {
		on := r.TodayOnFront()
		d.TodayFront = &on
	}
	for _, c := range r.Cliffs {
		d.Cliffs = append(d.Cliffs, cliff{c.Live, dyno.Number(c.Limit), dyno.Number(c.RSS.Value)})
	}
	for _, h := range r.Headroom {
		x := headroom{Case: h.Kind, Levels: h.Levels, Today: centers(h.Today), Blocks: h.Blocks, Gain: dyno.Number(h.Gain), Lo: dyno.Number(h.Lo), Hi: dyno.Number(h.Hi)}
		if h.Best != nil {
			x.Best = centers(h.Best)
		}
		if h.TodayFailed {
			x.Failed = append(x.Failed, "today")
		}
		if h.BestFailed {
			x.Failed = append(x.Failed, "recommended")
		}
		d.Headroom = append(d.Headroom, x)
	}
	return d
}

func centers(values map[string]compare.Summary) map[string]dyno.Number {
	m := map[string]dyno.Number{}
	for metric, v := range values {
		if x, ok := dyno.MetricByName(metric); ok && x.Primary || metric == "gc-cpu-sec/req" || metric == "gc-cycles" {
			m[metric] = dyno.Number(v.Center)
		}
	}
	return m
}

func predictions(cs []*tune.Candidate) (ps []prediction) {
	of := func(e gcmodel.Estimate) *answer.Estimate {
		if math.IsNaN(e.Value) {
			return nil
		}
		return &answer.Estimate{Value: dyno.Number(e.Value), Lo: dyno.Number(e.Lo), Hi: dyno.Number(e.Hi)}
	}
	for _, c := range cs {
		p := prediction{Setting: c.Setting, Ratio: c.Ratio, Chosen: c.Chosen, Gain: of(c.Gain), Breaks: c.Breaks, Strained: c.Strained, Tight: c.Tight}
		if x := c.Prediction; x != nil {
			p.CPU, p.GCCPU, p.Cycles, p.Heap, p.RSS, p.Marking = of(x.CPU), of(x.GCCPU), of(x.Cycles), of(x.HeapPeak), of(x.RSSPeak), of(x.Marking)
			p.Limited, p.Spiral, p.Doubts = x.Limited, x.Spiral, x.Doubts
		}
		ps = append(ps, p)
	}
	return ps
}
