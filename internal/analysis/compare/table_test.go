package compare

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/stats"
)

func gogc(level string) dyno.Setting { return dyno.Setting{{Factor: "GOGC", Value: level}} }

// experiment makes the results of blocks of GOGC=100 and GOGC=200: the latter
// is a tenth faster and takes a fifth more memory, give or take a little.
func experiment(blocks int) []*dyno.Result {
	var rs []*dyno.Result
	for b := 1; b <= blocks; b++ {
		for i, level := range []string{"200", "100"} { // not the baseline first
			jitter := 1 + 0.001*float64((b*7+i*3)%5)
			latency, memory := 0.010*jitter, 30e6*jitter
			if level == "200" {
				latency, memory = latency*0.9, memory*1.2
			}
			h := hist.New()
			h.Add(time.Duration(latency * 1e9))
			h.Add(time.Duration(3 * latency * 1e9))
			rs = append(rs, &dyno.Result{
				Trial:   dyno.Trial{N: len(rs) + 1, Block: b, Setting: gogc(level)},
				Latency: h,
				Values: dyno.Values{
					{Metric: "p50-sec", Value: latency}, {Metric: "failures", Value: 0},
					{Metric: "rss-peak-B", Value: memory}, {Metric: "widgets", Value: 3},
					{Metric: "login-p99-sec", Value: latency}, {Metric: "login-p50-sec", Value: latency},
					{Metric: "apply-max-sec", Value: latency},
				},
			})
		}
	}
	return rs
}

func options() Options {
	return Options{Name: "sessions", Settings: []dyno.Setting{gogc("100"), gogc("200")}}
}

func TestTabulate(t *testing.T) {
	tb := Tabulate(experiment(6), options())
	if tb.Trials != 12 || tb.Blocks != 6 || tb.Planned != 12 || tb.Negligible != 0.01 || len(tb.Doubts) != 0 || len(tb.Failed) != 0 {
		t.Errorf("got %+v", tb)
	}
	base, other := tb.Settings[0], tb.Settings[1]
	if !base.Baseline || other.Baseline || base.Setting.String() != "GOGC=100" || len(base.Versus) != 0 {
		t.Errorf("baseline is %+v", base)
	}
	if v := other.Versus["p50-sec"]; v.Verdict != stats.Better || math.Abs(v.Ratio-0.9) > 0.01 || !(v.Lo < v.Ratio && v.Ratio < v.Hi) || v.P > 0.05 {
		t.Errorf("p50: %+v", v)
	}
	if v := other.Versus["rss-peak-B"]; v.Verdict != stats.Worse || math.Abs(v.Diff-6e6) > 1e5 {
		t.Errorf("rss: %+v", v)
	}
	if v := other.Versus["failures"]; v.Verdict != stats.Same || !math.IsNaN(v.Ratio) || v.Diff != 0 {
		t.Errorf("failures, all zero: %+v", v)
	}
	if _, ok := other.Versus["widgets"]; ok || other.Values["widgets"].Center != 3 {
		t.Error("a metric without a direction should have values and no verdict")
	}
	if p := base.Pooled; p.Requests != 12 || p.Min > 0.0101 || p.Max < 0.03 || p.Mean < 0.02 || p.Median > 0.0101 {
		t.Errorf("pooled: %+v", p)
	}
	if m := other.Memory; math.Abs(float64(m.Frac)-0.2) > 0.01 || math.Abs(float64(m.Diff-(m.Highest-base.Memory.Highest))) > 1 {
		t.Errorf("memory: %+v", m)
	}
	var names []string
	for _, m := range tb.Rows {
		names = append(names, m.Name)
	}
	want := []string{"p50-sec", "failures", "rss-peak-B", "apply-max-sec", "login-p50-sec", "login-p99-sec", "widgets"}
	if !slices.Equal(names, want) {
		t.Errorf("metrics %q, want %q", names, want)
	}
}

