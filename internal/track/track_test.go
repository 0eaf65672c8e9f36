package track

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/dynolab/dyno/internal/stats"
)

var full = flag.Bool("full", false, "simulate thousands of commits")

// A world is a history whose true levels are known. Launches have heavy tails, and a session's machine is slow or quick as a whole.
type world struct {
	rng    *rand.Rand
	levels []float64 // logarithms, by commit
	sd     float64   // of a launch
	log    Log
	looks  int
	anchor int
	clock  time.Time
}

// launch is the value of a commit in a block, beside what the machine does there.
func (w *world) launch(commit int) float64 {
	z := w.rng.NormFloat64()
	chi := 0.0
	for range 3 {
		x := w.rng.NormFloat64()
		chi += x * x
	}
	return w.levels[commit] + w.sd*z/math.Sqrt(chi) // t with 3 degrees of freedom, whose deviation is √3
}

func name(i int) string { return fmt.Sprintf("c%05d", i) }

func (w *world) add(commit, blocks int) {
	w.clock = w.clock.Add(time.Minute)
	p := Point{At: w.clock, Commit: name(commit), Tree: "t" + name(commit), Anchor: name(w.anchor), Before: name(commit - 1), Blocks: blocks}
	var r Ratios
	for range blocks {
		a, b, x := w.launch(w.anchor), w.launch(commit-1), w.launch(commit)
		r.Anchor, r.Before = append(r.Anchor, x-a), append(r.Before, x-b)
	}
	p.Logs = map[string]Ratios{"cpu-sec/req": r}
	w.log.Points = append(w.log.Points, p)
}

func (w *world) history(to int) (h []Commit) {
	for i := range to + 1 {
		h = append(h, Commit{ID: name(i), Tree: "t" + name(i)})
	}
	return h
}

// check looks at all candidates on fresh blocks, as dyno track check does.
func (w *world) check(to int) (shown []Alarm) {
	for w.log.Left() > 0 {
		line := w.log.Line("cpu-sec/req", w.history(to))
		cs := w.log.Candidates(line)
		if len(cs) == 0 {
			return shown
		}
		c := cs[0]
		var logs []float64
		var v Verdict
		for !v.Done {
			logs = append(logs, w.launch(c.To.Index)-w.launch(c.From.Index))
			v = Judge(logs, 0.01)
		}
		w.looks++
		a := Alarm{At: w.clock, Metric: c.Metric, Shape: c.Shape, From: c.From.ID, To: c.To.ID, Shown: v.Shown, Ratio: v.Ratio, Alpha: Alpha, P: v.Adjusted}
		w.log.Alarms = append(w.log.Alarms, a)
		if v.Shown {
			shown = append(shown, a)
		}
	}
	return shown
}

func newWorld(seed uint64, commits int, sd float64) *world {
	return &world{rng: rand.New(rand.NewPCG(seed, 7)), levels: make([]float64, commits), sd: sd, log: Log{Start: Start{Anchor: name(0)}}, clock: time.Unix(1e9, 0)}
}

// A step is found soon, and where it is; a creep is found though no commit of it is.
func TestFinds(t *testing.T) {
	const commits, at = 60, 30
	for _, c := range []struct {
		name   string
		change func(i int) float64
		shape  Shape
		by     int // commits after the change, at most
	}{
		{"8 %", func(i int) float64 { return step(i >= at, 0.08) }, Step, 3},
		{"-5 %", func(i int) float64 { return step(i >= at, -0.05) }, Step, 8},
		{"creep", func(i int) float64 { return 0.005 * float64(min(max(i-10, 0), 20)) }, Creep, 30},
	} {
		found := 0
		for seed := range uint64(10) {
			w := newWorld(seed, commits, 0.01)
			for i := range w.levels {
				w.levels[i] = c.change(i)
			}
			var shown []Alarm
			for i := 1; i < commits && len(shown) == 0; i++ {
				w.add(i, 8)
				if shown = w.check(i); len(shown) > 0 && i <= at+c.by && i >= 10 {
					a := shown[0]
					size := w.levels[number(a.To)] - w.levels[number(a.From)]
					if math.Abs(math.Log(a.Ratio)-size) < 0.03 && (c.shape == Creep || number(a.From) < at && number(a.To) >= at) {
						found++
					}
				}
			}
		}
		if found < 8 {
			t.Errorf("%s: found in %d of 10", c.name, found)
		}
	}
}

