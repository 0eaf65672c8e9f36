package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/tables"
	"github.com/dynolab/dyno/internal/stats"
)

func briefly(t *testing.T, tb *compare.Table, o layout.Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Text(&b, &tables.Report{Table: tb, Dir: "dyno-runs/sessions"}, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestBriefFitsAScreen(t *testing.T) {
	all := cases()
	for name, b := range benchTables() {
		all[name] = b.table()
	}
	all["bench-sixty"] = manyBenchmarks(60).table()
	for name, tb := range all {
		text := briefly(t, tb, layout.Options{})
		golden(t, "brief-"+name+".txt", []byte(text))
		if n := strings.Count(text, "\n"); n > Screen {
			t.Errorf("%s has %d lines", name, n)
		}
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
				t.Errorf("%s has a line of %d characters: %s", name, n, line)
			}
		}
		if !strings.Contains(text, "dyno report dyno-runs/sessions --full") {
			t.Errorf("%s does not say where the tables are", name)
		}
	}
}

// What fails or leaks may not be left out for want of room.
func TestBriefSaysWhatIsWrong(t *testing.T) {
	for name, want := range map[string]string{"failed": "subject exited with status 2", "none": "build: exit status 1", "saturated": "dyno may itself have been the limit"} {
		if text := briefly(t, cases()[name], layout.Options{}); !strings.Contains(text, want) {
			t.Errorf("%s lacks %q:\n%s", name, want, text)
		}
	}
}

// A reader who sees an interval without 0 beside "unclear" is told why.
func TestBriefExplainsUnclear(t *testing.T) {
	tb := cases()["pair"]
	const why = "the interval excludes 0"
	if text := briefly(t, tb, layout.Options{}); strings.Contains(text, why) {
		t.Errorf("nothing is to be explained in:\n%s", text)
	}
	x := tb.Settings[1].Versus["p50-sec"]
	x.Verdict, x.Ratio, x.Lo, x.Hi = stats.Unclear, 1.3, 1.1, 1.5
	tb.Settings[1].Versus["p50-sec"] = x
	if text := briefly(t, tb, layout.Options{}); !strings.Contains(text, why) {
		t.Errorf("no explanation in:\n%s", text)
	}
}

func TestBriefFailureSaysWhy(t *testing.T) {
	for want, lines := range map[string][]string{
		"panic: oh":   {"subject ended", "last lines of its stderr:", "\tlistening", "\tpanic: oh", "\tgoroutine 7"},
		"no database": {"subject ended", "last lines of its stderr:", "\tlistening", "\tno database", "last lines of its stdout:", "\tGET / 200"},
	} {
		if got := telling(lines); len(got) != 2 || strings.TrimSpace(got[1]) != want {
			t.Errorf("%q of %q", got, lines)
		}
	}
}

// Of many kinds of failures the first are said.
func TestBriefFailures(t *testing.T) {
	rs := synthetic(20, study[:2])
	for i, r := range rs[20:] {
		r.Err, r.Values, r.Latency = fmt.Sprintf("failure of kind %c", 'a'+i), nil, nil
	}
	text := briefly(t, compare.Tabulate(rs, compare.Options{}), layout.Options{})
	if !strings.Contains(text, "failure of kind a") || strings.Contains(text, "kind z") || !strings.Contains(text, " more kinds of failure, in all tables") {
		t.Errorf("got\n%s", text)
	}
}
