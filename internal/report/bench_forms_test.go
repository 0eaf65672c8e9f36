package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/perf/benchfmt"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/analysis/pitfall"
	"github.com/dynolab/dyno/internal/analysis/profiles"
	"github.com/dynolab/dyno/internal/report/export"
	"github.com/dynolab/dyno/internal/report/html"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/tables"
)

func benchMarkdown(t *testing.T, r *tables.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := Markdown(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestBenchMarkdown(t *testing.T) {
	for _, name := range []string{"bench-few", "bench-three", "bench-still"} {
		golden(t, name+".md", []byte(benchMarkdown(t, &tables.Report{Table: benchTables()[name].table()})))
	}
}

// manyBenchmarks are n, of which one in ten became worse.
func manyBenchmarks(n int) *benchTable {
	t := &benchTable{Settings: revs("main", "HEAD"), Blocks: 18, Seconds: 300, Error: 0.001, Negligible: 0.01}
	for i := range n {
		v := little
		if i%10 == 0 {
			v = slower
		}
		t.Rows = append(t.Rows, benchRow(fmt.Sprintf("Decode/kind=%d/a_name_as_long_as_some_are", i), benchUnit("sec/op", 1e-6, v), benchUnit("B/op", 48, v)))
	}
	return t
}

// TestBenchMarkdownFits: a comment has room for so much only, and the verdict comes first.
func TestBenchMarkdownFits(t *testing.T) {
	r := &tables.Report{Table: manyBenchmarks(2000).table()}
	for n := range 300 {
		r.Whys = append(r.Whys, benchWhy(fmt.Sprint(n), "rev=HEAD", strings.Repeat("F", 100)))
	}
	text := benchMarkdown(t, r)
	if len(text) > layout.MostMarkdown {
		t.Errorf("it has %d bytes", len(text))
	}
	for _, want := range []string{"200 of 2000 benchmarks changed: ", "194 more in the tables", "Left out because a comment has limited space: "} {
		if !strings.Contains(text, want) {
			t.Errorf("it has no %q", want)
		}
	}
}

func TestBenchJUnit(t *testing.T) {
	var b bytes.Buffer
	if err := JUnit(&b, judged(fewBenchmarks()).table(), false); err != nil {
		t.Fatal(err)
	}
	golden(t, "bench-few.junit.xml", b.Bytes())
	b.Reset()
	if err := JUnit(&b, fewBenchmarks().table(), false); err != nil {
		t.Fatal(err)
	}
	var all junitSuites
	if err := xml.Unmarshal(b.Bytes(), &all); err != nil || all.Tests != 6 || all.Errors != 1 || all.Failures != 0 {
		t.Errorf("without thresholds: %v, %+v", err, all)
	}
}

// TestBenchJSON: summary.json has what doc/format.md says, and null for
// what is not known.
func TestBenchJSON(t *testing.T) {
	for name, tb := range benchTables() {
		var b bytes.Buffer
		if err := JSON(&b, &tables.Report{Table: tb.table()}); err != nil || !json.Valid(b.Bytes()) || !bytes.HasSuffix(b.Bytes(), []byte("}\n")) {
			t.Fatalf("%s: %v, %s", name, err, b.String())
		}
		for _, want := range map[string][]string{
			"bench-few": {"schema", "kind", "name", "settings", "levels", "baseline", "blocks", "elapsed-sec", "error", "negligible", "precision", "comparisons", "false-change-frac",
				"benchmarks", "package", "n", "pairs", "settled", "faults", "said", "metrics", "benchmark", "unit", "better", "values", "center", "lo", "hi", "versus", "ratio", "diff", "p", "plain-p", "sd", "verdict",
				"pitfalls", "kind", "text", "warnings", "thresholds"},
			"bench-unknown": {`ratio": null, "`, `lo": null, "`, `p": null, "`},
		}[name] {
			if text := strings.Join(strings.Fields(b.String()), " "); !strings.Contains(text, `"`+want) {
				t.Errorf("%s: it has no %q", name, want)
			}
		}
	}
}

// benchResults are two blocks of two settings.
func benchResults(settings []dyno.Setting, name string) (rs []*dyno.Result) {
	for block := range 2 {
		for i, s := range settings {
			sample := func(sec float64) dyno.Values {
				return dyno.Values{{Metric: "sec/op", Value: sec * float64(1+i)}, {Metric: "B/op", Value: 48}, {Metric: "B/s", Value: 1e6 / sec}, {Metric: "tokens/op", Value: 7}}
			}
			launch := []dyno.Values{sample(1e-6), sample(9e-6), sample(1.2e-6)}
			r := &dyno.Result{Trial: dyno.Trial{Setting: s, Block: block + 1}}
			r.Benchmarks = []dyno.Benchmark{
				{Package: "example.com/json", Name: name, N: 1000, Launches: [][]dyno.Values{launch, {sample(2e-6)}}},
				{Package: "example.com/json/v2", Name: "Copy", N: 1, Launches: [][]dyno.Values{{sample(5e-6)}}},
				{Package: "example.com/json", Name: "Broken", Err: "--- FAIL"},
			}
			rs = append(rs, r)
		}
	}
	return append(rs, &dyno.Result{Trial: dyno.Trial{Setting: settings[0], For: dyno.ForSurvey}, Benchmarks: rs[0].Benchmarks})
}

func readAll(t *testing.T, text []byte) (lines []string) {
	t.Helper()
	r := benchfmt.NewReader(bytes.NewReader(text), "bench.txt")
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Fatal(rec)
		case *benchfmt.Result:
			sec, _ := rec.Value("sec/op")
			lines = append(lines, fmt.Sprintf("%s %s %d %.1e", rec.GetConfig("pkg"), rec.Name, rec.Iters, sec))
		}
	}
	if r.Units().GetBetter("sec/op") != -1 || r.Units().GetBetter("B/s") != 1 || r.Units().Get("tokens/op", "better") != nil {
		t.Error("the units have no directions, or wrong ones")
	}
	return lines
}

