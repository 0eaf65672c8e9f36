package findings

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"

	"github.com/google/pprof/profile"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/exectrace"
	"github.com/dynolab/dyno/internal/analysis/leak"
	"github.com/dynolab/dyno/internal/analysis/tail"
	"github.com/dynolab/dyno/internal/analysis/timeline"
	"github.com/dynolab/dyno/internal/safe"
)

// mostTail is the number of kept requests that tails are read from: each 100 million take seconds.
const mostTail = 100_000_000

// tails holds the slowest requests of each trial against its collections.
func (f *Findings) tails() map[int]*tail.Trial {
	most := int64(dyno.DefaultMaxRequestsKept)
	if n := f.Plan.Load.MaxRequestsKept; n > 0 {
		most = int64(n)
	}
	kept := int64(0)
	for _, r := range f.Results {
		if measured(r) {
			kept += min(r.Sent.Requests, most)
		}
	}
	if kept > mostTail {
		f.Notes = append(f.Notes, compare.Doubt{Kind: dyno.WarnTail, N: int(kept)})
		return nil
	}
	of := map[int]*tail.Trial{}
	for _, r := range f.Results {
		if !measured(r) || !dyno.Counts(r, "p99-sec") {
			continue
		}
		cs, err := Collections(f.Dir, r)
		if err == nil {
			of[r.Trial.N], err = tail.New(f.Dir.Times(r.Trial.N, 0, math.MaxInt64), cs)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			f.note(dyno.WarnTail, r, err)
		}
	}
	return of
}

// note notes why something of a trial is left out.
func (f *Findings) note(kind dyno.WarningKind, r *dyno.Result, err error) {
	f.Notes = append(f.Notes, compare.Doubt{Kind: kind, Trial: r.Trial.N, Err: err})
}

// measured reports whether a trial finished whose values are compared.
func measured(r *dyno.Result) bool { return r.Trial.For == "" && r.Err == "" }

// lostCollections is the share of collections that may be missing.
const lostCollections = 0.02

// Collections returns the garbage collections of a trial. The error is fs.ErrNotExist if they were not
// recorded.
func Collections(dir *Dir, r *dyno.Result) ([]dyno.Collection, error) {
	cycles, counted := r.Values.Get("gc-cycles")
	cs, err := dir.Collections(r.Trial.N)
	switch {
	case errors.Is(err, fs.ErrNotExist) && counted && cycles == 0:
		return nil, nil
	case err == nil && counted && float64(len(cs)) < cycles*(1-lostCollections)-2:
		return nil, fmt.Errorf("gc.csv has %d of %.0f collections", len(cs), cycles)
	}
	return cs, err
}

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
				f.note(dyno.WarnGrowth, r, err)
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
		var all safe.Profiles
		read := func(name string) *profile.Profile {
			p, err := readProfile(&all, f.Dir.TrialFile(r.Trial.N, name+".pb.gz"))
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

// steadiness reports for trials with a long window whether response times stayed as they were.
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
			f.note(dyno.WarnSteady, r, err)
		}
	}
	return of
}

// attribute reads execution traces into the table. A trace that cannot be read becomes a doubt.
func (f *Findings) attribute(serves []string) {
	t := f.Table
	for _, r := range f.Results {
		i := t.Find(r.Trial.Setting.String())
		if r.Trial.For != dyno.ForTrace || r.Err != "" || i < 0 || t.Settings[i].Trace != nil {
			continue
		}
		end := oneTrace()
		a, err := reading(f.Dir.TrialFile(r.Trial.N, "trace.out"), func(trace io.Reader) (*exectrace.Attribution, error) {
			return exectrace.Read(trace, serves...)
		})
		end()
		if err != nil || a.Requests == 0 {
			t.Doubts = append(t.Doubts, compare.Doubt{Kind: dyno.WarnAttribution, Trial: r.Trial.N, Err: err, Said: []string{f.Dir.Path}})
			continue
		}
		a.Trial = r.Trial.N
		t.Settings[i].Trace = a
	}
}
