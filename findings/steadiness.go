package findings

import (
	"errors"
	"io"
	"io/fs"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/timeline"
	"github.com/dynolab/dyno/hist"
)

// steadiness tells of trials with a long window whether response times stayed as they were.
func (f *Findings) steadiness() map[int]*timeline.Steadiness {
	of := map[int]*timeline.Steadiness{}
	for _, r := range f.Results {
		if !measured(r) || r.Elapsed < timeline.SteadyWindow || r.Latency == nil || r.Latency.Count() == 0 {
			continue
		}
		s, err := reading(f.Dir.TrialFile(r.Trial.N, "latency.hlog"), func(log io.Reader) (*timeline.Steadiness, error) {
			return timeline.NewSteadiness(hist.Lines(log, r.Start), r.Elapsed, r.Latency.Count())
		})
		switch {
		case err == nil:
			of[r.Trial.N] = s
		case !errors.Is(err, fs.ErrNotExist): // which is a warning already
			f.Notes.Add(dyno.WarnSteady, "whether response times of trial %d were steady is left out: %v", r.Trial.N, err)
		}
	}
	return of
}
