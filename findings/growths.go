package findings

import (
	"errors"
	"io/fs"

	"github.com/google/pprof/profile"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/leak"
)

func (f *Findings) growths() map[int]*leak.Growth {
	of, rates := map[int]*leak.Growth{}, map[string]dyno.Rate{}
	for _, s := range f.Plan.Levels() {
		rates[s.String()] = f.Plan.Trial(s).Load.Rate
	}
	for _, r := range f.Results {
		if !measured(r) || !leak.Grows(r) {
			continue
		}
		said := map[string]bool{}
		note := func(err error) {
			if err != nil && !errors.Is(err, fs.ErrNotExist) && !said[err.Error()] {
				said[err.Error()] = true
				f.Notes.Add(dyno.WarnGrowth, "of what grew in trial %d something is left out: %v", r.Trial.N, err)
			}
		}
		// One metric at a time: hours of all of them would take too much memory.
		series := func(metric string) (at, value []float64) {
			ss, err := f.Dir.Series(r.Trial.N, metric)
			note(err)
			for _, s := range ss {
				for i, d := range s.At {
					at, value = append(at, d.Seconds()), append(value, s.Value[i])
				}
			}
			return at, value
		}
		read := func(name string) *profile.Profile {
			p, err := readProfile(f.Dir.TrialFile(r.Trial.N, name+".pb.gz"))
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
