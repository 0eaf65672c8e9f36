package report

import "strings"

// Noun is what a reader calls a metric: "p99 latency", or its name without the unit.
func Noun(metric string) string {
	if n, ok := nouns[metric]; ok {
		return n
	}
	label, _ := unitOf(metric)
	return label
}

// Number prints values with their unit, such as "7.25 ms", all with the decimals that suit xs.
func Number(metric string, xs ...float64) func(x float64) string {
	sc := scaleOf(metric, xs...)
	if sc.unit == "" && strings.HasSuffix(metric, "/s") {
		sc.unit = metric // a count does not tell of what by itself
	}
	return sc.with
}

// Change prints a ratio as a change: 1.062 is "+6.2%", 12.3 is "×12.3".
func Change(ratio float64) string { return change(ratio) }

// Interval prints the bounds of a ratio as changes, or "" if they are not known.
func Interval(lo, hi float64) string { return interval(lo, hi) }
