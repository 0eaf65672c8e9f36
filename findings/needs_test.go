package findings

import (
	"fmt"
	"math"
	"testing"

	"github.com/dynolab/dyno"
)

// A told is what trials of one setting say of the need db: calls of each text in the window.
type told struct {
	requests float64
	calls    map[string]float64
	sec      map[string]float64
}

func pairsFrom(blocks int, base, now told) (pairs [][2]asked) {
	for b := range blocks {
		var pair [2]asked
		for i, t := range []told{base, now} {
			more := 1 + 0.01*float64((b*7+i*3)%5) // every trial has another number of requests
			a := asked{requests: t.requests * more, seconds: 10}
			for text, calls := range t.calls {
				a.cut = a.cut || text == ""
				if t.sec[text] == 0 && calls > 0 && text != "poll" { // what is asked by requests
					calls *= more
				}
				a.statements = append(a.statements, dyno.Statement{Need: "db", Text: text, Calls: calls, Sec: t.sec[text] * more})
			}
			pair[i] = a
		}
		pairs = append(pairs, pair)
	}
	return pairs
}

func TestStatementChanges(t *testing.T) {
	for _, c := range []struct {
		name      string
		blocks    int
		base, now told
		time      bool
		want      string
	}{
		{name: "one that became eleven", blocks: 6,
			base: told{1000, map[string]float64{"order": 1000}, nil},
			now:  told{300, map[string]float64{"order": 300, "name": 3000}, nil}, want: "name 0+10 "},
		{name: "two blocks are too few", blocks: 2,
			base: told{1000, map[string]float64{"order": 1000}, nil},
			now:  told{300, map[string]float64{"order": 300, "name": 3000}, nil}},
		{name: "what goes by the clock is no cause, though requests are fewer", blocks: 6,
			base: told{1000, map[string]float64{"order": 1000, "poll": 100}, nil},
			now:  told{300, map[string]float64{"order": 300, "poll": 100}, nil}},
		{name: "other words are no change of number", blocks: 6,
			base: told{1000, map[string]float64{"select a": 1000}, nil},
			now:  told{600, map[string]float64{"select a, b": 600, "audit": 600}, nil}, want: "audit 0+1 "},
		{name: "nor of time, as far as it is the same", blocks: 6, time: true,
			base: told{1000, map[string]float64{"select a": 1000}, map[string]float64{"select a": 1}},
			now:  told{1000, map[string]float64{"select a, b": 1000}, map[string]float64{"select a, b": 3}}, want: "select a, b 0.001+0.002 "},
		{name: "what may be among those that are not listed is not known", blocks: 6,
			base: told{1000, map[string]float64{"order": 1000, "": 50}, nil},
			now:  told{300, map[string]float64{"order": 300, "rare": 300}, nil}},
		{name: "nothing changed", blocks: 6,
			base: told{1000, map[string]float64{"order": 1000}, nil},
			now:  told{300, map[string]float64{"order": 300}, nil}},
	} {
		got := ""
		for _, p := range changesOf("db", c.time, pairsFrom(c.blocks, c.base, c.now)) {
			got += fmt.Sprintf("%s %.3g+%.3g ", p.Func, float64(p.From), float64(p.Change))
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// A hundred statements have noise and no change: in at most 3 of 200 runs one of them is called changed.
func TestStatementsOfEquals(t *testing.T) {
	const runs = 200
	wrong := 0
	rng := uint64(1)
	noise := func() float64 { // uniform in ±1
		rng = rng*6364136223846793005 + 1442695040888963407
		return float64(rng>>11)/(1<<52) - 1
	}
	for range runs {
		var pairs [][2]asked
		for range 6 {
			var pair [2]asked
			for i := range pair {
				pair[i] = asked{requests: 1000 * math.Exp(0.5*float64(i)), seconds: 10}
				for s := range 100 {
					pair[i].statements = append(pair[i].statements, dyno.Statement{Need: "db", Text: fmt.Sprint(s), Calls: pair[i].requests * (1 + 0.1*noise())})
				}
			}
			pairs = append(pairs, pair)
		}
		if len(changesOf("db", false, pairs)) > 0 {
			wrong++
		}
	}
	if wrong > 3 {
		t.Errorf("in %d of %d runs of equals a statement is called changed", wrong, runs)
	}
}
