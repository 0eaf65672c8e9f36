package benchstat

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// benchText is a file with n samples of each name around a number of nanoseconds.
func benchText(head string, n int, names map[string]float64) string {
	var b strings.Builder
	b.WriteString(head)
	for name, ns := range names {
		for i := range n {
			fmt.Fprintf(&b, "Benchmark%s 100 %v ns/op 0 B/op\n", name, ns+float64(i))
		}
	}
	return b.String()
}

func benchFiles(texts ...string) (files []File) {
	for i, s := range texts {
		files = append(files, File{Name: string(rune('a' + i)), Reader: strings.NewReader(s)})
	}
	return files
}

func TestBenchstatCount(t *testing.T) {
	a := benchText("", 6, map[string]float64{"X": 100, "Y": 100, "Z": 100, "Gone": 1})
	b := benchText("", 6, map[string]float64{"X": 200, "Y": 100, "New": 1}) + benchText("", 3, map[string]float64{"Z": 300})
	tables, err := Compare(benchFiles(a, b+"BenchmarkBroken 1 what\nBenchmarkX 1 NaN ns/op\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	// All B/op are equal, which is no comparison that chance can turn.
	if n, changed := tables.Count(); n != 3 || changed != 2 {
		t.Errorf("%d comparisons, %d changed, want 3 and 2", n, changed)
	}
	if len(tables.Notes) != 2 || !strings.HasPrefix(tables.Notes[0], "b:") || !strings.HasSuffix(tables.Notes[1], ": NaN sec/op is left out") {
		t.Errorf("notes %q", tables.Notes)
	}
	// Two of three samples cannot be as unlikely as 5 %: 2 in 20 ways to deal them.
	few, err := Compare(benchFiles(benchText("", 3, map[string]float64{"X": 100}), benchText("", 3, map[string]float64{"X": 200})), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := few.Count(); n != 0 {
		t.Errorf("%d comparisons of 3 samples", n)
	}
	x := few.Tables[0].Rows[0].Cells[1]
	if x.Center != 201e-9 || x.Versus.Changed() || math.Abs(x.Versus.P-0.1) > 1e-12 || !math.IsInf(x.Hi, 1) {
		t.Errorf("got %+v %+v", x, x.Versus)
	}
	enough, err := Compare(benchFiles(benchText("", 3, map[string]float64{"X": 100}), benchText("", 3, map[string]float64{"X": 200})), Options{Alpha: 0.11})
	if err != nil {
		t.Fatal(err)
	}
	if n, changed := enough.Count(); n != 1 || changed != 1 {
		t.Errorf("at 11 %%: %d comparisons, %d changed", n, changed)
	}
}

func TestBenchstatApart(t *testing.T) {
	one := map[string]float64{"X": 100}
	for _, c := range []struct {
		a, b    string
		nothing bool
		keys    []string
	}{
		{benchText("cpu: P\n", 6, one), benchText("cpu: P\n", 6, one), false, nil},
		{benchText("cpu: P\npkg: x\n", 6, one), benchText("cpu: Q\npkg: x\n", 6, one), true, []string{"cpu"}},
		{benchText("", 6, one), benchText("", 6, map[string]float64{"X-8": 100}), true, nil},
		{benchText("", 6, one), "", false, nil},
	} {
		tables, err := Compare(benchFiles(c.a, c.b), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if nothing, keys := tables.Apart(); nothing != c.nothing || !slices.Equal(keys, c.keys) {
			t.Errorf("got %v, %q, want %v, %q", nothing, keys, c.nothing, c.keys)
		}
	}
}

// Lines may have one unit only, and an odd one. Times are scaled as seconds, and more MB/s are better.
func TestOddUnits(t *testing.T) {
	text := func(speed, ns float64) string {
		return strings.Repeat(fmt.Sprintf("BenchmarkFoo 1000 %v MB/s\nBenchmarkTemplate 1 %v user-ns/op\n", speed, ns), 6)
	}
	tables, err := Compare(benchFiles(text(12.34, 448000000), text(24.68, 224000000)), Options{})
	if err != nil || len(tables.Notes) > 0 {
		t.Fatal(err, tables.Notes)
	}
	got := map[string]Cell{}
	for _, x := range tables.Tables {
		got[x.Unit] = *x.Rows[0].Cells[1]
	}
	for unit, want := range map[string]struct{ center, ratio float64 }{"B/s": {24.68e6, 2}, "user-sec/op": {0.224, 0.5}} {
		c, ok := got[unit]
		if !ok || math.Abs(c.Center/want.center-1) > 1e-9 || math.Abs(c.Versus.Ratio-want.ratio) > 1e-9 || !c.Versus.Changed() {
			t.Errorf("%s: %+v in %v", unit, c, got)
		}
	}
}

func TestBenchstatMistakes(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Filter: "("}, "parse filter: "},
		{Options{Table: "@"}, "parse table: "},
		{Options{Row: ".unit"}, "parse row: "},
		{Options{Col: "a@b"}, "parse col: "},
		{Options{Ignore: "("}, "parse ignore: "},
		{Options{Alpha: 1.5}, "alpha is 1.5 "},
		{Options{Confidence: math.NaN()}, "confidence is NaN "},
	} {
		if _, err := Compare(nil, c.o); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.o, err, c.want)
		}
	}
	long := strings.Repeat("x", 1<<17)
	if _, err := Compare([]File{{Name: "label", Path: "the.txt", Reader: strings.NewReader(long)}}, Options{}); err == nil || !strings.Contains(err.Error(), "the.txt") {
		t.Errorf("a line without an end: %v", err)
	}
}

