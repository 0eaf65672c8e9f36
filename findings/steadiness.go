package findings

import (
	"errors"
	"io/fs"
	"os"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/timeline"
	"github.com/dynolab/dyno/hist"
)

// steadiness tells of each trial with a long window whether its response times
// stayed as they were.
func (f *Findings) steadiness() map[int]*timeline.Steadiness {
	of := map[int]*timeline.Steadiness{}
	for _, r := range f.Results {
		if !measured(r) || r.Elapsed < timeline.SteadyWindow || r.Latency == nil || r.Latency.Count() == 0 {
			continue
		}
		s, err := readSteadiness(f.Dir.TrialFile(r.Trial.N, "latency.hlog"), r)
		switch {
		case err == nil:
			of[r.Trial.N] = s
		case !errors.Is(err, fs.ErrNotExist): // which is a warning already
			f.Notes.Add(dyno.WarnSteady, "whether response times of trial %d were steady is left out: %v", r.Trial.N, err)
		}
	}
	return of
}

func readSteadiness(path string, r *dyno.Result) (*timeline.Steadiness, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return timeline.NewSteadiness(hist.Lines(f, r.Start), r.Elapsed, r.Latency.Count())
}
