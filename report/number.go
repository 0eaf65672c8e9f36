package report

import (
	"math"
	"strconv"
	"strings"
)

// A scale prints the numbers of one row or table: all in the same unit, with
// the same number of decimals, so that they can be compared by eye.
type scale struct {
	unit     string  // such as "ms", or "" for a plain count
	factor   float64 // base units in one unit
	decimals int
}

type step struct {
	unit   string
	factor float64
}

var (
	timeSteps = []step{{"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}, {"ns", 1e-9}}
	byteSteps = []step{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}
	fracSteps = []step{{"%", 0.01}}
	bareSteps = []step{{"", 1}}
)

// unitOf splits a metric's name into a label without the unit and the units
// that its base unit may be printed in: "cpu-sec/req" is "cpu/req" in s … ns.
func unitOf(metric string) (label string, steps []step) {
	head, per, found := strings.Cut(metric, "/")
	if found {
		per = "/" + per
		switch head { // units of benchmarks are whole names
		case "sec":
			return "time" + per, timeSteps
		case "B":
			return "bytes" + per, byteSteps
		}
	}
	for _, u := range []struct {
		suffix string
		steps  []step
	}{{"-sec", timeSteps}, {"-B", byteSteps}, {"-frac", fracSteps}} {
		if l, ok := strings.CutSuffix(head, u.suffix); ok {
			return l + per, u.steps
		}
		// A step's name may hold slashes of its own.
		if l, ok := strings.CutSuffix(metric, u.suffix); ok {
			return l, u.steps
		}
	}
	return metric, bareSteps
}

// scaleOf chooses the unit in which the greatest of xs is at least 1, and the
// decimals that leave the least of them two or more significant digits. Values
// of 0 and unknown ones have no say.
func scaleOf(metric string, xs ...float64) scale {
	_, steps := unitOf(metric)
	least, greatest, whole := math.Inf(1), 0.0, true
	for _, x := range xs {
		x = math.Abs(x)
		if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
			continue
		}
		least, greatest = min(least, x), max(greatest, x)
		whole = whole && x == math.Trunc(x)
	}
	var s scale
	for _, st := range steps {
		s.unit, s.factor = st.unit, st.factor
		if greatest >= st.factor {
			break
		}
	}
	if head, per, _ := strings.Cut(metric, "/"); per != "op" && (head == "sec" || head == "B") {
		s.unit += "/" + per
	}
	switch {
	case greatest == 0, whole && s.factor == 1:
		return s
	case least/s.factor >= 1000:
		s.decimals = 0
	case least/s.factor >= 100:
		s.decimals = 1
	case least/s.factor >= 10:
		s.decimals = 2
	default:
		s.decimals = 3
	}
	// What the least needs to be precise is noise beside a great number.
	if greatest/s.factor >= 100 {
		s.decimals = min(s.decimals, 2)
	}
	if greatest/s.factor >= 1000 {
		s.decimals = min(s.decimals, 1)
	}
	// Nobody counts in thousandths.
	if s.unit == "" && least >= 1 {
		s.decimals = min(s.decimals, 1)
	}
	return s
}

// format prints x in the scale's unit, without the unit.
func (s scale) format(x float64) string {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return "?"
	case x == 0:
		return "0"
	}
	return unsignZero(strconv.FormatFloat(x/s.factor, 'f', s.decimals, 64))
}

// signed is format with a sign before a positive number.
func (s scale) signed(x float64) string { return sign(s.format(x)) }

// with is format with the unit.
func (s scale) with(x float64) string {
	if s.unit == "" {
		return s.format(x)
	}
	return s.format(x) + " " + s.unit
}

// unsignZero turns "-0.0" into "0.0".
func unsignZero(s string) string {
	if strings.Trim(s, "-0.") == "" {
		return strings.TrimPrefix(s, "-")
	}
	return s
}

func sign(s string) string {
	if s == "?" || strings.HasPrefix(s, "-") || strings.Trim(s, "0.") == "" {
		return s
	}
	return "+" + s
}

// change prints a ratio as a change in per cent: 1.062 is "+6.2%". From ten
// times on the factor reads better: "×12.3".
func change(ratio float64) string {
	switch {
	case math.IsNaN(ratio) || math.IsInf(ratio, 0):
		return "?"
	case ratio >= 1000:
		return ">×1000"
	case ratio >= 10:
		return "×" + strconv.FormatFloat(ratio, 'f', 1, 64)
	}
	return sign(unsignZero(strconv.FormatFloat((ratio-1)*100, 'f', 1, 64))) + "%"
}

// interval prints the bounds of a ratio, or "" if there are none.
func interval(lo, hi float64) string {
	if math.IsNaN(lo) || math.IsNaN(hi) {
		return ""
	}
	return "[" + change(lo) + ", " + change(hi) + "]"
}

// spread prints how far an interval reaches from its center, in per cent of
// it, as benchstat does, or "" if there is no interval.
func spread(center, lo, hi float64) string {
	far := max(center-lo, hi-center) / math.Abs(center)
	if math.IsNaN(far) || math.IsInf(far, 0) {
		return ""
	}
	return "±" + strconv.FormatFloat(far*100, 'f', 0, 64) + "%"
}

// pvalue prints a p-value to three digits, or "" if there is none.
func pvalue(p float64) string {
	switch {
	case math.IsNaN(p):
		return ""
	case p < 0.001:
		return "<0.001"
	}
	return strconv.FormatFloat(p, 'f', 3, 64)
}
