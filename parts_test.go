package dyno_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/plan/check"
)

// Blocks that are added leave the trials of before as they are.
func TestExtend(t *testing.T) {
	e := &dyno.Experiment{
		Subject: dyno.Subject{Package: "."}, Seed: new(uint64(7)), Repeats: 3, Profile: []string{"cpu"}, ProfileRepeats: 1,
		Factors: dyno.Factors{{Name: "GOGC", Levels: []string{"100", "50"}}},
	}
	before := e.Trials()
	for i, want := range []dyno.More{{After: 3, Blocks: 2}, {After: 5, Blocks: 1}} {
		if err := check.Extend(e, want.After, want.Blocks); err != nil || e.More[i] != want {
			t.Fatalf("more is %v, error %v", e.More, err)
		}
	}
	all := e.Trials()
	added := all[len(before):]
	if len(before) != 8 || len(added) != 6 || e.Planned() != 14 || e.Compared() != 12 || e.MostCompared() != 6 {
		t.Fatalf("%d trials, and %d more; %d planned, %d compared", len(before), len(added), e.Planned(), e.Compared())
	}
	for i, was := range before {
		if now := all[i]; now.N != was.N || now.Block != was.Block || now.For != was.For || now.Setting.String() != was.Setting.String() || now.Load.Seed != was.Load.Seed {
			t.Errorf("trial %d was block %d of %s, and is block %d of %s", was.N, was.Block, was.Setting, now.Block, now.Setting)
		}
	}
	for i, a := range added {
		if a.N != 9+i || a.Block != 4+i/2 || a.For != "" {
			t.Errorf("trial %d is block %d, for %q", a.N, a.Block, a.For)
		}
	}
	if err := check.Extend(&dyno.Experiment{Subject: dyno.Subject{Package: "."}, Repeats: 3}, 3, 1); err == nil {
		t.Error("one setting was extended, which has no verdict")
	}
}

// places are the settings of each compared block, in their order of launches.
func places(e *dyno.Experiment) (blocks [][]int) {
	for _, t := range e.Trials() {
		if t.For != "" {
			continue
		}
		if t.Block > len(blocks) {
			blocks = append(blocks, nil)
		}
		blocks[t.Block-1] = append(blocks[t.Block-1], e.Place(t.Setting))
	}
	return blocks
}

func ordered(seed uint64, settings, blocks int) *dyno.Experiment {
	levels := []string{"a", "b", "c", "d", "e", "f"}[:settings]
	return &dyno.Experiment{
		Subject: dyno.Subject{Package: "."}, Seed: &seed, Repeats: blocks,
		Factors: dyno.Factors{{Name: "A", Levels: levels}},
	}
}

// After any number of blocks, each setting was in each place equally often, but for the blocks that are no whole
// group: each place has a setting twice more at the most. After two groups, each setting followed each other one equally often
// and was as often before it as after.
func TestBalancedOrder(t *testing.T) {
	for settings := 2; settings <= 6; settings++ {
		for seed := range uint64(50) {
			at := make([][]int, settings) // by setting and place, how often
			follows, before := make([][]int, settings), make([][]int, settings)
			for i := range settings {
				at[i], follows[i], before[i] = make([]int, settings), make([]int, settings), make([]int, settings)
			}
			for b, block := range places(ordered(seed, settings, 4*settings)) {
				for place, i := range block {
					at[i][place]++
					if place > 0 {
						follows[i][block[place-1]]++
					}
					for _, j := range block[place+1:] {
						before[i][j]++
					}
				}
				for i := range settings {
					if least, most := slices.Min(at[i]), slices.Max(at[i]); most-least > 2 || (b+1)%(2*settings) == 0 && most > least {
						t.Fatalf("seed %d, after %d blocks: setting %d of %d was in places %v times", seed, b+1, i, settings, at[i])
					}
				}
			}
			for i := range settings {
				for j := range i {
					if follows[i][j] != 4 || follows[j][i] != 4 || before[i][j] != before[j][i] {
						t.Fatalf("seed %d: %d of %d settings follows %d in %d blocks, the other way round in %d; before it in %d, after it in %d",
							seed, i, settings, j, follows[i][j], follows[j][i], before[i][j], before[j][i])
					}
				}
			}
		}
	}
}

