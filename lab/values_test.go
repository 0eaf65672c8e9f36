package lab

import (
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/load"
)

// The share of late requests is of all that were due; without a deadline there
// is none.
func TestLateFrac(t *testing.T) {
	rec := &load.Record{Sent: dyno.Sent{Requests: 30, Unsent: 10}, Late: 14}
	r := &dyno.Result{Trial: dyno.Trial{Load: dyno.Load{Deadline: 1}}}
	record(r, rec)
	if v, ok := r.Values.Get("late-frac"); !ok || v != 0.35 {
		t.Errorf("late-frac is %v, want 0.35", v)
	}
	r = &dyno.Result{}
	record(r, rec)
	if v, ok := r.Values.Get("late-frac"); ok {
		t.Errorf("late-frac is %v without a deadline", v)
	}
}
