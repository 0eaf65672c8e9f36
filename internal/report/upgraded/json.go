package upgraded

import (
	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/gcmodel"
	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/receipt"
	"github.com/dynolab/dyno/internal/stats"
	"github.com/dynolab/dyno/internal/upgrade"
)

// Schema is the version of upgrade.json.
const Schema = 1

// The shape of upgrade.json, which doc/format.md describes.
type (
	document struct {
		answer.Envelope[answer.Setting, string]

		Name    string       `json:"name"`
		Answer  upgrade.Kind `json:"answer"`
		To      string       `json:"to"`
		Run     string       `json:"run,omitempty"`
		Blocks  int          `json:"blocks"`
		Block   float64      `json:"block-sec"`
		More    int          `json:"more_blocks,omitempty"`
		Allowed []limit      `json:"allowed"`
		Cause   *cause       `json:"cause,omitempty"`
		Remedy  *remedy      `json:"remedy,omitempty"`
	}
	limit struct {
		Threshold string          `json:"threshold"`
		Metric    string          `json:"metric"`
		Outcome   compare.Outcome `json:"outcome"`
		Change    dyno.Number     `json:"change"`
		Lo        dyno.Number     `json:"lo"`
		Hi        dyno.Number     `json:"hi"`
		Limit     float64         `json:"limit"`
		More      int             `json:"more_blocks,omitempty"`
	}
	difference struct {
		Ratio   dyno.Number   `json:"ratio"`
		Lo      dyno.Number   `json:"lo"`
		Hi      dyno.Number   `json:"hi"`
		P       dyno.Number   `json:"p"`
		Verdict stats.Verdict `json:"verdict"`
	}
	candidate struct {
		Source upgrade.Source `json:"source"`
		Name   string         `json:"name"`
		Was    string         `json:"was,omitempty"`
		Is     string         `json:"is,omitempty"`
	}
	alone struct {
		candidate
		Run     string        `json:"run"`
		Moves   upgrade.Moves `json:"moves"`
		Change  difference    `json:"change"` // new against old
		Back    difference    `json:"back"`   // turned back against new
		Left    difference    `json:"left"`   // turned back against old
		Allowed []limit       `json:"allowed"`
	}
	part struct {
		Without []candidate   `json:"without"`
		Moves   upgrade.Moves `json:"moves"`
		Back    difference    `json:"back"`
	}
	halves struct {
		Run   string `json:"run"`
		Parts []part `json:"halves"`
	}
	skipped struct {
		candidate
		Why string `json:"left_out"`
	}
	remedy struct {
		Metric string           `json:"metric"`
		GOGC   float64          `json:"gogc"`
		Memory receipt.Interval `json:"rss-peak-B"` // a ratio to what it was before
		CPU    receipt.Interval `json:"cpu-sec/req"`
		Doubts []gcmodel.Doubt  `json:"doubts,omitempty"`
	}
	cause struct {
		Metric  string      `json:"metric"`
		Change  difference  `json:"change"`
		Found   []candidate `json:"found"` // the last is the answer, those before contain it; empty if nothing explains it
		Alone   *alone      `json:"alone,omitempty"`
		Halves  []halves    `json:"searched"`
		Unsure  []alone     `json:"unsure,omitempty"`
		Skipped []skipped   `json:"skipped,omitempty"`
		Cut     bool        `json:"cut,omitempty"`
	}
)

// Document is upgrade.json.
func (r *Report) Document() any {
	d := document{Name: r.Name, Answer: r.Kind, To: r.To, Run: r.Run, Blocks: r.Blocks, Block: r.PerBlock.Seconds(), More: r.More, Allowed: limitsOf(r.Judged)}
	if c := r.Cause; c != nil {
		d.Cause = causeOf(c)
	}
	if x := r.remedy(); x != nil {
		of := func(e gcmodel.Estimate) receipt.Interval {
			return receipt.Interval{Value: receipt.Number(e.Value), Lo: receipt.Number(e.Lo), Hi: receipt.Number(e.Hi)}
		}
		d.Remedy = &remedy{x.Metric, x.GOGC, of(x.Memory), of(x.CPU), x.Doubts}
	}
	settings := []answer.Setting{answer.SettingOf(r.Old), answer.SettingOf(r.New)}
	d.Envelope = answer.New("upgrade", Schema, answer.Head{Dyno: r.Dyno, Plan: r.Plan, Made: r.Made, Interrupted: r.Interrupted}, settings, r.Survey)
	return d
}

func causeOf(c *upgrade.Cause) *cause {
	x := &cause{Metric: c.Metric.Name, Change: differenceOf(c.Change), Found: candidatesOf(c.Found), Cut: c.Cut, Halves: []halves{}}
	if len(c.Found) > 0 {
		x.Alone = new(aloneOf(c.Alone))
	}
	for _, h := range c.Halves {
		y := halves{Run: h.Run}
		for _, p := range h.Parts {
			y.Parts = append(y.Parts, part{candidatesOf(p.Back), p.Moves, differenceOf(p.Versus)})
		}
		x.Halves = append(x.Halves, y)
	}
	for _, one := range c.Unsure {
		x.Unsure = append(x.Unsure, aloneOf(one))
	}
	for _, s := range c.Skipped {
		x.Skipped = append(x.Skipped, skipped{candidateOf(s.Candidate), s.Why.Error()})
	}
	return x
}

func limitsOf(js []compare.Judgement) []limit {
	all := []limit{}
	for _, j := range js {
		all = append(all, limit{j.Threshold.String(), j.Metric, j.Outcome, dyno.Number(j.Value), dyno.Number(j.Lo), dyno.Number(j.Hi), j.Limit, j.MoreBlocks})
	}
	return all
}

func candidateOf(c upgrade.Candidate) candidate { return candidate{c.Source, c.Name, c.Was, c.Is} }

func candidatesOf(set []upgrade.Candidate) []candidate {
	all := []candidate{}
	for _, c := range set {
		all = append(all, candidateOf(c))
	}
	return all
}

func aloneOf(a upgrade.Alone) alone {
	return alone{candidateOf(a.Candidate), a.Run, a.Moves, differenceOf(a.Change), differenceOf(a.Back), differenceOf(a.Left), limitsOf(a.Judged)}
}

func differenceOf(v compare.Versus) difference {
	return difference{dyno.Number(v.Ratio), dyno.Number(v.Lo), dyno.Number(v.Hi), dyno.Number(v.P), v.Verdict}
}
