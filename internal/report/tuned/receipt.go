package tuned

import (
	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/receipt"
)

// Receipt has what was measured of the setting that is recommended, and its changes against today's; nil if that stays.
func (r *Report) Receipt() *receipt.Receipt {
	if r.Best == nil {
		return nil
	}
	best, today := receipt.Promised(r.Plan, r.Best.Setting), receipt.Promised(r.Plan, r.Problem.Today)
	h := answer.Head{Dyno: r.Dyno, Plan: r.Plan, Made: r.Made}
	return &receipt.Receipt{
		Envelope: answer.New[answer.Setting, string](receipt.Kind, receipt.Schema, h, []answer.Setting{today, best}, nil),
		From:     "tune", Name: r.Name, Subject: r.Plan.Subject.String(), Run: Dirs[r.Best.Stage],
		Load: receipt.LoadOf(&r.Plan.Load, r.Best.Values), Promises: receipt.Compared(best, today, r.Best.Values, r.Best.Versus),
	}
}