func step(on bool, size float64) float64 {
	if on {
		return size
	}
	return 0
}

func number(commit string) (n int) {
	_, _ = fmt.Sscanf(commit, "c%d", &n)
	return n
}

// Of commits without a change at most PerCommit of them have an alarm, however often the line is looked at.
func TestFalseAlarms(t *testing.T) {
	runs, commits := 4, 100
	if *full {
		runs, commits = 40, 500
	}
	alarms, looks := 0, 0
	for seed := range runs {
		w := newWorld(uint64(seed), commits, 0.02)
		for i := 1; i < commits; i++ {
			w.add(i, 8)
			alarms += len(w.check(i))
		}
		looks += w.looks
		if spent := float64(w.looks) * Alpha; spent > PerCommit*float64(commits+head) {
			t.Errorf("%d looks at %d commits", w.looks, commits)
		}
	}
	t.Logf("%d alarms, %d looks at %d commits", alarms, looks, runs*commits)
	if most := 1 + runs*commits/250; alarms > most {
		t.Errorf("%d alarms", alarms)
	}
}

// A step that comes soon after a small one does not hide it, and a change that was shown is not a candidate again, also after its commits got
// other IDs in a rebase.
func TestTwoSteps(t *testing.T) {
	found := 0
	for seed := range uint64(10) {
		w := newWorld(seed, 40, 0.01)
		for i := range w.levels {
			w.levels[i] = step(i >= 20, 0.04) + step(i >= 23, 0.3)
		}
		for i := 1; i < 40; i++ {
			w.add(i, 8)
		}
		shown := w.check(39)
		if slices.ContainsFunc(shown, func(a Alarm) bool { return number(a.From) < 20 && number(a.To) >= 20 && number(a.To) < 23 }) && len(shown) == 2 {
			found++
		}
		if len(shown) == 0 {
			continue
		}
		var rebased []Commit
		for _, c := range w.history(39) {
			rebased = append(rebased, Commit{ID: "new" + c.ID, Tree: c.Tree})
		}
		line := w.log.Line("cpu-sec/req", rebased)
		for _, c := range w.log.Candidates(line) {
			if c.From.Index < 23 && c.To.Index >= 23 {
				t.Errorf("seed %d: the change that was shown is a candidate again: %+v", seed, c)
			}
		}
	}
	if found < 8 {
		t.Errorf("both are found in %d of 10", found)
	}
}

// What the table promises holds in about four of five cases: at the size where it says "at once", and for what a look shows.
func TestPower(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	const runs = 200
	direct8, shown := 0, 0
	for range runs {
		var logs []float64
		for range 8 {
			logs = append(logs, direct(8)+rng.NormFloat64())
		}
		if c := stats.CompareRanks(logs, true, nil); c.P <= directP {
			direct8++
		}
		var v Verdict
		for logs = nil; !v.Done; v = Judge(logs, 1e-4) {
			logs = append(logs, 0.02*(shownBlocks+rng.NormFloat64()))
		}
		if v.Shown {
			shown++
		}
	}
	for what, n := range map[string]int{"a commit differs at once": direct8, "a look shows": shown} {
		if n < runs*70/100 || n > runs*95/100 {
			t.Errorf("%s in %d of %d", what, n, runs)
		}
	}
	if !math.IsInf(direct(7), 1) {
		t.Error("seven blocks can never differ")
	}
}

