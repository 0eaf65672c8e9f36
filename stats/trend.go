package stats

// A Shape is what a series of readings does over its time.
type Shape string

// The shapes of a [Trend].
const (
	Growing    Shape = "growing"    // steadily, to the end
	Falling    Shape = "falling"    // the same downwards
	Level      Shape = "level"      // no growth that this series could show
	Stepped    Shape = "step"       // level before and after one shift
	Flattening Shape = "flattening" // it grew, and has stopped
	Sawtooth   Shape = "saw"        // it grows and falls back, to the same lows
	Untold     Shape = "unclear"    // the series cannot tell; Reason says why
)

// A Trend is what [TrendOf] finds in a series. Rates are in the unit of the values
// per second.
type Trend struct {
	N          int     // readings
	Shape      Shape   //
	Slope      float64 // estimate of the steady growth
	Lo, Hi     float64 // its 95 % interval, which allows for autocorrelation
	Detectable float64 // the least steady growth that would have been called Growing in 99 of 100 such series; NaN if none
	Shift      float64 // height of the step of Stepped, growth until Flattening stopped, depth of the teeth of Sawtooth
	At         float64 // seconds, of the step, or of when it flattened
	Reason     string  // of Untold: why, in words that follow "cannot tell: "
}
