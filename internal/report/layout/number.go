package layout

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// A Scale prints the numbers of one row or table in one unit with the same decimals.
type Scale struct {
	Unit     string  // such as "ms", or "" for a plain count
	Factor   float64 // base units in one unit
	Decimals int
}

type step struct {
	Unit   string
	Factor float64
}

var (
	TimeSteps = []step{{"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}, {"ns", 1e-9}}
	ByteSteps = []step{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}
	FracSteps = []step{{"%", 0.01}}
	bareSteps = []step{{"", 1}}
)

// UnitOf splits the unit from a metric's name: "cpu-sec/req" is "cpu/req" in s … ns.
func UnitOf(metric string) (label string, steps []step) {
	at := strings.LastIndexByte(metric, ' ') + 1 // a benchmark's row is called "package.Name sec/op"
	switch unit, per, found := strings.Cut(metric[at:], "/"); {
	case found && unit == "sec":
		return metric[:at] + "time/" + per, TimeSteps
	case found && unit == "B":
		return metric[:at] + "bytes/" + per, ByteSteps
	}
	head, per, found := strings.Cut(metric, "/")
	if found {
		per = "/" + per
	}
	for _, u := range []struct {
		suffix string
		steps  []step
	}{{"-sec", TimeSteps}, {"-B", ByteSteps}, {"-frac", FracSteps}} {
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

// ScaleOf chooses the unit in which the greatest of xs is at least 1, and decimals that give
// the least two significant digits. 0 and unknown values have no say.
func ScaleOf(metric string, xs ...float64) Scale {
	_, steps := UnitOf(metric)
	least, greatest, whole := math.Inf(1), 0.0, true
	for _, x := range xs {
		x = math.Abs(x)
		if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
			continue
		}
		least, greatest = min(least, x), max(greatest, x)
		whole = whole && x == math.Trunc(x)
	}
	var s Scale
	for _, st := range steps {
		s.Unit, s.Factor = st.Unit, st.Factor
		if greatest >= st.Factor {
			break
		}
	}
	if head, per, _ := strings.Cut(metric[strings.LastIndexByte(metric, ' ')+1:], "/"); per != "op" && per != "" && (head == "sec" || head == "B") {
		s.Unit += "/" + per
	}
	if greatest == 0 || whole && s.Factor == 1 {
		return s
	}
	s.Decimals = 3
	for x := least / s.Factor; x >= 10 && s.Decimals > 0; x /= 10 {
		s.Decimals--
	}
	// What the least needs to be precise is noise beside a great number.
	if greatest/s.Factor >= 100 {
		s.Decimals = min(s.Decimals, 2)
	}
	if greatest/s.Factor >= 1000 {
		s.Decimals = min(s.Decimals, 1)
	}
	// Nobody counts in thousandths.
	if s.Unit == "" && least >= 1 {
		s.Decimals = min(s.Decimals, 1)
	}
	return s
}

// Format prints x, which is in the base unit, in the scale and without its unit; "?" where it is not known.
func (s Scale) Format(x float64) string {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return "?"
	case x == 0:
		return "0"
	}
	return UnsignZero(strconv.FormatFloat(x/s.Factor, 'f', s.Decimals, 64))
}

// Signed is Format with the sign, also of what is above zero.
func (s Scale) Signed(x float64) string { return sign(s.Format(x)) }

// With is Format with the unit behind it.
func (s Scale) With(x float64) string { return strings.TrimSuffix(s.Format(x)+" "+s.Unit, " ") }

// Interval prints bounds without the unit, or "" if they are not known.
func (s Scale) Interval(lo, hi float64) string { return bounds(s.Format, lo, hi) }

// SignedInterval prints an interval of differences, "" where it is not known.
func (s Scale) SignedInterval(lo, hi float64) string { return bounds(s.Signed, lo, hi) }

func bounds(print func(float64) string, lo, hi float64) string {
	if math.IsNaN(lo) || math.IsNaN(hi) {
		return ""
	}
	return "[" + print(lo) + ", " + print(hi) + "]"
}

// SignedWith is signed with the unit.
func (s Scale) SignedWith(x float64) string { return sign(s.With(x)) }

// UnsignZero turns "-0.0" into "0.0".
func UnsignZero(s string) string {
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
	return sign(UnsignZero(strconv.FormatFloat((ratio-1)*100, 'f', 1, 64))) + "%"
}

// Interval prints an interval of ratios as changes in per cent, "" where it is not known.
func Interval(lo, hi float64) string { return bounds(Change, lo, hi) }

// Spread prints how far an interval reaches from its center, in per cent of it, or "".
func Spread(center, lo, hi float64) string {
	far := max(center-lo, hi-center) / math.Abs(center)
	if math.IsNaN(far) || math.IsInf(far, 0) {
		return ""
	}
	return "±" + strconv.FormatFloat(far*100, 'f', 0, 64) + "%"
}

// Pvalue prints a p-value to three decimals, a small one to the given number of decimals. It is "" without a
// p-value.
func Pvalue(p float64, decimals int) string {
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
	sc := ScaleOf(metric, xs...)
	if sc.Unit == "" && strings.HasSuffix(metric, "/s") {
		sc.Unit = metric // a count does not tell of what by itself
	}
	return sc.With
}

// Duration prints a time with the unit that suits it.
func Duration(d time.Duration) string { return ScaleOf("-sec", d.Seconds()).With(d.Seconds()) }

// Share prints a share in per cent, to two digits below 10 %, or "" for NaN.
func Share(x float64) string {
	switch {
	case math.IsNaN(x):
		return ""
	case x == 0:
		return "0"
	case x < 0.0001:
		return "<0.01"
	case x < 0.01:
		return fmt.Sprintf("%.2f", 100*x)
	case x < 0.1:
		return fmt.Sprintf("%.1f", 100*x)
	}
	return fmt.Sprintf("%.0f", 100*x)
}

// Axis is a format for the numbers of an axis: it leaves out zeros at the end of a number.
func Axis(format func(float64) string) func(float64) string {
	return func(x float64) string {
		number, unit, _ := strings.Cut(format(x), " ")
		if strings.Contains(number, ".") {
			number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
		}
		return strings.TrimSpace(number + " " + unit)
	}
}
