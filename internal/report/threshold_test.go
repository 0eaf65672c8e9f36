package report

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/export"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/tables"
)

func gated(t testing.TB, rs []*dyno.Result, es []effects, texts ...string) *compare.Table {
	t.Helper()
	o := compare.Options{Name: "sessions", About: []string{"subject: ./examples/sessions (go1.26.8)"}, Settings: settings(es)}
	for _, text := range texts {
		th, err := dyno.ParseThreshold(text)
		if err != nil {
			t.Fatal(err)
		}
		o.Thresholds = append(o.Thresholds, th)
	}
	return compare.Tabulate(rs, o)
}

// gate is a table with thresholds of every outcome.
func gate(t testing.TB) *compare.Table {
	return gated(t, marred(), study,
		"p99 < 11.5ms", "p50 < 9ms", "failures == 0", "rss_peak < 37MiB", "stw_max < 1s", "change(p99) < 5%", "change(rss_peak) < 5%", "rss_idle < 1GiB", "patch_p99 < 1s")
}

// hostileResults are results whose every text wants to be something else.
func hostileResults() ([]*dyno.Result, []effects) {
	evil := "<script>alert(1)</script>|`a`|@everyone #12 ![x](http://e.org/t.png) ]]> & \"q\" '\x1b[31m\n=1+1 \u202e\x00\xff\\|"
	es := []effects{{gogc("100"), 1, 1, 1}, {dyno.Setting{{Factor: "=cmd", Value: evil}, {Factor: "p", Value: "-2+3"}}, 1.5, 1, 1}}
	rs := synthetic(6, es)
	for _, r := range rs {
		r.Values = append(r.Values, dyno.Value{Metric: evil + "-p99-sec", Value: 1}, dyno.Value{Metric: evil, Value: 2})
		r.Warnings = dyno.Warnings{{Text: evil}}
	}
	rs[3].Err = evil
	return rs, es
}

func TestThresholdsText(t *testing.T) {
	tb := gate(t)
	golden(t, "thresholds.txt", []byte(text(t, tb, layout.Options{})))
	var b bytes.Buffer
	if err := Markdown(&b, &tables.Report{Table: tb}); err != nil {
		t.Fatal(err)
	}
	golden(t, "thresholds.md", b.Bytes())
	if got := tables.Gate(tb); !strings.Contains(got, " thresholds failed: p99 < 11.5ms of GOGC=0 (12.35 ms), ") || !strings.Contains(got, " more") {
		t.Errorf("got %q", got)
	}
	for texts, want := range map[string]string{
		"p50 < 1s":              "5 thresholds passed",
		"change(p50) < 15.5%":   "",
		"login_p99 < 1s":        "1 of 1 threshold failed: login_p99 < 1s (no data)",
		"goroutines == 12":      "5 thresholds passed",
		"change(failures) < 1%": "",
	} {
		if got := tables.Gate(gated(t, synthetic(6, study), study, texts)); want != "" && got != want {
			t.Errorf("%s: got %q, want %q", texts, got, want)
		}
	}
	// Beside a summary it stands alone; without thresholds there is nothing.
	b.Reset()
	one := []effects{{nil, 1, 1, 1}}
	if err := after(&b, gated(t, synthetic(1, one), one, "p99 < 1ms"), layout.Options{Full: true}); err != nil || !strings.Contains(b.String(), "FAILED  p99 < 1ms") {
		t.Errorf("%v, %s", err, &b)
	}
	b.Reset()
	if err := after(&b, table(synthetic(1, one), one), layout.Options{Full: true}); err != nil || b.Len() > 0 {
		t.Errorf("%v, %s", err, &b)
	}
}

