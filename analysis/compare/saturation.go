package compare

import (
	"math"
	"slices"

	"github.com/dynolab/dyno"
)

// A Saturation is a trial in which the generator itself was the limit, so that
// its response times say nothing about the service.
type Saturation struct {
	Trial  int    `json:"trial"`  // position in the plan
	Reason string `json:"reason"` // as dyno.Sent has it
}

func saturations(rs []*dyno.Result) []Saturation {
	var ss []Saturation
	for _, r := range rs {
		if r.Sent.Saturated != "" {
			ss = append(ss, Saturation{r.Trial.N, r.Sent.Saturated})
		}
	}
	return ss
}

// note says why a metric has no verdict, if saturation has left too few trials.
func (t *Table) note(i int, m dyno.Metric, blocks [][]float64, good map[int][]*dyno.Result) Reason {
	pairs := 0
	for _, row := range blocks {
		if !math.IsNaN(row[0]) && !math.IsNaN(row[i]) {
			pairs++
		}
	}
	if pairs >= 2 { // fewer have no p-value
		return Reason{}
	}
	for _, r := range slices.Concat(good[i], good[0]) {
		if _, measured := r.Values.Get(m.Name); measured && !dyno.Counts(r, m.Name) {
			return Reason{Kind: ReasonNotCompared, Said: r.Sent.Saturated}
		}
	}
	return Reason{}
}
