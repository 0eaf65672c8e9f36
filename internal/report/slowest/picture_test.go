package slowest

import (
	"slices"
	"testing"

	"github.com/dynolab/dyno/internal/analysis/exectrace"
	"github.com/dynolab/dyno/internal/analysis/slow"
)

// A part without a place among the colours could not be drawn.
func TestEachPartHasAColour(t *testing.T) {
	all := []slow.Part{slow.Arriving, exectrace.Preempted}
	for p := range slow.Part(exectrace.Parts) {
		all = append(all, p)
	}
	for _, p := range all {
		if !slices.Contains(parts, p) {
			t.Errorf("%v has no colour", p)
		}
	}
	if len(parts) != len(all) {
		t.Errorf("%d parts have colours, want %d", len(parts), len(all))
	}
}
