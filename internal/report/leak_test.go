package report

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/leak"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/tables"
	"github.com/dynolab/dyno/internal/stats"
)

const mib = 1 << 20

// leaky is the study with leaks: found, none but a step, unclear, too small for
// the profile, and not looked for.
func leaky() *compare.Table {
	t := table(synthetic(3, study), study)
	nan := math.NaN()
	grown := func(v leak.Verdict, slope, half, detectable float64) *leak.Grown {
		return &leak.Grown{
			Verdict: v, By: "heap-live-B", Slope: slope, Lo: slope - half, Hi: slope + half, Detectable: detectable, Forced: nan,
			Per: slope / 7200, DetectablePer: detectable / 7200, Shape: stats.Level,
		}
	}
	sure := &leak.Leak{Memory: grown(leak.Leaking, 70.3*mib, 2.1*mib, 1.5*mib), Others: []leak.OtherGrown{
		{Name: "goroutines", Grown: grown(leak.Leaking, 3600, 12, 30), Sites: []leak.LeakSite{{Func: "main.(*hub).wait", File: "/src/hub.go", Line: 40, PerHour: 3590, Stuck: 60}}},
		{Name: "threads", Grown: grown(leak.NoLeak, 0, 1, 3)},
	}}
	sure.Memory.Shape, sure.Memory.Forced = stats.Growing, 69.8*mib
	sure.Sites = []leak.LeakSite{
		{Func: "main.(*store).add", File: "/src/store.go", Line: 31, PerHour: 68 * mib, Lo: 60 * mib, Hi: 76 * mib},
		{Func: "net/http.(*conn).serve", PerHour: 2 * mib},
	}
	level := &leak.Leak{Memory: grown(leak.NoLeak, 0.1*mib, 0.4*mib, 1.2*mib)}
	level.Memory.Shape, level.Memory.Shift, level.Memory.At = stats.Stepped, 3.1*mib, 42
	level.Outside = grown(leak.Leaking, 109*mib, 8*mib, 40*mib)
	unclear := &leak.Leak{Memory: grown(leak.Unclear, nan, nan, nan), Others: []leak.OtherGrown{
		{Name: "goroutines", Grown: grown(leak.NoLeak, 0, 12, 30)},
		{Name: "fds", Grown: grown(leak.Unclear, 7, 12, 30)},
	}}
	unclear.Memory.Reason, unclear.Memory.Forced = leak.Reason{Kind: leak.FewCollections, N: 3, Of: 8, Window: time.Minute, Longer: 4 * time.Minute}, 5*mib
	unclear.Others[1].Reason = leak.Reason{Kind: leak.Noisy, Longer: 3 * time.Minute}
	small := &leak.Leak{Memory: grown(leak.Leaking, 3*mib, 1*mib, 2*mib), Needed: 170 * time.Minute}
	for i, l := range []*leak.Leak{sure, level, unclear, small, nil} {
		t.Settings[i].Leak = l
	}
	return t
}

// resident is one setting of a service that is only watched: by resident memory,
// and without requests.
func resident(v leak.Verdict) *compare.Table {
	t := table(synthetic(1, study[:1]), study[:1])
	t.Settings[0].Leak = &leak.Leak{Memory: &leak.Grown{
		Verdict: v, By: "rss-B", Slope: 9 * mib, Lo: 8 * mib, Hi: 10 * mib, Detectable: 2 * mib, Forced: math.NaN(), Per: math.NaN(), DetectablePer: math.NaN(),
		Shape: stats.Flattening, Shift: 12 * mib, At: 70,
	}}
	return t
}

func TestLeak(t *testing.T) {
	for name, tb := range map[string]*compare.Table{
		"leak": leaky(), "leak-resident": resident(leak.Leaking), "leak-flattening": resident(leak.NoLeak),
	} {
		out := text(t, tb, layout.Options{})
		for _, line := range strings.Split(out, "\n") {
			if utf8.RuneCountInString(line) > 100 || strings.TrimRight(line, " ") != line {
				t.Errorf("%s: %q", name, line)
			}
		}
		_, out, _ = strings.Cut(out, "\nLeaks\n")
		out, _, _ = strings.Cut(out, "\nMetrics")
		out, _, _ = strings.Cut(out, "\nChange")
		golden(t, name+".txt", []byte(out))
	}
	var b bytes.Buffer
	if err := Markdown(&b, &tables.Report{Table: leaky()}); err != nil {
		t.Fatal(err)
	}
	_, out, _ := strings.Cut(b.String(), "**Leaks**")
	out, _, _ = strings.Cut(out, "**")
	golden(t, "leak.md", []byte(out))
}
