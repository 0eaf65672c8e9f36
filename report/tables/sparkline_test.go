package tables

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/compare"
)

func TestSparklines(t *testing.T) {
	with := func(courses ...[]float64) []string {
		v := View{Table: &compare.Table{Negligible: 0.01}}
		for _, c := range courses {
			s := slices.Clone(c)
			slices.Sort(s)
			center := 0.0
			if len(s) > 0 {
				center = s[len(s)/2]
			}
			v.Settings = append(v.Settings, compare.Setting{Values: map[string]compare.Summary{"p99-sec": {Center: center, Trials: c}}})
		}
		v.Settings = append(v.Settings, compare.Setting{Setting: dyno.Setting{{Factor: "GOGC", Value: "1"}}}) // not measured
		return v.sparklines("p99-sec")
	}
	long := make([]float64, 100)
	for i := range long {
		long[i] = 5
	}
	long[70] = 20
	for _, c := range []struct {
		courses [][]float64
		want    string
	}{
		{[][]float64{{1, 2, 4, 8, 16}}, "▁▃▄▆▇"},
		{[][]float64{{1, 1, 8, 1}, {100, 101, 100, 99}}, "▄▄▇▄ ▄▄▄▄"}, // one scale: the second is steady
		{[][]float64{{1, 1.0001, 0.9999}}, "▄▄▄"},                     // negligible
		{[][]float64{{0, 0, 0}}, "▄▄▄"},
		{[][]float64{{0, 1, 2}}, "▁▄▇"},
		{[][]float64{{1, 2}}, ""}, // no course
		{[][]float64{nil}, ""},
		{[][]float64{{1, math.NaN(), math.Inf(1)}}, "▄▄▄"},
		{[][]float64{long}, "▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▇▄▄▄▄▄▄"},
	} {
		if got := strings.TrimRight(strings.Join(with(c.courses...), " "), " "); got != c.want {
			t.Errorf("%v: got %s, want %s", c.courses, got, c.want)
		}
	}
}
