package report

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dynolab/dyno/analysis"
)

func benchText(t *testing.T, tb *analysis.BenchTable, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := BenchText(&b, tb, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestBenchText(t *testing.T) {
	for name, tb := range benchTables() {
		golden(t, name+".txt", []byte(benchText(t, tb, Options{})))
	}
	golden(t, "bench-few-80.txt", []byte(benchText(t, fewBenchmarks(), Options{Width: 80})))
}

// TestBenchTextFits: of what a user has no hand in, no line is longer than the page, or
// ends in a space.
func TestBenchTextFits(t *testing.T) {
	for name, tb := range benchTables() {
		for _, width := range []int{80, 100, 140} {
			for line := range strings.Lines(benchText(t, tb, Options{Width: width})) {
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
	plain, colored := benchText(t, fewBenchmarks(), Options{}), benchText(t, fewBenchmarks(), Options{Color: true})
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
