package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/google/pprof/profile"
	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/leak"
	"github.com/dynolab/dyno/store"
)

// growths holds what grew in each trial that is long enough to tell.
func growths(cmd *cobra.Command, dir *store.Dir, results []*dyno.Result) map[int]*leak.Growth {
	of, rates := map[int]*leak.Growth{}, map[string]dyno.Rate{}
	for _, s := range dir.Run.Plan.Levels() {
		rates[s.String()] = dir.Run.Plan.Trial(s).Load.Rate
	}
	for _, r := range results {
		if r.Trial.For != "" || r.Err != "" || !leak.Grows(r) {
			continue
		}
		said := map[string]bool{}
		note := func(err error) {
			if err != nil && !errors.Is(err, fs.ErrNotExist) && !said[err.Error()] {
				said[err.Error()] = true
				fmt.Fprintf(cmd.ErrOrStderr(), "note: of what grew in trial %d something is left out: %v\n", r.Trial.N, err)
			}
		}
		// One metric at a time: hours of all of them would take too much memory.
		series := func(metric string) (at, value []float64) {
			ss, err := dir.Series(r.Trial.N, metric)
			note(err)
			for _, s := range ss {
				for i, d := range s.At {
					at, value = append(at, d.Seconds()), append(value, s.Value[i])
				}
			}
			return at, value
		}
		read := func(name string) *profile.Profile {
			p, err := readProfile(dir.TrialFile(r.Trial.N, name+".pb.gz"))
			note(err)
			return p
		}
		if g := leak.NewGrowth(r, rates[r.Trial.Setting.String()], series, leak.Profiles{
			HeapBefore: read("heap-before"), HeapAfter: read("heap-after"),
			GoroutineBefore: read("goroutine-before"), GoroutineAfter: read("goroutine-after"),
			GoroutineLeak: read("goroutineleak-after"),
		}); g != nil {
			of[r.Trial.N] = g
		}
	}
	return of
}