// TestFailed: a failed trial counts for nothing, and a setting of which all
// failed is no pass.
func TestFailed(t *testing.T) {
	rs := experiment(6)
	rs[0].Err = "subject exited"
	rs[0].Values = dyno.Values{{Metric: "p50-sec", Value: 1e9}}
	tb := Tabulate(rs, options())
	s := tb.Settings[1]
	if s.Trials != 5 || s.Values["p50-sec"].Center > 0.1 || s.Pooled.Requests != 10 {
		t.Errorf("got %+v", s)
	}
	if len(tb.Failed) != 1 || tb.Failed[0].Trial.N != 1 || tb.Failed[0].Err != "subject exited" {
		t.Errorf("failed: %+v", tb.Failed)
	}
	for _, dead := range []string{"100", "200"} {
		rs := experiment(6)
		for _, r := range rs {
			if r.Trial.Setting[0].Value == dead {
				r.Err = "subject exited"
			}
		}
		tb := Tabulate(rs, options())
		for name, v := range tb.Settings[1].Versus {
			if v.Verdict != stats.Unclear {
				t.Errorf("GOGC=%s failed: %s is %s", dead, name, v.Verdict)
			}
		}
		if v, ok := tb.Settings[1].Versus["p50-sec"]; !ok || !math.IsNaN(v.Ratio) || !math.IsNaN(v.P) {
			t.Errorf("GOGC=%s failed: %+v", dead, v)
		}
		if len(tb.Doubts) != 1 || tb.Doubts[0].Kind != dyno.WarnNoTrial || tb.Settings[tb.Doubts[0].Setting].Setting.String() != "GOGC="+dead {
			t.Errorf("doubts: %+v", tb.Doubts)
		}
	}
}

func TestEmpty(t *testing.T) {
	tb := Tabulate(nil, Options{Settings: options().Settings, Planned: 12})
	if tb.Trials != 0 || len(tb.Settings) != 2 || len(tb.Doubts) != 1 || tb.Doubts[0].Kind != dyno.WarnPartial || tb.Doubts[0].N != 0 || tb.Doubts[0].Of != 12 {
		t.Errorf("got %+v", tb)
	}
	if tb := Tabulate(nil, Options{}); tb.Trials != 0 || len(tb.Settings) != 0 {
		t.Errorf("got %+v", tb)
	}
}

// TestRerun: of a trial that was run again, the last result counts.
func TestRerun(t *testing.T) {
	rs := experiment(6)
	failed := *rs[3]
	failed.Err = "interrupted"
	tb := Tabulate(append([]*dyno.Result{&failed}, rs...), options())
	if tb.Trials != 12 || len(tb.Failed) != 0 {
		t.Errorf("%d trials, failed %+v", tb.Trials, tb.Failed)
	}
}

func TestDefaultOrder(t *testing.T) {
	tb := Tabulate(experiment(2), Options{})
	if tb.Settings[0].Setting.String() != "GOGC=200" || !tb.Settings[0].Baseline {
		t.Errorf("the first setting is %+v", tb.Settings[0])
	}
	tb = Tabulate(experiment(2), Options{Settings: []dyno.Setting{gogc("100")}})
	if len(tb.Settings) != 2 || tb.Settings[1].Trials != 2 {
		t.Error("a setting that is not listed was dropped")
	}
}

