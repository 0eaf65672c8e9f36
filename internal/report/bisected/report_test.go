package bisected

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/profiles"
	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/bisect"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/stats"
)

// Each answer has its sentence, a page and JSON; none says more than was found.
func TestAnswers(t *testing.T) {
	worse := compare.Versus{Ratio: 1.05, Lo: 1.03, Hi: 1.07, P: 0.001, Verdict: stats.Worse}
	unclear := compare.Versus{Ratio: 1.01, Lo: 0.97, Hi: 1.05, P: 0.4, Verdict: stats.Unclear}
	from0 := compare.Versus{Ratio: math.NaN(), Lo: math.NaN(), Hi: math.NaN(), P: 0.001, Diff: 2, Verdict: stats.Worse}
	table := &compare.Table{Settings: []compare.Setting{{}, {Why: []compare.Why{{Metric: "cpu-sec/req", Causes: []compare.Cause{{
		Class: compare.ClassCPU, Metric: "cpu-sec/req", Share: 0.9, Places: []compare.Place{{Func: "x.F", File: "/tmp/dyno-rev-1/lib/x.go", Line: 7, Change: 1e-6}},
	}}}}}}}
	for _, test := range []struct {
		name   string
		answer bisect.Answer
		files  []string
		want   []string
	}{
		{"found", bisect.Answer{Kind: bisect.Found, Yardstick: bisect.Yardstick{Metric: "cpu-sec/req"}, Ends: worse, Lo: 1, Hi: 2, Pair: worse, PairRun: "4-pair", PairTable: table, Partly: true}, []string{"lib/x.go"},
			[]string{`CPU time per request changed with v2 (2026-11-30, "title 2"): worse, +5.0% [+3.0%, +7.0%].`, "in at most 5% of searches", "probably a part", "x.F", "The commit changed its source (lib/x.go:7).", "dyno report out/4-pair"}},
		{"another file", bisect.Answer{Kind: bisect.Found, Yardstick: bisect.Yardstick{Metric: "cpu-sec/req"}, Ends: worse, Lo: 1, Hi: 2, Pair: worse, PairRun: "4-pair", PairTable: table}, []string{"go.mod"},
			[]string{"but go.mod: the cause may be a dependency"}},
		{"range", bisect.Answer{Kind: bisect.Range, Yardstick: bisect.Yardstick{Metric: "cpu-sec/req"}, Ends: worse, Lo: 0, Hi: 3, Pair: worse, PairRun: "2-pair", PairTable: table, Skipped: map[int]error{1: errors.New("does not compile\nmore"), 2: errors.New("dies")}}, nil,
			[]string{"changed after v0, and with v3", "Those between cannot be measured", "v1 is left out: does not compile\n"}},
		{"no change", bisect.Answer{Kind: bisect.NoChange, Yardstick: bisect.Yardstick{Metric: "cpu-sec/req"}, Ends: unclear, Hi: 3}, nil, []string{"is not shown to differ from v0 to v3: +1.0% [-3.0%, +5.0%]"}},
		{"none worse", bisect.Answer{Kind: bisect.NoChange, Hi: 3}, nil, []string{"no primary metric is shown to be worse from v0 to v3"}},
		{"one program", bisect.Answer{Kind: bisect.OneBuild, Hi: 3}, nil, []string{"the program is the same from v0 to v3, to the byte"}},
		{"allocations of a benchmark", bisect.Answer{Kind: bisect.Found, Yardstick: bisect.Yardstick{Metric: "allocs/op", Package: "example.org/x", Name: "Decode", Plain: true}, Ends: from0, Lo: 1, Hi: 2, Pair: from0, PairRun: "4-pair", PairTable: table}, []string{"x_test.go"},
			[]string{"The commit changed the benchmark itself (x_test.go:3).", `allocs/op of example.org/x.Decode changed with v2 (2026-11-30, "title 2"): worse, +2.`}},
		{"undecided", bisect.Answer{Kind: bisect.Undecided, Yardstick: bisect.Yardstick{Metric: "cpu-sec/req"}, Ends: worse, Lo: 1, Hi: 2, Failed: []bisect.Pair{{Lo: 1, Hi: 2, Versus: unclear, Run: "3-pair"}},
			Measured: []bisect.Measured{{Version: 0, Blocks: 6, Change: 1}, {Version: 2, Blocks: 5, Change: 1.04}}}, nil,
			[]string{"no single commit is shown to have changed it", "most likely after v1, and with v2 at the latest", "v2 against v1, alone on fresh blocks: +1.0% [-3.0%, +5.0%]", "+4.0%"}},
	} {
		r := &Report{Answer: test.answer, Unit: "commit", Error: 0.05, Name: "svc", Dir: "out", Passed: 2, Plan: &dyno.Experiment{}}
		for _, name := range []string{"v0", "v1", "v2", "v3"} {
			r.Versions = append(r.Versions, Version{Name: name, Title: "title " + name[1:], Date: "2026-11-30"})
		}
		r.Versions[2].Files, r.Known = test.files, true
		if slices.Contains(test.files, "x_test.go") {
			r.Touched = []Func{{"x_test.go", "BenchmarkDecode", 3}}
		}
		if slices.Contains(test.files, "lib/x.go") {
			r.Touched = []Func{{"lib/x.go", "F", 7}}
		}
		text := strings.Join(strings.Fields(r.Text(layout.Options{Width: 100})), " ")
		for _, want := range test.want {
			if !strings.Contains(text, strings.TrimSpace(want)) {
				t.Errorf("%s: no %q in\n%s", test.name, want, r.Text(layout.Options{Width: 100}))
			}
		}
		var page, document strings.Builder
		if err := errors.Join(r.HTML(&page), answer.Write(&document, r.Document())); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if !strings.Contains(page.String(), "</html>") || !strings.Contains(document.String(), `"answer": "`+string(test.answer.Kind)+`"`) {
			t.Errorf("%s: the page or the document is not whole", test.name)
		}
	}
	for verdict, want := range map[stats.Verdict]string{stats.Unclear: "unclear", "": "not measured"} {
		if c := (&Report{}).change(compare.Versus{Ratio: math.NaN(), Verdict: verdict}); c != want {
			t.Errorf("a change without a ratio is %q, want %q", c, want)
		}
	}
}

