package tables

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/words"
	"github.com/dynolab/dyno/internal/stats"
)

const (
	mostChanged = 6 // benchmarks that a verdict describes; tables have the others
	mostUnclear = 3 // that it names
)

// Found is [words.Found] of a table. Of benchmarks it says which changed, those that became
// worse and the greatest changes first, and of how many no change was shown; of a single
// setting, that there is nothing to compare.
func (v *View) Found() (out []words.Said) {
	switch {
	case v.Kind == compare.OfService:
		return words.Found(v.Table)
	case len(v.Benchmarks) == 0:
		return []words.Said{{Rest: cmp.Or(words.SameCode(v.Table), "No benchmark was found, so there is nothing to report.")}}
	case len(v.Settings) < 2:
		return []words.Said{{Rest: v.alone()}}
	}
	for _, i := range v.Others() {
		out = append(out, words.Said{Name: v.Labels[i], Rest: " against " + v.Labels[0] + ": " + v.verdictOn(i)})
	}
	for _, text := range []string{words.SameCode(v.Table), words.TooFew(v.Table)} {
		if text != "" {
			out = append(out, words.Said{Rest: text})
		}
	}
	return out
}

// alone is the verdict of a single setting.
func (v *View) alone() string {
	failed := 0
	for i := range v.Benchmarks {
		if len(v.Benchmarks[i].Units) == 0 {
			failed++
		}
	}
	text := layout.Count(len(v.Benchmarks)-failed, "benchmark") + " measured, "
	if v.against {
		text += "compared with the baseline file below"
	} else {
		text += "and nothing to compare with"
	}
	if failed > 0 {
		text += fmt.Sprintf("; %d more failed", failed)
	}
	return text + "."
}

// verdictOn is the verdict of one setting, without its name.
func (v *View) verdictOn(i int) string {
	of := map[standing][]*compare.Benchmark{}
	failed := 0
	for _, r := range v.Benchmarks {
		s := v.rowStanding(r, i)
		if s == isUntold && len(r.Faults) > 0 {
			failed++
			continue
		}
		if s == isEqual {
			s = isSame
		}
		of[s] = append(of[s], r)
	}
	rest := words.List(v.unchanged(i, of, failed))
	if len(of[IsChanged]) == 0 {
		if len(v.Benchmarks) == 1 {
			return strings.Replace(rest, "1", cmp.Or(v.beside(v.Benchmarks[0]), "it"), 1) + "."
		}
		text := "none of " + layout.Count(len(v.Benchmarks), "benchmark")
		if len(of[isSame]) == len(v.Benchmarks) {
			return text + " changed by more than " + dyno.Fraction(v.Negligible).String() + "."
		}
		return text + " is shown to have changed: " + rest + "."
	}
	slices.SortStableFunc(of[IsChanged], func(a, b *compare.Benchmark) int { return v.ByWeight(a, b, i) })
	var parts []string
	for _, r := range of[IsChanged][:min(len(of[IsChanged]), mostChanged)] {
		parts = append(parts, strings.TrimSpace(v.beside(r)+" "+strings.Join(v.changesOf(r, i), ", ")))
	}
	if more := len(of[IsChanged]) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("%d more in the tables", more))
	}
	text := strings.Join(parts, "; ") + "."
	if len(v.Benchmarks) > 1 {
		text = fmt.Sprintf("%d of %s changed: %s", len(of[IsChanged]), layout.Count(len(v.Benchmarks), "benchmark"), text)
	}
	if rest != "" {
		text += " Besides, " + rest + "."
	}
	return text
}

// beside names a benchmark in a verdict. It is "" if the settings are the benchmark's own names, which the
// verdict begins with.
func (v *View) beside(r *compare.Benchmark) string {
	if len(v.Benchmarks) == 1 && v.row(r) != r.Name {
		return ""
	}
	return v.Called(r)
}

// unchanged says of how many benchmarks no change was shown, and why.
func (v *View) unchanged(i int, of map[standing][]*compare.Benchmark, failed int) (parts []string) {
	say := func(n int, are, what string) {
		if n == 1 {
			are = map[string]string{"are": "is", "were": "was"}[are]
		}
		if n > 0 {
			parts = append(parts, strings.Join(strings.Fields(fmt.Sprintf("%d %s %s", n, are, what)), " "))
		}
	}
	say(len(of[isSame]), "are", "the same within "+dyno.Fraction(v.Negligible).String())
	var names []string
	if len(of[isUnclear]) <= mostUnclear {
		for _, r := range of[isUnclear] {
			if len(v.Benchmarks) == 1 {
				names = append(names, v.doubtOf(r, i))
			} else {
				names = append(names, v.Called(r)+" "+v.doubtOf(r, i))
			}
		}
	}
	unclear := "unclear"
	if names != nil {
		unclear += " (" + strings.Join(names, "; ") + ")"
	}
	say(len(of[isUnclear]), "are", unclear)
	say(len(of[isUntold]), "were", "not compared")
	say(failed, "", "failed")
	return parts
}

// doubtOf is in what a benchmark is unclear: its first unit that is.
func (v *View) doubtOf(r *compare.Benchmark, i int) string {
	for n := range r.Units {
		u := &r.Units[n]
		if v.StandingOf(u, i) != isUnclear || v.echoes(u) {
			continue
		}
		x := v.Versus(*u, i)
		text := v.UnitChange(u, i) + " " + layout.Interval(x.Lo, x.Hi)
		if n > 0 {
			text = u.Name + " " + text
		}
		return strings.TrimSpace(text)
	}
	return ""
}

