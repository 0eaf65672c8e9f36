package prediction

import (
	"math"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/gcmodel"
	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/findings/predict"
)

// schema is the version of the JSON.
const schema = 1

func estimate(e gcmodel.Estimate) answer.Estimate {
	return answer.Estimate{Value: dyno.Number(e.Value), Lo: dyno.Number(e.Lo), Hi: dyno.Number(e.Hi)}
}

type settingJSON struct {
	Setting string      `json:"setting"`
	GOGC    dyno.Number `json:"gogc"`
	Limit   float64     `json:"limit-B,omitempty"`
}

func setting(s gcmodel.Setting) settingJSON {
	return settingJSON{predict.Name(s), dyno.Number(s.GOGC), s.Limit}
}

type measuredJSON struct {
	settingJSON
	Trials   []int       `json:"trials,omitempty"`
	Requests dyno.Number `json:"requests,omitempty"`
	Elapsed  float64     `json:"elapsed-sec"`
	Cycles   int         `json:"gc-cycles"`
	Exact    bool        `json:"exact"`
	Live     dyno.Number `json:"live-B"`
	Alloc    dyno.Number `json:"alloc-B"`
	CPU      dyno.Number `json:"cpu-sec"`
	GCCPU    dyno.Number `json:"gc-cpu-sec"`
	Procs    dyno.Number `json:"gomaxprocs"`
	HeapPeak dyno.Number `json:"heap-peak-B"`
	RSSPeak  dyno.Number `json:"rss-peak-B"`
	Mapped   dyno.Number `json:"mapped-B"`
	Overhead dyno.Number `json:"overhead-B"`
}

type predictedJSON struct {
	settingJSON
	Cycles   answer.Estimate `json:"gc"`
	GCCPU    answer.Estimate `json:"gc-cpu-sec"`
	CPU      answer.Estimate `json:"cpu-sec"`
	HeapPeak answer.Estimate `json:"heap-peak-B"`
	RSSPeak  answer.Estimate `json:"rss-peak-B"`
	Marking  answer.Estimate `json:"gc-wall-frac"`
	Met      answer.Estimate `json:"met-frac"`
	Limited  bool            `json:"limited"`
	Spiral   bool            `json:"spiral"`
	Measured bool            `json:"measured"`
	Doubts   []gcmodel.Doubt `json:"doubts"`
}

type tailJSON struct {
	Setting  string  `json:"setting"`
	Met      float64 `json:"met-frac"`
	MetP50   float64 `json:"met-p50-sec"`
	MetP99   float64 `json:"met-p99-sec"`
	ClearP50 float64 `json:"clear-p50-sec"`
	ClearP99 float64 `json:"clear-p99-sec"`
}

type noteJSON struct {
	Kind predict.NoteKind `json:"kind"`
	Text string           `json:"text"`
}

type forecastJSON struct {
	answer.Envelope[answer.Setting, noteJSON] // notes have a kind, as they had before there was an envelope

	Source      string          `json:"source"`
	Log         bool            `json:"log"`
	Per         predict.Per     `json:"per"`
	Group       string          `json:"group,omitempty"`
	Live        float64         `json:"live"`
	Cliff       dyno.Number     `json:"cliff-B"`
	Measured    []measuredJSON  `json:"measured"`
	Predictions []predictedJSON `json:"predictions"`
	Tail        *tailJSON       `json:"tail"`
}

// JSON is a forecast as an object that doc/format.md describes, for package json. h says who made it, and when.
func JSON(f *predict.Forecast, h answer.Head) any {
	var settings []answer.Setting
	var notes []noteJSON
	j := forecastJSON{
		Source: f.Name, Log: f.Log, Per: f.Per, Group: f.Group, Live: f.Live, Cliff: dyno.Number(f.Cliff),
		Measured: []measuredJSON{}, Predictions: []predictedJSON{},
	}
	for i := range f.Pooled {
		w := &f.Pooled[i]
		m := measuredJSON{
			settingJSON: setting(w.Setting), Trials: w.Trials, Elapsed: w.Elapsed, Cycles: len(w.Cycles), Exact: w.Exact(), Live: dyno.Number(w.Live()),
			Alloc: dyno.Number(w.Alloc), CPU: dyno.Number(w.CPU), GCCPU: dyno.Number(w.GCCPU), Procs: dyno.Number(w.Procs),
			HeapPeak: dyno.Number(w.HeapPeak), RSSPeak: dyno.Number(w.RSSPeak), Mapped: dyno.Number(w.Mapped), Overhead: dyno.Number(w.Overhead),
		}
		if f.Per == predict.Request {
			m.Requests = dyno.Number(math.Round(w.Requests))
		}
		j.Measured = append(j.Measured, m)
	}
	for i := range f.Rows {
		r := &f.Rows[i]
		p := predictedJSON{
			settingJSON: setting(r.Setting), Cycles: estimate(r.Cycles), GCCPU: estimate(r.GCCPU), CPU: estimate(r.CPU), HeapPeak: estimate(r.HeapPeak),
			RSSPeak: estimate(r.RSSPeak), Marking: estimate(r.Marking), Met: estimate(r.Met),
			Limited: r.Limited, Spiral: r.Spiral, Measured: r.Measured != nil, Doubts: append([]gcmodel.Doubt{}, r.Doubts...),
		}
		j.Predictions = append(j.Predictions, p)
		settings = append(settings, answer.SettingNamed(p.Setting))
	}
	if t := f.Tail; t != nil {
		j.Tail = &tailJSON{predict.Name(t.Setting), t.Met, t.MetP50, t.MetP99, t.ClearP50, t.ClearP99}
	}
	for i := range f.Notes {
		notes = append(notes, noteJSON{f.Notes[i].Kind, note(f, &f.Notes[i])})
	}
	h.Plan = f.Plan
	j.Envelope = answer.New("prediction", schema, h, settings, notes)
	return j
}
