package dyno_test

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/plan"
)

// mustRate is for tables; the rates in them are good.
func mustRate(t testing.TB, s string) dyno.Rate {
	t.Helper()
	r, err := dyno.ParseRate(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The times are worked out by hand: n = 5t² on the way up from 0 to 100 over
// 10s, and the same backwards on the way down.
func TestRateDue(t *testing.T) {
	for _, c := range []struct {
		rate string
		n    float64
		want time.Duration // -1: the stages are over
	}{
		{"3/s", 1, 333333333}, {"3/s", 2, 666666666}, {"3/s", 3, time.Second},
		{"30/m", 1, 2 * time.Second}, {"0.7", 7, 10 * time.Second}, {"7", 7e6, 1e6 * time.Second},
		{"0->100 over 10s", 0, 0}, {"0->100 over 10s", 5, time.Second}, {"0->100 over 10s", 20, 2 * time.Second},
		{"0->100 over 10s", 499, 9_989_994_994}, {"0->100 over 10s", 500, -1},
		{"100->0 over 10s", 0, 0}, {"100->0 over 10s", 95, time.Second}, {"100->0 over 10s", 495, 9 * time.Second}, {"100->0 over 10s", 500, -1},
		{"100->2000 over 60s then 2000 over 30s", 63_000, time.Minute},
		{"100->2000 over 60s then 2000 over 30s", 63_001, time.Minute + 500*time.Microsecond},
		{"100->2000 over 60s then 2000 over 30s", 122_999, 90*time.Second - 500*time.Microsecond},
		{"100->2000 over 60s then 2000 over 30s", 123_000, -1},
		{"100 over 1s then 0 over 5s then 100", 99, 990 * time.Millisecond},
		{"100 over 1s then 0 over 5s then 100", 100, 6 * time.Second}, // not in the pause
		{"0 over 5s then 100", 0, 5 * time.Second},
		{"0->10 over 2s then 10->0 over 2s then 10", 20, 4 * time.Second},
		{"0.1 over 30s", 2, 20 * time.Second}, {"0.1 over 30s", 3, -1},
		{"0.000001 over 1s then 5", 0, 0},
	} {
		got, ok := mustRate(t, c.rate).Due(c.n)
		if ok != (c.want >= 0) || ok && got != c.want {
			t.Errorf("%s: request %g is due at %v, %v, want %v", c.rate, c.n, got, ok, c.want)
		}
	}
}

// integral is how many requests are due until at.
func integral(r dyno.Rate, at time.Duration) float64 {
	sum := 0.0
	for _, s := range r {
		over := time.Duration(s.Over)
		if over == 0 {
			return sum + s.From*at.Seconds()
		}
		part := min(at, over).Seconds()
		slope := (s.To - s.From) / over.Seconds()
		sum += s.From*part + slope/2*part*part
		if at -= over; at <= 0 {
			break
		}
	}
	return sum
}

func rates() *rapid.Generator[dyno.Rate] {
	perSecond := rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0.01, 1e5), rapid.Map(rapid.IntRange(0, 20_000), func(n int) float64 { return float64(n) }))
	return rapid.Custom(func(t *rapid.T) dyno.Rate {
		var r dyno.Rate
		for range rapid.IntRange(1, 4).Draw(t, "stages") {
			s := dyno.Stage{From: perSecond.Draw(t, "from"), To: perSecond.Draw(t, "to")}
			if rapid.Bool().Draw(t, "steady") {
				s.To = s.From
			}
			s.Over = dyno.Duration(rapid.Int64Range(1e6, 600e9).Draw(t, "over"))
			r = append(r, s)
		}
		if last := &r[len(r)-1]; last.From > 0 && rapid.Bool().Draw(t, "for ever") {
			last.To, last.Over = last.From, 0
		}
		if r.Max() == 0 {
			r[0].From = 1
		}
		return r
	})
}

// Due is the inverse of the integral, never decreases, and ends where the
// stages end: none of their requests is missing and none is too many.
func TestRateDueInverts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rates().Draw(t, "rate")
		length := r.Length()
		all := math.Inf(1)
		if length > 0 {
			all = integral(r, length)
		}
		var last time.Duration
		n := math.Floor(rapid.Float64Range(0, min(all, 1e7)).Draw(t, "n"))
		for range 50 {
			due, ok := r.Due(n)
			if !ok {
				if n < all-1e-6*all {
					t.Fatalf("%v: request %g of %g is not due", r, n, all)
				}
				break
			}
			if n > all+1e-6*all || length > 0 && due >= length {
				t.Fatalf("%v: request %g of %g is due at %v of %v", r, n, all, due, length)
			}
			if due < last {
				t.Fatalf("%v: request %g is due at %v, before %v", r, n, due, last)
			}
			// A nanosecond, and the error of the check itself.
			near := 1e-9*r.Max() + 1e-11*max(n, 1)
			if lo, hi := integral(r, due-1)-near, integral(r, due+1)+near; n < lo || n > hi {
				t.Fatalf("%v: request %g is due at %v, when %g are", r, n, due, integral(r, due))
			}
			last = due
			n++
		}
		if length == 0 {
			return
		}
		if whole := math.Round(all); math.Abs(all-whole) < 1e-12*whole {
			_, before := r.Due(whole - 1)
			if _, after := r.Due(whole); !before || after {
				t.Fatalf("%v: not exactly %g requests", r, whole)
			}
		}
	})
}