// The report names the commit inside of a merge that was opened, or says that none there is shown to have changed the metric.
func TestOpened(t *testing.T) {
	worse := compare.Versus{Ratio: 1.05, Lo: 1.03, Hi: 1.07, P: 0.001, Verdict: stats.Worse}
	cpu := bisect.Yardstick{Metric: "cpu-sec/req"}
	table := &compare.Table{Settings: []compare.Setting{{}, {}}}
	found := bisect.Answer{Kind: bisect.Found, Yardstick: cpu, Ends: worse, Lo: 0, Hi: 1, Pair: worse, PairRun: "7-pair", PairTable: table,
		Measured: []bisect.Measured{{Version: 0, Blocks: 6, Change: 1}, {Version: 1, Blocks: 6, Change: 1.05}}}
	nothing := bisect.Answer{Kind: bisect.NoChange, Yardstick: cpu, Ends: compare.Versus{Ratio: 1.01, Lo: 0.97, Hi: 1.05, P: 0.4, Verdict: stats.Unclear}, Hi: 1}
	part, back, more := found, nothing, found
	part.Pair = compare.Versus{Ratio: 1.01, Lo: 1.005, Hi: 1.015, P: 0.001, Verdict: stats.Worse}
	back.Ends = compare.Versus{Ratio: 0.95, Lo: 0.93, Hi: 0.97, P: 0.001, Verdict: stats.Better}
	more.More = []bisect.Answer{found}
	of := func(a bisect.Answer, merge string, names ...string) *Report {
		r := &Report{Answer: a, Unit: "commit", Error: 0.05, Name: "svc", Dir: "out", Plan: &dyno.Experiment{}, Merge: merge}
		for _, name := range names {
			r.Versions = append(r.Versions, Version{Name: name, Title: "title " + name, Date: "2026-11-30"})
		}
		return r
	}
	for _, test := range []struct {
		name, want, not string
		inside          bisect.Answer
	}{
		{"a part", "That is probably a part of what the merge changed.", "together with", part},
		{"the other way", "Inside the merge m1: CPU time per request changed the other way from b0 to b1: better, -5.0%", "is not shown", back},
		{"more", "Another change is with b1", "of the merge itself", more},
		{"found", `Inside the merge m1: CPU time per request changed with b1 (2026-11-30, "title b1"): worse, +5.0% [+3.0%, +7.0%].`, "of the merge itself", found},
		{"not found", "Inside the merge m1: CPU time per request is not shown to differ from b0 to b1: +1.0% [-3.0%, +5.0%]. So the change may be of the merge itself", "with b1", nothing},
	} {
		r := of(found, "", "m0", "m1")
		r.Opened = map[int]*Report{1: of(test.inside, "m1", "b0", "b1")}
		text := strings.Join(strings.Fields(r.Text(layout.Options{Width: 300})), " ")
		if !strings.Contains(text, test.want) || strings.Contains(text, test.not) {
			t.Errorf("%s: no %q, or %q, in\n%s", test.name, test.want, test.not, text)
		}
		var document strings.Builder
		if err := answer.Write(&document, r.Document()); err != nil || !strings.Contains(document.String(), `"merge": "m1"`) || strings.Count(document.String(), `"answer"`) < 2 {
			t.Errorf("%s: %v\n%s", test.name, err, &document)
		}
	}
}

