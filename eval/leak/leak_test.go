package main

import (
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/dynolab/dyno/eval/internal/program"
)

// said is what dyno prints of a run of 200 requests a second for 150 s.
func said(leak string) []byte {
	return []byte(`{"settings": [{"setting": "", "elapsed-sec": 150, "sent": {"requests": 30000},
		"values": {"rss-peak-B": {"center": 2e7}, "gc-cycles": {"center": null}}, "leak": ` + leak + `}], "failed": []}`)
}

func kindOf(t *testing.T, name string) kind {
	for _, k := range kinds {
		if k.name == name {
			return k
		}
	}
	t.Fatalf("no kind is called %s", name)
	return kind{}
}

// Whatever dyno may say of a service, the score is what the truth makes of it.
func TestScore(t *testing.T) {
	if err := readSource("../.."); err != nil {
		t.Fatal(err)
	}
	const add = `"func": "main.(*journal).add", "file": "/src/leaks/main.go"`
	lines := linesOf("truth: leak")
	if len(lines) != 2 {
		t.Fatalf("the service's source marks lines %v", lines)
	}
	right := `"sites": [{` + add + `, "line": ` + strconv.Itoa(lines[1]) + `, "B/h": 7e7}]`
	// 100 KiB for 1,000 requests at 200/s are 73.7 MB an hour.
	for _, c := range []struct {
		what, kind, leak         string
		over, found, site, cover bool
		alarms                   string
		good                     bool
	}{
		{"found", "leak-100", `{"verdict": "leaking", "B/h": 7e7, "lo": 6e7, "hi": 8e7, "detectable-B/h": 1e7, ` + right + `}`, true, true, true, true, "", true},
		{"found beside the truth", "leak-100", `{"verdict": "leaking", "B/h": 5e7, "lo": 4e7, "hi": 6e7, "detectable-B/h": 1e7, ` + right + `}`, true, true, true, false, "", true},
		{"found elsewhere", "leak-100", `{"verdict": "leaking", "B/h": 7e7, "lo": 6e7, "hi": 8e7, "detectable-B/h": 1e7, "sites": [{` + add + `, "line": 1}]}`, true, true, false, true, "", false},
		{"missed", "leak-100", `{"verdict": "level", "B/h": 1e6, "lo": 0, "hi": 2e6, "detectable-B/h": 1e7}`, true, false, false, false, "", false},
		{"under the power", "leak-100", `{"verdict": "level", "B/h": 1e6, "lo": 0, "hi": 2e6, "detectable-B/h": 1e8}`, false, false, false, false, "", true},
		{"no power", "leak-100", `{"verdict": "unclear", "B/h": null, "lo": null, "hi": null, "detectable-B/h": null}`, false, false, false, false, "", true},
		{"goroutines too", "leak-100", `{"verdict": "leaking", "B/h": 7e7, "lo": 6e7, "hi": 8e7, "detectable-B/h": 1e7, ` + right + `, "others": {"goroutines": {"verdict": "leaking", "1/h": 100}}}`, true, true, true, true, "goroutines", false},
		{"false leak", "steady", `{"verdict": "leaking", "B/h": 7e7, "lo": 6e7, "hi": 8e7, "detectable-B/h": 1e7}`, false, true, false, false, "heap", false},
		{"none", "steady", `{"verdict": "level", "B/h": 0, "lo": -1, "hi": 1, "detectable-B/h": 1e7, "others": {"threads": {"verdict": "level"}}}`, false, false, false, true, "", true},
	} {
		r, err := parse(said(c.leak))
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		o := score(job{kind: kindOf(t, c.kind)}, r, nil)
		if o.Err != "" || len(o.Found) != 1 {
			t.Errorf("%s: %+v", c.what, o)
			continue
		}
		f := o.Found[0]
		if f.over() != c.over || f.leaking() != c.found || f.RightSite != c.site || f.covers() != c.cover || strings.Join(o.False, " ") != c.alarms || o.good() != c.good {
			t.Errorf("%s: %+v, over %v, covers %v, good %v", c.what, o, f.over(), f.covers(), o.good())
		}
	}
}