func TestWarnings(t *testing.T) {
	rs := experiment(6)
	rs[4].Warnings = dyno.Warnings{{Text: "other processes used 13 % of the CPU"}, {Text: "the probe did not answer"}}
	rs[5].Warnings = dyno.Warnings{{Text: "other processes used 21.5 % of the CPU"}}
	rs[7].Warnings = dyno.Warnings{{Text: "the probe did not answer"}, {Text: "the probe did not answer"}}
	rs[8].Warnings.AddOf(dyno.WarnProbe, "proc", "probe proc: no such file")
	rs[9].Warnings.AddOf(dyno.WarnProbe, "proc", "probe proc: EOF")
	rs[9].Warnings.AddOf(dyno.WarnProbe, "cgroup", "probe cgroup: no such file")
	o := options()
	o.Planned = 20
	o.Separate = true
	got := Tabulate(rs, o).Doubts
	want := []Doubt{
		{Kind: dyno.WarnPartial, N: 12, Of: 20},
		{Kind: dyno.WarnSeparate},
		{N: 2, Of: 12, Trial: 5, Said: []string{"other processes used 13 % of the CPU"}},
		{N: 2, Of: 12, Said: []string{"the probe did not answer"}},
		{Kind: dyno.WarnProbe, About: "proc", N: 2, Of: 12, Trial: 9, Said: []string{"probe proc: no such file"}},
		{Kind: dyno.WarnProbe, About: "cgroup", N: 1, Of: 12, Said: []string{"probe cgroup: no such file"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	for blocks := 1; blocks < 3; blocks++ {
		if got := Tabulate(experiment(blocks), options()).Doubts; len(got) != 1 || got[0].Kind != dyno.WarnNoInterval || got[0].N != blocks || got[0].Of != 6 {
			t.Errorf("%d blocks: %+v", blocks, got)
		}
	}
}

func TestLabel(t *testing.T) {
	old, now := experiment(6), experiment(6)
	before := now[0].Trial.Setting.String()
	tb := Tabulate(append(Label(old, "old"), Label(now, "new")...), Options{Separate: true})
	var names []string
	for _, s := range tb.Settings {
		names = append(names, fmt.Sprint(s.Setting.String(), " ", s.Trials))
	}
	want := []string{"run=old GOGC=200 6", "run=new GOGC=200 6", "run=old GOGC=100 6", "run=new GOGC=100 6"}
	if !slices.Equal(names, want) {
		t.Errorf("got %q", names)
	}
	if now[0].Trial.Setting.String() != before {
		t.Error("Label changed its argument")
	}
}

// TestPooledWithoutHistogram: results read back without their histograms have
// no median, rather than a wrong one.
func TestPooledWithoutHistogram(t *testing.T) {
	rs := experiment(2)
	for _, r := range rs {
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, r); err != nil {
			t.Fatal(err)
		}
	}
	p := Tabulate(rs, options()).Settings[0].Pooled
	if p.Requests != 4 || !math.IsNaN(float64(p.Median)) || math.Abs(float64(p.Mean)-0.02) > 0.001 {
		t.Errorf("got %+v", p)
	}
}

func TestJSON(t *testing.T) {
	rs := experiment(2)
	rs[0].Err = "subject exited"
	rs[2].Warnings = dyno.Warnings{{Text: "doubt"}}
	data, err := json.Marshal(Tabulate(rs, options()))
	if err != nil {
		t.Fatal(err)
	}
	var j map[string]any
	if err := json.Unmarshal(data, &j); err != nil {
		t.Fatal(err)
	}
	at := func(path string) any {
		var v any = j
		for _, key := range strings.Fields(path) {
			switch x := v.(type) {
			case map[string]any:
				sub, ok := x[key]
				if !ok {
					t.Fatalf("no %s in %s: %s", key, path, data)
				}
				v = sub
			case []any:
				v = x[key[0]-'0']
			default:
				t.Fatalf("%s: no %s in %v", path, key, v)
			}
		}
		return v
	}
	for path, want := range map[string]any{
		"schema":                             2.0,
		"name":                               "sessions",
		"settings 0 setting":                 "GOGC=100",
		"settings 0 levels GOGC":             "100",
		"settings 0 baseline":                true,
		"settings 0 trials":                  2.0,
		"settings 1 trials":                  1.0,
		"settings 1 values p50-sec center":   0.009 * 1.004,
		"settings 1 values p50-sec lo":       nil, // two blocks have no interval
		"settings 1 values p50-sec trials 0": 0.009 * 1.004,
		"settings 0 pooled requests":         4.0,
		"settings 1 versus failures ratio":   nil, // zero by zero
		"settings 1 versus failures verdict": "unclear",
		"settings 1 versus p50-sec lo":       nil, // one pair
		"settings 1 versus p50-sec p":        nil,
		"settings 1 versus p50-sec verdict":  "unclear",
		"warnings 0 kind":                    "no-interval",
		"failed 0 trial":                     1.0,
		"failed 0 setting":                   "GOGC=200",
		"failed 0 error":                     "subject exited",
		"metrics 0 name":                     "p50-sec",
		"metrics 0 better":                   "lower",
	} {
		got := at(path)
		if x, ok := got.(float64); ok {
			if y, ok := want.(float64); ok && math.Abs(x-y) < 1e-9 {
				continue
			}
		}
		if got != want {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
	for _, path := range []string{
		"settings 0 pooled mean-sec", "settings 0 pooled median-sec", "settings 0 pooled min-sec",
		"settings 0 pooled max-sec", "settings 0 pooled stddev-sec", "settings 1 versus rss-peak-B diff", "settings 0 versus",
	} {
		at(path)
	}
}

// TestJSONEmpty: what is empty is an empty list, never null.
func TestJSONEmpty(t *testing.T) {
	data, err := json.Marshal(Tabulate(nil, Options{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"settings":[]`, `"warnings":[]`, `"failed":[]`, `"metrics":[]`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("no %s in %s", want, data)
		}
	}
	load := experiment(1)[:1]
	load[0].Trial.Setting = nil
	data, err = json.Marshal(Tabulate(load, Options{}))
	if err != nil || !strings.Contains(string(data), `"setting":"","levels":{},"baseline":true,"trials":1`) {
		t.Errorf("dyno load: %s, %v", data, err)
	}
}

// Blocks of profiles are counted from 1 too; their failures come after those
// that were tried before.
func TestFailuresInOrder(t *testing.T) {
	var rs []*dyno.Result
	for n := 1; n <= 6; n++ {
		r := &dyno.Result{Trial: dyno.Trial{N: n, Block: (n-1)%3 + 1}, Err: "it ended"}
		if n > 3 {
			r.Trial.For = dyno.ForProfile
		}
		rs = append(rs, r)
	}
	for i, f := range Tabulate(rs, Options{}).Failed {
		if f.Trial.N != i+1 {
			t.Errorf("failure %d is trial %d", i, f.Trial.N)
		}
	}
}