// The function that accounts for a change went in its direction, and is of the subject. One that the version touched comes first. The share
// of one that allocates nothing any more is null in JSON.
func TestFunctionOf(t *testing.T) {
	row := func(name, file string, own bool, value, change float64, verdict stats.Verdict) profiles.FunctionChange {
		return profiles.FunctionChange{Function: &profiles.Function{Name: name, File: file, Line: 3, Own: own}, Own: profiles.Change{Value: value, Diff: change, Verdict: verdict}}
	}
	d := &profiles.Diff{Kind: "allocs", Metric: "alloc-B/op", Rows: []profiles.FunctionChange{
		row("example.org/x.big", "/tmp/dyno-rev-0123abcd/w/x.go", true, 0, -100, stats.Better), row("example.org/x.(*T[...]).M.func1", "/tmp/w/a/x.go", true, 0, -10, stats.Better),
		row("example.org/x.M", "/tmp/w/a/x.go", true, 0, -1, stats.Unclear), row("example.org/x.more", "/tmp/w/a/x.go", true, 0, 5, stats.Worse),
	}}
	f := FunctionOf(d, []Func{{"a/x.go", "(*T).M", 7}, {"a/x.go", "more", 20}}, false)
	if f == nil || f.Name != "x.(*T[...]).M.func1" || f.File != "a/x.go" || f.Line != 7 || !f.Sure {
		t.Fatalf("%+v", f)
	}
	var document strings.Builder
	if err := answer.Write(&document, f); err != nil || !strings.Contains(document.String(), `"share": null`) {
		t.Errorf("%v, %s", err, &document)
	}
	if f := FunctionOf(d, nil, false); f == nil || f.Name != "x.big" || f.File != "w/x.go" { // the worktree is gone by then
		t.Errorf("%+v", f)
	}
	unsure := &profiles.Diff{Kind: "cpu", Total: profiles.Change{Value: 100}, Rows: []profiles.FunctionChange{
		row("strings.(*Reader).Read", "/usr/lib/go/src/strings/reader.go", false, 50, 9, stats.Unclear), row("example.org/x.rare", "/tmp/w/x.go", true, 0.5, 8, stats.Unclear), row("example.org/x.hot", "/tmp/w/x.go", true, 30, 1, stats.Unclear),
	}}
	if f := FunctionOf(unsure, []Func{{"reader.go", "(*Reader).Read", 1}, {"x.go", "rare", 2}, {"x.go", "hot", 3}}, true); f == nil || f.Name != "x.hot" || f.Sure {
		t.Errorf("%+v", f)
	}
}

// Whether a version changed the source of a function is said only if it is known.
func TestSource(t *testing.T) {
	r := &Report{Unit: "commit", Versions: []Version{{}, {Files: []string{"go.mod"}}, {Files: []string{"y.go"}}}}
	f := Func{File: "/tmp/w/x.go", Name: "x.F", Line: 5}
	for _, test := range []struct {
		lo, hi  int
		touched []Func
		known   bool
		want    string
	}{
		{0, 1, nil, false, ""},
		{0, 1, nil, true, "The commit did not change its source, but go.mod: the cause may be a dependency."},
		{1, 2, nil, true, "The commit did not change its source: it may have changed who calls it, and how often."},
		{1, 2, []Func{{"x.go", "F", 4}}, true, "The commit changed its source (x.go:5)."},
		{0, 2, []Func{{"x.go", "F", 4}}, true, "One of the commits changed its source (x.go:5)."},
	} {
		r.Lo, r.Hi, r.Touched, r.Known = test.lo, test.hi, test.touched, test.known
		if got := r.source(f); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}
