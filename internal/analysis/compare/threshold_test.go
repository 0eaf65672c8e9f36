package compare

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/stats"
)

func thresholds(t testing.TB, texts ...string) (ths []dyno.Threshold) {
	t.Helper()
	for _, text := range texts {
		th, err := dyno.ParseThreshold(text)
		if err != nil {
			t.Fatal(err)
		}
		ths = append(ths, th)
	}
	return ths
}

// judged judges the results of experiment(blocks), changed by change, by one
// threshold.
func judged(t *testing.T, blocks int, text string, change func(r *dyno.Result)) []Judgement {
	t.Helper()
	rs := experiment(blocks)
	for _, r := range rs {
		if change != nil {
			change(r)
		}
	}
	o := options()
	o.Thresholds = thresholds(t, text)
	return Tabulate(rs, o).Thresholds
}

func words(js []Judgement) string {
	var parts []string
	for _, j := range js {
		word := string(j.Outcome)
		if j.NoData {
			word = "no data"
		}
		if j.Close {
			word += " close"
		}
		parts = append(parts, word)
	}
	return strings.Join(parts, ", ")
}

func set(r *dyno.Result, metric string, v float64) {
	for i := range r.Values {
		if r.Values[i].Metric == metric {
			r.Values[i].Value = v
		}
	}
}

func unset(r *dyno.Result, metric string) {
	for i := range r.Values {
		if r.Values[i].Metric == metric {
			r.Values = append(r.Values[:i:i], r.Values[i+1:]...)
			return
		}
	}
}

// one changes a single trial.
func one(n int, change func(r *dyno.Result)) func(*dyno.Result) {
	return func(r *dyno.Result) {
		if r.Trial.N == n {
			change(r)
		}
	}
}

// The median of GOGC=100 (trials 2, 4 …) is 10.02 ms, that of GOGC=200 (1, 3 …)
// 9.018 ms; the latter's memory is 20 % more.
func TestJudge(t *testing.T) {
	fail := func(r *dyno.Result) { r.Err = "it died" }
	for _, c := range []struct {
		name, threshold string
		blocks          int
		change          func(*dyno.Result)
		want            string // GOGC=100, GOGC=200
	}{
		{"kept", "p50 < 11ms", 6, nil, "passed, passed"},
		{"by one", "p50 < 9.5ms", 6, nil, "failed, passed"},
		{"too few for an interval", "p50 < 10.021ms", 5, nil, "passed, passed"},
		{"close", "p50 < 10.03ms", 6, nil, "unclear close, passed"},
		{"close, and not kept", "p50 < 10.01ms", 6, nil, "failed close, passed"},
		{"at least", "p50 >= 9.5ms", 6, nil, "passed, failed"},
		{"no failures", "failures == 0", 6, nil, "passed, passed"},
		{"one failure in one trial", "failures == 0", 6, one(4, func(r *dyno.Result) { set(r, "failures", 1) }), "failed, passed"},
		{"some are allowed", "failures <= 1", 6, one(4, func(r *dyno.Result) { set(r, "failures", 1) }), "passed, passed"},
		{"the highest peak", "rss_peak < 35MiB", 6, one(3, func(r *dyno.Result) { set(r, "rss-peak-B", 1e9) }), "passed, failed"},
		{"not measured", "rss_idle < 1GiB", 6, nil, "no data, no data"},
		{"a step", "login_p50 < 9.5ms", 6, nil, "failed, passed"},
		{"unknown", "login_p95 < 9.5ms", 6, nil, "no data"},
		{"a timeout took the percentile", "p50 < 1s", 6, one(4, func(r *dyno.Result) { unset(r, "p50-sec") }), "no data, passed"},
		{"other metrics may be missing", "widgets == 3", 6, one(4, func(r *dyno.Result) { unset(r, "widgets") }), "passed, passed"},
		{"a failed trial", "p50 < 11ms", 6, one(4, fail), "passed, passed"},
		{"a failed trial may be the worst", "failures == 0", 6, one(4, fail), "no data, passed"},
		{"a failed trial beside one that is bad", "failures == 0", 6, func(r *dyno.Result) {
			one(4, fail)(r)
			one(2, func(r *dyno.Result) { set(r, "failures", 1) })(r)
		}, "failed, passed"},
		{"a peak that nobody saw", "rss_peak < 1GiB", 6, one(4, func(r *dyno.Result) { unset(r, "rss-peak-B") }), "no data, passed"},
		{"only failed trials", "p50 < 11ms", 6, func(r *dyno.Result) {
			if r.Trial.Setting.String() == "GOGC=200" {
				fail(r)
			}
		}, "passed, no data"},
		{"nothing finished", "p50 < 11ms", 6, fail, "no data, no data"},
		{"saturated", "p50 < 11ms", 6, func(r *dyno.Result) { r.Sent.Saturated = "it was busy" }, "no data, no data"},
		{"memory while saturated", "rss_peak < 1GiB", 6, func(r *dyno.Result) { r.Sent.Saturated = "it was busy" }, "passed, passed"},

		{"better", "change(p50) < 5%", 6, nil, "passed"},
		{"worse", "change(rss_peak) < 5%", 6, nil, "failed"},
		{"worse, as is allowed", "change(rss_peak) < 25%", 6, nil, "passed"},
		{"across", "change(rss_peak) < 20%", 6, nil, "unclear close"},
		{"at least so much better", "change(p50) <= -5%", 6, nil, "passed"},
		{"not so much better", "change(p50) < -15%", 6, nil, "failed"},
		{"one block", "change(p50) < 5%", 1, nil, "no data"},
		{"never failed", "change(failures) < 5%", 6, nil, "passed"},
		{"from zero", "change(failures) < 5%", 6, one(3, func(r *dyno.Result) { set(r, "failures", 1) }), "no data"},
		{"of a saturated baseline", "change(p50) < 5%", 6, func(r *dyno.Result) {
			if r.Trial.Setting.String() == "GOGC=100" {
				r.Sent.Saturated = "it was busy"
			}
		}, "no data"},
		{"a baseline that timed out", "change(p50) < 5%", 6, one(4, func(r *dyno.Result) { unset(r, "p50-sec") }), "no data"},
		{"a baseline that failed", "change(p50) < 5%", 6, func(r *dyno.Result) {
			if r.Trial.Setting.String() == "GOGC=100" {
				fail(r)
			}
		}, "no data"},
		{"never the same", "change(p50) == 0%", 6, nil, "failed"},
		{"not the same", "change(p50) != 0%", 6, nil, "passed"},
	} {
		js := judged(t, c.blocks, c.threshold, c.change)
		if got := words(js); got != c.want {
			t.Errorf("%s: got %s, want %s\n%+v", c.name, got, c.want, js)
		}
		for _, j := range js {
			if (j.NoData || j.Close && !j.Threshold.Change) && len(j.Reasons) == 0 {
				t.Errorf("%s: no reason is given: %+v", c.name, j)
			}
		}
	}
}

