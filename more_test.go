package dyno_test

import (
	"testing"

	"github.com/dynolab/dyno"
)

// Blocks that are added leave the trials of before as they are.
func TestExtend(t *testing.T) {
	e := &dyno.Experiment{
		Subject: dyno.Subject{Package: "."}, Seed: 7, Repeats: 3, Profile: []string{"cpu"}, ProfileRepeats: 1,
		Factors: dyno.Factors{{Name: "GOGC", Levels: []string{"100", "50"}}},
	}
	before := e.Trials()
	for i, want := range []dyno.More{{After: 3, Blocks: 2}, {After: 5, Blocks: 1}} {
		if err := e.Extend(want.After, want.Blocks); err != nil || e.More[i] != want {
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
	if err := (&dyno.Experiment{Subject: dyno.Subject{Package: "."}, Repeats: 3}).Extend(3, 1); err == nil {
		t.Error("one setting was extended, which has no verdict")
	}
}
