package report

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/exectrace"
	"github.com/dynolab/dyno/internal/analysis/leak"
	"github.com/dynolab/dyno/internal/analysis/profiles"
	"github.com/dynolab/dyno/internal/analysis/slow"
	"github.com/dynolab/dyno/internal/analysis/timeline"
	"github.com/dynolab/dyno/internal/report/html"
	"github.com/dynolab/dyno/internal/report/profile"
	"github.com/dynolab/dyno/internal/stats"
)

// hostile are what a subject may call itself, say or fail with, in the hope that a
// reader's browser takes it for a part of the page.
var hostile = map[string]string{
	"script":    `<script>alert("pwned")</script>`,
	"handler":   `"><img src=x onerror=alert(1)> ' onmouseover='alert(1)`,
	"island":    `</script><script>alert(1)</script><!-- </style><style>*{display:none}</style>`,
	"table":     `]]></td></tr></table></svg></section></main><iframe srcdoc="<script>alert(1)</script>">`,
	"template":  "{{.Page}} {{template `page` .}} ${alert(1)} <%= 1 %>",
	"link":      `javascript:alert(1)`,
	"meta":      `<meta http-equiv="refresh" content="0;url=https://example.com/">`,
	"direction": "a\u202eb\u2066c\u2069d\u200fe\u2028f\ufeffg",
	"control":   "a\x00b\x1b[31mc\rd\x7fe\u0085f\xff\xfeg",
	"entity":    `&lt;script&gt;alert(1)&lt;/script&gt; &#60;b&#62; &quot;`,
	"long":      strings.Repeat("<script>", 1<<20/8),
	"wide":      strings.Repeat("\u202e…\n", 1<<20/7),
}

// infested is a page with s wherever a text of someone else's may be.
func infested(s string) *html.Page {
	es := []effects{{gogc("100"), 1, 1, 1}, {dyno.Setting{{Factor: "GOGC", Value: s}, {Factor: s, Value: "1"}}, 1.2, 0.8, 2}}
	rs := synthetic(2, es)
	for i, r := range rs {
		if i == 0 {
			r.Warnings = dyno.Warnings{{Text: s}, {Text: "once: " + s}}
		}
		r.Failures = map[string]int{s: 3}
		r.Subject = s
		r.Files = []string{s}
		r.Values = append(r.Values, dyno.Value{Metric: s + "-p99-sec", Value: 1}, dyno.Value{Metric: s, Value: 2})
		r.Sent.Slowest = []dyno.Request{{Step: s, Done: time.Second}, {Step: "other", Done: time.Second}}
	}
	rs[3].Err, rs[3].Values = s+"\n"+s, nil
	p := &html.Page{Trials: rs}
	p.Table = compare.Tabulate(rs, compare.Options{Name: s, About: []string{s, s}, Settings: settings(es), Doubts: []compare.Doubt{{Said: []string{s}}}, CPU: []profiles.CPUShare{{Setting: s, Trials: 1, Classes: nil}}})
	infest(p.Table, s)
	p.Origin = findings.Origin{Dir: s, Dyno: s, Command: []string{"dyno", s}, Plan: s, Host: [][2]string{{s, s}}}
	p.Notes = []string{s}
	p.Flames = []html.Flame{{Kind: s, Setting: s, Base: s, HTML: []byte("<html><head></head>nothing</html>")}}
	d := &profiles.Diff{Kind: s, Metric: "cpu-sec/req", Setting: s, Base: s, Order: "own"}
	c := profiles.FunctionChange{Function: &profiles.Function{Name: s}, Line: profiles.LineChange{File: s, Line: 3, Via: s}, Own: profiles.Change{Diff: 1}}
	d.Rows = append(d.Rows, c)
	top := &profiles.Top{Kind: s, Metric: "cpu-sec/req", Setting: s, Order: "own", Counts: s}
	top.Rows = append(top.Rows, profiles.FunctionCost{Function: &profiles.Function{Name: s}})
	p.Profile = &profile.Profile{Diffs: []*profiles.Diff{d}, Tops: []*profiles.Top{top}, Notes: []string{s}}
	pic := &timeline.Picture{Axis: []timeline.Stretch{{Block: 1, To: time.Second, Columns: 3}}, Rows: 2, Low: 1, High: time.Second}
	for _, e := range es {
		heat := timeline.NewHeat(timeline.Scale{To: time.Second, Low: time.Millisecond, High: time.Second, Rows: 2, Columns: 3}, time.Second)
		heat.Add(&dyno.Times{Due: []int64{1, 2}, Done: []int64{2e6, 3e8}})
		heat.AddCollections([]dyno.Collection{{Start: 1000, End: 2000}}, time.Second)
		of := timeline.PictureOf{Setting: e.setting, Trials: []int{1}, Heats: []*timeline.Heat{heat}}
		of.Slowest = []timeline.Slow{{Trial: 1, Request: dyno.Request{Step: s, Done: time.Second}, Met: true, Known: true}, {Trial: 1, Request: dyno.Request{Step: "x"}}}
		of.Tracks = []timeline.Track{{Metric: s, Min: []float64{1, 2, 3}, Max: []float64{1, 2, 3}, Last: []float64{1, 2, math.NaN()}}, {Metric: "heap-live-B", Min: []float64{1, 2, 3}, Max: []float64{1, 2, 3}, Last: []float64{1, 2, 3}}}
		pic.Settings = append(pic.Settings, of)
	}
	p.Picture = pic
	return p
}