// TestMarkdownFits: however much was measured, a comment has room for it, and what
// matters is in it.
func TestMarkdownFits(t *testing.T) {
	var es []effects
	for i := range 60 {
		es = append(es, effects{gogc(fmt.Sprint(100 + i)), 1 + 0.01*float64(i), 1, 1})
	}
	rs := synthetic(6, es)
	for _, r := range rs {
		for i := range 200 {
			r.Values = append(r.Values, dyno.Value{Metric: fmt.Sprintf("step%d-p99-sec", i), Value: 0.01 * float64(i+1) * (1 + float64(r.Trial.N%7)/100)})
		}
		r.Warnings = nil
		r.Warnings.Add("", "%s: doubt", strings.Repeat(string(rune('a'+r.Trial.N%26)), 1+r.Trial.N%7))
	}
	for _, r := range rs[:20] {
		r.Err = strings.Repeat("panic: out of cheese\n", 2000) + r.Trial.Setting.String()
	}
	for name, tb := range map[string]*compare.Table{
		"large": gated(t, rs, es, "p99 < 12ms", "failures == 0", "change(p50) < 5%"),
	} {
		var b bytes.Buffer
		if err := Markdown(&b, &tables.Report{Table: tb}); err != nil {
			t.Fatal(err)
		}
		if b.Len() > layout.MostMarkdown {
			t.Errorf("%s: %d bytes", name, b.Len())
		}
		for _, want := range []string{"### sessions: ", " against ", "Thresholds: ", "FAILED | p99 &lt; 12ms", "Failed trials", "Warnings", "Left out because a comment has limited space: ", "Other metrics", "`dyno report DIR`"} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: %q is not in it", name, want)
			}
		}
		if strings.Count(b.String(), "<details>") != strings.Count(b.String(), "</details>") {
			t.Errorf("%s: a fold is not closed", name)
		}
	}
	// Names of any length leave the rest readable.
	long := noEffect(3)
	for i := range long {
		long[i].setting[0].Value = strings.Repeat("@`|", 50_000) + fmt.Sprint(i)
	}
	var b bytes.Buffer
	if err := Markdown(&b, &tables.Report{Table: gated(t, synthetic(6, long), long, "p99 < 1ms")}); err != nil {
		t.Fatal(err)
	}
	if b.Len() > layout.MostMarkdown || !strings.Contains(b.String(), "FAILED") {
		t.Errorf("%d bytes: %.3000s", b.Len(), b.String())
	}
}

// TestMarkdownHostile: what a run may contain is text in Markdown, and mentions
// nobody.
func TestMarkdownHostile(t *testing.T) {
	rs, es := hostileResults()
	var b bytes.Buffer
	if err := Markdown(&b, &tables.Report{Table: gated(t, rs, es, "p99 < 1ms")}); err != nil {
		t.Fatal(err)
	}
	out := b.String()
	for _, tag := range regexp.MustCompile(`<[^ ]*`).FindAllString(out, -1) {
		if !strings.HasPrefix(tag, "<details><summary>") && !strings.HasPrefix(tag, "</summary>") && tag != "</details>" && !strings.HasPrefix(tag, "</details>\n") {
			t.Errorf("a tag %q", tag)
		}
	}
	if regexp.MustCompile("(^|[^\\\\])`[^d]|@[a-z]|[^&]#[0-9]|[^\\\\]\\]\\(|\\x1b|\\x00|\u202e").MatchString(out) {
		t.Errorf("markup in %s", out)
	}
	// Every row of a table has as many cells as its heading: no text divides one.
	columns := 0
	for _, line := range strings.Split(out, "\n") {
		if !strings.HasPrefix(line, "|") {
			columns = 0
			continue
		}
		n := len(regexp.MustCompile(`\\.|\|`).FindAllString(regexp.MustCompile(`\\.`).ReplaceAllString(line, ""), -1))
		if columns == 0 {
			columns = n
		}
		if n != columns {
			t.Errorf("%d bars instead of %d: %s", n, columns, line)
		}
	}
}

// junitSchema is what Jenkins' schema (junit-10.xsd of its xUnit plugin) and GitLab
// allow of what dyno writes: the attributes and the children in order.
var junitSchema = map[string]struct{ attrs, children []string }{
	"testsuites": {[]string{"name", "time", "tests", "failures", "errors", "disabled"}, []string{"testsuite"}},
	"testsuite":  {[]string{"name", "tests", "failures", "errors", "time", "skipped", "timestamp", "hostname", "id", "package", "file"}, []string{"properties", "testcase", "system-out", "system-err"}},
	"testcase":   {[]string{"name", "classname", "time", "assertions", "status", "file"}, []string{"skipped", "error", "failure", "system-out", "system-err"}},
	"failure":    {[]string{"message", "type"}, nil},
	"error":      {[]string{"message", "type"}, nil},
	"system-out": {nil, nil},
}

