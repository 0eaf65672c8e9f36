package words

import "github.com/dynolab/dyno/internal/analysis/gcmodel"

// predictionDoubts say why a prediction may be wrong.
var predictionDoubts = map[gcmodel.Doubt]string{
	gcmodel.FewCycles:  "fewer than 15 collections were measured",
	gcmodel.SmallHeap:  "less than 16 MiB is live, so that the runtime's minimums decide",
	gcmodel.Phases:     "the live heap grew or fluctuated while measured, so other periods give other figures",
	gcmodel.MuchGC:     "collections take more than 30% of the CPU time, here or in the measurement",
	gcmodel.ShortMarks: "collections take less than 3 ms of CPU time, so that the clock of the runtime says little of their CPU time",
	gcmodel.Clamped:    "marking began as early as it may, so the amount allocated during marking is not known",
	gcmodel.NearCliff:  "the limit leaves room for less than 30% of the live heap: slightly more load or live heap causes a spiral",
	gcmodel.FarAway:    "the heap is more than five times as large or small as measured",
	gcmodel.NoOverhead: "memory outside the heap counts towards the limit but is not known",
}

// PredictionDoubt says why a prediction may be wrong, without a capital and a full stop.
func PredictionDoubt(d gcmodel.Doubt) string {
	if text, ok := predictionDoubts[d]; ok {
		return text
	}
	return string(d)
}