// A run that was interrupted, or goes on, has not passed; what failed has.
func TestJudgePartial(t *testing.T) {
	o := options()
	o.Planned, o.Thresholds = 20, thresholds(t, "p50 < 11ms", "p50 < 9.5ms", "change(p50) < 5%")
	if got := words(Tabulate(experiment(6), o).Thresholds); got != "unclear, unclear, failed, unclear, unclear" {
		t.Error(got)
	}
}

// Trials whose slowest requests timed out have no percentile: those that are left
// make no verdict.
func TestCensored(t *testing.T) {
	rs := experiment(6)
	for _, r := range rs {
		if r.Trial.Setting.String() == "GOGC=200" && r.Trial.Block%2 == 0 {
			unset(r, "p50-sec")
			set(r, "failures", 3)
		}
	}
	v := Tabulate(rs, options()).Settings[1].Versus["p50-sec"]
	if v.Verdict != stats.Unclear || !math.IsNaN(v.Ratio) || v.Note.Trial == 0 {
		t.Errorf("%+v", v)
	}
}

// What decided is told: which trial, how many, and what is left out.
func TestJudgeTells(t *testing.T) {
	j := judged(t, 6, "rss_peak < 1MiB", one(4, func(r *dyno.Result) { set(r, "rss-peak-B", 1e9) }))[0]
	if j.Trial != 4 || j.Value != 1e9 || j.Trials != 6 || !math.IsNaN(j.Lo) {
		t.Errorf("the worst trial: %+v", j)
	}
	j = judged(t, 6, "p50 < 1s", one(4, func(r *dyno.Result) { r.Err = "it died" }))[0]
	if j.Trials != 5 || !slices.Equal(j.Reasons, []Reason{{Kind: ReasonFailedTrials, N: 1, Of: 6}}) {
		t.Errorf("a failed trial: %+v", j)
	}
	j = judged(t, 6, "p50 < 1s", one(4, func(r *dyno.Result) { r.Sent.Saturated = "busy" }))[0]
	if j.Trials != 5 || !slices.Equal(j.Reasons, []Reason{{Kind: ReasonNotCounted, N: 1, Of: 6}}) {
		t.Errorf("a saturated trial: %+v", j)
	}
	j = judged(t, 6, "change(rss_peak) < 20.3%", nil)[0]
	if math.Abs(j.Value-0.2) > 0.003 || !(j.Lo < 0.203 && j.Hi > 0.203) || j.MoreBlocks == 0 {
		t.Errorf("a change: %+v", j)
	}
}