// TestBenchFile: benchstat reads a value of each block and setting, which is the
// table's, under names that differ in the setting alone.
func TestBenchFile(t *testing.T) {
	var b bytes.Buffer
	rs := benchResults(revs("main", "HEAD~1"), "Decode/100%/x-8")
	if err := export.Bench(&b, rs, ""); err != nil {
		t.Fatal(err)
	}
	golden(t, "bench-file.txt", b.Bytes())
	want := []string{
		"example.com/json Decode/100%/x-8/rev=main 1000 1.6e-06", "example.com/json Decode/100%/x-8/rev=HEAD~1 1000 3.2e-06",
		"example.com/json Decode/100%/x-8/rev=main 1000 1.6e-06", "example.com/json Decode/100%/x-8/rev=HEAD~1 1000 3.2e-06",
		"example.com/json/v2 Copy/rev=main 1 5.0e-06", "example.com/json/v2 Copy/rev=HEAD~1 1 1.0e-05",
		"example.com/json/v2 Copy/rev=main 1 5.0e-06", "example.com/json/v2 Copy/rev=HEAD~1 1 1.0e-05",
	}
	if got := readAll(t, b.Bytes()); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	levels, values, rows := map[string]int{}, 0, map[string]bool{}
	for _, line := range readAll(t, b.Bytes()) {
		_, level, _ := strings.Cut(strings.Fields(line)[1], "/rev=")
		levels[level]++
		values++
		rows[strings.Fields(line)[0]] = true
	}
	if len(levels) != 2 || values != 8 || len(rows) != 2 {
		t.Errorf("levels %v of %d values in %v", levels, values, rows)
	}
}

// TestSixDigits: a file shows no digits that are only the computer's, and counts whole.
func TestSixDigits(t *testing.T) {
	for x, want := range map[float64]string{2.9512500000000004e-07: "2.95125e-07", 1.0 / 3: "0.333333", 136.5: "136.5", 12345678: "1.2345678e+07", 0: "0"} {
		if got := export.SixDigits(x); got != want {
			t.Errorf("%v: %s, want %s", x, got, want)
		}
	}
}

func TestBenchFileOf(t *testing.T) {
	of := func(settings []dyno.Setting, name string, s dyno.Setting) []string {
		var b bytes.Buffer
		if err := export.BenchOf(&b, benchResults(settings, name), s); err != nil {
			t.Fatal(err)
		}
		return readAll(t, b.Bytes())
	}
	got := of(revs("main", "HEAD"), "Decode", revs("HEAD")[0])
	if want := []string{"example.com/json Decode 1000 3.2e-06", "example.com/json Decode 1000 3.2e-06", "example.com/json/v2 Copy 1 1.0e-05", "example.com/json/v2 Copy 1 1.0e-05"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	pair := []dyno.Setting{{{Factor: dyno.BenchFactor, Value: "Pipeline1"}}, {{Factor: dyno.BenchFactor, Value: "Pipeline2"}}}
	if got := of(pair, "*/n=3", pair[1]); got[0] != "example.com/json Pipeline2/n=3 1000 3.2e-06" {
		t.Errorf("got %q", got)
	}
	var b bytes.Buffer
	if err := export.Bench(&b, benchResults(pair, "*/n=3"), ""); err != nil {
		t.Fatal(err)
	}
	if got := readAll(t, b.Bytes()); got[1] != "example.com/json */n=3/bench=Pipeline2 1000 3.2e-06" {
		t.Errorf("got %q", got)
	}
}

func benchPage(tb *benchTable) *html.Page {
	return &html.Page{
		Report: tables.Report{Table: tb.table(), Whys: []profiles.BenchWhy{benchWhy("json.CodeMarshal", "rev=HEAD", "json.(*encodeState).string")}},
		Trials: []*dyno.Result{{Subject: "go1.26.8 main"}, {Subject: "go1.26.8 HEAD"}},
		Origin: findings.Origin{
			Dir: "json-20261122", Dyno: "v0.7.0", Started: time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC),
			Command: []string{"dyno", "bench", "--vary", "rev=main,HEAD"}, Plan: "name: json\n", Host: [][2]string{{"kernel", "6.18"}},
		},
	}
}

