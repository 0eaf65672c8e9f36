package slowest

import (
	"fmt"
	"slices"
	"strings"
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

// Each trace of a watch has a name of its own, and a kept file that says nonsense is drawn without it.
func TestMap(t *testing.T) {
	life := slow.Life{Trial: 1, File: "trace-2.out", At: 1.5, Took: 0.001}
	cell := slow.Cell{Second: 1, Row: slow.Row(life.Took), N: 7}
	w := &slow.Why{Trials: []*slow.Trial{
		{N: 1, File: "trace-1.out", Heat: []slow.Cell{cell, {Second: 1 << 40, Row: 3, N: 1}, {Second: 0, Row: -1 << 40, N: 1}, {Second: -1, Row: 3, N: 1}, {Row: 3, N: -5}}},
		{N: 1, File: "trace-2.out", Heat: []slow.Cell{cell}},
	}}
	f := heat(w, []slow.Life{life}, "slow-1", func(x float64) string { return fmt.Sprint(x) })
	picture := string(f.Picture)
	if n := strings.Count(picture, `href="#slow-1-1"`); n != 1 || strings.Count(picture, "<rect") != 4 {
		t.Errorf("%d links to the request, want 1; two cells are drawn in two widths:\n%s", n, picture)
	}
}
