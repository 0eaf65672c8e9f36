package upgraded

import (
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/receipt"
)

// Receipt has what was measured of the new version, and its changes against the old one, whatever the answer is; nil if they were
// not measured.
func (r *Report) Receipt() *receipt.Receipt {
	if r.Table == nil {
		return nil
	}
	old, is := receipt.Promised(r.Plan, r.Old), receipt.Promised(r.Plan, r.New)
	found := &r.Table.Settings[1]
	h := answer.Head{Dyno: r.Dyno, Plan: r.Plan, Made: r.Made}
	return &receipt.Receipt{
		Envelope: answer.New[answer.Setting, string](receipt.Kind, receipt.Schema, h, []answer.Setting{old, is}, nil),
		From:     "upgrade", Name: r.Name, Subject: r.Plan.Subject.String(), Run: r.Run,
		Load: receipt.LoadOf(&r.Plan.Load, found.Values),
		Promises: receipt.Compared(is, old, found.Values, func(metric string) (compare.Versus, bool) {
			v, ok := found.Versus[metric]
			return v, ok
		}),
	}
}
