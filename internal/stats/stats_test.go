package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/perf/benchmath"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

var nan = math.NaN()

// columns makes blocks x settings from one slice a setting.
func columns(cols ...[]float64) [][]float64 {
	blocks := make([][]float64, len(cols[0]))
	for i := range blocks {
		for _, c := range cols {
			blocks[i] = append(blocks[i], c[i])
		}
	}
	return blocks
}

func repeat(v float64, n int) []float64 { return slices.Repeat([]float64{v}, n) }

func near(a, b, relative float64) bool {
	return math.IsNaN(a) && math.IsNaN(b) || a == b || math.Abs(a-b) <= relative*max(math.Abs(a), math.Abs(b))
}

func TestSummarizeAsBenchstat(t *testing.T) {
	xs := []float64{5, 3, nan, 9, 1, 7, math.Inf(1), 2, 8}
	before := slices.Clone(xs)
	got := Summarize(xs)
	want := benchmath.AssumeNothing.Summary(benchmath.NewSample([]float64{5, 3, 9, 1, 7, 2, 8}, &benchmath.DefaultThresholds), 0.95)
	if got.N != 7 || got.Center != want.Center || got.Lo != want.Lo || got.Hi != want.Hi {
		t.Errorf("got %+v, benchstat says %+v", got, want)
	}
	if !slices.EqualFunc(xs, before, func(a, b float64) bool { return near(a, b, 0) }) {
		t.Error("Summarize changed its argument")
	}
	for n := range MedianTrials + 2 {
		s := Summarize(repeat(4, n))
		if s.N != n || math.IsNaN(s.Center) != (n == 0) || math.IsNaN(s.Lo) != (n < MedianTrials) || math.IsNaN(s.Hi) != (n < MedianTrials) {
			t.Errorf("%d trials: %+v", n, s)
		}
	}
}

// A pair alone is the textbook paired t test: differences 0.1, 0.3, 0.2, 0.4
// have mean 0.25 and standard error 0.0645, so t = 3.873 and p = 0.0305.
func TestCompareTextbook(t *testing.T) {
	var x, y []float64
	for i, d := range []float64{0.1, 0.3, 0.2, 0.4} {
		x = append(x, 10*float64(i+1))
		y = append(y, x[i]*math.Exp(d))
	}
	c := fixed(columns(x, y))[0]
	if !near(c.Ratio, math.Exp(0.25), 1e-12) || !near(c.P, 0.030466, 1e-3) || c.DF != 3 || c.N != 4 || c.Method != methodPaired {
		t.Errorf("got %+v", c)
	}
	h := 3.182446 * 0.0645497
	if !near(c.Lo, math.Exp(0.25-h), 1e-5) || !near(c.Hi, math.Exp(0.25+h), 1e-5) {
		t.Errorf("interval %v..%v, want half width %v of the log", c.Lo, c.Hi, h)
	}
}

