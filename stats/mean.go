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
	var j struct {
		Mean *float64 `json:"mean"`
		Lo   *float64 `json:"lo"`
		Hi   *float64 `json:"hi"`
	}
	for _, x := range []struct {
		from float64
		to   **float64
	}{{m.Mean, &j.Mean}, {m.Lo, &j.Lo}, {m.Hi, &j.Hi}} {
		if usable(x.from) {
			*x.to = &x.from
		}
	}
	return json.Marshal(j)
}

// MeanOf returns the mean of trials; those that are NaN or infinite are left out.
func MeanOf(trials []float64) Mean {
	var vs []float64
	for _, v := range trials {
		if usable(v) {
			vs = append(vs, v)
		}
	}
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
