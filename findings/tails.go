package findings

import (
	"errors"
	"fmt"
	"io/fs"
	"math"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/tail"
	"github.com/dynolab/dyno/store"
)

// mostTail is how many kept requests tails are read from: each 100 million take seconds.
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
		f.Notes.Add(dyno.WarnTail, "the tail is left out: %d requests would have to be read (consider: --max-requests-kept)", kept)
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
			f.Notes.Add(dyno.WarnTail, "the tail of trial %d is left out: %v", r.Trial.N, err)
		}
	}
	return of
}

// measured reports whether a trial finished whose values are compared.
func measured(r *dyno.Result) bool { return r.Trial.For == "" && r.Err == "" }

// lostCollections is the share of collections that may be missing.
const lostCollections = 0.02

// Collections are those of a trial. The error is fs.ErrNotExist if they are not known.
func Collections(dir *store.Dir, r *dyno.Result) ([]dyno.Collection, error) {
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
