package slow

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/dynolab/dyno/internal/analysis/exectrace"
	"github.com/dynolab/dyno/internal/stats"
)

// trials of a setting whose requests near p99 spend so much on each part, with noise.
func trials(rng *rand.Rand, blocks int, ms map[Key]float64) (ts []*Trial) {
	for b := range blocks {
		t := &Trial{N: b + 1, Block: b + 1, Quantile: P99, Matched: true, Slow: Group{N: 100}, Band: Group{N: 100, Cost: map[Key]float64{}, Sampling: map[Key]float64{}}}
		day := 1 + 0.05*rng.NormFloat64()
		for _, k := range sortedKeys(ms) {
			x := ms[k] / 1e3 * day * (1 + 0.05*rng.NormFloat64())
			t.Band.Cost[k] = x
			t.Band.Sampling[k] = 0.02 * 0.02 * x * x
			t.Band.Mean += x
		}
		t.At = t.Band.Mean
		t.Slow, t.Typical = t.Band, Group{N: 100}
		ts = append(ts, t)
	}
	return ts
}

func sortedKeys(ms map[Key]float64) (ks []Key) {
	for k := range ms {
		ks = append(ks, k)
	}
	slices.SortFunc(ks, func(a, b Key) int { return compareSites(a.Site, b.Site) })
	return ks
}

// Running is one part, however few samples it has; its line is the one that most of the change is in, if there are enough.
func TestCompareRunning(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	of := func(ms float64, samples map[string]int, typical float64) *Why {
		ts := trials(rng, 6, map[Key]float64{{Part: exectrace.Sleeping, Site: Site{Func: "back", File: "f.go", Line: 1}}: 4})
		for _, t := range ts {
			t.Band.Cost[bare], t.Band.Samples = ms/1e3*(1+0.02*rng.NormFloat64()), map[Site]int{}
			t.Band.Mean += t.Band.Cost[bare]
			t.Typical.Cost, t.Typical.Samples = map[Key]float64{bare: typical / 1e3}, map[Site]int{{Func: "old", File: "f.go", Line: 2}: 10, {Func: "check", File: "f.go", Line: 3}: int(200 * typical)}
		}
		for fn, n := range samples { // all of them in two trials
			ts[0].Band.Samples[Site{Func: fn, File: "f.go", Line: 2}] += n / 2
			ts[5].Band.Samples[Site{Func: fn, File: "f.go", Line: 3}] += n - n/2
		}
		return Explain(ts)
	}
	for _, x := range []struct {
		base, other map[string]int
		typical     float64 // ms that those of the other ran; of the base 0
		want        string
	}{
		{map[string]int{"old": 1}, map[string]int{"old": 1, "check": 7}, 0.1, "check"},
		{map[string]int{"old": 1}, map[string]int{"old": 1, "check": 3}, 0.1, ""},      // too few
		{map[string]int{"old": 1}, map[string]int{"old": 1, "check": 3}, 0.4, "check"}, // but typical requests have it, too
		{map[string]int{"old": 4}, map[string]int{"old": 4, "f": 5, "g": 5}, 0.1, ""},  // half and half
	} {
		moves := Compare(of(0.1, x.base, 0), of(0.5, x.other, x.typical)).Moves
		i := slices.IndexFunc(moves, func(m Move) bool { return m.Part == exectrace.Running })
		if i < 0 || !moves[i].Sure || moves[i].Func != x.want || x.want != "" && moves[i].Site.Line != 3 {
			t.Errorf("samples %v and then %v: %+v, want it in %q", x.base, x.other, moves, x.want)
		}
	}
}

// Parts that go both ways are of other requests, unless little of one way is left against the change.
func TestMixed(t *testing.T) {
	move := func(ms float64, sure bool) Move { return Move{Shift: stats.Shift{Diff: ms / 1e3}, Sure: sure} }
	for want, c := range map[bool]*Change{
		true:  {Near: 0.002, Moves: []Move{move(30, true), move(-28, true)}},
		false: {Near: 0.0004, Moves: []Move{move(1, true), move(-0.3, false), move(-0.3, false)}},
	} {
		if c.Mixed() != want {
			t.Errorf("%+v: mixed %v", c, c.Mixed())
		}
	}
}

func parts(n int) map[Key]float64 {
	ms := map[Key]float64{}
	for i := range n {
		ms[Key{Part: exectrace.Locking, Site: Site{Func: string(rune('a' + i)), File: "f.go", Line: i}}] = 0.3
	}
	return ms
}

// The line that grew is named, and no other; of equals none is.
func TestCompare(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const runs = 400
	false1, found, wrong := 0, 0, 0
	grown := Key{Part: exectrace.Locking, Site: Site{Func: "c", File: "f.go", Line: 2}}
	for range runs {
		base := Explain(trials(rng, 6, parts(12)))
		if slices.ContainsFunc(Compare(base, Explain(trials(rng, 6, parts(12)))).Moves, func(m Move) bool { return m.Sure }) {
			false1++
		}
		ms := parts(12)
		ms[grown] = 0.6 // +8 % of p99
		c := Compare(base, Explain(trials(rng, 6, ms)))
		for _, m := range c.Moves {
			if m.Sure && m.Func == "c" {
				found++
			} else if m.Sure {
				wrong++
			}
		}
	}
	t.Logf("%d runs: %d of equals with a line, %d found, %d wrong lines", runs, false1, found, wrong)
	if false1 > runs*5/100 || found < runs*9/10 || wrong > runs*5/100 {
		t.Errorf("%d runs: %d of equals with a line, %d found, %d wrong lines", runs, false1, found, wrong)
	}
}
