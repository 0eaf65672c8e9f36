package knee

import (
	"math"

	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/capacity"
	"github.com/dynolab/dyno/internal/receipt"
)

// Receipt has the rates at which the objectives hold; nil if none was found.
func (r *Report) Receipt() *receipt.Receipt {
	var objectives []string
	for _, o := range r.Problem.Objectives {
		objectives = append(objectives, o.String())
	}
	var settings []answer.Setting
	var promises []receipt.Promise
	for i, a := range r.answers() {
		s := receipt.Promised(r.Plan, r.Settings[i])
		settings = append(settings, s)
		if a.Kind == capacity.Unknown {
			continue
		}
		at := receipt.Interval{Value: receipt.Number(a.Rate), Lo: receipt.Number(excluded(a.Lo)), Hi: receipt.Number(a.Hi)}
		if math.IsInf(a.Hi, 1) {
			at.Hi = receipt.Number(math.NaN())
		}
		promises = append(promises, receipt.Promise{Setting: s, Metric: receipt.CapacityMetric, Interval: at, Level: 0.95, Truth: true, Objectives: objectives})
	}
	if promises == nil {
		return nil
	}
	h := answer.Head{Dyno: r.Dyno, Plan: r.Plan, Made: r.Made}
	load := receipt.Under(&r.Plan.Load)
	load.Text = r.Arrival // the search chose the rates
	return &receipt.Receipt{
		Envelope: answer.New[answer.Setting, string](receipt.Kind, receipt.Schema, h, settings, nil),
		From:     "capacity", Name: r.Name, Subject: r.Plan.Subject.String(), Run: ".", Load: load, Promises: promises,
	}
}