func TestCompareEdges(t *testing.T) {
	wave := []float64{10, 11, 9, 10.5, 9.5, 10.2}
	for _, x := range []struct {
		name         string
		blocks       [][]float64
		n            int
		ratio, lo, p float64
		diff         float64
		verdict      Verdict
	}{
		{"no failures at all", columns(repeat(0, 6), repeat(0, 6)), 6, nan, nan, 1, 0, Same},
		{"equal constants", columns(repeat(9, 6), repeat(9, 6)), 6, 1, 1, 1, 0, Same},
		{"other constant", columns(repeat(9, 6), repeat(12, 6)), 6, 12.0 / 9, 12.0 / 9, 2.0 / 924, 3, Worse},
		{"failures in every trial", columns(repeat(0, 6), repeat(3, 6)), 6, nan, nan, 2.0 / 924, 3, Worse},
		{"lockstep", columns(wave, []float64{20, 22, 18, 21, 19, 20.4}), 6, 2, nan, 1.0 / 32, 10.0333, Unclear},
		{"lockstep, longer", columns(slices.Repeat(wave, 2), slices.Repeat([]float64{20, 22, 18, 21, 19, 20.4}, 2)), 12, 2, 2, 1.0 / 2048, 10.0333, Worse},
		{"too few blocks", columns(wave[:5], []float64{20, 23, 18, 21, 19}), 5, 2.017859978, nan, 1.541422455e-7, 10.2, Unclear},
		{"one pair", columns([]float64{10, nan}, []float64{11, 5}), 1, 1.1, nan, nan, 1, Unclear},
		{"no pair", columns([]float64{nan, 3}, []float64{4, nan}), 0, nan, nan, nan, nan, Unclear},
		{"infinite is missing", columns([]float64{10, 10}, []float64{math.Inf(1), 11}), 1, 1.1, nan, nan, 1, Unclear},
		{"short row is missing", [][]float64{{10, 11}, {10}, nil}, 1, 1.1, nan, nan, 1, Unclear},
	} {
		c := Compare(x.blocks)[0]
		if c.N != x.n || !near(c.Ratio, x.ratio, 1e-9) || !near(c.Lo, x.lo, 1e-9) || !near(c.P, x.p, 1e-9) || !near(c.Diff, x.diff, 1e-4) {
			t.Errorf("%s: got %+v", x.name, c)
		}
		if v := c.Verdict(Rule{}); v != x.verdict {
			t.Errorf("%s: %s, want %s", x.name, v, x.verdict)
		}
	}
	if Compare(nil) != nil || Compare([][]float64{{1}}) != nil {
		t.Error("comparisons without a second setting")
	}
	c := Compare(columns(wave, []float64{0, 1, 0, 2, 0, 1}))[0]
	if !math.IsNaN(c.Ratio) || !math.IsNaN(c.Hi) || c.Method != methodDiff || c.P > 1e-4 || c.Verdict(Rule{Better: -1}) != Better {
		t.Errorf("zeros on one side: %+v", c)
	}
}

// A missing trial takes its block from its own comparison, and its setting from
// those that lend to the others.
func TestCompareMissing(t *testing.T) {
	w := null(10)
	m := w.matrices()
	w.fill(rand.New(rand.NewPCG(1, 2)), m)
	blocks := m[0]
	whole := Compare(blocks)
	blocks[3][2] = nan
	part := Compare(blocks)
	if whole[1].N != 10 || part[1].N != 9 || part[0].N != 10 {
		t.Errorf("pairs: %d before, %d and %d after", whole[1].N, part[1].N, part[0].N)
	}
	for j, c := range part {
		if math.IsNaN(c.P) {
			t.Errorf("setting %d: %+v", j+1, c)
		}
	}
	if part[0].Ratio != whole[0].Ratio {
		t.Error("a trial missing elsewhere changed a ratio")
	}
}

func TestAdjustHolm(t *testing.T) {
	var cs []*Comparison
	for _, p := range []float64{0.01, nan, 0.04, 0.03, 0.005} {
		cs = append(cs, &Comparison{P: p, Adjusted: p, Tests: 1})
	}
	Adjust(cs)
	for i, want := range []float64{0.03, nan, 0.06, 0.06, 0.02} { // as R's p.adjust
		if !near(cs[i].Adjusted, want, 1e-12) {
			t.Errorf("p %v adjusted to %v, want %v", cs[i].P, cs[i].Adjusted, want)
		}
	}
	if cs[0].Tests != 4 || cs[1].Tests != 1 {
		t.Errorf("tests %d and %d, want 4 and 1", cs[0].Tests, cs[1].Tests)
	}
}

func TestVerdict(t *testing.T) {
	up := Comparison{N: 10, Ratio: 1.1, Lo: 1.05, Hi: 1.15, Adjusted: 0.01, SD: 0.05}
	tiny := Comparison{N: 10, Ratio: 1.004, Lo: 1.002, Hi: 1.006, Adjusted: 0.001, SD: 0.002}
	vague := Comparison{N: 10, Ratio: 1.1, Lo: 1.01, Hi: 1.2, Adjusted: 0.2, SD: 0.1}
	for _, x := range []struct {
		c    Comparison
		r    Rule
		want Verdict
	}{
		{up, Rule{}, Worse},
		{up, Rule{Better: 1}, Better},
		{up, Rule{Alpha: 0.001}, Unclear},
		{up, Rule{Negligible: 0.2}, Same},
		{tiny, Rule{}, Same},
		{tiny, Rule{Negligible: -1}, Worse},
		{vague, Rule{}, Unclear},
		{Comparison{}, Rule{}, Unclear},
	} {
		if got := x.c.Verdict(x.r); got != x.want {
			t.Errorf("%+v by %+v: %s, want %s", x.c, x.r, got, x.want)
		}
	}
}

