package stats

import (
	"encoding/json"
	"math"
)

// A Mean is the mean of the trials of one setting, with its 95 % interval by
// Student's t: NaN below two trials, and all of it NaN without any.
type Mean struct{ Mean, Lo, Hi float64 }

// MarshalJSON implements json.Marshaler; what is NaN is null.
func (m Mean) MarshalJSON() ([]byte, error) {
	known := func(x float64) any {
		if usable(x) {
			return x
		}
		return nil
	}
	return json.Marshal(struct {
		Mean any `json:"mean"`
		Lo   any `json:"lo"`
		Hi   any `json:"hi"`
	}{known(m.Mean), known(m.Lo), known(m.Hi)})
}

// MeanOf returns the mean of trials; those that are NaN or infinite are left out.
func MeanOf(trials []float64) Mean {
	vs := usables(trials)
	nan := math.NaN()
	switch len(vs) {
	case 0:
		return Mean{nan, nan, nan}
	case 1:
		return Mean{vs[0], nan, nan}
	}
	mean, variance := meanVar(vs)
	n := float64(len(vs))
	half := quantileT(0.05, n-1) * math.Sqrt(variance/n)
	return Mean{mean, mean - half, mean + half}
}