// benchWhy says that a function is likely to have changed a benchmark.
func benchWhy(benchmark, setting, function string) profiles.BenchWhy {
	d := &profiles.Diff{Base: "rev=main", Setting: setting, Pairs: profiles.Pairs, Negligible: 0.01, Order: "own", Kind: "cpu", Metric: "cpu-sec/op"}
	d.Rows = []profiles.FunctionChange{{Function: &profiles.Function{Name: function}, Own: profiles.Change{Lo: 1, Hi: 2}}}
	return profiles.BenchWhy{Benchmark: benchmark, Setting: setting, Parts: []profiles.BenchPart{{Diff: d, Metric: d.Metric}}}
}

func renderBench(t *testing.T, p *html.Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := html.HTML(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestBenchHTML(t *testing.T) {
	page := renderBench(t, benchPage(judged(fewBenchmarks())))
	checkPage(t, page)
	at := 0
	for _, want := range []string{
		"<h1>Benchmarks of json</h1>", "The error is 0.1% per comparison", `<section id="verdict">`, "<strong>rev=HEAD</strong> against rev=main: 3 of 6 benchmarks changed: ",
		`<h3 id="doubts">`, "12% of the time was stolen", `<section id="thresholds">`, `<section id="change">`, "Changed or unclear",
		`<th scope="row">CodeMarshal</th>`, `id="fig-change"`, "sec/op of all benchmarks", "geomean", "tokens/op: all equal.",
		`<section id="why">`, "(*encodeState).string", `<section id="pitfalls">`, "optimised away", `<section id="failed">`, "unexpected end", `<section id="again">`, "dyno bench --vary rev=main,HEAD",
		"turns of a few milliseconds",
	} {
		i := strings.Index(page[at:], want)
		if i < 0 {
			t.Fatalf("the page has no %q after %.100q", want, page[max(0, at-100):])
		}
		at += i
	}
	if ids := checkFigures(t, page); !slices.Equal(ids, []string{"fig-change"}) {
		t.Errorf("the figures are %v", ids)
	}
	for name, tb := range benchTables() {
		t.Run(name, func(t *testing.T) {
			page := renderBench(t, benchPage(tb))
			checkPage(t, page)
			checkFigures(t, page)
		})
	}
	checkPage(t, renderBench(t, benchPage(manyBenchmarks(2000))))
}

// TestBenchHostile: nothing that a benchmark or a setting is called is a part of the page.
func TestBenchHostile(t *testing.T) {
	for name, s := range hostile {
		t.Run(name, func(t *testing.T) {
			tb := judged(fewBenchmarks())
			tb.Name = s
			tb.Settings[1] = dyno.Setting{{Factor: s, Value: s}}
			for i := range 3 {
				tb.Rows[i].Name += s
				for n := range tb.Rows[i].Units {
					if n > 2 {
						tb.Rows[i].Units[n].Unit = s
					}
				}
			}
			tb.Rows[4].Err, tb.Rows[1].Package = s, s
			tb.Pitfalls = append(tb.Pitfalls, pitfall.Found{Kind: pitfall.SetUp, Package: s, Name: s, Call: s})
			tb.Notes = []string{s}
			p := benchPage(tb)
			p.Trials[0].Subject, p.Whys = s, []profiles.BenchWhy{benchWhy(s, s, s)}
			page := renderBench(t, p)
			checkPage(t, page)
			checkHostile(t, page, s)
			if text := benchMarkdown(t, &p.Report); len(text) > layout.MostMarkdown || strings.Contains(text, "<script>") {
				t.Errorf("Markdown has %d bytes: %.300s", len(text), text)
			}
		})
	}
}

// TestBenchPrograms: the formats for programs name each benchmark.
func TestBenchPrograms(t *testing.T) {
	for format, wants := range map[string][]string{
		"csv": {
			"setting,rev,package,benchmark,metric,unit,median,lo,hi,trials,change_frac,change_lo_frac,change_hi_frac,p,verdict\n",
			"rev=main,main,example.com/json,CodeMarshal,sec/op,sec/op,0.003412,", ",18,,,,,baseline\n",
			"rev=HEAD,HEAD,example.com/json,Pipeline,tokens/op,,20,",
		},
		"openmetrics": {
			"# UNIT dyno_benchmark_time_per_op_seconds seconds\n",
			`dyno_benchmark_time_per_op_seconds{run="json",setting="rev=main",rev="main",package="example.com/json",benchmark="CodeMarshal",stat="median"} 0.003412` + "\n",
			`dyno_benchmark_time_per_op_change_ratio{run="json",setting="rev=HEAD",rev="HEAD",package="example.com/json",benchmark="CodeMarshal",stat="mean"} 0.03`,
			`benchmark="Valid",threshold="change(sec_per_op) < 2%"} 1`, "# EOF\n",
		},
	} {
		var b bytes.Buffer
		if err := Write(&b, &findings.Findings{Table: judged(fewBenchmarks()).table()}, format, layout.Options{}); err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s has no %q in\n%.2000s", format, want, b.String())
			}
		}
	}
}
