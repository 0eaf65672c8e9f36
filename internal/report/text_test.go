package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/export"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/tables"
	"github.com/dynolab/dyno/internal/report/words"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (go test ./report -update rewrites it); got:\n%s", file, got)
	}
}

func text(t *testing.T, tb *compare.Table, o layout.Options) string {
	t.Helper()
	o.Full = true
	var b bytes.Buffer
	if err := Text(&b, &tables.Report{Table: tb}, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// noEffect are n settings alike, with two factors.
func noEffect(n int) []effects {
	var es []effects
	for i := range n {
		es = append(es, effects{dyno.Setting{{Factor: "GOGC", Value: fmt.Sprint(50 * (i + 1))}, {Factor: "GOMEMLIMIT", Value: "1GiB"}}, 1, 1, 1})
	}
	return es
}

// long are settings whose names are too long for a table.
func long() []effects {
	es := noEffect(3)
	for i := range es {
		es[i].setting = append(es[i].setting, dyno.Level{Factor: "build", Value: fmt.Sprintf("-gcflags=all='-N -l' -ldflags=-X=main.variant=%d", i)})
	}
	return es
}

func allFailed() []*dyno.Result {
	rs := synthetic(2, study[:2])
	for _, r := range rs {
		r.Err = "start subject: build: exit status 1"
	}
	return rs
}

func oneFailed() []*dyno.Result {
	rs := synthetic(6, study[:3])
	for _, r := range rs {
		if r.Trial.Setting.String() == "GOGC=0" {
			r.Err = "subject exited with status 2"
		}
	}
	return rs
}

// saturated are results in some of which the generator was the limit: of the
// second setting in all trials, of the third in two.
func saturated(es []effects) []*dyno.Result {
	rs := synthetic(6, es)
	for _, r := range rs {
		r.Values = append(r.Values, dyno.Value{Metric: "sent/s", Value: 260}, dyno.Value{Metric: "generator-cpu-frac", Value: 0.4})
		r.Values.Sort()
		level := r.Trial.Setting.String()
		if level == es[min(1, len(es)-1)].setting.String() || len(es) > 2 && level == es[2].setting.String() && r.Trial.Block%3 == 0 {
			r.Sent.Saturated = fmt.Sprintf("its CPU time was 0.9%d of its cores", r.Trial.Block)
		}
	}
	return rs
}

func cases() map[string]*compare.Table {
	load := []effects{{nil, 1, 1, 1}}
	return map[string]*compare.Table{
		"study":   table(marred(), study),
		"pair":    table(synthetic(6, study[:2]), study[:2]),
		"blocks2": table(synthetic(2, study[:2]), study[:2]),
		"load":    table(synthetic(1, load), load),
		"repeats": table(synthetic(7, load), load),
		"many":    table(synthetic(3, noEffect(12)), noEffect(12)),
		"long":    table(synthetic(6, long()), long()),
		"failed":  table(oneFailed(), study[:4]),
		"none":    table(allFailed(), study[:2]),
		"empty":   table(nil, nil),

		"tail":     collected(),
		"tail-one": oneCollected(),

		"saturated":      table(saturated(study), study),
		"saturated-pair": table(saturated(study[:2]), study[:2]),
		"saturated-one":  table(saturated(load), load),
	}
}

func TestText(t *testing.T) {
	for name, tb := range cases() {
		golden(t, name+".txt", []byte(text(t, tb, layout.Options{})))
	}
	golden(t, "study-80.txt", []byte(text(t, cases()["study"], layout.Options{Width: 80})))
}

func TestMarkdown(t *testing.T) {
	for _, name := range []string{"study", "long", "none", "saturated", "tail"} {
		var b bytes.Buffer
		if err := Markdown(&b, &tables.Report{Table: cases()[name]}); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".md", b.Bytes())
	}
}

// TestWidth: no line is longer than the terminal is wide, nor ends in a space.
func TestWidth(t *testing.T) {
	for name, tb := range cases() {
		for _, width := range []int{0, 80, 100, 160} {
			want := layout.Options{Width: width}.Columns()
			for _, line := range strings.Split(text(t, tb, layout.Options{Width: width}), "\n") {
				if n := utf8.RuneCountInString(line); n > want {
					t.Errorf("%s, width %d: a line of %d characters: %s", name, width, n, line)
				}
				if strings.TrimRight(line, " ") != line {
					t.Errorf("%s: a line ends in a space: %q", name, line)
				}
			}
		}
	}
}

// TestColor: with the color codes taken out, the text is the same.
func TestColor(t *testing.T) {
	tb := cases()["study"]
	colored := text(t, tb, layout.Options{Color: true})
	if !strings.Contains(colored, "\x1b[32mbetter\x1b[0m") || !strings.Contains(colored, "\x1b[31mworse\x1b[0m") {
		t.Error("better is not green, or worse not red")
	}
	for _, code := range []string{"\x1b[32m", "\x1b[31m", "\x1b[2m", "\x1b[0m"} {
		colored = strings.ReplaceAll(colored, code, "")
	}
	if colored != text(t, tb, layout.Options{}) {
		t.Error("color changes more than the color")
	}
}

// TestHostile: what a subject or a plan may contain does not reach the
// terminal as control characters.
func TestHostile(t *testing.T) {
	es := []effects{{gogc("1"), 1, 1, 1}, {gogc("\x1b[2J"), 1, 1, 1}}
	rs := synthetic(2, es)
	rs[0].Warnings = dyno.Warnings{{Text: "\x1b]0;owned\a"}}
	rs[1].Err = "panic\x1b[31m\r\nred"
	out := text(t, table(rs, es), layout.Options{})
	if strings.ContainsAny(out, "\x1b\a\r") {
		t.Errorf("a control character in %q", out)
	}
}

// TestNothingFinished: no data reads as a failure, never as a table without
// changes.
func TestNothingFinished(t *testing.T) {
	for _, name := range []string{"none", "empty"} {
		tb := cases()[name]
		if tb.Trials != 0 {
			t.Errorf("%s: Trials is %d", name, tb.Trials)
		}
		out := text(t, tb, layout.Options{})
		if !strings.Contains(out, "no finished trial") || strings.Contains(out, "same") || strings.Contains(out, "Response") {
			t.Errorf("%s: got\n%s", name, out)
		}
		if s := words.Found(tb); s != nil {
			t.Errorf("%s: found %q", name, s)
		}
	}
}

func TestFound(t *testing.T) {
	for name, tb := range cases() {
		for _, s := range words.Found(tb) {
			if !strings.HasSuffix(s.Rest, ".") || strings.Contains(s.Rest, "NaN") || strings.Contains(s.Rest, "?") {
				t.Errorf("%s: %q", name, s)
			}
		}
	}
	if got := said(cases()["study"]); !strings.Contains(got, "GOGC=150 against GOGC=100: better in CPU time per request (5.1% lower, ") {
		t.Errorf("got %s", got)
	}
	if got := said(cases()["failed"]); !strings.Contains(got, "No trial of GOGC=0 finished; only its failure is known") {
		t.Errorf("a failed setting passes in silence: %s", got)
	}
}

// said is what was found, as one text.
func said(tb *compare.Table) (text string) {
	for _, s := range words.Found(tb) {
		text += s.Name + s.Rest + "\n"
	}
	return text
}

// TestSaturatedWords: what was not compared is neither a change nor the lack of
// one, and no sentence speaks of metrics without a better side.
func TestSaturatedWords(t *testing.T) {
	tb := cases()["saturated-pair"]
	found := said(tb)
	if !strings.Contains(found, "not compared in median latency, p99 latency and throughput") || strings.Contains(found, "sent") || strings.Contains(found, "enerator") {
		t.Errorf("found %q", found)
	}
	if s := said(cases()["saturated-one"]); strings.Contains(s, "latency") || strings.Contains(s, "throughput") {
		t.Errorf("a figure of the generator is told as the service's: %q", s)
	}
	var b bytes.Buffer
	if err := export.Bench(&b, saturated(study[:2]), "x"); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "Unit sent/s") || strings.Contains(b.String(), "Unit generator-cpu-frac") || !strings.Contains(b.String(), " 260 sent/s") {
		t.Errorf("sent/s has a better side, or is not there: %s", b.String())
	}
	for _, line := range strings.Split(b.String(), "\n") {
		if strings.HasPrefix(line, "BenchmarkX/GOGC=0 ") && strings.Contains(line, "p99-sec") {
			t.Errorf("benchstat would compare %s", line)
		}
	}
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	if err := JSON(&b, &tables.Report{Table: cases()["study"]}); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Schema   int
		Settings []struct{ Setting string }
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Schema != compare.Schema || len(got.Settings) != 5 || !strings.HasSuffix(b.String(), "}\n") {
		t.Errorf("got %s", b.Bytes())
	}
}