// A new anchor carries the level of the commit that it is; what is measured against one that was never measured itself has no place.
func TestAnchors(t *testing.T) {
	logs := func(x float64) map[string]Ratios {
		return map[string]Ratios{"m": {Anchor: []float64{x - 0.01, x, x + 0.01}}}
	}
	l := Log{Start: Start{Anchor: "a"}, Points: []Point{
		{Commit: "b", Anchor: "a", Logs: logs(0.1)},
		{Commit: "c", Anchor: "b", Logs: logs(0.2)},
		{Commit: "d", Anchor: "x", Logs: logs(5)},
		{Commit: "e", Anchor: "b", Before: "c", Same: true},
		{Commit: "c2", Anchor: "b", Before: "nothing", Same: true},
		{Commit: "gone", Tree: "tf", Anchor: "c", Logs: logs(-0.3)},
		{Commit: "lost", Tree: "none", Anchor: "a", Logs: logs(1)},
	}}
	line := l.Line("m", []Commit{{ID: "a"}, {ID: "b"}, {ID: "c"}, {ID: "c2"}, {ID: "d"}, {ID: "e"}, {ID: "f", Tree: "tf"}})
	var got []string
	for _, p := range line.At {
		got = append(got, fmt.Sprintf("%s %.2f ± %.4f", p.ID, p.Level, p.SE))
	}
	want := []string{"a 0.00 ± 0.0000", "b 0.10 ± 0.0127", "c 0.30 ± 0.0179", "e 0.30 ± 0.0179", "f 0.00 ± 0.0220"}
	if !slices.Equal(got, want) || len(line.Lost) != 1 || !slices.Equal(line.Apart, []string{"d", "c2"}) {
		t.Errorf("%q, lost %q", got, line.Lost)
	}
}

// After a rewrite, what was measured of one of several commits with equal content counts for all of them, and a change stands at the one with its
// title.
func TestEqualTrees(t *testing.T) {
	logs := func(x float64) map[string]Ratios {
		return map[string]Ratios{"m": {Anchor: []float64{x - 0.01, x, x + 0.01}}}
	}
	change := func(from, to, title string, ratio float64) Alarm {
		return Alarm{Metric: "m", From: "old-" + from, FromTree: from, To: "old-" + to, ToTree: to, Commit: "old-" + to, Tree: to, Title: title, Shown: true, Ratio: ratio}
	}
	l := Log{Start: Start{Anchor: "old-A", Tree: "A"}, Starts: []Start{{Anchor: "old-A", Tree: "A"}}, Points: []Point{
		{Commit: "old-B", Tree: "B", Title: "slow", Anchor: "old-A", Before: "old-A", BeforeTree: "A", Logs: logs(0.1)},
		{Commit: "old-T", Tree: "T", Title: "text", Anchor: "old-A", Before: "old-B", BeforeTree: "B", Same: true},
		{Commit: "old-A2", Tree: "A", Title: "back", Anchor: "old-A", Before: "old-T", BeforeTree: "T", Logs: logs(0)},
	}, Alarms: []Alarm{change("A", "B", "slow", 1.1), change("T", "A", "back", 0.9)}}
	line := l.Line("m", []Commit{{"a", "A", "first", ""}, {"b", "B", "slow", ""}, {"t", "T", "text", ""}, {"b2", "B", "back to B", ""}, {"a2", "A", "back", ""}})
	var got []string
	for _, p := range line.At {
		got = append(got, fmt.Sprintf("%s %.2f", p.ID, p.Level))
	}
	for i := range l.Alarms {
		c, ok := line.Change(&l.Alarms[i])
		got = append(got, fmt.Sprint(c.From, " ", c.Commit, " ", ok))
	}
	if want := []string{"a 0.00", "b 0.10", "t 0.10", "b2 0.10", "a2 0.00", "a b true", "t a2 true"}; !slices.Equal(got, want) || len(line.Apart)+len(line.Lost) > 0 {
		t.Errorf("%q, want %q; apart %q, lost %q", got, want, line.Apart, line.Lost)
	}
}

