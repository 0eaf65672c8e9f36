package receipt

import (
	"math"
	"strings"

	"github.com/dynolab/dyno/internal/analysis/gcmodel"
	"github.com/dynolab/dyno/internal/findings/predict"
)

// correction is the standard deviation of a correction, as a share of it, by logarithms. It is assumed, not fitted.
const correction = 0.1

// A corrector works promises out for the load that came. Its zero value is ready for use.
type corrector struct {
	fitted *gcmodel.Model
	cycles float64 // by what the collections per request of the last promise were corrected
}

// correct changes what is judged by what the model says of both loads. It reports false if the model cannot say it: the load is
// too far off, the requests are others and the figure is their CPU time, or the model does not know the metric.
func (k *corrector) correct(m *Model, o *Outcome, p *Promise, c Change) bool {
	figure := figureOf(p.Metric)
	if figure == nil {
		return false
	}
	speed := known(c.Alloc, c.Rate, c.Each, 1)                        // of a closed load as at the same rate
	request := known(c.Each, Number(speed/known(c.Rate, c.Alloc, 1))) // what is allocated for one
	live := known(c.Live, 1)
	for _, x := range []float64{speed, request, live} {
		if !(x <= farthest && x >= 1/farthest) {
			return false
		}
	}
	head, _, divided := strings.Cut(p.Metric, "/")
	if head == "cpu-sec" && math.Abs(math.Log(request)) > math.Log1p(sameLoad) { // who allocates more does more
		return false
	}
	each := 1.0
	if divided && head != "cpu-sec" {
		each = request
	}
	if k.fitted == nil {
		k.fitted = m.fit()
	}
	before := told(p.Levels)
	before.Live = m.Live
	after := before
	after.Live, after.Rate = m.Live*live, speed
	x, y := k.fitted.Predict(before), k.fitted.Predict(after)
	k.cycles = request * y.Cycles.Value / x.Cycles.Value
	was, is := figure.Of(&x), figure.Of(&y)
	i := p.Interval
	i.Value *= Number(each * is.Value / was.Value)
	i.Lo *= Number(each * is.Lo / was.Lo)
	i.Hi *= Number(each * is.Hi / was.Hi)
	if !(i.Lo <= i.Value && i.Value <= i.Hi) || math.IsInf(float64(i.Hi), 0) {
		return false
	}
	o.Judged = i.wider(correction * math.Hypot(math.Hypot(math.Log(speed), math.Log(request)), math.Log(live)))
	return true
}

// figureOf is the figure of a metric, nil if the model has none.
func figureOf(metric string) *predict.Figure {
	per := predict.Request
	if strings.HasSuffix(metric, "/min") {
		per = predict.Minute
	}
	for _, f := range predict.Figures(per) {
		if f.Metric == metric {
			return &f
		}
	}
	return nil
}

// known is the first number that is known.
func known(xs ...Number) float64 {
	for _, x := range xs {
		if !math.IsNaN(float64(x)) {
			return float64(x)
		}
	}
	return math.NaN()
}