// checkJUnit reads JUnit XML strictly, and returns its cases by outcome.
func checkJUnit(t *testing.T, data []byte) map[string]int {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(data))
	var path []string
	place := []int{0}
	found := map[string]int{}
	count := map[string][]int{}
	for {
		tok, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			name := tok.Name.Local
			rule, ok := junitSchema[name]
			if !ok || len(path) == 0 && name != "testsuites" {
				t.Fatalf("an element %s in %v", name, path)
			}
			if len(path) > 0 {
				i := slices.Index(junitSchema[path[len(path)-1]].children, name)
				if i < place[len(place)-1] {
					t.Fatalf("%s stands in %v, or too late", name, path)
				}
				place[len(place)-1] = i
			}
			found[name]++
			for _, a := range tok.Attr {
				if !slices.Contains(rule.attrs, a.Name.Local) {
					t.Errorf("%s has the attribute %s", name, a.Name.Local)
				}
				switch a.Name.Local {
				case "tests", "failures", "errors":
					n, err := strconv.Atoi(a.Value)
					if err != nil {
						t.Error(err)
					}
					count[name+" "+a.Name.Local] = append(count[name+" "+a.Name.Local], n)
				case "time":
					if _, err := strconv.ParseFloat(a.Value, 64); err != nil {
						t.Error(err)
					}
				case "name":
					if a.Value == "" {
						t.Errorf("a %s without a name", name)
					}
				}
			}
			path, place = append(path, name), append(place, 0)
		case xml.EndElement:
			path, place = path[:len(path)-1], place[:len(place)-1]
		}
	}
	for attr, element := range map[string]string{"tests": "testcase", "failures": "failure", "errors": "error"} {
		for _, level := range []string{"testsuites", "testsuite"} {
			sum := 0
			for _, n := range count[level+" "+attr] {
				sum += n
			}
			if sum != found[element] {
				t.Errorf("%s %s are %d, and there are %d", level, attr, sum, found[element])
			}
		}
	}
	return found
}