// The order of a block depends on the seed and its number alone, and all orders come up.
func TestOrderIsOfTheSeed(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(200) {
		long := places(ordered(seed, 3, 9))
		e := ordered(seed, 3, 4)
		if err := check.Extend(e, 4, 3); err != nil {
			t.Fatal(err)
		}
		for _, short := range [][][]int{places(ordered(seed, 3, 2)), places(e)} {
			if !slices.EqualFunc(short, long[:len(short)], slices.Equal) {
				t.Errorf("seed %d: %v and %v", seed, short, long)
			}
		}
		seen[fmt.Sprint(long[0])] = true
	}
	if len(seen) != 6 {
		t.Errorf("blocks begin with %d of 6 orders", len(seen))
	}
}

// A seed is drawn once, and a given one stays, also 0.
func TestDraw(t *testing.T) {
	var e, other dyno.Experiment
	e.Draw()
	other.Draw()
	drawn := *e.Seed
	if e.Draw(); *e.Seed != drawn || drawn == *other.Seed { // by chance once in 1e9
		t.Errorf("drew %d, then %d; another %d", drawn, *e.Seed, *other.Seed)
	}
	given := dyno.Experiment{Seed: new(uint64)}
	if given.Draw(); *given.Seed != 0 {
		t.Errorf("seed 0 became %d", *given.Seed)
	}
}

// A trace has enough requests, where the load has them, and the load ends with it.
func TestTraced(t *testing.T) {
	sec := func(s float64) dyno.Duration { return dyno.Duration(s * 1e9) }
	for _, c := range []struct {
		load         dyno.Load
		asked        dyno.Duration
		trace, lasts dyno.Duration
	}{
		{dyno.Load{Duration: sec(60)}, 0, sec(5), sec(5)},
		{dyno.Load{Duration: sec(60)}, sec(20), sec(20), sec(20)},
		{dyno.Load{Duration: sec(3)}, 0, sec(3), sec(3)},
		{dyno.Load{Duration: sec(60), Rate: dyno.PerSecond(800)}, 0, sec(5), sec(5)},
		{dyno.Load{Duration: sec(60), Rate: dyno.PerSecond(20)}, 0, sec(25), sec(25)},
		{dyno.Load{Duration: sec(10), Rate: dyno.PerSecond(20)}, 0, sec(10), sec(10)},
		{dyno.Load{Duration: sec(600), Rate: dyno.PerSecond(1)}, 0, sec(60), sec(60)},
		{dyno.Load{Requests: 2000, Rate: dyno.PerSecond(20)}, 0, sec(25), 0},
		{dyno.Load{Rate: dyno.Rate{{From: 100, To: 500, Over: sec(60)}}}, 0, sec(5), sec(5)},
	} {
		e := &dyno.Experiment{Subject: dyno.Subject{Package: "."}, Load: c.load, Repeats: 1, WhySlow: true, TraceRepeats: 2, Trace: c.asked}
		if err := check.Experiment(e); err != nil {
			t.Fatal(err)
		}
		traces := 0
		for _, trial := range e.Trials() {
			if trial.For != dyno.ForTrace {
				continue
			}
			if traces++; trial.Trace != c.trace || trial.Load.Duration != c.lasts {
				t.Errorf("of %+v: a trace of %v in a load of %v, want %v in %v", c.load, trial.Trace, trial.Load.Duration, c.trace, c.lasts)
			}
		}
		if traces != 2 {
			t.Errorf("%d traces, want 2", traces)
		}
	}
}
