package compare

import (
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/stats"
)

// Functions stand beside the verdict where the total of their profile shows no change; where
// it does, Why has them.
func TestFunctionsOfTotalsWithoutChange(t *testing.T) {
	setting := func(cpu stats.Verdict) Setting {
		s := Setting{Setting: dyno.Setting{{Factor: "SLOW", Value: "1"}}, Versus: map[string]Versus{}}
		v := Versus{}
		v.Verdict = cpu
		s.Versus["cpu-sec/req"] = v
		return s
	}
	places := func(_ dyno.Setting, profile string) []Place {
		if profile != "cpu" {
			return nil
		}
		return []Place{{Func: "a"}, {Func: "b"}, {Func: "c"}, {Func: "d"}}
	}
	table := Table{Settings: []Setting{{}, setting(stats.Unclear), setting(stats.Worse), setting(stats.Same)}}
	for i, want := range []int{0, mostPlaces, 0, mostPlaces} {
		if got := table.functions(i, places); len(got) != want || want > 0 && (got[0].Func != "a" || got[0].Metric != "cpu-sec/req") {
			t.Errorf("setting %d has %+v", i, got)
		}
	}
	if got := table.functions(1, nil); got != nil {
		t.Errorf("without profiles there are %+v", got)
	}
}
