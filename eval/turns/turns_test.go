package main

import (
	"math"
	"strings"
	"testing"
	"time"
)

func about(got, want, by float64) bool { return math.Abs(got-want) <= by }

func TestQuantileOfT(t *testing.T) {
	// Student's table.
	for _, c := range []struct{ p, df, want float64 }{{0.975, 1, 12.706}, {0.975, 7, 2.365}, {0.975, 30, 2.042}, {0.995, 10, 3.169}} {
		if got := tQuantile(c.p, c.df); !about(got, c.want, 0.001) {
			t.Errorf("t of %g with %g degrees of freedom is %.4f, want %g", c.p, c.df, got, c.want)
		}
	}
}

func TestEstimate(t *testing.T) {
	e, lost := estimated([]float64{math.Exp(0.1), math.Exp(0.2), math.Exp(0.3), 0, math.NaN()})
	if lost != 2 || !about(e.log, 0.2, 1e-12) || !about(e.err, 0.1/math.Sqrt(3), 1e-12) || e.df != 2 {
		t.Errorf("%+v, %d lost", e, lost)
	}
	lo, hi := e.interval(0.05)
	if half := 4.3027 * 0.1 / math.Sqrt(3); !about(lo, math.Exp(0.2-half), 1e-4) || !about(hi, math.Exp(0.2+half), 1e-4) {
		t.Errorf("interval [%g, %g]", lo, hi)
	}
	one, _ := estimated([]float64{1.5})
	if lo, _ := one.interval(0.05); !math.IsNaN(lo) || !about(one.ratio(), 1.5, 1e-12) {
		t.Errorf("one block has the ratio %g and an interval from %g", one.ratio(), lo)
	}
	none, _ := estimated(nil)
	if lo, _ := none.interval(0.05); !math.IsNaN(lo) || !math.IsNaN(none.ratio()) {
		t.Errorf("no block has the ratio %g and an interval from %g", none.ratio(), lo)
	}
}

func TestWelch(t *testing.T) {
	a, b := estimate{log: 0.30, err: 0.03, df: 5}, estimate{log: 0.10, err: 0.04, df: 9}
	d := a.less(b)
	df := 0.0025 * 0.0025 / (0.0009*0.0009/5 + 0.0016*0.0016/9)
	if !about(d.log, 0.2, 1e-12) || !about(d.err, 0.05, 1e-12) || !about(d.df, df, 1e-9) {
		t.Errorf("%+v, want 0.2, 0.05 and %g", d, df)
	}
	if differs, known := d.differs(0.05); !differs || !known { // 4 standard errors
		t.Error("a difference of 4 standard errors is not seen")
	}
	if differs, known := a.less(estimate{log: 0.25, err: math.NaN()}).differs(0.05); differs || known {
		t.Error("something is known of one block")
	}
	same := estimate{log: 0.1, df: 3}
	if differs, known := same.less(same).differs(0.05); differs || !known {
		t.Error("equal figures without an error differ")
	}
}

func TestSmallArithmetic(t *testing.T) {
	if got := quantile([]float64{4, 1, 3, 2}, 0.5); got != 2.5 {
		t.Errorf("median %g", got)
	}
	if got := quantile([]float64{4, 1, 3, 2}, 1); got != 4 {
		t.Errorf("most %g", got)
	}
	if got := median([]float64{math.NaN(), 7}); got != 7 {
		t.Errorf("median with a gap %g", got)
	}
	if got := median([]float64(nil)); !math.IsNaN(got) {
		t.Errorf("median of nothing %g", got)
	}
	if got := halfWidth(1/1.02, 1.02); !about(got, 0.02, 1e-12) {
		t.Errorf("half width %g", got)
	}
	for n, want := range map[int]int{1: 1, 10: 10, 20: 19, 40: 38, 100: 95} {
		if got := enough(n); got != want {
			t.Errorf("%d of %d are enough, want %d", got, n, want)
		}
	}
	if allowed(40) != 2 || allowed(10) != 0 {
		t.Error("2 of 40 are allowed")
	}
}

const results = `{"trial":1,"block":1,"levels":{"GOGC":"50"},"start":"2026-11-23T08:00:00Z","elapsed-sec":4,"values":{"gc-cycles":30,"p50-sec":0.001},"sent":{"requests":1000}}
{"trial":2,"block":1,"levels":{"GOGC":"400"},"start":"2026-11-23T08:00:00.05Z","elapsed-sec":4,"values":{"gc-cycles":5,"p50-sec":0.002},"sent":{"requests":1000}}
{"trial":3,"block":2,"levels":{"GOGC":"400"},"start":"2026-11-23T08:00:05Z","elapsed-sec":2,"values":{"gc-cycles":0,"p50-sec":0.002},"sent":{"requests":500}}
{"trial":4,"block":2,"levels":{"GOGC":"50"},"start":"2026-11-23T08:00:08Z","elapsed-sec":2,"values":{"gc-cycles":10,"p50-sec":0.001},"sent":{"requests":500}}
{"trial":5,"block":3,"levels":{"GOGC":"50"},"start":"2026-11-23T08:00:20Z","error":"it died","values":{"p50-sec":9}}
{"trial":6,"block":1,"for":"memory","levels":{"GOGC":"50"},"start":"2026-11-23T08:00:30Z","values":{"p50-sec":9}}
`

