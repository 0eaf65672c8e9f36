package compare

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/stats"
)

// saturate marks the trials of a setting in blocks from first to last, and
// makes their latency useless.
func saturate(rs []*dyno.Result, level string, first, last int, reason string) {
	for _, r := range rs {
		if b := r.Trial.Block; r.Trial.Setting[0].Value != level || b < first || b > last {
			continue
		}
		r.Sent.Saturated = reason
		for i, v := range r.Values {
			if dyno.IsLatency(v.Metric) {
				r.Values[i].Value *= 50
			}
		}
	}
}

func loads(blocks int, open bool) []*dyno.Result {
	rs := experiment(blocks)
	for i, r := range rs {
		r.Values = append(r.Values, dyno.Value{Metric: "req/s", Value: 1000 + float64(i%5)}, dyno.Value{Metric: "sent/s", Value: 1000 + 100*float64(i%2)})
		if open {
			r.Values = append(r.Values, dyno.Value{Metric: "service-p50-sec", Value: 0.01}, dyno.Value{Metric: "unsent", Value: 0})
		}
	}
	return rs
}

// Memory that still grew when the load ended is that of other work where the settings answered different numbers of requests.
func TestUnsettled(t *testing.T) {
	for name, c := range map[string]struct {
		growing  int // trials of a setting
		requests int64
		want     ReasonKind
	}{
		"settled":           {0, 2000, ""},
		"most trials":       {6, 2000, ReasonUnsettled},
		"a few trials":      {3, 2000, ""},
		"the same requests": {6, 1010, ""},
	} {
		var base, other []*dyno.Result
		for i := range 8 {
			a := &dyno.Result{Sent: dyno.Sent{Requests: 1000 + int64(i)}}
			b := &dyno.Result{Sent: dyno.Sent{Requests: c.requests}}
			if i < c.growing {
				b.Warnings.Add(dyno.WarnUnsettled, "it grows")
			}
			base, other = append(base, a), append(other, b)
		}
		for metric, want := range map[string]ReasonKind{"rss-peak-B": c.want, "heap-peak-B": "", "p50-sec": ""} {
			if got := unsettled(1, metric, map[int][]*dyno.Result{0: base, 1: other}); got.Kind != want {
				t.Errorf("%s: %s has %q, want %q", name, metric, got.Kind, want)
			}
		}
	}
}

func TestCounts(t *testing.T) {
	open := &dyno.Result{Sent: dyno.Sent{Saturated: "late"}, Trial: dyno.Trial{Load: dyno.Load{Rate: dyno.PerSecond(5)}}}
	read := &dyno.Result{Sent: open.Sent, Values: dyno.Values{{Metric: "service-p50-sec", Value: 1}}} // without its plan
	closed := &dyno.Result{Sent: open.Sent}
	for _, metric := range []string{"p50-sec", "p99.9-sec", "stddev-sec", "service-p99-sec", "login-p99-sec", "GET /stw-max-sec-max-sec", "unsent"} {
		if dyno.Counts(open, metric) || dyno.Counts(read, metric) || dyno.Counts(closed, metric) || !dyno.Counts(&dyno.Result{}, metric) {
			t.Errorf("%s counts although the generator was the limit", metric)
		}
	}
	for _, metric := range []string{"cpu-sec/req", "stw-max-sec", "stw-total-sec", "failures", "rss-peak-B", "lateness-p99-sec", "widgets", "sent/s"} {
		if !dyno.Counts(open, metric) || !dyno.Counts(closed, metric) {
			t.Errorf("%s does not count", metric)
		}
	}
	if dyno.Counts(closed, "req/s") || !dyno.Counts(open, "req/s") || !dyno.Counts(read, "req/s") {
		t.Error("req/s should count in open loads only")
	}
}

// TestSaturatedSome: trials in which the generator was the limit are left out
// of medians and comparisons, and the others decide.
func TestSaturatedSome(t *testing.T) {
	rs := loads(8, false)
	saturate(rs, "200", 2, 3, "it used 0.97 of its cores")
	tb := Tabulate(rs, options())
	s := tb.Settings[1]
	if v := s.Versus["p50-sec"]; v.Verdict != stats.Better || math.Abs(v.Ratio-0.9) > 0.01 || v.Note.Kind != "" {
		t.Errorf("p50: %+v", v)
	}
	if x := s.Values["p50-sec"]; len(x.Trials) != 6 || x.Center > 0.1 || x.Saturated {
		t.Errorf("p50: %+v", x)
	}
	if x := s.Values["rss-peak-B"]; len(x.Trials) != 8 {
		t.Errorf("memory is left out too: %+v", x)
	}
	if len(s.Saturated) != 2 || s.Saturated[0].Trial != 3 || s.Saturated[1].Trial != 5 || s.Pooled.Requests != 16 {
		t.Errorf("got %+v", s.Saturated)
	}
	want := Doubt{Kind: dyno.WarnSaturated, Trials: []int{3, 5}, Closed: true, Said: []string{"it used 0.97 of its cores"}}
	if len(tb.Doubts) != 1 || !reflect.DeepEqual(tb.Doubts[0], want) {
		t.Errorf("doubts %+v", tb.Doubts)
	}
	rs[2].Warnings = dyno.Warnings{{Text: "doubt: it used 0.97 of its cores"}, {Text: "another"}}
	if ws := Tabulate(rs, options()).Doubts; !reflect.DeepEqual(ws, []Doubt{want, {N: 1, Of: 16, Said: []string{"another"}}}) {
		t.Errorf("a saturated trial says it twice: %+v", ws)
	}
}