// After as many blocks more as More says, and no fewer, the same estimate and
// deviation settle the verdict.
func TestMore(t *testing.T) {
	for _, ratio := range []float64{1, 1.002, 1.03, 0.9} {
		c := Comparison{N: 5, Ratio: ratio, P: 0.2, Adjusted: 1, Tests: 20, SD: 0.05, DF: 4}
		c.Lo, c.Hi = ratio*0.94, ratio*1.06
		n := c.More(Rule{})
		if n < 1 || !c.settledAt(5+n, Rule{}) || n > 1 && c.settledAt(5+n-1, Rule{}) {
			t.Errorf("ratio %v: %d more", ratio, n)
		}
	}
	edge := Comparison{N: 5, Ratio: 1.0099, Lo: 0.5, Hi: 2, P: 1, Adjusted: 1, Tests: 20, SD: 0.9, DF: 4}
	if n := edge.More(Rule{}); n != 0 {
		t.Errorf("beyond the limit: %d, want 0", n)
	}
	if n := (Comparison{N: 1}).More(Rule{}); n != 0 {
		t.Errorf("one pair: %d, want 0", n)
	}
	still := Compare(columns(repeat(0, 3), repeat(1, 3)))[0] // 2/C(12,6) = 0.002, which looks make 0.02
	if n := still.More(Rule{}); n != 3 {
		t.Errorf("no spread: %d more, want 3", n)
	}
}

func TestStudent(t *testing.T) {
	for _, df := range []float64{1, 1.5, 3, 9, 20.7, 500} {
		for _, p := range []float64{1e-6, 0.0025, 0.05, 0.5, 0.99} {
			q := quantileT(p, df)
			want := distuv.StudentsT{Sigma: 1, Nu: df}.Quantile(1 - p/2)
			if !near(q, want, 1e-6) || !near(tailT(q, df), p, 1e-8) {
				t.Errorf("df %v, p %v: %v, want %v", df, p, q, want)
			}
		}
	}
	if got, want := tailF(2.5, 9, 23.4), 1-(distuv.F{D1: 9, D2: 23.4}).CDF(2.5); !near(got, want, 1e-9) {
		t.Errorf("tailF = %v, want %v", got, want)
	}
}

// matrix draws blocks of coarse numbers, with zeros, negatives, missing and
// infinite cells, constant settings and rows of any length.
func matrix(t *rapid.T) [][]float64 {
	settings := rapid.IntRange(2, 7).Draw(t, "settings")
	odd := rapid.Bool().Draw(t, "odd")
	cell := rapid.Custom(func(t *rapid.T) float64 {
		if odd && rapid.IntRange(0, 9).Draw(t, "which") == 0 {
			return rapid.SampledFrom([]float64{0, -1, nan, math.Inf(1), math.Inf(-1), 1e250, 1e-250, 1e305}).Draw(t, "odd cell")
		}
		return float64(rapid.IntRange(1, 400).Draw(t, "cell")) / 8
	})
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) []float64 {
		n := settings
		if odd {
			n = rapid.IntRange(0, settings).Draw(t, "length")
		}
		return rapid.SliceOfN(cell, n, n).Draw(t, "row")
	}), 1, 12).Draw(t, "blocks")
}

// Whatever the numbers, what comes out can be printed and means something.
func TestCompareProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		blocks := matrix(t)
		cs := Compare(blocks)
		var family []*Comparison
		for j := range cs {
			family = append(family, &cs[j])
		}
		Adjust(family)
		for j, c := range cs {
			if msg := flaw(blocks, j+1, c); msg != "" {
				t.Fatalf("setting %d: %s: %+v", j+1, msg, c)
			}
		}
		for _, f := range []float64{1e-3, 1024} {
			scaled := make([][]float64, len(blocks))
			for i, row := range blocks {
				for _, v := range row {
					if math.Abs(v) > 1e200 && !math.IsInf(v, 0) {
						return // may cross the limit of usable numbers
					}
					scaled[i] = append(scaled[i], v*f)
				}
			}
			for j, s := range Compare(scaled) {
				if !near(s.Ratio, cs[j].Ratio, 1e-9) || !near(s.Lo, cs[j].Lo, 1e-6) || !near(s.P, cs[j].P, 1e-5) && math.Abs(s.P-cs[j].P) > 1e-9 {
					t.Fatalf("times %v: %+v, was %+v", f, s, cs[j])
				}
			}
		}
	})
}