// infest adds what analysis finds in profiles and over hours.
func infest(t *compare.Table, s string) {
	for i := range t.Settings {
		grown := &leak.Grown{Verdict: leak.Leaking, By: "heap-live-B", Slope: 1e6, Lo: 9e5, Hi: 2e6}
		t.Settings[i].Leak = &leak.Leak{
			Memory: grown, Sites: []leak.LeakSite{{Func: s, File: s, Line: 7, PerHour: 1e6}},
			Others: []leak.OtherGrown{{Name: "goroutines", Grown: &leak.Grown{Verdict: leak.Unclear}}},
		}
		t.Settings[i].Steady = &timeline.Steady{P50: &timeline.Drift{Verdict: timeline.TimesUnclear, Level: 1}, P99: &timeline.Drift{Verdict: timeline.TimesUnclear, Level: 1}}
		t.Settings[i].Saturated = []compare.Saturation{{Trial: 1, Reason: s}}
	}
	for i := range t.Settings {
		t.Settings[i].Slow = slow.Explain(slowTrials(s, 0.002+0.002*float64(i)))
	}
	t.Settings[1].SlowMoved = slow.Compare(t.Settings[0].Slow, t.Settings[1].Slow)
	t.Settings[1].Versus["p50-sec"] = compare.Versus{Verdict: stats.Unclear, Ratio: math.NaN(), Lo: math.NaN(), Hi: math.NaN(), P: math.NaN(), Diff: math.NaN(), Note: compare.Reason{Kind: compare.ReasonNotCompared, Said: s}}
	t.Settings[1].Why = []compare.Why{{Metric: "p99-sec", Causes: []compare.Cause{
		{Class: compare.Class(s), Metric: s, Places: []compare.Place{{Func: s, File: s, Line: 1}}},
	}}}
}

// slowTrials are two, in which slow requests wait for a lock in a function.
func slowTrials(fn string, wait float64) (ts []*slow.Trial) {
	at := slow.Site{Func: fn, File: fn, Line: 41}
	for n := range 2 {
		waits := func(sec float64) slow.Group {
			return slow.Group{N: 100, Mean: sec + 0.001, Cost: map[slow.Key]float64{
				{Part: exectrace.Running, Site: at}: 0.001, {Part: exectrace.Locking, Site: at, By: slow.Culprit{Part: exectrace.Sleeping, Site: at}}: sec,
			}, Sampling: map[slow.Key]float64{}}
		}
		life := slow.Life{Took: wait + 0.001, Lanes: []slow.Lane{
			{Site: at, Spans: []slow.Span{{From: 0, To: 0.001, Part: exectrace.Running, Site: at}, {From: 0.001, To: 0.001 + wait, Part: exectrace.Locking, Site: at}}},
			{Site: at, Spans: []slow.Span{{From: 0.001, To: 0.001 + wait, Part: exectrace.Sleeping, Site: at}}},
		}, Hands: []slow.Hand{{At: 0.001 + wait, From: 1, To: 0}}}
		ts = append(ts, &slow.Trial{
			N: n + 1, Block: n + 1, Quantile: slow.P99, Requests: 10_000, Typical: waits(0), Slow: waits(wait), Band: waits(wait),
			At: wait + 0.001, Slowest: []slow.Life{life}, Usual: &life,
		})
	}
	return ts
}

