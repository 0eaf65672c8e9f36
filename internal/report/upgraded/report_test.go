package upgraded

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/gcmodel"
	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/findings/predict"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/stats"
	"github.com/dynolab/dyno/internal/upgrade"
)

func judgement(text, metric string, o compare.Outcome, value, lo, hi float64) compare.Judgement {
	th, err := dyno.ParseThreshold(text)
	if err != nil {
		panic(err)
	}
	return compare.Judgement{Threshold: th, Metric: metric, Setting: 1, Outcome: o, Value: value, Lo: lo, Hi: hi}
}

// Each answer has its sentence, a page, Markdown and JSON; none says more than was found.
func TestAnswers(t *testing.T) {
	worse := compare.Versus{Ratio: 1.09, Lo: 1.07, Hi: 1.11, P: 0.001, Verdict: stats.Worse}
	back := compare.Versus{Ratio: 0.93, Lo: 0.91, Hi: 0.95, P: 0.001, Verdict: stats.Better}
	left := compare.Versus{Ratio: 1.01, Lo: 1, Hi: 1.02, P: 0.4, Verdict: stats.Unclear}
	memory, _ := dyno.MetricByName("rss-peak-B")
	rows := []compare.Row{{Metric: memory, Key: "rss-peak-B"}}
	table := func(vs ...compare.Versus) *compare.Table {
		t := &compare.Table{Rows: rows, Settings: []compare.Setting{{}}}
		for _, v := range vs {
			t.Settings = append(t.Settings, compare.Setting{Versus: map[string]compare.Versus{"rss-peak-B": v}})
		}
		return t
	}
	failed := judgement("change(rss_peak) < 5%", "rss-peak-B", compare.Failed, 0.09, 0.07, 0.11)
	passed := judgement("change(p50) < 5%", "p50-sec", compare.Passed, 0.01, -0.01, 0.03)
	open := judgement("change(p99) < 10%", "p99-sec", compare.Unclear, 0.02, -0.08, 0.13)
	tea := upgrade.Candidate{Source: upgrade.Experiment, Name: "greenteagc"}
	line := upgrade.Candidate{Source: upgrade.GoLine, Name: "go line", Was: "1.24", Is: "1.27.4"}
	setting := upgrade.Candidate{Source: upgrade.Debug, Name: "tlsmlkem", Was: "0"}
	module := upgrade.Candidate{Source: upgrade.Module, Name: "example.org/x", Was: "v1.0.0", Is: "v1.1.0"}
	cause := func(found ...upgrade.Candidate) *upgrade.Cause {
		c := &upgrade.Cause{Metric: memory, Change: worse, Found: found}
		if len(found) > 0 {
			c.Alone = upgrade.Alone{Candidate: found[len(found)-1], Run: "3-alone", Back: back, Left: left, Change: worse, Moves: upgrade.Yes, Table: table(worse, left)}
		}
		return c
	}
	holds, fails := cause(tea), cause(line)
	holds.Alone.Judged = []compare.Judgement{passed}
	fails.Alone.Judged = []compare.Judgement{passed, open}
	searched := cause()
	searched.Halves = []upgrade.Halves{{Run: "2-halves", Parts: []upgrade.Part{{Back: []upgrade.Candidate{tea}, Versus: back, Moves: upgrade.Yes}, {Back: []upgrade.Candidate{line, module}, Versus: left, Moves: upgrade.No}}}}
	searched.Unsure = []upgrade.Alone{{Candidate: tea, Run: "3-alone", Back: left}}
	searched.Skipped = []upgrade.Skipped{{Candidate: module, Why: errors.New("does not compile\nmore")}}
	for _, test := range []struct {
		name   string
		answer upgrade.Answer
		status int // strict
		want   []string
	}{
		{"safe", upgrade.Answer{Kind: upgrade.Safe, Judged: []compare.Judgement{passed}, Table: table(left), Run: "1-versions"}, 0,
			[]string{"svc: go1.27.4 is safe: median latency surely stays within what you allow.", "dyno report out/1-versions", "toolchain go1.26.8 → go1.27.4"}},
		{"not safe", upgrade.Answer{Kind: upgrade.NotSafe, Judged: []compare.Judgement{failed, passed, open}, Table: table(worse), Cause: holds, Blocks: 12}, 99, []string{
			"is not safe: peak memory +9.0% [+7.0%, +11.0%], and you allow 5%.", "The change of peak memory, +9.0% [+7.0%, +11.0%], comes from greenteagc: with GOEXPERIMENT=nogreenteagc, it is +1.0% [0.0%, +2.0%] against before.",
			"ENV GOEXPERIMENT=nogreenteagc", "With that, all surely stays within what you allow.", "Safe: median latency surely", "Not decided: p99 latency +2.0%", "without greenteagc", "go1.27.4 against before, in 12 blocks"}},
		{"the go line", upgrade.Answer{Kind: upgrade.NotSafe, Judged: []compare.Judgement{failed}, Table: table(worse), Cause: fails}, 99,
			[]string{"comes from the go line: with the line go 1.24", "leave the line go 1.24 in go.mod", "With that, p99 latency, +2.0% [-8.0%, +13.0%], is not decided."}},
		{"a setting", upgrade.Answer{Kind: upgrade.NotSafe, Judged: []compare.Judgement{failed}, Table: table(worse), Cause: cause(line, setting)}, 99,
			[]string{"with GODEBUG=tlsmlkem=0", "write the line godebug tlsmlkem=0 into go.mod"}},
		{"a module", upgrade.Answer{Kind: upgrade.NotSafe, Judged: []compare.Judgement{failed}, Table: table(worse), Cause: cause(module)}, 99,
			[]string{"comes from example.org/x v1.1.0: with example.org/x v1.0.0", "go get example.org/x@v1.0.0"}},
		{"no cause", upgrade.Answer{Kind: upgrade.NotSafe, Judged: []compare.Judgement{failed}, Table: table(worse), Cause: searched}, 99,
			[]string{"no default that can be turned back alone is shown to make it", "2-halves, against the new version: without greenteagc -7.0%", "without the go line and example.org/x v1.1.0 +1.0%",
				"Without greenteagc, alone on fresh blocks, it does not surely move back", "example.org/x v1.1.0 cannot be turned back: does not compile."}},
		{"not decided", upgrade.Answer{Kind: upgrade.NotDecided, Judged: []compare.Judgement{open}, Table: table(left), More: 10, Blocks: 20, PerBlock: 6 * time.Second}, 98,
			[]string{"is not decided: p99 latency +2.0% [-8.0%, +13.0%], and you allow 10%.", "About 10 blocks more would decide it", "--total 4m"}},
		{"one program", upgrade.Answer{Kind: upgrade.OneProgram}, 0, []string{"the program is the same, to the byte"}},
		{"refused", upgrade.Answer{Kind: upgrade.Refused}, 99, []string{"it does not build with go1.27.4: toolchain"}},
		{"no data", upgrade.Answer{Kind: upgrade.NotSafe, Judged: []compare.Judgement{{Threshold: failed.Threshold, Outcome: compare.Failed, NoData: true, Value: math.NaN(), Lo: math.NaN(), Hi: math.NaN()}}, Table: table(left)}, 99,
			[]string{"rss_peak is not known"}},
	} {
		r := &Report{Answer: test.answer, To: "go1.27.4", Survey: []string{"toolchain go1.26.8 → go1.27.4"}, Name: "svc", Dir: "out"}
		text := strings.Join(strings.Fields(r.Text(layout.Options{Width: 100})), " ")
		for _, want := range test.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", test.name, want, r.Text(layout.Options{Width: 100}))
			}
		}
		if got := r.Status(true); got != test.status {
			t.Errorf("%s: status %d, want %d", test.name, got, test.status)
		}
		if got := r.Status(false); got != 0 && test.answer.Kind != upgrade.Refused {
			t.Errorf("%s: status %d of what was not asked", test.name, got)
		}
		if !strings.HasPrefix(r.Markdown(), "### svc: ") {
			t.Errorf("%s: the Markdown is %s", test.name, r.Markdown())
		}
		var page, document strings.Builder
		if err := errors.Join(r.HTML(&page), answer.Write(&document, r.Document())); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if !strings.Contains(page.String(), "</html>") || !strings.Contains(document.String(), `"answer": "`+string(test.answer.Kind)+`"`) {
			t.Errorf("%s: the page or the document is not whole", test.name)
		}
	}
	r := &Report{Answer: upgrade.Answer{Kind: upgrade.NotSafe, Judged: []compare.Judgement{failed}, Run: "1-versions"}, Dir: "out", Remedy: &predict.Remedy{Metric: "rss-peak-B", GOGC: 85,
		Memory: gcmodel.Estimate{Value: 0.99, Lo: 0.95, Hi: 1.04}, CPU: gcmodel.Estimate{Value: 1.02, Lo: 1.01, Hi: 1.03}, Doubts: []gcmodel.Doubt{gcmodel.FewCycles}, Group: "go=1.27.4"}}
	text := strings.Join(strings.Fields(r.Text(layout.Options{Width: 100})), " ")
	for _, want := range []string{"A way out may be GOGC=85: with it, dyno predicts -1.0% [-5.0%, +4.0%] peak memory and +2.0% [+1.0%, +3.0%] CPU time per request, both against the old version.", "dyno predict out/1-versions --group 'go=1.27.4' --gogc 85 says why"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	document := func() string {
		var b strings.Builder
		if err := answer.Write(&b, r.Document()); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if !strings.Contains(document(), `"gogc": 85`) {
		t.Errorf("no remedy in %s", document())
	}
	r.Judged = append(r.Judged, judgement("change(cpu_per_req) < 1%", "cpu-sec/req", compare.Passed, 0, -0.01, 0.01))
	r.Judged[1].Limit = 0.01
	if text := r.Text(layout.Options{Width: 100}); strings.Contains(text, "GOGC") || strings.Contains(document(), "gogc") {
		t.Errorf("a remedy that costs more than is allowed:\n%s\n%s", text, document())
	}
	if s := (&Report{Answer: upgrade.Answer{Kind: upgrade.NotSafe}, Asked: true}).Status(false); s != 99 {
		t.Errorf("what was asked and fails has status %d", s)
	}
}
