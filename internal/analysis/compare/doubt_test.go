package compare

import (
	"testing"

	"github.com/dynolab/dyno"
)

// Two warnings of one kind in one trial that say different things are both shown.
func TestCollectKeepsDifferentWarnings(t *testing.T) {
	warned := func(n int, texts ...string) *dyno.Result {
		r := &dyno.Result{Trial: dyno.Trial{N: n}}
		for _, text := range texts {
			r.Warnings = append(r.Warnings, dyno.Warning{Kind: dyno.WarnSnapshot, Text: text})
		}
		return r
	}
	ds := collect([]*dyno.Result{
		warned(1, "no snapshot: 5 s are over", "no profile of the heap", "no snapshot: 6 s are over"),
		warned(2, "no snapshot: 7 s are over", "no profile of the heap"),
	})
	if len(ds) != 2 {
		t.Fatalf("%d doubts, want 2: %+v", len(ds), ds)
	}
	for i, want := range []string{"no snapshot: 5 s are over", "no profile of the heap"} {
		if ds[i].Said[0] != want || ds[i].N != 2 || ds[i].Of != 2 {
			t.Errorf("doubt %d: %+v, want %q of 2 of 2 trials", i, ds[i], want)
		}
	}
	if ds[0].Trial != 1 || ds[1].Trial != 0 {
		t.Errorf("trials %d and %d, want 1 and 0", ds[0].Trial, ds[1].Trial)
	}
}