func TestThresholdsJSON(t *testing.T) {
	o := options()
	o.Thresholds = thresholds(t, "p50 < 11ms", "login_p95 < 1s", "rss_peak < 1MiB")
	tb := Tabulate(experiment(6), o)
	if failed, unclear := tb.Gate(); failed != 3 || unclear != 0 {
		t.Errorf("%d failed, %d unclear", failed, unclear)
	}
	data, err := json.Marshal(tb)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"threshold":"p50 \u003c 11ms","metric":"p50-sec","setting":"GOGC=100","verdict":"passed","value":0.0100`,
		`"setting":null,"verdict":"failed","value":null`, `"no-data":true`, `"trials":6,"trial":`,
	} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%s is not in %s", want, data)
		}
	}
}

// gateOf simulates a gate of 5 metrics and 4 settings beside the baseline, all
// of which changed by change, with a deviation of sd of each trial, and counts the
// gates that fail, those that pass, and the thresholds that fail in all.
func gateOf(t *testing.T, gates, blocks int, change, sd float64, limit string) (failed, passed, each int) {
	rng := rand.New(rand.NewPCG(uint64(blocks), 7))
	metrics := []string{"p50-sec", "p99-sec", "cpu-sec/req", "alloc-B/req", "rss-mean-B"}
	o := Options{}
	for _, m := range metrics {
		o.Thresholds = append(o.Thresholds, thresholds(t, "change("+dyno.ThresholdName(m)+") < "+limit)...)
	}
	for range gates {
		tb := &Table{Settings: make([]Setting, 5)}
		good := map[int][]*dyno.Result{}
		for _, m := range metrics {
			tb.Rows = append(tb.Rows, Row{Metric: dyno.Metric{Name: m, Better: -1}, Key: m})
		}
		for b := range blocks {
			for s := range 5 {
				r := &dyno.Result{Trial: dyno.Trial{Block: b + 1, Setting: gogc(fmt.Sprint(s))}}
				for _, m := range metrics {
					x := sd * rng.NormFloat64()
					if s > 0 {
						x += math.Log1p(change)
					}
					r.Values = append(r.Values, dyno.Value{Metric: m, Value: math.Exp(x)})
				}
				good[s] = append(good[s], r)
			}
		}
		for s := range tb.Settings {
			tb.Settings[s] = Setting{Setting: gogc(fmt.Sprint(s)), Trials: blocks, Values: map[string]Summary{}, Versus: map[string]Versus{}}
		}
		tb.compare(good)
		tb.judge(o.Thresholds, good)
		f, u := tb.Gate()
		each += f
		if f > 0 {
			failed++
		} else if u == 0 {
			passed++
		}
	}
	return failed, passed, each
}

// A gate of twenty changes, all of which are just what is still allowed, fails
// in no more than 2.5 % of all runs, and passes in no more.
func TestGateError(t *testing.T) {
	gates := 500
	if *full {
		gates = 10_000
	}
	for _, blocks := range []int{3, 6, 20} {
		failed, passed, each := gateOf(t, gates, blocks, 0.05, 0.05, "5%")
		t.Logf("%d blocks: %.2f %% of gates failed, %.2f %% passed; %.3f %% of thresholds failed",
			blocks, 100*float64(failed)/float64(gates), 100*float64(passed)/float64(gates), 100*float64(each)/float64(gates)/20)
		if rate := float64(failed) / float64(gates); rate > 0.025+3*math.Sqrt(0.025*0.975/float64(gates)) {
			t.Errorf("%d blocks: %.1f %% of gates failed", blocks, 100*rate)
		}
		if rate := float64(passed) / float64(gates); rate > 0.025 {
			t.Errorf("%d blocks: %.1f %% of gates passed", blocks, 100*rate)
		}
	}
	if failed, _, _ := gateOf(t, 100, 6, 0, 0.05, "5%"); failed > 0 {
		t.Errorf("without any change, %d of 100 gates failed", failed)
	}
	if failed, _, _ := gateOf(t, 100, 10, 0.2, 0.05, "5%"); failed < 100 {
		t.Errorf("with changes of 20 %%, %d of 100 gates failed", failed)
	}
}
