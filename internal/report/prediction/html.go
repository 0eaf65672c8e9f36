package prediction

import (
	"fmt"
	"io"
	"math"

	"github.com/dynolab/dyno/internal/analysis/gcmodel"
	"github.com/dynolab/dyno/internal/findings/predict"
	"github.com/dynolab/dyno/internal/report/chart"
	"github.com/dynolab/dyno/internal/report/layout"
)

// HTML writes a forecast as one self-contained page. The error is w's.
func HTML(w io.Writer, f *predict.Forecast) error {
	name, _, _ := memory(f)
	a := said(f, f, true)
	a.Notes = append(a.Notes, "The figure beside a value is the reach of its 90% interval.")
	a.Figure, a.Picture = "Memory against the CPU time of collections", figure(f)
	a.Shows = fmt.Sprintf("Each mark is a setting, and the lines through it are its 90%% intervals: right is more memory (%s), up is more CPU time. Both axes are logarithmic.", name)
	return a.HTML(w)
}

// figure draws settings with and without a limit, and what was measured.
func figure(f *predict.Forecast) chart.SVG {
	name, of, measured := memory(f)
	gogc := chart.Cloud{Name: "GOGC, predicted", Joined: true}
	limits := chart.Cloud{Name: "GOMEMLIMIT, predicted", Joined: true}
	was := chart.Cloud{Name: "measured"}
	x, y := each("-B"), each("-sec")
	for i := range f.Rows {
		r := &f.Rows[i]
		cloud, label := &gogc, predict.GOGC(r.Setting)
		if r.Limit > 0 {
			cloud, label = &limits, predict.Limit(r.Setting)
		}
		cloud.Spots = append(cloud.Spots, chart.Spot{
			Label: label, Tip: fmt.Sprintf("%s: %s, %s", predict.Name(r.Setting), tip(x, of(r).Value), tip(y, r.GCCPU.Value)),
			X: extent(of(r)), Y: extent(r.GCCPU),
		})
		if w := r.Measured; w != nil {
			at := chart.Spot{X: chart.At(measured(w)), Y: chart.At(w.GCCPU / w.Requests)}
			at.Tip = fmt.Sprintf("%s, measured: %s, %s", predict.Name(r.Setting), tip(x, at.X.Value), tip(y, at.Y.Value))
			was.Spots = append(was.Spots, at)
		}
	}
	return chart.Scatter([]chart.Cloud{gogc, limits, was}, name, gcCPU(f), layout.Axis(x), layout.Axis(y))
}

func tip(format func(float64) string, x float64) string {
	if !known(x) || x <= 0 {
		return "?"
	}
	return format(x)
}

func extent(e gcmodel.Estimate) chart.Extent {
	if math.IsInf(e.Hi, 1) {
		e.Hi = math.NaN()
	}
	return chart.Extent{Value: e.Value, Lo: e.Lo, Hi: e.Hi}
}
