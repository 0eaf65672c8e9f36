package compare

import "github.com/dynolab/dyno/internal/stats"

// A ChangedFunction is one that surely changed from the baseline to a setting: at most 1 % of
// comparisons without a change name any (analysis/profiles).
type ChangedFunction struct {
	Metric string `json:"metric"` // of which Change is a part, such as "cpu-sec/req"
	Place
}

// functions are those of profiles whose totals show no change, the greatest first. A change
// of 10 % in one function may be lost in the noise of the whole. Where the total does show a
// change, Why has its functions.
func (t *Table) functions(i int, where Places) (changed []ChangedFunction) {
	if where == nil || i == 0 {
		return nil
	}
	s := &t.Settings[i]
	for _, of := range []struct{ profile, metric string }{
		{"cpu", "cpu-sec/req"}, {"allocs", "alloc-B/req"}, {"mutex", "mutex-wait-sec/req"},
	} {
		if v := s.Versus[of.metric].Verdict; v == stats.Better || v == stats.Worse {
			continue
		}
		places := where(s.Setting, of.profile)
		for _, p := range places[:min(len(places), mostPlaces)] {
			changed = append(changed, ChangedFunction{of.metric, p})
		}
	}
	return changed
}
