package dyno

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// A Duration is a time.Duration that is written as Go writes it: "1m30s".
type Duration time.Duration

// ParseDuration reads what time.ParseDuration reads, but nothing negative.
func ParseDuration(s string) (Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("bad duration %q (want for example 30s or 1m30s)", s)
	}
	return Duration(d), nil
}

func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Or returns d, or x if d is 0.
func (d Duration) Or(x Duration) time.Duration {
	return time.Duration(cmp.Or(d, x))
}

// A Fraction is a share that is written as per cent: 0.01 is "1%".
type Fraction float64

// ParseFraction reads "1%", "0.5%" or "0.01"; the result is in [0, 1].
func ParseFraction(s string) (Fraction, error) {
	v, err := share(s, parseFloat)
	if err != nil || !(v >= 0 && v <= 1) {
		return 0, fmt.Errorf("bad fraction %q (want for example 1%% or 0.01)", s)
	}
	return Fraction(v), nil
}

// share reads a number or, with "%", a hundredth of it.
func share(s string, parse func(string) (float64, error)) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	v, err := parse(number)
	if percent {
		v /= 100
	}
	return v, err
}

func parseFloat(s string) (float64, error) { return strconv.ParseFloat(strings.TrimSpace(s), 64) }

func (f Fraction) String() string {
	return strconv.FormatFloat(float64(f)*100, 'g', 12, 64) + "%"
}

// MarshalText implements encoding.TextMarshaler.
func (f Fraction) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// A Not is a switch that is written the other way round: true as "false".
type Not bool

// MarshalJSON implements json.Marshaler.
func (n Not) MarshalJSON() ([]byte, error) { return strconv.AppendBool(nil, !bool(n)), nil }

// A Number is written as null where it is not finite, since JSON has no NaN.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}