// A goroutine that leaks is two leaks: of goroutines, and of the heap they hold.
func TestScoreGoroutines(t *testing.T) {
	r, err := parse(said(`{"verdict": "level", "detectable-B/h": 1e9, "others": {"goroutines": {"verdict": "leaking", "1/h": 7.2e4, "lo": 7e4, "hi": 7.4e4,
		"detectable-1/h": 500, "sites": [{"func": "main.(*shop).notify.func1", "file": "main.go", "line": 150, "1/h": 7.2e4}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	o := score(job{kind: kindOf(t, "goroutine")}, r, nil)
	if len(o.Found) != 2 || o.Found[0].Truth != 72000 || !o.Found[0].over() || !o.Found[0].covers() || !o.Found[0].RightSite || o.Found[1].over() || !o.good() {
		t.Errorf("%+v", o)
	}
}

// What is no verdict is no run.
func TestParseFailures(t *testing.T) {
	for text, want := range map[string]string{
		`{"settings": [], "failed": [{"error": "subject died"}]}`:                     "subject died",
		`{"settings": [{"elapsed-sec": 150, "sent": {"requests": 3}}], "failed": []}`: "nothing is said of leaks",
		`{"settings": [], "failed": []}`:                                              "not one setting",
		`dyno: `:                                                                      "invalid character",
	} {
		if r, err := parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v", text, r, err)
		}
	}
}

// Goals count what is over the power only, and no goal is met without a run.
func TestGoals(t *testing.T) {
	claims := func(n int, c claim) (os []outcome) {
		for range n {
			os = append(os, outcome{Found: []claim{c}})
		}
		return os
	}
	found := claim{What: "heap", Truth: 10, Detectable: 5, Verdict: "leaking", Sites: []site{{}}, RightSite: true}
	missed := claim{What: "heap", Truth: 10, Detectable: 5, Verdict: "unclear"}
	small := claim{What: "heap", Truth: 1, Detectable: 5, Verdict: "level"}
	blind := claim{What: "heap", Truth: 1, Detectable: number(math.NaN()), Verdict: "unclear"}
	level := claim{What: "heap", Detectable: 5, Verdict: "level"}
	alarm := outcome{Found: []claim{{What: "heap", Detectable: 5, Verdict: "leaking"}}, False: []string{"heap"}}
	for _, c := range []struct {
		what     string
		outcomes []outcome
		met, of  int
	}{
		{"all is well", join(claims(19, found), claims(1, missed), claims(5, small), claims(3, blind), claims(20, level)), 5, 5},
		{"two of twenty missed", join(claims(18, found), claims(2, missed), claims(20, level)), 4, 5},
		{"a false leak", join(claims(20, found), claims(20, level), []outcome{alarm}), 4, 5},
		{"a run failed", join(claims(20, found), claims(20, level), []outcome{{Err: "it did not end"}}), 4, 5},
		{"nothing over the power", join(claims(5, small), claims(20, level)), 3, 5},
	} {
		g := program.Goals{W: new(strings.Builder)}
		if judgeLeaks(&g, c.outcomes); g.Met != c.met || g.Of != c.of {
			t.Errorf("%s: met %d of %d\n%s", c.what, g.Met, g.Of, g.W)
		}
	}
}

func join(parts ...[]outcome) (all []outcome) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// The level of a study's run is reached when memory has filled, and not while it grows.
func TestLevel(t *testing.T) {
	const window = 20 * time.Minute
	series := func(f func(sec float64) float64) (samples []sample) {
		for sec := range 1200 {
			samples = append(samples, sample{time.Duration(sec) * time.Second, f(float64(sec))})
		}
		return samples
	}
	for _, c := range []struct {
		what  string
		f     func(sec float64) float64
		level float64
		at    time.Duration
		ok    bool
	}{
		{"at once", func(float64) float64 { return 3e7 }, 3e7, 0, true},
		{"filled after two minutes", func(s float64) float64 { return 2e7 + 1e7*min(1, s/120) }, 3e7, 108 * time.Second, true},
		{"given back every 30 s", func(s float64) float64 { return 2e7 + 1e7*math.Mod(s, 30)/29 }, 3e7, 27 * time.Second, true},
		{"grows to the end", func(s float64) float64 { return 2e7 + 1e4*s }, 2.9e7, 0, false},
		{"a step in the second half", func(s float64) float64 {
			if s < 700 {
				return 2e7
			}
			return 3e7
		}, 3e7, 0, false},
	} {
		level, at, ok := levelOf(series(c.f), window)
		if math.Abs(level-c.level) > 1e5 || ok != c.ok || ok && (at-c.at).Abs() > 2*time.Second {
			t.Errorf("%s: %.1f MB from %v, %v", c.what, level/1e6, at, ok)
		}
	}
	if _, _, ok := levelOf(nil, window); ok {
		t.Error("there is a level without samples")
	}
}

// Resident memory is read from the file that doc/format.md describes.
func TestReadRSS(t *testing.T) {
	type row struct {
		Metric string  `parquet:"metric,dict"`
		At     int64   `parquet:"at_ns,delta"`
		Value  float64 `parquet:"value"`
	}
	dir := t.TempDir()
	rows := []row{{"goroutines", 0, 5}, {"goroutines", 1e9, 6}, {"rss-B", 0, 1e7}, {"rss-B", 1e9, 2e7}}
	if err := parquet.WriteFile(filepath.Join(dir, "series.parquet"), rows); err != nil {
		t.Fatal(err)
	}
	samples, err := readRSS(dir)
	if want := []sample{{0, 1e7}, {time.Second, 2e7}}; err != nil || !slices.Equal(samples, want) {
		t.Errorf("%v, %v", samples, err)
	}
}