// ByWeight puts first what became worse in its first unit, its time, then what did in
// another; and of each the greatest change.
func (v *View) ByWeight(a, b *compare.Benchmark, i int) int {
	wa, da := v.weight(a, i)
	wb, db := v.weight(b, i)
	return cmp.Or(cmp.Compare(wb, wa), cmp.Compare(db, da))
}

// weight is 2 for a benchmark that became worse in its first unit, 1 in another, and
// the first change as a log ratio.
func (v *View) weight(r *compare.Benchmark, i int) (worse int, first float64) {
	for n := range r.Units {
		u := &r.Units[n]
		if v.StandingOf(u, i) != IsChanged {
			continue
		}
		x := v.Versus(*u, i)
		if x.Verdict == stats.Worse && u.Better != 0 {
			worse = max(worse, 1)
			if n == 0 {
				worse = 2
			}
		}
		if first == 0 {
			first = compare.Magnitude(x.Ratio)
		}
	}
	return worse, first
}

// changesOf says in words what changed of a benchmark, a unit each: "3.1% slower
// [2.2, 4.0]".
func (v *View) changesOf(r *compare.Benchmark, i int) (out []string) {
	for n := range r.Units {
		if u := &r.Units[n]; v.StandingOf(u, i) == IsChanged && !v.echoes(u) {
			out = append(out, v.inWords(u, i))
		}
	}
	return out
}

// A wording are the words of changes of a unit: upwards, downwards, and to twice or more.
type wording struct{ more, less, times string }

var wordings = map[string]wording{
	"sec/op":    {"slower", "faster", "as long"},
	"B/op":      {"more bytes", "fewer bytes", "as many bytes"},
	"allocs/op": {"more allocations", "fewer allocations", "as many allocations"},
}

// inWords says a change: in per cent, from double on in times, and so of half the time.
func (v *View) inWords(u *compare.Row, i int) string {
	x := v.Versus(*u, i)
	words, known := wordings[u.Name]
	if !known {
		words = wording{"more " + u.Name, "less " + u.Name, "the " + u.Name}
	}
	ratio, lo, hi := x.Ratio, x.Lo, x.Hi
	switch {
	case math.IsNaN(ratio):
		now, then := v.median(u, i).Center, v.median(u, 0).Center
		sc := layout.ScaleOf(u.Name, now, then)
		return fmt.Sprintf("%s from %s to %s", u.Name, sc.With(then), sc.With(now))
	case ratio >= 2:
		return times(ratio, lo, hi, words.times)
	case ratio > 1:
		return percents(ratio-1, lo-1, hi-1, words.more)
	case ratio <= 0.5 && u.Name == "sec/op":
		return times(1/ratio, 1/hi, 1/lo, "as fast")
	}
	return percents(1-ratio, 1-hi, 1-lo, words.less)
}

// percents is a share in per cent with its interval, if that is one.
func percents(x, lo, hi float64, word string) string {
	print := func(x float64) string { return layout.UnsignZero(strconv.FormatFloat(100*x, 'f', 1, 64)) }
	return print(x) + "% " + word + inside(print, lo, hi)
}

// times is a factor with its interval.
func times(x, lo, hi float64, word string) string {
	print := func(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }
	return print(x) + " times " + word + inside(print, lo, hi)
}

// inside is an interval, or "" if it is not known or, as printed, but one number.
func inside(print func(float64) string, lo, hi float64) string {
	if math.IsNaN(lo) || math.IsNaN(hi) || math.IsInf(lo, 0) || math.IsInf(hi, 0) || print(lo) == print(hi) {
		return ""
	}
	return " [" + print(lo) + ", " + print(hi) + "]"
}

// Measured says how benchmarks were measured, and how often a run without any change would show one.
func (v *View) Measured() (out []string) {
	least, most, unsettled := math.MaxInt, 0, 0
	for _, r := range v.Benchmarks {
		if r.Blocks == 0 {
			continue
		}
		least, most = min(least, r.Blocks), max(most, r.Blocks)
		if !r.Settled {
			unsettled++
		}
	}
	if most == 0 {
		return nil
	}
	text := "Measured in " + layout.Count(v.Blocks, "block")
	if len(v.packages) == 1 && v.packages[0] != "" {
		text = v.packages[0] + " was measured in " + layout.Count(v.Blocks, "block")
	}
	if least < most {
		text += fmt.Sprintf(", each benchmark in %d to %d of them", least, most)
	}
	if s := took(v.Elapsed.Seconds()); s != "" {
		text += ", in " + s
	}
	text += ": a block is a new memory layout of the program"
	if len(v.Settings) > 1 {
		text += "; the settings took turns in each block"
	}
	text += "."
	if unsettled > 0 && len(v.Settings) > 1 {
		text += fmt.Sprintf(" Not settled: %s; more blocks would help.", layout.Count(unsettled, "benchmark"))
	}
	out = append(out, text)
	if v.Comparisons > 0 {
		out = append(out, fmt.Sprintf("The error is %s per comparison: with %s and no change in any, at most %s of runs would report a change.",
			dyno.Fraction(v.Error), layout.Count(v.Comparisons, "comparison"), words.TwoDigits(v.FalseChance)))
	}
	return out
}