func TestNumbers(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		metric string
		xs     []float64
		want   string // the first, with its unit
	}{
		{"p50-sec", []float64{0.0076412, 0.0088}, "7.641 ms"},
		{"p50-sec", []float64{81.2e-6, 0}, "81.20 µs"},
		{"max-sec", []float64{1.5, 2}, "1.500 s"},
		{"rss-peak-B", []float64{33.97e6}, "32.40 MiB"},
		{"alloc-B/req", []float64{41234}, "40.27 KiB"},
		{"alloc-B/req", []float64{512}, "512 B"},
		{"gc-cpu-frac", []float64{0.0213}, "2.130 %"},
		{"req/s", []float64{11234.5678, 9000}, "11235"},
		{"req/gc", []float64{0.25}, "0.250"},
		{"failures", []float64{0, 3}, "0"},
		{"failures", []float64{0, 0}, "0"},
		{"p99-sec", []float64{nan, nan}, "? ns"},
		{"GET /a-p99-sec", []float64{0.002}, "2.000 ms"},
	} {
		if got := layout.ScaleOf(c.metric, c.xs...).With(c.xs[0]); got != c.want {
			t.Errorf("%s %v: got %q, want %q", c.metric, c.xs, got, c.want)
		}
	}
	for got, want := range map[string]string{
		layout.Change(1.0621):       "+6.2%",
		layout.Change(0.9):          "-10.0%",
		layout.Change(0.99999):      "0.0%",
		layout.Change(12.34):        "×12.3",
		layout.Change(nan):          "?",
		layout.Interval(0.86, 0.89): "[-14.0%, -11.0%]",
		layout.Interval(nan, 1):     "",
		layout.Pvalue(0.0004, 3):    "<0.001",
		layout.Pvalue(nan, 3):       "",
		layout.Spread(2, 1.9, 2.04): "±5%",
		layout.Spread(0, 0, 0):      "",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A subject writes its own names: those of its steps are metrics.
func TestTextTamesTerminal(t *testing.T) {
	var b strings.Builder
	name := "\x1b]0;owned\a-p99-sec"
	rs := []*dyno.Result{{
		Trial:  dyno.Trial{N: 1, Block: 1, Setting: dyno.Setting{{Factor: "arg.x", Value: "\x1b[2J"}}},
		Values: dyno.Values{{Metric: "p99-sec", Value: 1}, {Metric: name, Value: 2}},
	}}
	if err := Text(&b, &tables.Report{Table: compare.Tabulate(rs, compare.Options{Name: "\x1b[31m"})}, layout.Options{Full: true}); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\a") || !strings.Contains(b.String(), "·]0;owned·-p99") {
		t.Errorf("%q", b.String())
	}
}

