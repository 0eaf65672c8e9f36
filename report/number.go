package report

import (
	"math"
	"strconv"
	"strings"
)

// A scale prints the numbers of one row or table in one unit with the same decimals.
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
	timeSteps = []step{{unit: "s", factor: 1}, {unit: "ms", factor: 1e-3}, {unit: "µs", factor: 1e-6}, {unit: "ns", factor: 1e-9}}
	byteSteps = []step{{unit: "GiB", factor: 1 << 30}, {unit: "MiB", factor: 1 << 20}, {unit: "KiB", factor: 1 << 10}, {unit: "B", factor: 1}}
	fracSteps = []step{{unit: "%", factor: 0.01}}
	bareSteps = []step{{unit: "", factor: 1}}
)

// unitOf splits the unit from a metric's name: "cpu-sec/req" is "cpu/req" in s … ns.
func unitOf(metric string) (label string, steps []step) {
	at := strings.LastIndexByte(metric, ' ') + 1 // a benchmark's row is called "package.Name sec/op"
	switch unit, per, found := strings.Cut(metric[at:], "/"); {
	case found && unit == "sec":
		return metric[:at] + "time/" + per, timeSteps
	case found && unit == "B":
		return metric[:at] + "bytes/" + per, byteSteps
	}
	head, per, found := strings.Cut(metric, "/")
	if found {
		per = "/" + per
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

// scaleOf chooses the unit in which the greatest of xs is at least 1, and decimals that give
// the least two significant digits. 0 and unknown values have no say.
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
	if head, per, _ := strings.Cut(metric[strings.LastIndexByte(metric, ' ')+1:], "/"); per != "op" && per != "" && (head == "sec" || head == "B") {
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

func (s scale) format(x float64) string {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return "?"
	case x == 0:
		return "0"
	}
	return unsignZero(strconv.FormatFloat(x/s.factor, 'f', s.decimals, 64))
}

func (s scale) signed(x float64) string { return sign(s.format(x)) }

func (s scale) with(x float64) string {
	if s.unit == "" {
		return s.format(x)
	}
	return s.format(x) + " " + s.unit
}

// Interval prints bounds without the unit, or "" if they are not known.
func (s scale) interval(lo, hi float64) string { return bounds(s.format, lo, hi) }

func (s scale) signedInterval(lo, hi float64) string { return bounds(s.signed, lo, hi) }

func bounds(print func(float64) string, lo, hi float64) string {
	if math.IsNaN(lo) || math.IsNaN(hi) {
		return ""
	}
	return "[" + print(lo) + ", " + print(hi) + "]"
}

// signedWith is signed with the unit.
func (s scale) signedWith(x float64) string { return sign(s.with(x)) }

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

// Change prints 1.062 as "+6.2%" and 12.3 as "×12.3".
func Change(ratio float64) string {
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

func Interval(lo, hi float64) string { return bounds(Change, lo, hi) }

// spread prints how far an interval reaches from its center, in per cent of it, or "".
func spread(center, lo, hi float64) string {
	far := max(center-lo, hi-center) / math.Abs(center)
	if math.IsNaN(far) || math.IsInf(far, 0) {
		return ""
	}
	return "±" + strconv.FormatFloat(far*100, 'f', 0, 64) + "%"
}

// pvalue prints a p-value to three decimals, a small one to so many, or "" if there is
// none.
func pvalue(p float64, decimals int) string {
	least := math.Pow10(-decimals)
	switch {
	case math.IsNaN(p):
		return ""
	case p < least:
		return "<" + strconv.FormatFloat(least, 'f', decimals, 64)
	case p < 0.01:
		return strconv.FormatFloat(p, 'f', decimals, 64)
	}
	return strconv.FormatFloat(p, 'f', 3, 64)
}

// Number prints values with their unit, such as "7.25 ms", all with the decimals that suit xs.
func Number(metric string, xs ...float64) func(x float64) string {
	sc := scaleOf(metric, xs...)
	if sc.unit == "" && strings.HasSuffix(metric, "/s") {
		sc.unit = metric // a count does not tell of what by itself
	}
	return sc.with
}
