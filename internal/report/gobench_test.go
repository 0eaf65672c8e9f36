package report

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
	"golang.org/x/perf/benchproc"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/report/export"
)

// readBench parses text and returns the values of a metric by the level of a
// factor, as benchstat -col does it, and how many benchmarks it sees besides.
func readBench(t *testing.T, text []byte, key, metric string) (levels []string, values map[string][]float64, rows int) {
	t.Helper()
	var parser benchproc.ProjectionParser
	col, err := parser.Parse(key, nil)
	if err != nil {
		t.Fatal(err)
	}
	row, err := parser.Parse(".fullname", nil)
	if err != nil {
		t.Fatal(err)
	}
	values = map[string][]float64{}
	names := map[benchproc.Key]bool{}
	r := benchfmt.NewReader(bytes.NewReader(text), "bench.txt")
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Fatal(rec)
		case *benchfmt.Result:
			names[row.Project(rec)] = true
			level := col.Project(rec).Get(col.Fields()[0])
			if values[level] == nil {
				levels = append(levels, level)
			}
			v, ok := rec.Value(metric)
			if !ok {
				t.Fatalf("%s has no %s", rec.Name, metric)
			}
			values[level] = append(values[level], v)
		}
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	for unit, better := range map[string]int{"req/s": +1, "p99-sec": -1} {
		if got := r.Units().GetBetter(unit); got != better {
			t.Errorf("better of %s is %d, want %d", unit, got, better)
		}
	}
	return levels, values, len(names)
}

// TestBenchstat: what benchstat reads from bench.txt has the table's medians,
// and a failed trial is not in it.
func TestBenchstat(t *testing.T) {
	rs := marred()
	var b bytes.Buffer
	if err := export.Bench(&b, rs, "sessions"); err != nil {
		t.Fatal(err)
	}
	tb := table(rs, study)
	for _, metric := range []string{"p50-sec", "req/s", "rss-peak-B"} {
		levels, values, rows := readBench(t, b.Bytes(), "/GOGC", metric)
		if len(levels) != len(study) || rows != 1 {
			t.Errorf("%s: levels %q, %d rows", metric, levels, rows)
		}
		for i := range tb.Settings {
			s := &tb.Settings[i]
			got := values[s.Setting[0].Value]
			if len(got) != s.Trials {
				t.Errorf("%s %s: %d values of %d trials", s.Setting, metric, len(got), s.Trials)
			}
			sum := benchmath.AssumeNothing.Summary(benchmath.NewSample(got, &benchmath.DefaultThresholds), 0.95)
			want := s.Values[metric]
			if sum.Center != want.Center || s.Trials >= 6 && (sum.Lo != want.Lo || sum.Hi != want.Hi) {
				t.Errorf("%s %s: benchstat has %v [%v, %v], dyno %+v", s.Setting, metric, sum.Center, sum.Lo, sum.Hi, want)
			}
		}
	}
}

// TestBenchEscape: settings stay apart and keep their keys, whatever is in them.
func TestBenchEscape(t *testing.T) {
	values := []string{"8", "a/b", "a b", "x-8", "x", "-1", "", `""`, "50%", "50%25", "a=b", "tab\there", "\u00a0", "é", "\xff", "\ufffd", "-8-8"}
	want := []string{"8", "a%2Fb", "a%20b", "x%2D8", "x", "%2D1", `""`, "%22%22", "50%25", "50%2525", "a=b", "tab%09here", "%C2%A0", "é", "%FF", "\ufffd", "-8%2D8"}
	for _, factor := range []string{"GOGC", "arg.size", "load.rate", "build"} {
		var es []effects
		for _, v := range values {
			es = append(es, effects{dyno.Setting{{Factor: factor, Value: v}}, 1, 1, 1})
		}
		var b bytes.Buffer
		if err := export.Bench(&b, synthetic(2, es), "a/b c-2"); err != nil {
			t.Fatal(err)
		}
		levels, got, rows := readBench(t, b.Bytes(), "/"+factor, "p99-sec")
		if rows != 1 || strings.Join(levels, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: %d rows, levels %q\nwant %q", factor, rows, levels, want)
		}
		for _, l := range levels {
			if len(got[l]) != 2 {
				t.Errorf("%s=%s: %d values, want 2", factor, l, len(got[l]))
			}
		}
	}
}
