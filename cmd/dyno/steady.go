package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/timeline"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/store"
)

// steadiness tells of each trial with a long window whether its response times
// stayed as they were.
func steadiness(cmd *cobra.Command, dir *store.Dir, results []*dyno.Result) map[int]*timeline.Steadiness {
	of := map[int]*timeline.Steadiness{}
	for _, r := range results {
		if r.Trial.For != "" || r.Err != "" || r.Elapsed < timeline.SteadyWindow || r.Latency == nil || r.Latency.Count() == 0 {
			continue
		}
		s, err := readSteadiness(dir.TrialFile(r.Trial.N, "latency.hlog"), r)
		switch {
		case err == nil:
			of[r.Trial.N] = s
		case !errors.Is(err, fs.ErrNotExist): // which is a warning already
			fmt.Fprintf(cmd.ErrOrStderr(), "note: whether response times of trial %d were steady is left out: %v\n", r.Trial.N, err)
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