func TestBlocksOfTrials(t *testing.T) {
	trials, err := readTrials([]byte(results))
	if err != nil || len(trials) != 4 {
		t.Fatalf("%d trials, %v", len(trials), err)
	}
	if beside, blocks := (&report{trials: trials}).beside(); beside != 1 || blocks != 2 {
		t.Errorf("%d of %d blocks side by side, want 1 of 2", beside, blocks)
	}
	blocks := blocksOf(trials, "GOGC")
	rs := ratios(blocks, "50", "400", "gc-cycles/req")
	if len(rs) != 2 || !about(rs[0], 5.0/30, 1e-12) || rs[1] != 0 {
		t.Errorf("ratios of collections %v", rs)
	}
	if got := levelMedian(blocks, "50", "gc-cycles/req"); !about(got, 0.025, 1e-12) {
		t.Errorf("collections per request %g", got)
	}
	if rs := ratios(blocks, "50", "100", "p50-sec"); len(rs) != 0 {
		t.Errorf("ratios to a level that is not there: %v", rs)
	}
	if _, err := readTrials([]byte(results[:40])); err == nil {
		t.Error("a torn line is read")
	}
}

func TestComparisons(t *testing.T) {
	arm := func(ratios ...float64) (blocks []launched) {
		for _, r := range ratios {
			blocks = append(blocks, launched{"50": {"cpu-sec/req": 1}, "400": {"cpu-sec/req": r}})
		}
		return blocks
	}
	cs := comparisons([][]launched{arm(0.80, 0.81, 0.79, 0.80), arm(0.80, 0.81, 0.80, 0.79), arm(0.90, 0.91, 0.89, 0.90), arm(0.82, 0.83, 0.815, 0.82), arm(0.9)}, []string{"50", "400"})
	words := []string{agrees, differs, doubt, unknown}
	if len(cs) != 1+len(words) {
		t.Fatalf("%d comparisons", len(cs))
	}
	for i, want := range words {
		if got := cs[i+1].word(40); got != want {
			t.Errorf("arm %d: %q, want %q", i+1, got, want)
		}
	}
	if got := cs[2].from.ratio(); !about(got, 0.9/0.8, 0.001) {
		t.Errorf("ratio of the changes %g", got)
	}
}

func TestParseArm(t *testing.T) {
	a, err := parseArm("rests=50ms/100ms")
	if err != nil || a.rest == nil || a.rest.on != 50*time.Millisecond || a.rest.off != 100*time.Millisecond || a.hasNeighbour() {
		t.Errorf("%+v, %v", a, err)
	}
	a, err = parseArm("cache=20ms")
	if err != nil || a.kind != "cache" || a.turn != 20*time.Millisecond || !a.hasNeighbour() {
		t.Errorf("%+v, %v", a, err)
	}
	if a, err = parseArm("turns"); err != nil || a.turn != 0 {
		t.Errorf("%+v, %v", a, err)
	}
	for _, s := range []string{"", "alone=50ms", "turns=x", "turns=-1s", "rests", "rests=50ms", "rests=0s/1s", "other"} {
		if _, err := parseArm(s); err == nil {
			t.Errorf("arm %q is taken", s)
		}
	}
}

func TestPrimary(t *testing.T) {
	r := report{
		Metrics:  []metric{{"p50-sec", true}, {"p90-sec", false}},
		Settings: []setting{{}, {map[string]versus{"p50-sec": {Verdict: "worse"}, "p90-sec": {Verdict: "better"}}}},
	}
	if m := r.primary(1); len(m) != 1 || !m["p50-sec"].changed() {
		t.Errorf("%v", m)
	}
	if m := r.primary(2); len(m) != 0 {
		t.Errorf("of a setting that is not there: %v", m)
	}
}

func TestPrintTable(t *testing.T) {
	var w strings.Builder
	printTable(&w, 1, [][]string{{"", "change", ""}, {"turns", percent(0.8), between(0.75, 0.85)}, {"alone", percent(math.NaN()), between(0.5, 200)}})
	want := "          change                \n  turns  -20.0 %  [-25.0, -15.0]\n  alone        -         unknown\n"
	if w.String() != want {
		t.Errorf("%q\nwant %q", w.String(), want)
	}
}
