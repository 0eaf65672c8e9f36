package main

import (
	"fmt"
	"slices"

	"github.com/google/pprof/profile"

	"github.com/dynolab/dyno/analysis"
)

// sum adds up the profiles of one kind of a setting, and the requests that they
// are of.
func (p *profiled) sum(kind, setting string) (*profile.Profile, int64, error) {
	var all []*profile.Profile
	requests := int64(0)
	for _, x := range p.of[kind] {
		if x.Setting == setting {
			all = append(all, x.Profile)
			requests += x.Requests
		}
	}
	if all == nil {
		return nil, 0, fmt.Errorf("%s has no %s profile of %s", p.dir.Path, kind, label(setting))
	}
	merged, err := profile.Merge(all)
	if err != nil {
		return nil, 0, fmt.Errorf("add up the %s profiles of %s: %w", kind, label(setting), err)
	}
	return merged, requests, nil
}

// settingsOf are the settings with a profile of a kind, in the order of reports.
func (p *profiled) settingsOf(kind string) []string {
	return slices.DeleteFunc(slices.Clone(p.settings), func(s string) bool {
		return !slices.ContainsFunc(p.of[kind], func(x analysis.Profiled) bool { return x.Setting == s })
	})
}
