package words

import (
	"fmt"
	"math"

	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/report/layout"
)

var shareNouns = map[string]string{"cpu-sec/req": "CPU time", "alloc-B/req": "memory allocated", "mutex-wait-sec/req": "waiting for locks"}

// functions says which functions of a setting surely changed though totals do not show it.
func functions(s *compare.Setting) string {
	var parts []string
	for _, f := range s.Functions[:min(len(s.Functions), mostSites)] {
		sc := layout.ScaleOf(f.Metric, math.Abs(float64(f.Change)))
		rose := "rose"
		if f.Change < 0 {
			rose = "fell"
		}
		parts = append(parts, fmt.Sprintf("%s in %s surely %s by %s %s", shareNouns[f.Metric], f.Func, rose,
			sc.With(math.Abs(float64(f.Change))), sc.Interval(float64(f.Lo), float64(f.Hi))))
	}
	return List(parts)
}
