package words

import "github.com/dynolab/dyno/analysis/gcmodel"

// predictionDoubts say why a prediction may be wrong.
var predictionDoubts = map[gcmodel.Doubt]string{
	gcmodel.FewCycles:  "fewer than 15 collections were measured",
	gcmodel.SmallHeap:  "less than 16 MiB is live, so that the runtime's minimums decide",
	gcmodel.Phases:     "the live heap grew or swung while it was measured, and other stretches have other figures",
	gcmodel.MuchGC:     "collections take more than a fifth of the CPU time, here or where it was measured",
	gcmodel.Clamped:    "marking began as early as it may, so that it is not known how much is allocated beside it",
	gcmodel.NearCliff:  "the limit leaves less than a fifth of the live heap to allocate in: a little more load or live heap is a spiral",
	gcmodel.FarAway:    "the heap is more than five times as large or small as measured",
	gcmodel.NoOverhead: "the memory beside the heap, which counts for the limit, is not known",
	gcmodel.NoBytes:    "heap sizes are of whole MiB",
}

// PredictionDoubt says why a prediction may be wrong, without a capital and a full stop.
func PredictionDoubt(d gcmodel.Doubt) string {
	if text, ok := predictionDoubts[d]; ok {
		return text
	}
	return string(d)
}