// flaw says what of c breaks its documentation.
func flaw(blocks [][]float64, j int, c Comparison) string {
	pairs, positive := 0, true
	for _, row := range blocks {
		if x, y := at(row, 0), at(row, j); !math.IsNaN(x) && !math.IsNaN(y) {
			pairs++
			positive = positive && x > 0 && y > 0
		}
	}
	inUnit := func(p float64) bool { return p >= 0 && p <= 1 }
	for _, v := range []float64{c.Ratio, c.Lo, c.Hi, c.Diff, c.P, c.Adjusted, c.SD, c.DF} {
		if math.IsInf(v, 0) {
			return "infinite"
		}
	}
	switch interval := positive && pairs >= FewestBlocks && (c.SD > 0 || c.P == 1 || c.Single() <= 0.05); {
	case c.N != pairs:
		return "pairs"
	case math.IsNaN(c.Ratio) != (!positive || pairs == 0):
		return "ratio"
	case math.IsNaN(c.Lo) == interval || math.IsNaN(c.Hi) == interval:
		return "interval is there or not"
	case interval && !(c.Lo <= c.Ratio && c.Ratio <= c.Hi):
		return "interval"
	case math.IsNaN(c.Diff) != (pairs == 0):
		return "difference"
	case inUnit(c.P) != (pairs >= 2) || inUnit(c.Adjusted) != (pairs >= 2) || c.Adjusted < c.P:
		return "p"
	case interval && c.SD > 0 && math.Abs(c.Single()-0.05) > 1e-6 && (c.Single() < 0.05) != (c.Lo > 1 || c.Hi < 1):
		return "p and interval disagree"
	case (c.Method == methodNone) != (pairs < 2):
		return "method"
	case c.DF < 0 || c.More(Rule{}) < 0 || !slices.Contains([]Verdict{Better, Worse, Same, Unclear}, c.Verdict(Rule{})):
		return "verdict"
	}
	return ""
}

func ExampleCompare() {
	p99 := [][]float64{ // a block a row; GOGC=100, 50, 200
		{12.1, 13.0, 11.2},
		{12.4, 13.5, 11.3},
		{11.9, 12.9, 11.1},
		{12.6, 13.4, 11.6},
		{12.2, 13.3, 11.3},
		{12.3, 13.2, 11.5},
	}
	cs := Compare(p99)
	Adjust([]*Comparison{&cs[0], &cs[1]})
	for _, c := range cs {
		fmt.Printf("%.3f [%.3f, %.3f] p=%.1g %s\n", c.Ratio, c.Lo, c.Hi, c.Adjusted, c.Verdict(Rule{Better: -1}))
	}
	// Output:
	// 1.079 [1.060, 1.099] p=0.0002 worse
	// 0.925 [0.909, 0.942] p=0.0002 better
}

func BenchmarkCompare(b *testing.B) {
	m := null(10).matrices()
	for i := range m[0] {
		for j := range m[0][i] {
			m[0][i][j] = 100 + math.Sin(float64(i*j+i))
		}
	}
	for b.Loop() {
		Compare(m[0])
	}
}

// The interval of 1 … 5 by hand: 3 ± 2.776·√(2.5/5).
func TestMeanOf(t *testing.T) {
	m := MeanOf([]float64{1, 2, nan, 3, 4, 5})
	if m.Mean != 3 || math.Abs(m.Hi-4.9632) > 1e-4 || math.Abs(m.Lo-1.0368) > 1e-4 {
		t.Errorf("%+v", m)
	}
	if m = MeanOf([]float64{7}); m.Mean != 7 || !math.IsNaN(m.Lo) || !math.IsNaN(m.Hi) {
		t.Errorf("one: %+v", m)
	}
	if m = MeanOf(nil); !math.IsNaN(m.Mean) {
		t.Errorf("none: %+v", m)
	}
}