// A copy of a commit, as a revert makes one, is no candidate beside it, keeps none from being one, and is never apart.
func TestCopies(t *testing.T) {
	up := []float64{0.1, 0.1, 0.1, 0.1, 0.11, 0.1, 0.1, 0.09}
	flat := []float64{0, 0.001, -0.001, 0, 0.002, 0, 0, -0.002}
	point := func(commit, tree, before string, logs, step []float64) Point {
		return Point{Commit: commit, Tree: tree, Title: commit[4:], Anchor: "old-a", Before: before, Logs: map[string]Ratios{"m": {Anchor: logs, Before: step}}}
	}
	start := Start{Anchor: "old-a", Tree: "A"}
	l := Log{Start: start, Starts: []Start{start}, Points: []Point{point("old-b", "B", "old-a", up, up)}}
	history := []Commit{{"a", "A", "a", ""}, {"b", "B", "b", ""}, {"c", "C", "c", ""}, {"b2", "B", "again", ""}}
	if c, ok := l.Line("m", history).direct(2); ok {
		t.Errorf("%s is a candidate against the one before %s", c.To.ID, c.From.ID)
	}
	l.Points = append(l.Points, point("old-a2", "A", "old-b", flat, []float64{-0.1, -0.1, -0.1, -0.11, -0.1, -0.1, -0.1, -0.1}), Point{Commit: "old-t", Tree: "T", Title: "text", Anchor: "old-a", Before: "old-a2", BeforeTree: "A", Same: true})
	history = []Commit{{"a", "A", "a", ""}, {"b", "B", "b", ""}, {"a2", "A", "a2", ""}, {"t", "T", "text", ""}, {"c", "C", "c", ""}, {"t2", "T", "text again", ""}}
	line := l.Line("m", history)
	var got []string
	for i := range line.At {
		if c, ok := line.direct(i); ok {
			got = append(got, c.From.ID+" to "+c.To.ID)
		}
	}
	if want := []string{"a to b", "b to a2"}; !slices.Equal(got, want) || len(line.Apart) > 0 {
		t.Errorf("%q, want %q; apart %q", got, want, line.Apart)
	}
}

// Where the program of the anchor is that of a commit before, both have a level.
func TestSameAnchor(t *testing.T) {
	l := Log{Start: Start{Anchor: "b"}, Starts: []Start{{Anchor: "a"}, {Anchor: "b"}}, Points: []Point{
		{Commit: "b", Anchor: "a", Before: "a", Same: true},
		{Commit: "c", Anchor: "b", Before: "b", Logs: map[string]Ratios{"m": {Anchor: []float64{0.09, 0.1, 0.11, 0.1, 0.1, 0.1}, Before: []float64{0.09, 0.1, 0.11, 0.1, 0.1, 0.1}}}},
	}}
	line := l.Line("m", []Commit{{ID: "a"}, {ID: "b"}, {ID: "c"}})
	if len(line.At) != 3 || line.At[1].Level != 0 || line.At[2].Before != "b" || line.at("b", 2) != 1 {
		t.Errorf("%+v", line.At)
	}
}

// Lines of other tracks, of other kinds and broken ones are left out.
func TestRead(t *testing.T) {
	at := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	var lines []json.RawMessage
	for _, l := range []interface {
		Line() (json.RawMessage, error)
	}{
		Start{Name: "shop", At: at, Anchor: "a"}, Point{Name: "shop", At: at, Commit: "b"}, Alarm{Name: "shop", At: at}, Point{Name: "other", At: at},
		Start{Name: "shop", At: at, Anchor: "b"},
	} {
		line, err := l.Line()
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	lines = append(lines, json.RawMessage(`{"kind":"receipt"}`), json.RawMessage(`7`), json.RawMessage(`{"kind":"point","name":"shop","blocks":"x"}`))
	l := Read(lines, "")
	if l.Start.Anchor != "b" || len(l.Points) != 1 || len(l.Alarms) != 1 || !slices.Equal(l.Names, []string{"shop"}) {
		t.Errorf("%+v", l)
	}
	if l := Read(lines, "none"); l.Start.Name != "" || len(l.Names) != 1 {
		t.Errorf("%+v", l)
	}
}
