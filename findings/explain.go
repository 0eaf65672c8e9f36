package findings

import (
	"slices"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/profiles"
)

// profilesByKind are the profiles of results by kind. What cannot be read is a doubt.
func profilesByKind(opt *compare.Options, dir *Dir, results []*dyno.Result) map[string][]profiles.Profiled {
	if !hasProfiles(results) {
		return nil
	}
	run, err := ReadProfiles(dir, results)
	if err != nil {
		opt.Doubts = append(opt.Doubts, compare.Doubt{Kind: dyno.WarnCauses, Err: err})
		return nil
	}
	for _, loss := range run.Losses {
		opt.Doubts = append(opt.Doubts, compare.Doubt{Kind: dyno.WarnCauses, Err: loss})
	}
	return run.Of
}

// addCauses gives the options what profiles tell: CPU shares, and the functions that changed.
func addCauses(opt *compare.Options, of map[string][]profiles.Profiled, base string) {
	if len(of) == 0 {
		return
	}
	all := map[string]*profiles.Profiles{}
	for kind, taken := range of {
		p, err := profiles.New(kind, taken, nil)
		if err != nil {
			opt.Doubts = append(opt.Doubts, compare.Doubt{Kind: dyno.WarnCauses, Err: err})
			continue
		}
		all[kind] = p
	}
	if p := all["cpu"]; p != nil {
		opt.CPU = p.CPUShares()
	}
	opt.Places = func(s dyno.Setting, kind string) (places []compare.Place) {
		p := all[kind]
		if p == nil {
			return nil
		}
		changed := p.Difference(base, s.String(), profiles.ByOwn, 0).Changed()
		// What the runtime does by itself is a cause of its own, such as
		// collections; it is named where nothing else is.
		runtime := func(c profiles.FunctionChange) bool { return c.Package == "runtime" }
		if slices.ContainsFunc(changed, func(c profiles.FunctionChange) bool { return !runtime(c) }) {
			changed = slices.DeleteFunc(changed, runtime)
		}
		for _, c := range changed {
			places = append(places, compare.Place{
				Func: c.Name, File: c.Line.File, Line: c.Line.Line, Change: dyno.Number(c.Own.Diff), Lo: c.Own.Lo, Hi: c.Own.Hi, Share: c.Share,
			})
		}
		return places
	}
}