// TestSaturatedAll: with too few trials left there is no verdict, but a note.
func TestSaturatedAll(t *testing.T) {
	for _, level := range []string{"100", "200"} {
		for _, open := range []bool{false, true} {
			rs := loads(6, open)
			saturate(rs, level, 1, 5, "0.93 of its cores")
			saturate(rs, level, 6, 6, "0.99 of its cores")
			tb := Tabulate(rs, options())
			other := tb.Settings[1]
			for _, metric := range []string{"p50-sec", "login-p99-sec", "apply-max-sec"} {
				v := other.Versus[metric]
				if v.Verdict != stats.Unclear || v.Note.Said != "0.93 of its cores" || v.MoreBlocks != 0 || !math.IsNaN(v.P) {
					t.Errorf("%s: %+v", metric, v)
				}
			}
			for i, s := range tb.Settings {
				hit := options().Settings[i][0].Value == level
				if x := s.Values["p50-sec"]; x.Saturated != hit || len(x.Trials) != 6 {
					t.Errorf("GOGC=%s saturated: setting %d has %+v", level, i, x)
				}
			}
			if v := other.Versus["rss-peak-B"]; v.Verdict != stats.Worse || v.Note.Kind != "" {
				t.Errorf("memory: %+v", v)
			}
			if v := other.Versus["req/s"]; (v.Note.Kind == "") != open || (v.Verdict == stats.Same) != open {
				t.Errorf("open %v: req/s %+v", open, v)
			}
			if len(tb.Doubts) != 1 || tb.Doubts[0].Said[0] != "0.93 of its cores" || tb.Doubts[0].Trial == 0 {
				t.Errorf("doubts %+v", tb.Doubts)
			}
		}
	}
}

// TestNotCompared: metrics that have no better side are shown, and are in no
// family.
func TestNotCompared(t *testing.T) {
	rs := loads(6, false)
	_, before := Tabulate(rs, options()).Settings[1].Versus["widgets"]
	tb := Tabulate(rs, options())
	s := tb.Settings[1]
	if _, ok := s.Versus["sent/s"]; ok || s.Values["sent/s"].Center == 0 || before {
		t.Errorf("sent/s: %+v", s.Versus["sent/s"])
	}
	p := s.Versus["login-p99-sec"].P
	for _, r := range rs {
		r.Values = slices.DeleteFunc(r.Values, func(v dyno.Value) bool { return v.Metric == "sent/s" })
	}
	if got := Tabulate(rs, options()).Settings[1].Versus["login-p99-sec"].P; got != p {
		t.Errorf("sent/s counts in the family: p %v with it, %v without", p, got)
	}
}

// TestSentJSON: a single trial carries what it sent, and its saturation.
func TestSentJSON(t *testing.T) {
	r := loads(1, true)[0]
	r.Trial.Setting = nil
	r.Elapsed = 2e9
	r.Failures = map[string]int{"status 503": 2}
	r.Sent = dyno.Sent{Engine: "raw", Requests: 9, Statuses: map[int]int64{200: 7, 503: 2}, Saturated: "late", Slowest: []dyno.Request{{Step: "GET /", Done: 5}}}
	data, err := json.Marshal(Tabulate([]*dyno.Result{r}, Options{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"saturated":[{"trial":1,"reason":"late"}],"elapsed-sec":2,"sent":{"engine":"raw","requests":9,"statuses":{"200":7,"503":2},`,
		`"slowest":[{"client":0,"step":"GET /","due-ns":0,"sent-ns":0,"done-ns":5,`,
		`"failures":{"status 503":2}`, `"service-p50-sec":{"center":0.01,`, `"unsent":{"center":0,`, `"trials":[0.01],"saturated":true}`,
	} {
		if !strings.Contains(string(data), want) {
			t.Errorf("no %s in %s", want, data)
		}
	}
	two, err := json.Marshal(Tabulate(loads(2, true), options()))
	if err != nil || strings.Contains(string(two), `"sent"`) || strings.Contains(string(two), `"saturated"`) {
		t.Errorf("two trials: %s, %v", two, err)
	}
}
