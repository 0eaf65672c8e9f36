package prediction

import (
	"math"
	"strings"

	"github.com/dynolab/dyno/internal/analysis/gcmodel"
	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/findings/predict"
	"github.com/dynolab/dyno/internal/receipt"
)

// level is that of the model's intervals.
const level = 0.9

// Receipt has the promises of a forecast: its settings that were not measured. What comes without any collection is not promised, since it
// depends on how long that lasts. It is nil if nothing is promised.
func Receipt(f *predict.Forecast, h answer.Head) *receipt.Receipt {
	w := f.Pooled[0]
	for _, other := range f.Pooled {
		if len(w.Cycles) == 0 {
			w = other
		}
	}
	more := receipt.With(answer.SettingNamed(f.Group).Levels, receipt.Program(f.Go, w.Procs))
	settingOf := func(s gcmodel.Setting) answer.Setting {
		return answer.Setting{Name: strings.TrimSpace(predict.Name(s) + " " + f.Group), Levels: append(receipt.Levels(s), more...)}
	}
	r := &receipt.Receipt{From: "predict", Name: f.Name, Load: receipt.Unknown(), Model: receipt.ModelOf(f.Pooled, f.Live)}
	if f.Plan != nil {
		r.Load = receipt.Under(&f.Plan.Load)
	}
	if !f.Log {
		r.Run, r.Subject, r.Load.Text = ".", f.About[0], f.About[1]
	}
	if f.Per == predict.Request {
		r.Load.Rate = receipt.Number(w.Requests / w.Elapsed)
	}
	r.Load.Alloc, r.Load.Live = receipt.Number(w.Alloc/w.Elapsed), receipt.Number(w.Live()*f.Live)
	settings := []answer.Setting{settingOf(w.Setting)}
	for i := range f.Rows {
		row := &f.Rows[i]
		if row.Measured != nil || math.IsInf(row.GOGC, 1) && row.Limit == 0 {
			continue
		}
		s := settingOf(row.Setting)
		settings = append(settings, s)
		var doubts []string
		for _, d := range row.Doubts {
			doubts = append(doubts, string(d))
		}
		if row.Spiral {
			doubts = append(doubts, "spiral")
		}
		for _, figure := range predict.Figures(f.Per) {
			if e := figure.Of(&row.Prediction); known(e.Value) && known(e.Lo) && known(e.Hi) {
				at := receipt.Interval{Value: receipt.Number(e.Value), Lo: receipt.Number(e.Lo), Hi: receipt.Number(e.Hi)}
				r.Promises = append(r.Promises, receipt.Promise{Setting: s, Metric: figure.Metric, Interval: at, Level: level, Doubts: doubts})
			}
		}
	}
	if r.Promises == nil {
		return nil
	}
	h.Plan = f.Plan
	r.Envelope = answer.New[answer.Setting, string](receipt.Kind, receipt.Schema, h, settings, nil)
	return r
}
