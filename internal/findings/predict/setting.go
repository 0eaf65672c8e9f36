package predict

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/gcmodel"
)

// defaultGOGC is the runtime's.
const defaultGOGC = 100

// SettingOf returns the settings that the runtime makes of the variables GOGC and GOMEMLIMIT. It fails if a
// program would not start with such a limit.
func SettingOf(env map[string]string) (s gcmodel.Setting, err error) {
	s.GOGC = gogcOf(env["GOGC"])
	s.Limit, err = limitOf(env["GOMEMLIMIT"])
	return s, err
}

// gogcOf reads GOGC as the runtime does (readGOGC of runtime/mgcpacer.go): what is no number counts as
// 100, what is below 0 as off.
func gogcOf(text string) float64 {
	if text == "off" {
		return gcmodel.Off
	}
	n, err := strconv.ParseInt(text, 10, 32)
	switch {
	case err != nil || text[0] == '+':
		return defaultGOGC
	case n < 0:
		return gcmodel.Off
	}
	return float64(n)
}

// limitOf reads GOMEMLIMIT as the runtime does (readGOMEMLIMIT of runtime/mgcpacer.go).
func limitOf(text string) (float64, error) {
	if text == "" || text == "off" {
		return 0, nil
	}
	n, err := dyno.ParseSize(text)
	if err != nil || text == dyno.NoLimit {
		return 0, fmt.Errorf("malformed GOMEMLIMIT %q", text)
	}
	if n == math.MaxInt64 {
		return 0, nil
	}
	return float64(n), nil
}

// Name is a setting as its variables are written: "GOGC=off GOMEMLIMIT=200MiB".
func Name(s gcmodel.Setting) string {
	name := "GOGC=" + GOGC(s)
	if s.Limit > 0 {
		name += " GOMEMLIMIT=" + Limit(s)
	}
	return name
}

// GOGC is the value of the variable GOGC.
func GOGC(s gcmodel.Setting) string {
	if math.IsInf(s.GOGC, 1) {
		return "off"
	}
	return strconv.FormatFloat(s.GOGC, 'f', -1, 64)
}

// Limit is the value of the variable GOMEMLIMIT; "" without a limit.
func Limit(s gcmodel.Setting) string {
	if s.Limit == 0 {
		return ""
	}
	return dyno.Size(s.Limit).String()
}

// ParseGOGC reads a value of GOGC that is asked for: a number from 0, or off.
func ParseGOGC(text string) (float64, error) {
	x := gogcOf(strings.TrimSpace(text))
	if n, err := strconv.ParseUint(text, 10, 31); text != "off" && (err != nil || float64(n) != x) {
		return 0, fmt.Errorf("bad GOGC %q (want for example 50, or off)", text)
	}
	return x, nil
}

// same reports whether the collector is told the same.
func same(s, t gcmodel.Setting) bool { return s.GOGC == t.GOGC && s.Limit == t.Limit }