func TestJUnit(t *testing.T) {
	junit := func(tb *compare.Table, strict bool) []byte {
		var b bytes.Buffer
		if err := JUnit(&b, tb, strict); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	tb := gate(t)
	data := junit(tb, false)
	golden(t, "thresholds.junit.xml", data)
	failed, unclear := tb.Gate()
	found := checkJUnit(t, data)
	if found["testcase"] != len(tb.Thresholds) || found["failure"]+found["error"] != failed || found["error"] == 0 || unclear == 0 {
		t.Errorf("%v; %d failed, %d unclear", found, failed, unclear)
	}
	if got := checkJUnit(t, junit(tb, true)); got["failure"]+got["error"] != failed+unclear {
		t.Errorf("strict: %v", got)
	}
	rs, es := hostileResults()
	checkJUnit(t, junit(gated(t, rs, es, "p99 < 1ms", "change(p50) < 1%"), false))
	checkJUnit(t, junit(table(rs, es), false))
	for name, want := range map[string]string{"study": "[5 1 0]", "failed": "[4 1 1]", "none": "[2 2 0]", "empty": "[1 0 1]"} {
		f := checkJUnit(t, junit(cases()[name], false))
		if got := fmt.Sprint([]int{f["testcase"], f["failure"], f["error"]}); got != want {
			t.Errorf("%s: cases, failures and errors are %s, want %s", name, got, want)
		}
	}
	if f := checkJUnit(t, junit(compare.Tabulate(nil, compare.Options{}), false)); f["error"] != 1 {
		t.Errorf("nothing at all: %v", f)
	}
}

func TestCSV(t *testing.T) {
	rows := func(tb *compare.Table) [][]string {
		var b bytes.Buffer
		if err := export.CSV(&b, tb); err != nil {
			t.Fatal(err)
		}
		all, err := csv.NewReader(&b).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	all := rows(table(synthetic(6, study[:2]), study[:2]))
	if got := strings.Join(all[0], ","); got != "setting,GOGC,metric,unit,median,lo,hi,trials,change_frac,change_lo_frac,change_hi_frac,p,verdict" {
		t.Errorf("heading %s", got)
	}
	found := false
	for _, r := range all[1:] {
		if r[0] == "GOGC=0" && r[2] == "p99-sec" {
			found = true
			change, err := strconv.ParseFloat(r[8], 64)
			if err != nil || change < 0.1 || change > 0.3 || r[3] != "sec" || r[7] != "6" || r[12] != "worse" {
				t.Errorf("got %q", r)
			}
		}
		if r[0] == "GOGC=100" && r[12] != "baseline" {
			t.Errorf("got %q", r)
		}
	}
	if !found {
		t.Error("p99 of GOGC=0 is not there")
	}
	rs, es := hostileResults()
	for n, r := range rows(table(rs, es)) {
		if n == 0 && !slices.Contains(r, "factor.p") {
			t.Errorf("two columns of one name: %q", r)
		}
		for _, field := range r {
			if _, err := strconv.ParseFloat(field, 64); n > 0 && field != "" && strings.ContainsRune("=+-@", rune(field[0])) && err != nil {
				t.Errorf("a formula: %q", field)
			}
		}
	}
	for metric, want := range map[string]string{"p99-sec": "sec", "cpu-sec/req": "sec/req", "alloc-B/req": "B/req", "gc-cpu-frac": "frac", "failures": "", "GET /a-p99-sec": "sec", "req/s": ""} {
		if got := export.UnitName(metric); got != want {
			t.Errorf("%s: unit %q, want %q", metric, got, want)
		}
	}
}

// checkOpenMetrics reads OpenMetrics text by the rules of the specification that
// Prometheus' reader of its own format does not know, and then by that.
func checkOpenMetrics(t *testing.T, text string) map[string]int {
	t.Helper()
	body, ok := strings.CutSuffix(text, "# EOF\n")
	if !ok || strings.Contains(body, "# EOF") {
		t.Fatal("it does not end in # EOF")
	}
	name, samples, seen := "", map[string]int{}, map[string]bool{}
	sample := regexp.MustCompile(`^([a-zA-Z_][a-zA-Z0-9_]*)(\{([a-zA-Z][a-zA-Z0-9_]*="(\\[\\"n]|[^"\\])*"(,|\}))+) -?[0-9.e+-]+$`)
	for line := range strings.Lines(body) {
		line = strings.TrimSuffix(line, "\n")
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, _, _ = strings.Cut(rest, " ")
			if samples[name] > 0 || !strings.HasSuffix(rest, " gauge") {
				t.Errorf("%s comes twice, or is no gauge", rest)
			}
			continue
		}
		if rest, ok := strings.CutPrefix(line, "# UNIT "); ok {
			of, unit, _ := strings.Cut(rest, " ")
			if of != name || !strings.HasSuffix(name, "_"+unit) {
				t.Errorf("unit %s of %s", unit, name)
			}
			continue
		}
		if strings.HasPrefix(line, "# HELP "+name+" ") {
			continue
		}
		m := sample.FindStringSubmatch(line)
		if m == nil || m[1] != name || seen[m[1]+m[2]] {
			t.Errorf("bad line, or one that comes twice: %s", line)
			continue
		}
		seen[m[1]+m[2]] = true
		samples[name]++
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	fs, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	for name, n := range samples {
		if f := fs[name]; f == nil || len(f.Metric) != n || n == 0 {
			t.Errorf("%s: %d samples, Prometheus reads %v", name, n, f)
		}
	}
	return samples
}

func TestOpenMetrics(t *testing.T) {
	expose := func(tb *compare.Table) string {
		var b bytes.Buffer
		if err := export.OpenMetrics(&b, tb); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	two := table(synthetic(6, study[:2]), study[:2])
	golden(t, "pair.openmetrics", []byte(expose(two)))
	for name, tb := range cases() {
		t.Run(name, func(t *testing.T) { checkOpenMetrics(t, expose(tb)) })
	}
	rs, es := hostileResults()
	es[1].setting = append(es[1].setting, dyno.Level{Factor: "cmd", Value: "1"}, dyno.Level{Factor: "stat", Value: "2"}, dyno.Level{Factor: "2", Value: ""})
	got := checkOpenMetrics(t, expose(gated(t, rs, es, "p99 < 1ms")))
	if got["dyno_threshold_passed"] != 3 || got["dyno_service"] == 0 {
		t.Errorf("got %v", got)
	}
	for metric, want := range map[string]string{
		"p99.9-sec": "dyno_p99_9_seconds seconds ", "cpu-sec/req": "dyno_cpu_per_req_seconds seconds ", "rss-peak-B": "dyno_rss_peak_bytes bytes ",
		"gc-cpu-frac": "dyno_gc_cpu_ratio ratio ", "req/s": "dyno_req_per_s  ", "GET /a-p99-sec": "dyno_p99_seconds seconds GET /a", "jobs_total": "dyno_service  ",
	} {
		name, unit, step := export.Exposed(metric)
		if got := name + " " + unit + " " + step; got != want {
			t.Errorf("%s: got %q, want %q", metric, got, want)
		}
	}
}
