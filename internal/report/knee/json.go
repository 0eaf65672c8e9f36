// Package knee writes what dyno capacity found: a screen of text, and capacity.json. Package capacity decides; here are its
// sentences.
package knee

import (
	"math"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/capacity"
	"github.com/dynolab/dyno/internal/stats"
)

// Schema is the version of capacity.json.
const Schema = 1

// A Report is a search of one setting or several, with what surrounds it.
type Report struct {
	Problem    capacity.Problem
	Settings   []dyno.Setting // the baseline first
	Searches   []*capacity.Search
	Negligible float64 // differences of settings that are the same

	Name        string           // of the service
	Dyno        string           // version
	Plan        *dyno.Experiment // as asked, without credentials
	Made        time.Time
	Dir         string // of the run
	Arrival     string // constant or poisson
	Sessions    bool   // a rate is of sessions, not of requests
	Interrupted bool
	Notes       []string
}

func (r *Report) answers() []capacity.Answer {
	var as []capacity.Answer
	for _, s := range r.Searches {
		as = append(as, s.Answer())
	}
	return as
}

// The shape of capacity.json, which doc/format.md describes.
type (
	document struct {
		answer.Envelope[setting, string]

		Name       string      `json:"name"`
		Arrival    string      `json:"arrival"`
		Sessions   bool        `json:"sessions,omitempty"`
		Objectives []objective `json:"objectives"`
		Precision  float64     `json:"precision-frac"`
	}
	objective struct {
		Threshold dyno.Threshold `json:"objective"`
		Share     float64        `json:"allowed-frac"`
		Limit     float64        `json:"limit-sec,omitempty"`
	}
	setting struct {
		answer.Setting

		Answer   capacity.Kind `json:"answer"`
		Capacity dyno.Number   `json:"capacity/s"`
		Lo       dyno.Number   `json:"lo"`
		Hi       dyno.Number   `json:"hi"`
		Binding  string        `json:"binding,omitempty"`
		Limited  bool          `json:"generator_limit,omitempty"`
		Flat     bool          `json:"flat,omitempty"`
		Restless bool          `json:"disturbed,omitempty"`
		Spent    float64       `json:"spent-sec"`
		Against  *against      `json:"against_baseline,omitempty"`
		Windows  []window      `json:"windows"`
	}
	against struct {
		Ratio   dyno.Number   `json:"ratio"`
		Lo      dyno.Number   `json:"lo"`
		Hi      dyno.Number   `json:"hi"`
		P       dyno.Number   `json:"p"`
		Verdict stats.Verdict `json:"verdict"`
	}
	window struct {
		Rate     float64       `json:"rate/s"`
		Length   float64       `json:"window-sec"`
		Requests float64       `json:"requests"`
		Beyond   []float64     `json:"beyond"`
		Seen     []dyno.Number `json:"seen"`
		Held     bool          `json:"held"`
		Behind   bool          `json:"behind,omitempty"`
		Limited  bool          `json:"generator_limit,omitempty"`
		Died     bool          `json:"died,omitempty"`
		Steal    dyno.Number   `json:"steal-frac"`
		Others   dyno.Number   `json:"others-cpu-frac"`
		LeftOut  bool          `json:"left_out,omitempty"`
		Warnings dyno.Warnings `json:"warnings,omitempty"`
	}
)

// Document is capacity.json.
func (r *Report) Document() any {
	d := document{Name: r.Name, Arrival: r.Arrival, Sessions: r.Sessions, Precision: r.Problem.Precision}
	for _, o := range r.Problem.Objectives {
		d.Objectives = append(d.Objectives, objective{o.Threshold, o.Share, o.Limit.Seconds()})
	}
	answers, settings := r.answers(), []setting(nil)
	ratios := capacity.Against(answers, r.Negligible)
	for i, a := range answers {
		s := setting{
			Setting: answer.SettingOf(r.Settings[i]), Answer: a.Kind,
			Capacity: dyno.Number(a.Rate), Lo: excluded(a.Lo), Hi: dyno.Number(a.Hi),
			Limited: a.Limited, Flat: a.Flat, Restless: r.Searches[i].Restless(), Spent: r.Searches[i].Spent.Seconds(), Windows: windows(r.Searches[i]),
		}
		if a.Kind != capacity.AtLeast && a.Kind != capacity.Unknown {
			s.Binding = r.Problem.Objectives[a.Binding].String()
		}
		if x := ratios[i]; i > 0 {
			s.Against = &against{dyno.Number(x.Ratio), dyno.Number(x.Lo), dyno.Number(x.Hi), dyno.Number(x.P), x.Verdict}
		}
		settings = append(settings, s)
	}
	d.Envelope = answer.New("capacity", Schema, answer.Head{Dyno: r.Dyno, Plan: r.Plan, Made: r.Made, Interrupted: r.Interrupted}, settings, r.Notes)
	return d
}

// excluded is the lower end of an interval, NaN where no rate is excluded.
func excluded(lo float64) dyno.Number {
	if lo == 0 {
		return dyno.Number(math.NaN())
	}
	return dyno.Number(lo)
}

func windows(s *capacity.Search) (ws []window) {
	for i := range s.Windows {
		w := &s.Windows[i]
		x := window{Rate: w.Rate, Length: w.Length.Seconds(), Requests: w.Whole[0].N, Held: !w.Limited && s.Held(w), Behind: w.Behind, Limited: w.Limited,
			Died: w.Died, Steal: dyno.Number(w.Steal), Others: dyno.Number(w.Others), LeftOut: s.LeftOut(*w), Warnings: w.Warnings}
		for j, c := range w.Whole {
			x.Beyond = append(x.Beyond, c.Beyond)
			x.Seen = append(x.Seen, dyno.Number(w.Seen[j]))
		}
		ws = append(ws, x)
	}
	return ws
}