// TestAgainst: a file of another day, machine and GOMAXPROCS is compared with the run, and
// what differs is said.
func TestAgainst(t *testing.T) {
	old := benchText("goos: linux\ncpu: old\npkg: x/y\n", 10, map[string]float64{"X/n=1-8": 100, "Gone-8": 1})
	run := benchText("goos: linux\ncpu: new\npkg: x/y\n", 10, map[string]float64{"X/n=1": 200})
	against := func(a, b string) *Tables {
		t.Helper()
		tables, err := Against(strings.NewReader(a), strings.NewReader(b), 0.05)
		if err != nil {
			t.Fatal(err)
		}
		return tables
	}
	tables := against(old, run)
	sec := tables.Tables[slices.IndexFunc(tables.Tables, func(x Table) bool { return x.Unit == "sec/op" })]
	if len(sec.Cols) != 2 || !slices.Equal(sec.Cols[0], []string{"baseline"}) || sec.Cols[1][0] != ThisRun {
		t.Errorf("columns %q", sec.Cols)
	}
	i := slices.IndexFunc(sec.Rows, func(r Row) bool { return r.Name == "X/n=1" })
	if i < 0 {
		t.Fatalf("rows %+v", sec.Rows)
	}
	if v := sec.Rows[i].Cells[1].Versus; !v.Changed() || math.Abs(v.Ratio-204.5/104.5) > 1e-9 {
		t.Errorf("%+v, want a ratio of %v", v, 204.5/104.5)
	}
	if got, want := strings.Join(tables.Notes, "; "), "gomaxprocs is 8 in baseline, and 1 in this run; cpu is old in baseline, and new in this run"; got != want {
		t.Errorf("notes %q, want %q", got, want)
	}

	// Without a package in one of them, and with -cpu 1,8 in the other.
	bare := benchText("", 10, map[string]float64{"X/n=1": 100, "X/n=1-8": 500})
	if n, _ := against(bare, run).Count(); n != 1 {
		t.Errorf("%d comparisons, want 1", n)
	}
	for _, texts := range [][2]string{{"", run}, {old, "PASS\n"}} {
		if _, err := Against(strings.NewReader(texts[0]), strings.NewReader(texts[1]), 0.05); err == nil || !strings.Contains(err.Error(), "no benchmarks") {
			t.Errorf("%q: %v", texts, err)
		}
	}
}

func FuzzBenchstat(f *testing.F) {
	f.Add("BenchmarkX 1 1 ns/op\nBenchmarkX 1 NaN ns/op\nBenchmarkX 1 +Inf ns/op\n", "BenchmarkX 1 -1 ns/op\n", "/n")
	f.Add("Unit x assume=exact\npkg: a\nBenchmarkX/n=1-8 1 0 x 2 y\n", "BenchmarkX/n=2 1 0 x\n", ".file,/n@num")
	f.Fuzz(func(t *testing.T, a, b, col string) {
		if len(a)+len(b) > 1<<12 {
			return // the exact U test of many samples takes its time
		}
		tables, err := Compare(benchFiles(a, b), Options{Col: col})
		if err != nil {
			return
		}
		tables.Count()
		tables.Apart()
		if _, err := json.Marshal(tables); err != nil {
			t.Fatal(err)
		}
		Against(strings.NewReader(a), strings.NewReader(b), 0.05)
	})
}
