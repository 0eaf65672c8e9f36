package findings

import (
	"io"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/slow"
)

// whySlow reads the execution traces and the requests of trials ForTrace into the table: why the requests above a
// quantile are slow, and why it differs from the baseline's. Traces that say nothing of it become a doubt.
func (f *Findings) whySlow(quantile float64, serves []string) {
	t := f.Table
	taken, trials := map[string]int{}, map[string][]*slow.Trial{}
	for _, r := range f.Results {
		if r.Trial.For != dyno.ForTrace || r.Err != "" {
			continue
		}
		setting := r.Trial.Setting.String()
		taken[setting]++
		if w, err := f.slowTrial(r, quantile, serves); err == nil && w != nil {
			trials[setting] = append(trials[setting], w)
		}
	}
	for i := range t.Settings {
		s := &t.Settings[i]
		s.Slow = slow.Explain(trials[s.Setting.String()])
		used := 0
		if s.Slow != nil {
			used = len(s.Slow.Trials)
		}
		if all := taken[s.Setting.String()]; used < all && (used > 0 || f.Plan.WhySlow) {
			t.Doubts = append(t.Doubts, compare.Doubt{Kind: dyno.WarnSlow, About: s.Setting.Label(), N: used, Of: all})
		}
		if base := &t.Settings[0]; i > 0 {
			s.SlowMoved = slow.Compare(base.Slow, s.Slow)
		}
	}
}

// slowTrial reads one trial. It is nil if the trace has too few requests.
func (f *Findings) slowTrial(r *dyno.Result, quantile float64, serves []string) (*slow.Trial, error) {
	trace, err := reading(f.Dir.TrialFile(r.Trial.N, "trace.out"), func(trace io.Reader) (*slow.Trace, error) {
		return slow.Read(trace, serves...)
	})
	if err != nil {
		return nil, err
	}
	var sent []slow.Request
	if r.Clock != 0 && r.Node == nil && len(r.Generators) == 0 { // else the clock is another machine's
		for q, err := range f.Dir.Requests(r.Trial.N) {
			if err != nil { // none were kept: what the service saw is enough
				sent = nil
				break
			}
			one := slow.Request{Client: q.Client, Due: r.Clock + int64(q.Due), Sent: r.Clock + int64(q.Sent), Done: r.Clock + int64(q.Done)}
			if !q.Failed && one.Sent >= trace.Begin && one.Done <= trace.End {
				sent = append(sent, one)
			}
		}
	}
	t := trace.Of(sent, quantile)
	if t != nil {
		t.N, t.Block = r.Trial.N, r.Trial.Block
	}
	return t, nil
}