// What String and JSON write is read as the same rate.
func TestRateRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rates().Draw(t, "rate")
		if back, err := dyno.ParseRate(r.String()); err != nil || !reflect.DeepEqual(r, back) {
			t.Fatalf("%v became %v (%v)", r, back, err)
		}
		data, err := json.Marshal(&dyno.Experiment{Load: dyno.Load{Rate: r, Requests: 1}})
		if err != nil {
			t.Fatal(err)
		}
		e, err := plan.Parse("run.json", data)
		if err != nil && strings.Contains(err.Error(), "end before") {
			return // less than one request
		}
		if err != nil || !reflect.DeepEqual(r, e.Load.Rate) {
			t.Fatalf("%s: %v", data, err)
		}
	})
}

func TestParseRate(t *testing.T) {
	ramp := dyno.Rate{{From: 100, To: 2000, Over: dyno.Duration(time.Minute)}, {From: 2000, To: 2000, Over: dyno.Duration(30 * time.Second)}}
	for _, c := range []struct {
		text, said string
		want       dyno.Rate
	}{
		{"500", "500", dyno.PerSecond(500)},
		{"500/s", "500", dyno.PerSecond(500)},
		{" 30/m ", "0.5", dyno.PerSecond(0.5)},
		{"1e6", "1000000", dyno.PerSecond(1e6)},
		{"100->2000 over 60s then 2000 over 30s", "100->2000 over 1m0s then 2000 over 30s", ramp},
		{"100→2000 over 1m then  2000/s over 30s", "100->2000 over 1m0s then 2000 over 30s", ramp},
		{"100 -> 2000 over 60s", "100->2000 over 1m0s", ramp[:1]},
		{"100->2000 over 60s then 2000", "100->2000 over 1m0s then 2000", dyno.Rate{ramp[0], {From: 2000, To: 2000}}},
		{"0 over 5s then 7 over 1ms", "0 over 5s then 7 over 1ms", dyno.Rate{{Over: 5e9}, {From: 7, To: 7, Over: 1e6}}},
	} {
		r, err := dyno.ParseRate(c.text)
		if err != nil || !reflect.DeepEqual(r, c.want) || r.String() != c.said {
			t.Errorf("%q: %v (%v), want %s", c.text, r, err, c.said)
		}
	}
	if d := ramp.Length(); d != 90*time.Second || ramp.Max() != 2000 || dyno.PerSecond(5).Length() != 0 {
		t.Errorf("length %v, most %g", d, ramp.Max())
	}
	for text, why := range map[string]string{
		"": "", "fast": "", "-5": "", "0": "no request", "NaN": "", "Inf": "", "2e9/s": "", "5/d": "", "5 6": "",
		"100->200": "needs a length", "100 over": "", "100 over 0s": "needs a length", "100 over -1s": "", "100 then 200": "needs a length",
		"100 over 5s then": "", "100->200->300 over 5s": "", "100 over 5s then 200->0": "needs a length",
		"0 over 5s": "no request", "100 over 5s then 0": "no request", "1 over 1000000h then 1 over 2000000h": "century",
	} {
		r, err := dyno.ParseRate(text)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("bad rate %q", text)) || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, %v, want a mistake of %q", text, r, err, why)
		}
	}
}

func FuzzParseRate(f *testing.F) {
	f.Add("100->2000 over 60s then 2000 over 30s")
	f.Add("0→5/m over 1ms then 30/h")
	f.Fuzz(func(t *testing.T, s string) {
		r, err := dyno.ParseRate(s)
		if err != nil {
			return
		}
		back, err := dyno.ParseRate(r.String())
		if err != nil || !reflect.DeepEqual(r, back) {
			t.Fatalf("%q is %v, read as %v (%v)", s, r, back, err)
		}
		for _, n := range []float64{0, 0.5, 1, 1e9} {
			if due, ok := r.Due(n); ok && due < 0 {
				t.Fatalf("%v: request %g is due at %v", r, n, due)
			}
		}
	})
}
