package dyno

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A Rate is a number of requests per second that are due in an open load, stage after stage. The zero value,
// without stages, means a closed load.
type Rate []Stage

// A Stage goes from one rate to another in equal steps of time.
type Stage struct {
	From, To float64  // requests per second
	Over     Duration // 0: for ever, at From; only the last stage
}

// PerSecond is a constant rate without an end; 0 means no rate.
func PerSecond(v float64) Rate {
	if v == 0 {
		return nil
	}
	return Rate{{From: v, To: v}}
}

// Open reports whether there is a rate, which makes a load an open one.
func (r Rate) Open() bool { return len(r) > 0 }

// Length returns the length of all stages; 0 means for ever.
func (r Rate) Length() time.Duration {
	var sum time.Duration
	for _, s := range r {
		if s.Over == 0 {
			return 0
		}
		sum += time.Duration(s.Over)
	}
	return sum
}

// First is the first rate above 0, for ever: that of a warm-up.
func (r Rate) First() Rate {
	for _, s := range r {
		if v := cmp.Or(s.From, s.To); v > 0 {
			return PerSecond(v)
		}
	}
	return nil
}

// Max is the highest rate, in requests per second.
func (r Rate) Max() float64 {
	most := 0.0
	for _, s := range r {
		most = max(most, s.From, s.To)
	}
	return most
}

// Due returns when n requests are due, the inverse of the integral of the rate, in whole
// nanoseconds, rounded down, and never earlier for greater n. It returns false if the
// stages end before: 100/s over 1s has the requests 0 to 99.
func (r Rate) Due(n float64) (time.Duration, bool) {
	start := 0.0 // seconds
	for _, s := range r {
		if s.Over == 0 {
			return nanoseconds(start + n/s.From), s.From > 0
		}
		over := time.Duration(s.Over).Seconds()
		all := s.requests()
		if n < all {
			return nanoseconds(start + s.due(n, all, over)), true
		}
		n -= all
		start += over
	}
	return 0, false
}

// requests returns the number of requests that are due in a stage with an end.
func (s *Stage) requests() float64 {
	all := (s.From + s.To) / 2 * time.Duration(s.Over).Seconds()
	// 0.1 + 0.2 requests are 0.3: a whole number must not miss or gain one.
	if whole := math.Round(all); math.Abs(all-whole) < 1e-12*whole {
		return whole
	}
	return all
}

// due returns when n of all requests of the stage are due, in seconds from its start.
func (s *Stage) due(n, all, over float64) float64 {
	slope := (s.To - s.From) / over
	if slope < 0 { // backwards it goes up, and nothing cancels
		return max(over-rise(all-n, s.To, -slope), 0)
	}
	return rise(n, s.From, slope)
}

// rise solves n = from t + slope/2 t² for t >= 0, in the form in which nothing cancels.
func rise(n, from, slope float64) float64 {
	if n == 0 {
		return 0
	}
	return 2 * n / (from + math.Sqrt(from*from+2*slope*n))
}

// nanoseconds rounds down, except that what is as near to the next nanosecond as
// the error of a float64 is that one: 0.1 s is not 99,999,999 ns.
func nanoseconds(seconds float64) time.Duration {
	ns := min(seconds*1e9, math.MaxInt64/2)
	if next := math.Ceil(ns); next-ns < 1e-3+ns*4e-16 {
		ns = next
	}
	return time.Duration(ns)
}

// maxRate is one request a nanosecond: times are not finer.
const maxRate = 1e9

// ParseRate reads "500", "500/s", "30/m", and stages such as "100->2000 over 60s then 2000
// over 30s"; → is as good as ->. The last stage may have no length.
func ParseRate(s string) (Rate, error) {
	bad := func(why string) (Rate, error) {
		return nil, fmt.Errorf("bad rate %q%s (want for example 500/s or 100->2000 over 60s then 2000 over 30s)", s, why)
	}
	parts := thenWord.Split(strings.TrimSpace(s), -1)
	r := make(Rate, len(parts))
	left := Duration(math.MaxInt64 / 2)
	for i, part := range parts {
		rate, over, ends := strings.Cut(part, " over ")
		from, to, ramp := strings.Cut(strings.ReplaceAll(rate, "→", "->"), "->")
		if !ramp {
			to = from
		}
		var errs [3]error
		r[i].From, errs[0] = parsePerSecond(from)
		r[i].To, errs[1] = parsePerSecond(to)
		if ends {
			r[i].Over, errs[2] = ParseDuration(strings.TrimSpace(over))
		}
		switch {
		case errors.Join(errs[:]...) != nil:
			return bad("")
		case r[i].Over > left:
			return bad(": it is longer than a century")
		case r[i].Over > 0:
			left -= r[i].Over
		case ends || ramp || i < len(parts)-1:
			return bad(": a stage needs a length")
		case r[i].From == 0:
			return bad(": no request would be due")
		}
	}
	if r.Max() == 0 {
		return bad(": no request would be due")
	}
	return r, nil
}

var thenWord = regexp.MustCompile(`\s+then\s+`)

func parsePerSecond(s string) (float64, error) {
	num, unit, found := strings.Cut(strings.TrimSpace(s), "/")
	per := map[string]float64{"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600}[unit]
	if !found {
		per = 1
	}
	v, err := strconv.ParseFloat(num, 64)
	if err != nil || per == 0 || !(v >= 0 && v <= maxRate*per) {
		return 0, fmt.Errorf("bad rate %q", s)
	}
	return v / per, nil
}

// String writes the rate as ParseRate reads it.
func (r Rate) String() string {
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	var parts []string
	for _, s := range r {
		part := number(s.From)
		if s.To != s.From {
			part += "->" + number(s.To)
		}
		if s.Over > 0 {
			part += " over " + s.Over.String()
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " then ")
}

// MarshalJSON implements json.Marshaler: a number, or what String says.
func (r Rate) MarshalJSON() ([]byte, error) {
	if len(r) == 1 && r[0].Over == 0 {
		return json.Marshal(r[0].From)
	}
	return json.Marshal(r.String())
}
