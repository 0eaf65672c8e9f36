package findings

import (
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/words"
)

// Settings that the program alone reads, and of which nothing differs, are said to be doubtful; not if something does,
// if there are few blocks, or if others read them, too.
func TestNoEffect(t *testing.T) {
	results := func(factor string, blocks int, change float64) (rs []*dyno.Result) {
		for i := range blocks {
			for k, level := range []string{"1", "2"} {
				v := 100 + float64(i*7%5) + change*float64(k)
				rs = append(rs, &dyno.Result{
					Trial:  dyno.Trial{N: 2*i + k + 1, Block: i + 1, Setting: dyno.Setting{{Factor: factor, Value: level}}},
					Values: dyno.Values{{Metric: "p50-sec", Value: v}, {Metric: "cpu-sec/req", Value: v + float64(k*(i%3-1))}},
				})
			}
		}
		return rs
	}
	for _, c := range []struct {
		factor string
		blocks int
		change float64
		want   bool
	}{
		{"FOO", 8, 0, true}, {"arg.x", 8, 0, true}, {"FOO", 8, 50, false}, {"FOO", 2, 0, false}, {"GOGC", 8, 0, false}, {"rev", 8, 0, false},
	} {
		ds := tabulate(results(c.factor, c.blocks, c.change), compare.Options{}).Doubts
		found := false
		for i := range ds {
			found = found || ds[i].Kind == dyno.WarnNoEffect
		}
		if found != c.want {
			t.Errorf("%+v: %+v", c, ds)
		}
	}
}

// What did not take effect is the first of all doubts.
func TestOverriddenComesFirst(t *testing.T) {
	r := &dyno.Result{
		Trial: dyno.Trial{N: 1, Block: 1}, Values: dyno.Values{{Metric: "p50-sec", Value: 1}}, Warnings: dyno.Warnings{{Kind: dyno.WarnOthers, Text: "other"}},
		Overridden: []dyno.Override{{Name: "GOGC", Asked: "400", InForce: []string{"75"}, By: dyno.ByRuntime}},
	}
	table := tabulate([]*dyno.Result{r}, compare.Options{Planned: 5})
	if got := words.Warnings(table); len(got) < 3 || got[0] != "GOGC=400 did not take effect: 75 is in force" {
		t.Errorf("%q", got)
	}
}
