package dyno

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A Rate is how many requests per second are due in an open load, stage after
// stage. The zero value, without stages, is a closed load's.
type Rate []Stage

// A Stage goes from one rate to another in equal steps of time.
type Stage struct {
	From, To float64  // requests per second
	Over     Duration // 0: for ever, at From
}

// PerSecond is a rate that stays the same for ever; of 0 there is none.
func PerSecond(v float64) Rate {
	if v == 0 {
		return nil
	}
	return Rate{{From: v, To: v}}
}

// Open reports whether there is a rate, which makes a load an open one.
func (r Rate) Open() bool { return len(r) > 0 }

// Length is how long the stages last; 0 means for ever.
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

// First is the rate that the first stage begins with, or if that is 0 the one
// that it goes to, for ever: the rate of a warm-up.
func (r Rate) First() Rate {
	if r[0].From > 0 {
		return PerSecond(r[0].From)
	}
	return PerSecond(r[0].To)
}

// Max is the highest rate, in requests per second.
func (r Rate) Max() float64 {
	most := 0.0
	for _, s := range r {
		most = max(most, s.From, s.To)
	}
	return most
}

// Due returns when n requests are due: the inverse of the integral of the rate.
// It returns false if the stages end before.
func (r Rate) Due(n float64) (time.Duration, bool) {
	start := 0.0 // seconds
	for _, s := range r {
		over := time.Duration(s.Over).Seconds()
		all := (s.From + s.To) / 2 * over // requests of the stage
		switch {
		case over == 0 && s.From > 0:
			return inSeconds(start + n/s.From), true
		case n < all || n == 0:
			// n = From t + (To-From)/(2 Over) t², solved so that nothing cancels.
			slope := (s.To - s.From) / over
			return inSeconds(start + rootOf(n, s.From, slope)), true
		}
		n -= all
		start += over
	}
	return 0, false
}

func rootOf(n, from, slope float64) float64 {
	if n == 0 {
		return 0
	}
	return 2 * n / (from + math.Sqrt(max(from*from+2*slope*n, 0)))
}

func inSeconds(s float64) time.Duration {
	return time.Duration(min(s*1e9, math.MaxInt64/2))
}

// ParseRate reads requests per second, "500", "500/s", "30/m", and stages such
// as "100->2000 over 60s then 2000 over 30s"; → is as good as ->.
func ParseRate(s string) (Rate, error) {
	bad := func() (Rate, error) {
		return nil, fmt.Errorf("bad rate %q (want for example 500/s or 100->2000 over 60s then 2000 over 30s)", s)
	}
	var r Rate
	for _, part := range thenWord.Split(strings.TrimSpace(s), -1) {
		var stage Stage
		rate, over, found := strings.Cut(part, " over ")
		from, to, ramp := strings.Cut(strings.ReplaceAll(rate, "→", "->"), "->")
		if !ramp {
			to = from
		}
		var err1, err2, err3 error
		stage.From, err1 = parsePerSecond(from)
		stage.To, err2 = parsePerSecond(to)
		if found {
			if stage.Over, err3 = ParseDuration(strings.TrimSpace(over)); stage.Over == 0 {
				return bad()
			}
		}
		alone := !ramp && !found
		if err1 != nil || err2 != nil || err3 != nil || ramp && !found {
			return bad()
		}
		r = append(r, stage)
		if alone && len(r) > 1 {
			return bad()
		}
	}
	for i, s := range r {
		if s.Over == 0 && i < len(r)-1 {
			return bad()
		}
	}
	if !(r.Max() > 0) {
		return bad()
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
	if err != nil || per == 0 || !(v >= 0) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("bad rate %q", s)
	}
	return v / per, nil
}

// String writes the rate as ParseRate reads it.
func (r Rate) String() string {
	var parts []string
	for _, s := range r {
		part := fmt.Sprintf("%g", s.From)
		if s.To != s.From {
			part += fmt.Sprintf("->%g", s.To)
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
