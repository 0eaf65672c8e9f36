package findings

import (
	"errors"
	"fmt"

	"github.com/dynolab/dyno"
)

// ErrNothing is the error of a run without results. Such a run fails; it never passes.
var ErrNothing = errors.New("no trial finished")

// Nothing returns [ErrNothing], or a similar error for benchmarks, if no trial or block finished; else nil.
func (f *Findings) Nothing() error {
	switch {
	case f.Plan.Bench != nil && f.Table.Blocks == 0 && len(f.Table.SameCode) == 0: // else nothing had to be run
		return errors.New("no block finished")
	case f.Plan.Bench == nil && f.Table.Trials == 0:
		return ErrNothing
	}
	return nil
}

// Missed returns an error if all trials for profiles or traces failed that the plan asks for.
func (f *Findings) Missed() error {
	if f.Plan.Bench != nil {
		return nil
	}
	taken := map[string]bool{} // by purpose, whether a trial for it succeeded
	for _, r := range f.Results {
		taken[r.Trial.For] = taken[r.Trial.For] || r.Err == ""
	}
	for _, purpose := range []string{dyno.ForProfile, dyno.ForTrace} {
		if taken, ran := taken[purpose]; ran && !taken {
			return fmt.Errorf("no %s was taken: all trials for it failed", purpose)
		}
	}
	return nil
}
