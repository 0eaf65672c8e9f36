package how_test

import (
	"slices"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/plan/how"
)

// A report says what a rate means in turns.
func TestTurnsOfARate(t *testing.T) {
	e := &dyno.Experiment{Subject: dyno.Subject{Package: "."}, Factors: dyno.Factors{{Name: "GOGC", Levels: []string{"100", "50"}}}}
	if got, want := how.Turns(e), "settings: alive at the same time, loaded in turns of 200ms"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for d, want := range map[dyno.Duration]dyno.Duration{
		dyno.Duration(time.Second / 10): dyno.ShortTurn, dyno.Duration(1500 * time.Millisecond): dyno.Duration(100 * time.Millisecond), dyno.Duration(20 * time.Second): dyno.DefaultTurn,
	} {
		if e.Load.Duration = d; e.Resolved().Turn != want {
			t.Errorf("a load of %v: turns of %v, want %v", d, e.Resolved().Turn, want)
		}
	}
	e.Load.Duration = 0
	e.Load.Rate, e.Turn = dyno.PerSecond(100), dyno.Duration(20*time.Millisecond)
	if got, want := how.Turns(e), "settings: alive at the same time, loaded in turns of 20ms by the clock; the rate holds within a setting's own turns"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Settings that have the same instead share a line.
func TestOverridden(t *testing.T) {
	at := []dyno.Setter{{What: "debug.SetGCPercent", File: "main.go", Line: 17}, {What: "GOGC=75", File: "tune.go", Line: 3}}
	got := how.Overridden([]dyno.Override{
		{Name: "GOGC", Asked: "400", InForce: []string{"75"}, By: dyno.ByRuntime, Places: at},
		{Name: "GOGC", Asked: "100", InForce: []string{"75"}, By: dyno.ByRuntime, Places: at},
		{Name: "GOGC", Asked: "100", InForce: []string{"75"}, By: dyno.ByRuntime, Places: at},
		{Name: "GOMAXPROCS", Asked: "4", InForce: []string{"2"}, By: dyno.ByTrace},
	})
	want := []string{
		"GOGC=100 and GOGC=400 did not take effect: 75 is in force (debug.SetGCPercent, main.go:17; or GOGC=75, tune.go:3)",
		"GOMAXPROCS=4 did not take effect: 2 is in force",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
