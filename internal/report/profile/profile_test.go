package profile

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/profiles"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/stats"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (go test ./report/profile -update rewrites it); got:\n%s", file, got)
	}
}

func TestShortName(t *testing.T) {
	for _, x := range []struct {
		name  string
		width int
		want  string
	}{
		{"main.f", 8, "main.f"},
		{"github.com/someone/project/internal/search.(*Index).Find", 40, "github.com/…/search.(*Index).Find"},
		{"github.com/someone/project/internal/search.(*Index).Find", 24, "…/search.(*Index).Find"},
		{"github.com/someone/project/internal/search.(*Index).Find", 16, "searc….(*Index).Find"[:5] + "…ndex).Find"},
		{"main.f", math.MaxInt, "main.f"},
	} {
		if got := shortName(x.name, x.width); got != x.want {
			t.Errorf("%s in %d is %q, want %q", x.name, x.width, got, x.want)
		}
	}
}

// What has no line is listed without its source.
func TestListNoLine(t *testing.T) {
	var b bytes.Buffer
	l := profiles.Listing{Function: &profiles.Function{Name: "(unknown)"}, Flat: 1, Cum: 1, Lines: []profiles.ListingLine{{Flat: 1, Cum: 1}}}
	if err := List(&b, []profiles.Listing{l}, "cpu-sec/req", false, map[string][]string{"": {"package main"}}); err != nil || strings.Contains(b.String(), "package") {
		t.Errorf("%v: %s", err, &b)
	}
}

// The profile tables, with names and numbers that a table must bear.
func TestProfileGolden(t *testing.T) {
	nan := math.NaN()
	mean := func(m, far float64) stats.Mean { return stats.Mean{Mean: m, Lo: m - far, Hi: m + far} }
	var classes []profiles.ClassShare
	for i, name := range profiles.CPUClasses {
		classes = append(classes, profiles.ClassShare{Name: name, PerReq: mean(1e-6*float64(i), 1e-7), Share: mean(0.01*float64(i), 0.004)})
	}
	long := &profiles.Function{Name: "github.com/someone/project/internal/search.(*Index[...]).findWhatever", Package: "github.com/someone/project/internal/search", File: "/r/search/index.go", Line: 5, Own: true}
	short := &profiles.Function{Name: "main.f|g", Package: "main", File: "/r/main.go", Line: 9, Own: true}
	change := func(base, value, far float64, v stats.Verdict) profiles.Change {
		return profiles.Change{Base: base, Value: value, Diff: value - base, Lo: dyno.Number(value - base - far), Hi: dyno.Number(value - base + far), P: 0.001, Verdict: v}
	}
	none := change(0, 0, 0, stats.Same)
	p := &Profile{
		About:  []string{"search: profiles"},
		Shares: []profiles.CPUShare{{Setting: "GOGC=100", Trials: 3, Total: mean(66e-6, 1e-6), Classes: classes, GC: classes[5]}, {Setting: "", Trials: 1, Total: stats.Mean{Mean: 60e-6, Lo: nan, Hi: nan}, Classes: classes, GC: classes[5]}},
		Tops: []*profiles.Top{{Kind: "allocs", Metric: "alloc-B/req", Counts: "allocs/req", Setting: "GOGC=100", Trials: 3, Order: "own", Total: 103000,
			Rows: []profiles.FunctionCost{{Function: long, Own: 90000, Cum: 90000, Count: 510.2, Lo: 88000, Hi: 92000, Share: 0.874}, {Function: short, Own: 13000, Flat: 12, Cum: 103000, Count: 3, Share: 0.126}}}},
		Diffs: []*profiles.Diff{
			{Kind: "cpu", Metric: "cpu-sec/req", Base: "GOGC=100", Setting: "GOGC=50", Order: "own", Pairs: 6, Negligible: 0.01, Total: change(66e-6, 60e-6, 1e-6, stats.Better),
				Rows: []profiles.FunctionChange{
					{Function: long, Own: change(40e-6, 20e-6, 3e-6, stats.Better), Flat: none, Cum: change(41e-6, 21e-6, 3e-6, stats.Better), Line: profiles.LineChange{File: "/r/search/index.go", Line: 21, Diff: -20e-6, Via: "strings.ToLower"}},
					{Function: short, Own: change(10e-6, 24e-6, 2e-6, stats.Worse), Flat: none, Cum: change(66e-6, 60e-6, 1e-6, stats.Better)},
				}},
			{Kind: "goroutine", Metric: "goroutines", Base: "GOGC=100", Setting: "GOGC=50", Order: "flat", Pairs: 1, Negligible: 0.01, Total: profiles.Change{Diff: 3, Lo: dyno.Number(nan), Hi: dyno.Number(nan)},
				Rows: []profiles.FunctionChange{{Function: short, Flat: profiles.Change{Base: 4, Value: 7, Diff: 3, Lo: dyno.Number(nan), Hi: dyno.Number(nan), P: dyno.Number(nan), Verdict: stats.Unclear}}}},
		},
		Notes: []string{"To open in pprof: go tool pprof -http=: x"},
	}
	var b bytes.Buffer
	if err := Text(&b, p, layout.Options{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "profile.txt", b.Bytes())
	b.Reset()
	if err := Markdown(&b, p); err != nil {
		t.Fatal(err)
	}
	golden(t, "profile.md", b.Bytes())
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "profile.json", append(data, '\n'))
}