// What failed alike is listed once, and the last words of the subject are said once, though its port
// and the time of its log differ from launch to launch.
func TestFailedAlike(t *testing.T) {
	var failed []*dyno.Result
	for i, setting := range []string{"100", "50", "50", "100", "50", "50", "50"} {
		n := i + 1
		err := fmt.Sprintf("subject is not ready: dial tcp 127.0.0.1:%d: refused\nlast lines of its stderr:\n\t10:00:0%d no config", 40000+n, n)
		if n == 5 {
			err = "subject ended: exit status 3"
		}
		if n > 5 {
			err = fmt.Sprintf("load: %d of 1000 requests failed (0.%d %%), more than allowed: most often status 500, such as GET / answered \"no row %d\"", n, n, n)
		}
		failed = append(failed, &dyno.Result{Trial: dyno.Trial{N: n, Setting: dyno.Setting{{Factor: "GOGC", Value: setting}}}, Err: err})
	}
	got := tables.Failures(&compare.Table{Failed: failed})
	want := []tables.Failed{
		{What: "trials 1, 4 GOGC=100", Lines: []string{"subject is not ready: dial tcp 127.0.0.1:40001: refused", "last lines of its stderr:", "\t10:00:01 no config"}},
		{What: "trials 2, 3 GOGC=50", Lines: []string{"subject is not ready: dial tcp 127.0.0.1:40002: refused"}},
		{What: "trial 5 GOGC=50", Lines: []string{"subject ended: exit status 3"}},
		{What: "trials 6, 7 GOGC=50", Lines: []string{`load: 6 of 1000 requests failed (0.6 %), more than allowed: most often status 500, such as GET / answered "no row 6"`}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