func TestHostilePage(t *testing.T) {
	for name, s := range hostile {
		t.Run(name, func(t *testing.T) {
			page := render(t, infested(s))
			checkHostile(t, page, s)
			for _, x := range checkPage(t, page) {
				if x.name == "img" || x.name == "iframe" || x.name == "base" {
					t.Errorf("<%s %v> is in the page", x.name, x.attrs)
				}
			}
			p := infested(s)
			url := s[:min(len(s), 100)] // which a server makes, and escapes
			p.Site = &html.Site{Home: "/", Assets: "/assets/", Token: "secret", Files: []html.File{{Name: s, URL: url}}, Others: []html.File{{Name: s, URL: url}}}
			for i := range p.Flames {
				p.Flames[i].URL = url
			}
			page = render(t, p)
			checkHostile(t, page, s)
			for _, x := range tagsOf(t, page) {
				if to := strings.ToLower(x.attrs["href"] + x.attrs["data-url"]); strings.HasPrefix(to, "javascript:") {
					t.Errorf("a link leads to %q", to)
				}
			}
		})
	}
}

// checkHostile is what no text of someone else's may do.
func checkHostile(t *testing.T, page, s string) {
	t.Helper()
	if len(page) > html.MostBytes {
		t.Errorf("the page has %d bytes", len(page))
	}
	if strings.ContainsAny(s, "<") && len(s) < 1000 {
		if strings.Contains(page, s) {
			t.Errorf("the page has it as it is")
		}
		if !strings.Contains(page, "&lt;") {
			t.Errorf("the page does not have it at all")
		}
	}
	scripts := map[string]int{}
	for _, x := range tagsOf(t, page) {
		if x.name == "script" {
			scripts[x.attrs["type"]+x.attrs["id"]]++
			if strings.Contains(x.text, "alert") && x.attrs["type"] != "application/json" {
				t.Errorf("a script is %.80q", x.text)
			}
		}
		for name, value := range x.attrs {
			if strings.HasPrefix(name, "on") || name == "style" || name == "srcdoc" {
				t.Errorf("<%s %s=%.80q>", x.name, name, value)
			}
		}
	}
	for kind, n := range scripts {
		if n > 1 {
			t.Errorf("%d scripts are %q", n, kind)
		}
	}
	for _, r := range page {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x2028 {
			t.Errorf("the page has the character %U", r)
			break
		}
	}
}

// TestHostileFlame is of pages that are not pprof's, or in which it did not escape a
// name: they are data of the page, whatever they hold.
func TestHostileFlame(t *testing.T) {
	es := []effects{{gogc("100"), 1, 1, 1}}
	for name, s := range hostile {
		p := pageOf(synthetic(1, es), es)
		p.Flames = []html.Flame{{Kind: "cpu", Setting: "GOGC=100", HTML: fmt.Appendf(nil, "<html><head></head><body>%s<script>ok()</script></body>", s)}}
		n := 0
		for _, x := range tagsOf(t, render(t, p)) {
			if x.attrs["id"] == "flame-1" {
				n++
			}
			if strings.Contains(x.text, "ok()") {
				t.Errorf("%s: a script of it is in the page", name)
			}
		}
		if n != 1 {
			t.Errorf("%s: it is %d elements", name, n)
		}
	}
}
