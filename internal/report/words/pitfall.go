package words

import (
	"fmt"
	"strconv"

	"github.com/dynolab/dyno/internal/analysis/pitfall"
	"github.com/dynolab/dyno/internal/report/layout"
)

// Pitfalls says why each kind of pitfall matters, and the cure.
var Pitfalls = map[pitfall.Kind][2]string{
	pitfall.Empty: {"An empty loop takes about as long: the compiler removed the work or moved it out of the loop, or there is hardly any, so nothing is compared",
		"for b.Loop() with the call inside its braces; before Go 1.24, keep the result in a package variable"},
	pitfall.Constant: {"Every sample does the same work, whatever b.N is, but its time is divided by b.N",
		"for b.Loop(), or for range b.N around the work"},
	pitfall.Grows: {"Iterations get slower as b.N rises: state grows between them, or b.N is used as a size, so the figure depends on the number of iterations",
		"the same input of fixed size in each iteration"},
	pitfall.Loop126: {"Go 1.24 and 1.25 do not inline calls inside the braces of b.Loop, 1.26 does (golang/go#73137): a change in time or allocations may come from the toolchain, not the code",
		"the same toolchain on both sides, or a b.N loop that keeps its results"},
	pitfall.Goroutines: {"They outlive the benchmark and take time and memory from later samples; if there is one per iteration, the start of the work is timed, not the work",
		"wait in each iteration until its goroutines are done, for example by draining their channel"},
	pitfall.SetUp: {"That time is divided by b.N, so the figure depends on the number of iterations, and a change in the work itself looks smaller",
		"b.ResetTimer() just before the loop, or for b.Loop(), which resets it"},
	pitfall.Parallel: {"All goroutines of RunParallel share the one CPU that dyno pins, so they never run at the same time and contention is not measured",
		"--cpus 2 or more"},
	pitfall.GCLeftOut: {"Package testing collects before each sample, and most samples end before the next collection, so the figure leaves out the cost of collecting the garbage; with equal B/op that cost is equal for all settings",
		"a longer --sample, if it matters"},
}

// Seen are the figures of a pitfall.
func Seen(f *pitfall.Found) string {
	text := ""
	switch f.Kind {
	case pitfall.Empty:
		text = twoDigitTime(max(f.Sec, pitfall.NoLoopSec)) + " an iteration"
		if f.Sec < pitfall.NoLoopSec {
			text = "less than " + text
		}
	case pitfall.Constant:
		text = "it uses neither b.N nor b.Loop"
	case pitfall.Grows:
		text = fmt.Sprintf("%s an iteration with b.N of %d, %s with %d", twoDigitTime(f.FewSec), f.FewN, twoDigitTime(f.Sec), f.N)
	case pitfall.Loop126:
		text = fmt.Sprintf("Go 1.%d against 1.%d", f.Go, f.BaseGo)
	case pitfall.Goroutines:
		text = fmt.Sprintf("%.0f more after %d iterations than before", f.Count, f.N)
	case pitfall.SetUp:
		what := "one-time work takes"
		if f.Call != "" {
			what = f.Call + " and the code between it and the loop take"
		}
		text = fmt.Sprintf("%s about %s, %s of the time of %d iterations", what, twoDigitTime(f.Once), TwoDigits(f.Share), f.FewN)
	case pitfall.Parallel:
		text = "pinned to one CPU"
	case pitfall.GCLeftOut:
		text = fmt.Sprintf("collection takes %s of the time, and a sample has %.2g collections", TwoDigits(f.Share), f.Count)
	}
	return text
}

// twoDigitTime prints seconds to two digits.
func twoDigitTime(sec float64) string {
	s := layout.ScaleOf("-sec", sec)
	if x := sec / s.Factor; x < 99.5 { // which %g would print as 1e+02
		return fmt.Sprintf("%.2g %s", x, s.Unit)
	}
	return fmt.Sprintf("%.0f %s", sec/s.Factor, s.Unit)
}

// TwoDigits prints a share in per cent to two digits.
func TwoDigits(x float64) string {
	if x >= 0.0995 { // which 'g' would print as 1e+02
		return strconv.FormatFloat(100*x, 'f', 0, 64) + "%"
	}
	return strconv.FormatFloat(100*x, 'g', 2, 64) + "%"
}
