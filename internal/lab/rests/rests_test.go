package rests

import (
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A subject of tests: how much CPU time it has used, and how long its turns have lasted.
type subject struct {
	used float64
	own  time.Duration
	err  error
}

func (s *subject) cpu() (float64, error) { return s.used, s.err }
func (s *subject) turns() time.Duration  { return s.own }
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9 {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// Two subjects take turns of 200 ms, a works 50 % in its own turn, leaves 2 ms for right after, and uses 1 % late.
func TestLedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a, b subject
		l := NewLedger()
		l.Open(&a, a.cpu, a.turns)
		l.Open(&b, b.cpu, b.turns)
		half := func(turn *subject, second bool) {
			time.Sleep(100 * time.Millisecond)
			turn.own += 100 * time.Millisecond
			switch {
			case turn == &a:
				a.used += 0.05
			case !second:
				a.used += 0.002
			default:
				a.used += 0.001
			}
			l.Mark()
		}
		for range 10 {
			for _, turn := range []*subject{&a, &b} {
				half(turn, false)
				half(turn, true)
			}
		}
		sum, ok := l.Close(&a)
		near(t, "own", sum.Own, 1)
		near(t, "after", sum.After, 0.02)
		near(t, "late", sum.Late, 0.01)
		near(t, "rate", sum.Rate(), 0.01)
		if !ok || sum.OwnTime != 2*time.Second || sum.AfterTime != time.Second || sum.LateTime != time.Second {
			t.Errorf("%+v, %t", sum, ok)
		}
		b.err = errors.New("gone")
		if _, ok := l.Close(&b); ok {
			t.Error("a clock that could not be read counts")
		}
		if _, ok := l.Close(&a); ok {
			t.Error("there is a closed entry")
		}
	})
}

// A mark that comes late has a part of the next turn before it: that says nothing of the rest.
func TestLedgerLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a subject
		l := NewLedger()
		l.Open(&a, a.cpu, a.turns)
		for range 10 {
			time.Sleep(200 * time.Millisecond)
			l.Mark()
			time.Sleep(100 * time.Millisecond)
			l.Mark()
			time.Sleep(105 * time.Millisecond)
			a.own, a.used = a.own+5*time.Millisecond, a.used+0.005
			l.Mark()
			time.Sleep(95 * time.Millisecond)
			a.own, a.used = a.own+95*time.Millisecond, a.used+0.095
			l.Mark()
		}
		sum, _ := l.Close(&a)
		near(t, "own", sum.Own, 1)
		near(t, "late", sum.Late, 0)
		if sum.LateTime != time.Second {
			t.Errorf("late in rests for %v", sum.LateTime)
		}
	})
}

// window is what a subject used in 3 s of turns and 3 s of rests, in CPU seconds per second.
func window(own, after, late float64) Rested {
	return Rested{Own: 3 * own, After: after, Late: 2 * late, OwnTime: 3 * time.Second, AfterTime: time.Second, LateTime: 2 * time.Second}
}

// What keeps subjects apart, and what does not.
func TestTooMuch(t *testing.T) {
	for _, c := range []struct {
		name  string
		quiet [2]float64
		seen  []Rested // of b; a is idle in its rests
		want  string   // "" if they may take turns
	}{
		{name: "nothing"},
		{name: "collections", seen: []Rested{window(0.8, 0.02, 0.003)}},
		{name: "a little, known before", quiet: [2]float64{0, 0.004}, seen: []Rested{window(0.1, 0.004, 0.004)}},
		{name: "burns from the start", quiet: [2]float64{0, 0.8}, want: "b uses 80 % of a CPU without any request"},
		{name: "burns under load only", seen: []Rested{window(0.8, 0.5, 0.5)}, want: "b uses 50 % of a CPU"},
		{name: "a burst in the second block", seen: []Rested{window(0.5, 0, 0), window(0.5, 0, 0.03)}, want: "b uses 1.5 % of a CPU"},
		{name: "a little that may be requests' or time's", seen: []Rested{window(0.1, 0.002, 0.004)}, want: "b does 4 % of its work long after its turns"},
		{name: "lingers shortly", seen: []Rested{window(0.3, 0.1, 0)}, want: "b does 10 % of its work after its turns"},
		{name: "a little, beside few requests", quiet: [2]float64{0, 0.004}, seen: []Rested{window(0.01, 0.004, 0.004)}},
		{name: "too short to say", seen: []Rested{{Own: 0.1, Late: 0.1, OwnTime: time.Second, LateTime: leastRest / 2}}},
	} {
		var k Known
		k.Quiet("a", c.quiet[0])
		k.Quiet("b", c.quiet[1])
		for _, r := range c.seen {
			k.Add("a", window(0.5, 0, 0))
			k.Add("b", r)
		}
		if got := k.TooMuch(); c.want == "" && got != "" || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Of time is what is seen with load and without; what is seen with load only may be of requests.
func TestTimed(t *testing.T) {
	var k Known
	k.Quiet("a", 0.004)
	near(t, "as much late", k.Timed("a", window(0.5, 0, 0.006)), 0.004)
	near(t, "less late", k.Timed("a", window(0.5, 0, 0.001)), 0.001)
	k.Add("a", window(0.5, 0, 0.003))
	near(t, "with the blocks before", k.Timed("a", window(0.5, 0, 0.001)), 0.002)
	near(t, "never quiet", k.Timed("b", window(0.5, 0, 0.006)), 0)
	k.Probing = 0.0003
	near(t, "readings of probes", k.Timed("b", window(0.5, 0, 0.006)), 0.0003)
	k.Add("b", window(0.003, 0, 0.0003))
	if why := k.TooMuch(); why != "" {
		t.Errorf("a service with few requests, and readings of probes: %s", why)
	}
}

// Many settings that do little are not too much together, nor are readings of probes the services' work; a sum that is too much says so.
func TestTooMuchTogether(t *testing.T) {
	for _, c := range []struct {
		name          string
		n             int
		rate, probing float64
		want          string
	}{
		{"sixteen that do little", 16, 0.0005, 0.0003, ""},
		{"readings each 50 ms", 2, 0.006, Reading / 0.05, ""},
		{"many that do more", 8, 0.003, 0, "the settings use 2.4 % of a CPU together without any request (a most of it)"},
	} {
		k := Known{Probing: c.probing}
		for i := range c.n {
			s := string(rune('a' + i))
			k.Quiet(s, c.rate-c.probing)
			k.Add(s, window(0.5, 0.001, c.rate))
		}
		if got := k.TooMuch(); !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
