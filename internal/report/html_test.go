package report

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/slow"
	"github.com/dynolab/dyno/internal/report/html"
	"github.com/dynolab/dyno/internal/report/pprofpage"
	"github.com/dynolab/dyno/internal/report/tables"
)

func pageOf(rs []*dyno.Result, es []effects) *html.Page {
	return &html.Page{
		Report: tables.Report{Table: table(rs, es)}, Trials: rs,
		Origin: findings.Origin{
			Dir: "sessions-20261122", Dyno: "v0.6.0", Started: time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC),
			Command: []string{"dyno", "run", "--vary", "GOGC=100,0", "it's"}, Plan: "name: sessions\n", Host: [][2]string{{"kernel", "6.18"}},
		},
	}
}

func render(t *testing.T, p *html.Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := html.HTML(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A tag is what a reader of the page takes for one.
type tag struct {
	name  string
	attrs map[string]string
	text  string // of scripts and styles: what is in them
}

var (
	anyTag  = regexp.MustCompile(`(?s)<(/?)([a-zA-Z!][^\s/>]*)((?:[^>"']|"[^"]*"|'[^']*')*)>`)
	anyAttr = regexp.MustCompile(`(?s)([^\s=/"']+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"']+)))?`)
)

// tagsOf reads a page as browsers do, as far as our own pages need it.
func tagsOf(t *testing.T, page string) (tags []tag) {
	t.Helper()
	for at := 0; ; {
		m := anyTag.FindStringSubmatchIndex(page[at:])
		if m == nil {
			if i := strings.IndexByte(page[at:], '<'); i >= 0 {
				t.Errorf("a < that begins no tag: %.80q", page[at+i:])
			}
			return tags
		}
		if i := strings.IndexByte(page[at:], '<'); i != m[0] {
			t.Errorf("a < that begins no tag: %.80q", page[at+i:])
		}
		x := tag{name: strings.ToLower(page[at+m[4] : at+m[5]]), attrs: map[string]string{}}
		for _, a := range anyAttr.FindAllStringSubmatch(page[at+m[6]:at+m[7]], -1) {
			x.attrs[strings.ToLower(a[1])] = a[2] + a[3] + a[4]
		}
		closing := m[3] > m[2]
		at += m[1]
		if !closing && (x.name == "script" || x.name == "style") {
			end := strings.Index(strings.ToLower(page[at:]), "</"+x.name)
			if end < 0 {
				t.Fatalf("<%s> has no end", x.name)
			}
			x.text = page[at : at+end]
			at += end
		}
		if !closing {
			tags = append(tags, x)
		}
	}
}

// checkPage is what has to hold of every page.
func checkPage(t *testing.T, page string) []tag {
	t.Helper()
	if len(page) > html.MostBytes {
		t.Errorf("the page has %d bytes", len(page))
	}
	seen := regexp.MustCompile(`(?s)<script.*?</script>`).ReplaceAllString(page, "")
	for _, bad := range []string{"ZgotmplZ", "<no value>", "%!", "NaN", "<nil>"} {
		if i := strings.Index(seen, bad); i >= 0 {
			t.Errorf("the page has %q: %.200q", bad, seen[max(0, i-80):])
		}
	}
	if !strings.HasPrefix(page, "<!DOCTYPE html>\n<html lang=\"en\">") {
		t.Errorf("it begins with %.60q", page)
	}
	tags := tagsOf(t, page)
	ids, levels := map[string]bool{}, []int{}
	var policy string
	for _, x := range tags {
		if id, ok := x.attrs["id"]; ok {
			if ids[id] {
				t.Errorf("two elements have the id %q", id)
			}
			ids[id] = true
		}
		if len(x.name) == 2 && x.name[0] == 'h' && x.name[1] >= '1' && x.name[1] <= '6' {
			levels = append(levels, int(x.name[1]-'0'))
		}
		for name, value := range x.attrs {
			if name == "style" || strings.HasPrefix(name, "on") {
				t.Errorf("<%s %s=%.80q>", x.name, name, value)
			}
			scheme, _, found := strings.Cut(strings.TrimSpace(strings.ToLower(value)), ":")
			if (name == "href" || name == "src" || strings.HasSuffix(name, "-url")) && found && !strings.ContainsAny(scheme, "/#") {
				t.Errorf("<%s %s=%.80q> leads out of the page", x.name, name, value)
			}
		}
		if x.name == "meta" && strings.EqualFold(x.attrs["http-equiv"], "Content-Security-Policy") {
			policy = x.attrs["content"]
		}
	}
	for i, l := range levels {
		if i == 0 && l != 1 || i > 0 && (l == 1 || l > levels[i-1]+1) {
			t.Errorf("headings are %v", levels)
			break
		}
	}
	for _, x := range tags {
		if to, ok := strings.CutPrefix(x.attrs["href"], "#"); ok && !ids[to] {
			t.Errorf("a link leads to #%s, which is not there", to)
		}
		text := x.text
		if kind := x.attrs["type"]; x.name == "script" && kind != "" && kind != "importmap" {
			if kind != "application/json" && kind != "application/octet-stream+base64" && kind != "module" {
				t.Errorf("a script is of the type %q", kind)
			}
			text = ""
		}
		if text != "" && !strings.Contains(policy, sha256Of(text)) {
			t.Errorf("the policy does not allow <%s> with %.80q", x.name, text)
		}
	}
	if strings.Contains(policy, "unsafe") {
		t.Errorf("the policy is %s", policy)
	}
	return tags
}

// checkFigures is what has to hold of every picture.
func checkFigures(t *testing.T, page string) (ids []string) {
	t.Helper()
	for _, f := range regexp.MustCompile(`(?s)<figure.*?</figure>`).FindAllString(page, -1) {
		id := regexp.MustCompile(`id="([^"]*)"`).FindStringSubmatch(f)[1]
		ids = append(ids, id)
		for _, want := range []string{`class="chart"`, `data-kind="`, `data-name="`, "<h3>", `<p class="shows">`, `<div class="picture">`, `<details class="table">`, "<caption>", `<th scope="col"`} {
			if !strings.Contains(f, want) {
				t.Errorf("figure %s has no %s", id, want)
			}
		}
	}
	return ids
}

func TestHTML(t *testing.T) {
	page := render(t, pageOf(marred(), study))
	checkPage(t, page)
	at := 0
	for _, want := range []string{
		"<title>sessions: ", "Content-Security-Policy", "Skip to the verdict", "<h1>sessions: 29 trials in 6 blocks of 5 settings; 1 more failed</h1>",
		`<section id="verdict">`, "<strong>GOGC=0</strong> against GOGC=100: ", "GOGC=50: it failed in 1 trial", `<h3 id="doubts">Warnings</h3>`,
		`<section id="change">`, `id="fig-change"`, "<summary>Table", "Other metrics",
		`<section id="latency">`, `id="fig-percentiles"`, `id="fig-histograms"`,
		`<section id="memory">`, `<section id="trials">`, "Failed trials", "assignment to entry in nil map", `id="fig-trials-p50-sec"`, "Every trial",
		`<section id="again">`, "dyno run --vary GOGC=100,0 &#39;it&#39;\\&#39;&#39;s&#39;", "name: sessions", "results.jsonl",
		`<script type="importmap">`,
	} {
		i := strings.Index(page[at:], want)
		if i < 0 {
			t.Fatalf("the page has no %q after %.100q", want, page[max(0, at-100):])
		}
		at += i
	}
	ids := checkFigures(t, page)
	if want := []string{"fig-change", "fig-percentiles", "fig-histograms", "fig-trials-p50-sec", "fig-trials-p99-sec", "fig-trials-req-s", "fig-trials-cpu-sec-req", "fig-trials-rss-peak-b"}; !slices.Equal(ids, want) {
		t.Errorf("the figures are %v, want %v", ids, want)
	}
	if again := render(t, pageOf(marred(), study)); again != page {
		t.Error("the same run makes another page")
	}
}

// The page shows what slow requests of each setting spend their time in, and some of them one by one.
func TestHTMLSlow(t *testing.T) {
	p := pageOf(synthetic(2, study[:2]), study[:2])
	for i := range p.Table.Settings {
		p.Table.Settings[i].Slow = slow.Explain(slowTrials("main.get", 0.002))
	}
	page := render(t, p)
	checkPage(t, page)
	ids := checkFigures(t, page)
	for _, want := range []string{"fig-slow-parts", "fig-slow-1", "fig-slow-2"} {
		if !slices.Contains(ids, want) {
			t.Errorf("the figures are %v, without %s", ids, want)
		}
	}
	for _, want := range []string{"slow request 1: 3 ms (trial 1, at 0)", "a typical request: 3 ms", "waiting for a lock in get"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

// TestHTMLOfLess is of runs that lack what makes a comparison.
func TestHTMLOfLess(t *testing.T) {
	failing := synthetic(2, study[:2])
	for _, r := range failing {
		r.Err, r.Values, r.Latency = "build failed:\nno such package", nil, nil
	}
	bare := synthetic(1, study[:1])
	bare[0].Latency, bare[0].Trial.Setting = nil, nil // watched, without a load
	bare[0].Values = slices.DeleteFunc(bare[0].Values, func(v dyno.Value) bool { return v.Metric != "rss-peak-B" && v.Metric != "goroutines" })
	partial := pageOf(synthetic(6, study)[:7], study)
	partial.Table = compare.Tabulate(partial.Trials, compare.Options{Settings: settings(study), Planned: 30})
	for _, c := range []struct {
		name string
		page *html.Page
		want []string
		not  []string
	}{
		{"one setting", pageOf(synthetic(6, study[:1]), study[:1]), []string{"The median latency is", ">Figures</h2>", `id="fig-percentiles"`}, []string{"fig-change", "Recommended"}},
		{"no load", pageOf(bare, nil), []string{">Figures</h2>", "rss-peak"}, []string{"fig-percentiles", `id="latency"`}},
		{"all failed", pageOf(failing, study[:2]), []string{"no finished trial", "None: nothing comparable was measured", "Failed trials", "no such package", `href="#trials"`}, []string{"fig-", `id="latency"`, `id="change"`}},
		{"partial", partial, []string{"No recommendation: only 7 of 30 planned trials were run.", "7 of 30 planned trials were run"}, []string{"Recommended"}},
		{"nothing at all", &html.Page{Report: tables.Report{Table: compare.Tabulate(nil, compare.Options{Name: "x"})}}, []string{"no finished trial"}, []string{"fig-"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			page := render(t, c.page)
			checkPage(t, page)
			checkFigures(t, page)
			for _, want := range c.want {
				if !strings.Contains(page, want) {
					t.Errorf("the page has no %q", want)
				}
			}
			for _, not := range c.not {
				if strings.Contains(page, not) {
					t.Errorf("the page has %q", not)
				}
			}
		})
	}
}

func TestHTMLServed(t *testing.T) {
	p := pageOf(synthetic(6, study), study)
	p.Site = &html.Site{
		Home: "/", Assets: "/assets/", Detail: "/runs/a/picture", Live: "/runs/a/live", Token: "secret",
		Files: []html.File{{Name: "results.jsonl", URL: "/runs/a/files/results.jsonl"}}, Others: []html.File{{Name: "GOGC=50 as baseline", URL: "/runs/a?base=GOGC%3D50"}},
	}
	p.Flames = []html.Flame{{Kind: "cpu", Setting: "GOGC=100", URL: "/runs/a/pprof/cpu/flamegraph"}}
	page := render(t, p)
	tags := tagsOf(t, page)
	for _, want := range []string{
		`data-detail="/runs/a/picture"`, `data-live="/runs/a/live"`, `<meta name="token" content="secret">`, `<a href="/">All runs</a>`,
		`<link rel="stylesheet" href="/assets/page.css">`, `<script type="module" src="/assets/page.js"></script>`,
		`data-url="/runs/a/pprof/cpu/flamegraph"`, `href="/runs/a/files/results.jsonl"`, `href="/runs/a?base=GOGC%3D50"`,
		`id="fig-latency"`, `id="fig-timelines"`, // which the scripts ask for
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	for _, x := range tags {
		if x.name == "style" || x.name == "script" && x.attrs["src"] == "" || x.attrs["http-equiv"] != "" {
			t.Errorf("<%s %v> is in a page that has a policy of its server", x.name, x.attrs)
		}
		for _, attr := range []string{"href", "src"} { // of files that are there
			if name, ok := strings.CutPrefix(x.attrs[attr], "/assets/"); ok {
				if _, err := fs.Stat(html.Assets, name); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// pprofPage is a flame graph in its outlines, and noise of so many bytes.
func pprofPage(noise int) []byte {
	data := make([]byte, noise)
	rand.Read(data)
	return []byte("<!DOCTYPE html>\r\n<html>\r\n<head>\r\n<style type=\"text/css\">a { color: red }</style></head><body>" +
		"<script>\r\nstackViewer(" + base64.StdEncoding.EncodeToString(data) + ");\r\n</script></body></html>")
}

func TestFlames(t *testing.T) {
	p := pageOf(synthetic(6, study), study)
	for i, kb := range []int{100, 900, 50, 700, 300} {
		p.Flames = append(p.Flames, html.Flame{Kind: "cpu", Setting: study[i].setting.String(), HTML: pprofPage(kb << 10)})
	}
	p.Flames = append(p.Flames, html.Flame{Kind: "allocs", Setting: "GOGC=0", Base: "GOGC=100", HTML: pprofPage(1)})
	blocks, err := pprofpage.FlameBlocks()
	if err != nil {
		t.Fatal(err)
	}
	page := render(t, p)
	tags := checkPage(t, page)
	var kept []string
	for _, x := range tags {
		if strings.HasPrefix(x.attrs["id"], "flame-") {
			kept = append(kept, x.attrs["id"])
		}
		if of := x.attrs["data-source"]; of != "" && !strings.Contains(page, `id="`+of+`"`) {
			t.Errorf("a button opens %s, which is not there", of)
		}
	}
	if want := []string{"flame-1", "flame-3", "flame-4", "flame-5", "flame-6"}; !slices.Equal(kept, want) {
		t.Errorf("%v are in the page, want %v", kept, want)
	}
	for _, want := range []string{
		"Not shown: the flame graphs of cpu of GOGC=0, as the file would be larger than 2 MB (consider: dyno view sessions-20261122)",
		">GOGC=0 against GOGC=100</button>",
		sha256Of(string(blocks.Scripts[0])), sha256Of(string(blocks.Scripts[2])), sha256Of(string(blocks.Styles[1])),
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	// What else is in such a page is not allowed to run.
	if policy, _, _ := strings.Cut(page, "</head>"); strings.Count(policy, "sha256-") != strings.Count(withoutFlameScripts(t, p), "sha256-")+len(blocks.Scripts)+len(blocks.Styles) {
		t.Error("the policy allows more than is pprof's")
	}
}

// withoutFlameScripts is the head of the same page without a flame graph.
func withoutFlameScripts(t *testing.T, p *html.Page) string {
	bare := *p
	bare.Flames = nil
	head, _, _ := strings.Cut(render(t, &bare), "</head>")
	return head
}

// TestLargeRun is of more settings and trials than anyone reads one by one.
func TestLargeRun(t *testing.T) {
	var es []effects
	for i := range 60 {
		es = append(es, effects{gogc(fmt.Sprint(100 + i)), 1 + float64(i)/100, 1, 1})
	}
	rs := synthetic(10, es)
	for i, r := range rs {
		r.Warnings = nil
		r.Warnings.Add("", "other processes used %d %% of the CPUs during this trial", i)
	}
	page := render(t, pageOf(rs, es))
	checkPage(t, page)
	for _, want := range []string{"100 rows more are in results.jsonl", "The other metrics are in results.jsonl", "47 more settings", "… and 400 more."} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	t.Logf("%d bytes", len(page))
}

// sha256Of is how a policy names a script or a style sheet.
func sha256Of(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
