package slowest

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/exectrace"
	"github.com/dynolab/dyno/internal/analysis/slow"
	"github.com/dynolab/dyno/internal/stats"
)

// The profile has all of the excess, once, each line below what requests did there.
func TestProfile(t *testing.T) {
	get := slow.Site{Func: "main.get", File: "cache.go", Line: 9}
	why := &slow.Why{Quantile: 0.99, Lines: []slow.Line{
		{Part: exectrace.Locking, Site: get, Excess: stats.Mean{Mean: 0.004}, By: []slow.By{
			{Culprit: slow.Culprit{Part: exectrace.Sleeping, Site: slow.Site{Func: "main.compact", File: "cache.go", Line: 33}}, Excess: 0.003},
		}},
		{Part: exectrace.Running, Excess: stats.Mean{Mean: 0.002}},
		{Part: exectrace.Syscall, Excess: stats.Mean{Mean: -0.001}},
	}}
	var b bytes.Buffer
	if err := Profile(&b, []compare.Setting{{Slow: why}, {}}, func(i int) string { return []string{"rev=a", "rev=b"}[i] }); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	var found bool
	for _, s := range p.Sample {
		sum += s.Value[0]
		var names []string
		for _, l := range s.Location {
			names = append(names, l.Line[0].Function.Name)
		}
		found = found || s.Value[0] == 3e6 && slices.Equal(names, []string{
			"main.compact", "another goroutine was asleep", "main.get", "waiting for a lock", "the slowest 1 % of rev=a"})
	}
	if sum != 5e6 || !found {
		t.Errorf("%d ns in %s", sum, p)
	}
}
