package report

import (
	"bytes"
	"errors"
	entities "html"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/pitfall"
	"github.com/dynolab/dyno/internal/analysis/profiles"
	"github.com/dynolab/dyno/internal/report/html"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/tables"
	"github.com/dynolab/dyno/internal/stats"
)

func benchText(t *testing.T, tb *benchTable, o layout.Options) string {
	t.Helper()
	o.Full = true
	var b bytes.Buffer
	if err := Text(&b, &tables.Report{Table: tb.table()}, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestBenchText(t *testing.T) {
	for name, tb := range benchTables() {
		golden(t, name+".txt", []byte(benchText(t, tb, layout.Options{})))
	}
	golden(t, "bench-few-80.txt", []byte(benchText(t, fewBenchmarks(), layout.Options{Width: 80})))
}

// TestBenchTextFits: of what a user has no hand in, no line is longer than the page, or
// ends in a space.
func TestBenchTextFits(t *testing.T) {
	for name, tb := range benchTables() {
		for _, width := range []int{80, 100, 140} {
			for line := range strings.Lines(benchText(t, tb, layout.Options{Width: width})) {
				line = strings.TrimSuffix(line, "\n")
				if n := utf8.RuneCountInString(line); n > width {
					t.Errorf("%s: a line of %d characters on a page of %d: %s", name, n, width, line)
				}
				if strings.HasSuffix(line, " ") {
					t.Errorf("%s: %q ends in a space", name, line)
				}
			}
		}
	}
}

// TestBenchTextColor: colour says nothing that words do not.
func TestBenchTextColor(t *testing.T) {
	plain, colored := benchText(t, fewBenchmarks(), layout.Options{}), benchText(t, fewBenchmarks(), layout.Options{Color: true})
	for _, want := range []string{"\x1b[31mworse\x1b[0m", "\x1b[32mbetter\x1b[0m", "\x1b[2msame\x1b[0m"} {
		if !strings.Contains(colored, want) {
			t.Errorf("it has no %q", want)
		}
	}
	for _, code := range []string{"\x1b[31m", "\x1b[32m", "\x1b[2m", "\x1b[0m"} {
		colored = strings.ReplaceAll(colored, code, "")
	}
	if colored != plain {
		t.Error("it says more in colour")
	}
}

// TestBenchPair: two benchmarks are named by their names, without quotes and stars.
func TestBenchPair(t *testing.T) {
	tb := fewBenchmarks()
	tb.Settings = []dyno.Setting{{{Factor: dyno.BenchFactor, Value: "Pipeline1"}}, {{Factor: dyno.BenchFactor, Value: "variant=fast"}}}
	tb.Rows, tb.Pitfalls = tb.Rows[:1], nil
	tb.Rows[0].Name = "*"
	text := benchText(t, tb, layout.Options{})
	if !strings.HasPrefix(text, "variant=fast against Pipeline1: 3.1% slower") || !strings.Contains(text, "Pipeline1 → variant=fast") || strings.Contains(text, "\"") || strings.Contains(text, "*") {
		t.Error(text)
	}
}

// TestBenchTooFew: that no number of blocks like this can tell anything is said, and
// how many can.
func TestBenchTooFew(t *testing.T) {
	for _, c := range []struct {
		blocks int
		looks  []int
		want   string
	}{
		{10, nil, "10 blocks cannot show any change, however great: an error of 0.1% per comparison takes 11 ("},
		{11, nil, ""},
		{13, stats.BenchLooks, "takes 14 (consider: a longer --duration,"},
		{14, stats.BenchLooks, ""},
	} {
		tb := &benchTable{Settings: make([]dyno.Setting, 2), Error: 0.001, Looks: c.looks, Rows: []benchmark{{Name: "X", Blocks: c.blocks}}}
		all := tables.NewView(tb.table(), 80).Found()
		if last := all[len(all)-1].Rest; !strings.Contains(last, c.want) || (c.want == "") != (len(all) == 1) {
			t.Errorf("%d blocks: %q", c.blocks, all)
		}
	}
}

// TestBenchTooFewOfSome: benchmarks that had no time for the blocks that others had are counted, but not those that fail.
func TestBenchTooFewOfSome(t *testing.T) {
	tb := &benchTable{Settings: make([]dyno.Setting, 2), Error: 0.001, Looks: stats.BenchLooks, Rows: []benchmark{
		{Name: "Quick", Blocks: 18}, {Name: "Slow", Blocks: 9}, {Name: "Slower"}, {Name: "Fails", Blocks: 3, Fault: &compare.Fault{Setting: 1, Kind: compare.FaultFailed}},
	}}
	all := tables.NewView(tb.table(), 80).Found()
	if last := all[len(all)-1].Rest; !strings.HasPrefix(last, "Of 3 benchmarks 2 had no time for the 14 blocks that an error of 0.1% per comparison takes") {
		t.Errorf("%q", all)
	}
}

// TestBenchTooFewOfMany: however many settings there are, that is said.
func TestBenchTooFewOfMany(t *testing.T) {
	tb := &benchTable{Error: 0.001, Rows: []benchmark{{Name: "X", Blocks: 10}}}
	for i := range 20 {
		tb.Settings = append(tb.Settings, dyno.Setting{{Factor: "AA", Value: strings.Repeat("x", i+1)}})
	}
	if text := benchText(t, tb, layout.Options{}); !strings.Contains(text, "10 blocks cannot show any change") {
		t.Errorf("got\n%.2000s", text)
	}
}

// TestBenchFaults: what is the same in all settings is said once.
func TestBenchFaults(t *testing.T) {
	tb := &benchTable{Settings: []dyno.Setting{{{Factor: "AA", Value: "1"}}, {{Factor: "AA", Value: "2"}}}}
	v := tables.NewView(tb.table(), 80)
	one := func(setting int, said string) compare.Fault {
		return compare.Fault{Setting: setting, Kind: compare.FaultFailed, Said: said}
	}
	for want, faults := range map[string][]compare.Fault{
		"boom\ngoroutine 22 (0x133c8a): x": {one(0, "boom\ngoroutine 22 (0x133c8a): x"), one(1, "boom\ngoroutine 9 (0x157a): x")},
		"AA=1: boom; AA=2: bang":           {one(0, "boom"), one(1, "bang")},
		"AA=2: boom":                       {one(1, "boom")},
		"AA=1: in 1 of 4 blocks: boom":     {{Kind: compare.FaultBlocks, Blocks: 1, Tried: 4, Said: "boom"}},
		"AA=2 does not have it":            {{Setting: 1, Kind: compare.FaultMissing}},
	} {
		if got := v.Faults(&compare.Benchmark{Faults: faults}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestBenchWhy: settings are called alike in all of a report, those that are benchmarks
// without quotes and an empty level by a word; and that no function is proved guilty is
// not said as if none were.
func TestBenchWhy(t *testing.T) {
	for _, c := range []struct {
		base, other dyno.Level
		want        string
	}{
		{dyno.Level{Factor: dyno.BenchFactor, Value: "v=slow"}, dyno.Level{Factor: dyno.BenchFactor, Value: "v=fast"}, "v=fast against v=slow"},
		{dyno.Level{Factor: "build"}, dyno.Level{Factor: "build", Value: "-tags=x"}, "build=-tags=x against build=(empty)"},
	} {
		tb := fewBenchmarks()
		tb.Settings = []dyno.Setting{{c.base}, {c.other}}
		tb.Rows[0].Fault = &compare.Fault{Kind: compare.FaultFailed, Said: "boom"}
		tb.Pitfalls = []pitfall.Found{{Kind: pitfall.Goroutines, Count: 2}}
		tb.Notes = []string{tb.Settings[0].Label() + " is odd."}
		y := benchWhy("json.Valid", tb.Settings[1].String(), "json.F")
		y.Parts[0].Diff.Base = tb.Settings[0].String()
		r := &tables.Report{Table: tb.table(), Whys: []profiles.BenchWhy{y}}
		var text, page bytes.Buffer
		if err := errors.Join(Text(&text, r, layout.Options{Full: true}), html.HTML(&page, &html.Page{Report: *r})); err != nil {
			t.Fatal(err)
		}
		for name, got := range map[string]string{"text": text.String(), "markdown": benchMarkdown(t, r), "html": entities.UnescapeString(page.String())} {
			for _, want := range []string{"cpu per operation, " + c.want, "is a likely cause, not a proved one"} {
				if !strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(got, "\\", "")), " "), want) {
					t.Errorf("%s has no %q in\n%.3000s", name, want, got)
				}
			}
			for _, not := range []string{tb.Settings[0].String(), tb.Settings[1].String(), "No function"} {
				if strings.Contains(got, not) {
					t.Errorf("%s has %q", name, not)
				}
			}
		}
	}
}
