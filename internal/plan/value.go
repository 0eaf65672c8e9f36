package plan

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/plan/check"
)

// Set gives a key of a plan, such as "load.warmup", the value that a text says. The text
// is read as in a file, but commas separate the elements of a list.
func Set(e *dyno.Experiment, key, text string) error {
	return SetIn(reflect.ValueOf(e), key, text)
}

// SetIn is Set for a part of a plan, to which v points.
func SetIn(v reflect.Value, key, text string) error {
	for key := range strings.SplitSeq(key, ".") {
		if v.Kind() == reflect.Pointer && v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		for name, field := range check.Keys(reflect.Indirect(v)) {
			if name == key {
				v = field
			}
		}
	}
	return value(key[strings.LastIndexByte(key, '.')+1:], v.Addr().Interface())(text)
}

// value returns what reads a text into the field of a key; nil if no text tells it.
func value(key string, to any) func(string) error {
	switch to := to.(type) {
	case *string:
		return into(to, func(s string) (string, error) {
			if key == "go" {
				s = strings.TrimPrefix(s, "go")
			}
			return s, nil
		})
	case *int:
		if key == "cpus" {
			return into(to, parseCPUs)
		}
		return into(to, parseCount)
	case **uint64:
		return pointer(to, parseSeed)
	case *bool:
		return into(to, parseBool)
	case *dyno.Not:
		return into(to, func(s string) (dyno.Not, error) { b, err := parseBool(s); return dyno.Not(!b), err })
	case **bool:
		return pointer(to, parseBool)
	case *dyno.Duration:
		if key == "warmup" || key == "idle" {
			return into(to, dyno.ParseDuration)
		}
		return into(to, parsePositive)
	case **dyno.Fraction:
		return pointer(to, dyno.ParseFraction)
	case *dyno.CPUs:
		return into(to, dyno.ParseCPUs)
	case *dyno.Size:
		return into(to, dyno.ParseSize)
	case *dyno.Rate:
		return into(to, dyno.ParseRate)
	case *dyno.Speed:
		return into(to, dyno.ParseSpeed)
	case *dyno.Sleep:
		return into(to, dyno.ParseSleep)
	case *[]string:
		if key == "build" {
			return into(to, dyno.SplitFlags)
		}
		return into(to, func(s string) ([]string, error) { return strings.Split(s, ","), nil })
	}
	return nil
}

func into[T any](to *T, parse func(string) (T, error)) func(string) error {
	return func(s string) (err error) {
		*to, err = parse(s)
		return err
	}
}

func pointer[T any](to **T, parse func(string) (T, error)) func(string) error {
	return func(s string) error {
		*to = new(T)
		return into(*to, parse)(s)
	}
}

func parseSeed(s string) (uint64, error) {
	seed, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("want a whole number below 2^64, got %q", s)
	}
	return seed, nil
}

func parseCount(s string) (int, error) {
	n, err := strconv.Atoi(strings.ReplaceAll(s, "_", ""))
	if err != nil || n < 1 {
		return 0, fmt.Errorf("want a whole number from 1, got %q", s)
	}
	return n, nil
}

// parseCPUs takes -1 too, for processes that are not pinned.
func parseCPUs(s string) (int, error) {
	if s == "-1" {
		return -1, nil
	}
	return parseCount(s)
}

func parseBool(s string) (bool, error) {
	s = strings.ToLower(s) // YAML has True, too
	if s != "true" && s != "false" {
		return false, fmt.Errorf("want true or false, got %q", s)
	}
	return s == "true", nil
}

func parsePositive(s string) (dyno.Duration, error) {
	d, err := dyno.ParseDuration(s)
	if err == nil && d == 0 {
		err = fmt.Errorf("want more than 0s")
	}
	return d, err
}

func parseStatus(s string) (int, error) {
	status, err := strconv.Atoi(s)
	if err != nil || status < 100 || status > 599 {
		return 0, fmt.Errorf("bad status %q (want for example 201)", s)
	}
	return status, nil
}
