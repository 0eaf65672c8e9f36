package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// A Shape is what a series of readings does over its time.
type Shape string

const (
	Growing    Shape = "growing"    // steadily, to the end
	Falling    Shape = "falling"    // the same downwards
	Level      Shape = "level"      // no growth that this series could show
	Stepped    Shape = "step"       // level before and after one shift
	Flattening Shape = "flattening" // it grew, and has stopped
	Sawtooth   Shape = "saw"        // it grows and falls back, to the same lows
	Untold     Shape = "unclear"    // the series cannot tell; Reason says why
)

// A Trend is what [TrendOf] finds. Rates are in the unit of the values per second.
type Trend struct {
	N          int     // readings
	Shape      Shape   // what it does
	Slope      float64 // estimate of the steady growth; of Stepped and Flattening, of the longer stretch beside the step, or that after it flattened
	Lo, Hi     float64 // its 95 % interval, which allows for autocorrelation
	Detectable float64 // the least steady growth that would have been called Growing in 99 of 100 such series, or, of Stepped and Flattening, none of Level, Stepped, Flattening and Sawtooth; NaN if none
	Shift      float64 // height of the step of Stepped, growth until Flattening stopped, depth of the teeth of Sawtooth
	At         float64 // seconds, of the step, or of when it flattened
	Reason     Reason  // of Untold: why
}

// trendAlpha is the chance of calling growing what is not.
const trendAlpha = 0.001

// trendPower is by how many deviations of noise a growth of Trend.Detectable is called
// growing in 99 of 100 series.
var trendPower = distuv.UnitNormal.Quantile(0.99)

// TrendReadings is the least number of readings with a trend.
const TrendReadings = 8

// teeth is the least number of falls of a saw whose lows are judged.
const teeth = 4

// TrendOf says whether a series grows steadily, to its end. Times are in seconds and
// ascend, but need not be regular. Readings that are NaN or infinite are left out.
// doc/method/leaks.md, "Leaks and trends", has the method and its errors.
func TrendOf(at, value []float64) Trend {
	nan := math.NaN()
	s := seriesOf(at, value)
	t := Trend{N: len(s.at), Slope: nan, Lo: nan, Hi: nan, Detectable: nan}
	if t.N < TrendReadings {
		t.Shape, t.Reason = Untold, Reason{Kind: FewReadings, N: t.N, Of: TrendReadings}
		return t
	}
	b := s.bins(finest)
	if len(b.at) < TrendReadings {
		t.Shape, t.Reason = Untold, Reason{Kind: OneTime}
		return t
	}
	l := lineOf(b)
	t.Slope, t.Lo, t.Hi = l.slope, l.slope-l.half(0.05), l.slope+l.half(0.05)
	q := s.quantum()
	l.round(q)
	j := judge(s, l, leastSteps*q)
	t.Detectable = j.detectable
	if j.grows {
		t.Shape = Growing
		if l.slope < 0 {
			t.Shape = Falling
		}
		return t
	}
	s.name(&t, b, l, j)
	if !usable(t.Detectable) {
		t.Detectable = nan
		if t.Shape == Level {
			t.Shape, t.Reason = Untold, Reason{Kind: TooLarge}
		}
	}
	return t
}
