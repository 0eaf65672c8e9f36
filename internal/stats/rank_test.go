package stats

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The largest sums of ranks that are significant at 5 %, two-sided, as every
// textbook has them (Wilcoxon and Wilcox, Some Rapid Approximate Statistical
// Procedures, 1964), and those beyond exactRanks by the same normal formula.
func TestCriticalTable(t *testing.T) {
	for n, want := range map[int]int{5: -1, 6: 0, 7: 2, 8: 3, 9: 5, 10: 8, 11: 10, 12: 13, 13: 17, 14: 21, 15: 25,
		16: 29, 17: 34, 18: 40, 19: 46, 20: 52, 21: 58, 22: 65, 23: 73, 24: 81, 25: 89, 30: 137, 40: 264, 50: 434} {
		if got := critical(n, 0.025); got != want {
			t.Errorf("%d values: %d, the tables say %d", n, got, want)
		}
	}
}

// What R's wilcox.test(x, conf.int=TRUE) prints, and textbooks before it.
func TestRanksTextbook(t *testing.T) {
	ten := make([]float64, 10)
	for i := range ten {
		ten[i] = float64(i + 1)
	}
	for _, x := range []struct {
		name      string
		d         []float64
		p         float64
		mid       float64
		low, high float64
	}{
		{"ten positive", ten, 0.001953125, 5.5, 3, 8},
		// Hollander and Wolfe, Nonparametric Statistical Methods, section 3.1: V = 40.
		{"depression", []float64{0.952, -0.147, 1.022, 0.43, 0.62, 0.59, 0.49, -0.08, 0.01}, 0.0390625, 0.46, 0.01, 0.786},
		// Fisher, The Design of Experiments, 1935, section 17: V = 96.
		{"Darwin's maize", []float64{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48}, 0.04125976, nan, nan, nan},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := CompareRanks(x.d, true, nil)
			if math.IsNaN(x.mid) { // only p is known
				x.mid, x.low, x.high = math.Log(c.Ratio), math.Log(c.Lo), math.Log(c.Hi)
			}
			if !near(c.P, x.p, 1e-6) || c.Adjusted != c.P || !near(math.Log(c.Ratio), x.mid, 1e-12) ||
				!near(math.Log(c.Lo), x.low, 1e-9) || !near(math.Log(c.Hi), x.high, 1e-12) {
				t.Errorf("p %v, estimate %v, %v to %v, want %+v", c.P, math.Log(c.Ratio), math.Log(c.Lo), math.Log(c.Hi), x)
			}
			if d := CompareRanks(x.d, false, nil); !near(d.Diff, x.mid, 1e-12) || d.P != c.P || !near(d.SD, c.SD, 1e-12) ||
				!math.IsNaN(d.Ratio) || !math.IsNaN(d.Lo) || !math.IsNaN(d.Hi) || !math.IsNaN(c.Diff) {
				t.Errorf("of differences %+v, of logs %+v", d, c)
			}
		})
	}
}

// counted is the p-value by going through all signs, ranks as of Pratt.
func counted(d []float64) float64 {
	var ranks []int
	seen, total := 0, 0
	for _, v := range d {
		rank := 1
		for _, w := range d {
			if math.Abs(w) < math.Abs(v) {
				rank += 2
			} else if math.Abs(w) == math.Abs(v) {
				rank++
			}
		}
		if v != 0 {
			ranks = append(ranks, rank)
			total += rank
		}
		if v > 0 {
			seen += rank
		}
	}
	extreme := 0
	for signs := range 1 << len(ranks) {
		sum := 0
		for m := uint(signs); m != 0; m &= m - 1 {
			sum += ranks[bits.TrailingZeros(m)]
		}
		if 2*max(sum, total-sum) >= 2*max(seen, total-seen) {
			extreme++
		}
	}
	return float64(extreme) / math.Ldexp(1, len(ranks))
}

// Whatever the ties and zeros, p is what counting all signs gives, and estimate
// and interval are the Walsh averages that sorting gives.
func TestRanksExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var value *rapid.Generator[float64]
		if rapid.Bool().Draw(t, "coarse") {
			value = rapid.Map(rapid.IntRange(-4, 5), func(i int) float64 { return float64(i) / 8 })
		} else {
			value = rapid.Float64Range(-5, 5)
		}
		d := rapid.SliceOfN(value, 2, 12).Draw(t, "values")
		c := CompareRanks(d, false, nil)
		if largest := slices.Max(d); slices.IndexFunc(d, func(v float64) bool { // left to rounding
			return v != 0 && math.Abs(v) < 1e-9*max(largest, -slices.Min(d))
		}) < 0 && !near(c.P, counted(d), 1e-12) {
			t.Errorf("p is %v, counting says %v", c.P, counted(d))
		}
		k := &ranks{sorted: slices.Sorted(slices.Values(d))}
		var walsh []float64
		for i := range d {
			for j := range i + 1 {
				walsh = append(walsh, (d[i]+d[j])/2)
			}
		}
		slices.Sort(walsh)
		for i, want := range walsh {
			if got := k.walsh(i + 1); got != want {
				t.Fatalf("Walsh average %d of %v is %v, want %v", i+1, d, got, want)
			}
		}
	})
}

// The interval is made of those shifts that the test does not find.
func TestRanksInversion(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{6, 7, 14, 30, 88} {
		d := make([]float64, n)
		for i := range d {
			d[i] = 0.3 + r.NormFloat64()
		}
		for _, alpha := range []float64{0.2, 0.05, 0.001} {
			lo, hi := CompareRanks(d, true, nil).Interval(alpha)
			if math.Ldexp(1, 1-n) > alpha {
				if !math.IsNaN(lo) || !math.IsNaN(hi) {
					t.Errorf("%d values, error %v: %v to %v", n, alpha, lo, hi)
				}
				continue
			}
			for shift, want := range map[float64]bool{
				math.Log(lo) - 1e-9: true, math.Log(lo) + 1e-9: false, math.Log(hi) - 1e-9: false, math.Log(hi) + 1e-9: true,
			} {
				moved := make([]float64, n)
				for i := range d {
					moved[i] = d[i] - shift
				}
				if p := CompareRanks(moved, true, nil).P; p <= alpha != want {
					t.Errorf("%d values, error %v, %v to %v: p at %v is %v", n, alpha, lo, hi, shift, p)
				}
			}
		}
	}
}

// Beyond exactRanks the normal tail is close, and never smaller where it matters.
func TestRanksNormal(t *testing.T) {
	const n = exactRanks + 1
	for name, step := range map[string]int{"no ties": 1, "ties of 5": 5} {
		var ranks []int
		for i := range n {
			ranks = append(ranks, i/step*2*step+step+1) // doubled
		}
		all, sum := waysTo(ranks, n*(n+1)/2), 0.0
		for s, w := range all {
			sum += w
			exact, normal := math.Ldexp(sum, -n), tail(ranks, s, true)
			if w > 0 && exact > 1e-5 && (normal < 0.995*exact || normal > 1.25*exact) || normal < exact/2 {
				t.Errorf("%s: P(T <= %v) is %v, by the normal %v", name, float64(s)/2, exact, normal)
			}
		}
	}
	below := CompareRanks(wavy(exactRanks), true, nil)
	beyond := CompareRanks(wavy(exactRanks+1), true, nil)
	if !near(below.Hi-below.Lo, beyond.Hi-beyond.Lo, 0.02) {
		t.Errorf("at the edge %+v and %+v", below, beyond)
	}
}

// wavy is n values about 0.001.
func wavy(n int) []float64 {
	d := make([]float64, n)
	for i := range d {
		d[i] = 0.001 + 0.01*math.Sin(2.4*float64(i))
	}
	return d
}

func TestRanksLooks(t *testing.T) {
	d := wavy(88)
	p := func(n int) float64 { return CompareRanks(d[:n], true, nil).P }
	looks := []int{14, 18, 23}
	for _, n := range []int{10, 14, 16, 18, 20, 23} {
		want := min(1, 3*p(n))
		if c := CompareRanks(d[:n], true, looks); c.Adjusted != want || c.P != p(n) {
			t.Errorf("%d values: p %v adjusted %v, want %v and %v", n, c.P, c.Adjusted, p(n), want)
		}
	}
	gaps := append([]float64{nan, d[0], math.Inf(1)}, d[1:14]...)
	if a, b := CompareRanks(gaps, true, looks), CompareRanks(d[:14], true, looks); a.N != 14 || a.Adjusted != b.Adjusted {
		t.Errorf("with missing blocks %+v, want %+v", a, b)
	}
	if !slices.IsSorted(BenchLooks) {
		t.Error("looks", BenchLooks)
	}
}

// Verdicts by Adjusted at an error of 0.001: 14 blocks are the fewest.
func TestRanksVerdict(t *testing.T) {
	strict := Rule{Alpha: 0.001}
	slow := wavy(88)
	for i := range slow {
		slow[i] += 0.03
	}
	some := append(repeat(0, 70), repeat(0.2, 18)...) // fewer than half differ, all one way
	mixed := append(repeat(0.3, 7), repeat(-0.3, 7)...)
	for _, x := range []struct {
		name   string
		values []float64
		logs   bool
		looks  []int
		rule   Rule
		want   Verdict
	}{
		{"3 % in 13", slow[:13], true, BenchLooks, strict, Unclear},
		{"3 % in 14", slow[:14], true, BenchLooks, strict, Worse},
		{"3 % in 14, higher is better", slow[:14], true, BenchLooks, Rule{Alpha: 0.001, Better: 1}, Better},
		{"one look needs 11", slow[:11], true, []int{11}, strict, Worse},
		{"found once, not found later", append(slices.Clone(slow[:14]), repeat(-0.05, 4)...), true, BenchLooks, strict, Unclear},
		{"difference in 14", slow[:14], false, BenchLooks, strict, Worse},
		{"equal", repeat(0, 14), true, BenchLooks, strict, Same},
		{"equal but for rounding", append(repeat(0, 13), 1e-16), true, BenchLooks, strict, Same},
		{"equal differences", repeat(0, 14), false, BenchLooks, strict, Same},
		{"one more in 13", repeat(math.Log(1.5), 13), true, BenchLooks, strict, Unclear},
		{"one more in 14", repeat(math.Log(1.5), 14), true, BenchLooks, strict, Worse},
		{"one more where there was none", repeat(1, 14), false, BenchLooks, strict, Worse},
		{"half a per cent, always", repeat(0.005, 14), true, BenchLooks, strict, Same},
		{"rare differences", some, false, BenchLooks, strict, Unclear},
		{"as often less as more", mixed, true, BenchLooks, strict, Unclear},
		{"nothing there", repeat(nan, 14), true, BenchLooks, strict, Unclear},
		{"one block", []float64{0}, true, BenchLooks, strict, Unclear},
	} {
		c := CompareRanks(x.values, x.logs, x.looks)
		if got := c.Verdict(x.rule); got != x.want {
			t.Errorf("%s: %s, want %s: %+v", x.name, got, x.want, c)
		}
	}
	c := CompareRanks(repeat(0, 14), true, BenchLooks)
	if c.P != 1 || c.Adjusted != 1 || c.Ratio != 1 || c.Lo != 1 || c.Hi != 1 || c.SD != 0 {
		t.Errorf("equal: %+v", c)
	}
	c = CompareRanks(repeat(0.5, 14), true, BenchLooks)
	if c.P != math.Ldexp(1, -13) || c.Adjusted != math.Ldexp(1, -10) || c.Lo != c.Ratio || c.Hi != c.Ratio || c.Method != methodLockstep {
		t.Errorf("no spread: %+v", c)
	}
	if lo, hi := c.Interval(0.001); lo != c.Ratio || hi != c.Ratio {
		t.Errorf("no spread: %v to %v", lo, hi)
	}
	if lo, hi := c.Interval(0.0005); !math.IsNaN(lo) || !math.IsNaN(hi) {
		t.Errorf("no spread, too small an error: %v to %v", lo, hi)
	}
	for n := range RankBlocks + 1 {
		if c := CompareRanks(slow[:n], true, nil); c.N != n || math.IsNaN(c.Lo) != (n < FewBlocks) || math.IsNaN(c.P) != (n < 2) || math.IsNaN(c.Ratio) != (n < 1) {
			t.Errorf("%d blocks: %+v", n, c)
		}
	}
}

// Interval leaves 1 out where the verdict has a change, and advice about more
// blocks comes true.
func TestRanksMore(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	rule := Rule{Alpha: 0.001}
	d := make([]float64, 400)
	for i := range d {
		d[i] = 0.03 + 0.05*r.NormFloat64()
	}
	more, beside := 0, 0
	for _, n := range BenchLooks {
		c := CompareRanks(d[:n], true, []int{n})
		lo, hi := c.Interval(rule.Alpha)
		if changed := c.Verdict(rule) == Worse; changed != (lo > 1 || hi < 1) {
			t.Errorf("%d blocks: %v to %v, %s", n, lo, hi, c.Verdict(rule))
		}
		if n == 14 {
			more, beside = c.More(rule), c.MoreBeside(1, rule.Alpha)
		}
	}
	if c := CompareRanks(d[:14+2*more], true, []int{14 + 2*more}); more < 1 || more > 100 || c.Verdict(rule) != Worse {
		t.Errorf("%d more blocks: %s", more, c.Verdict(rule))
	}
	if more != beside {
		t.Errorf("%d more blocks for a change, %d for 1 to be out of the interval", more, beside)
	}
	eight := CompareRanks(d[:14], true, BenchLooks)
	if all := eight.More(rule); all <= more {
		t.Errorf("%d more blocks with eight looks, %d with one", all, more)
	}
	if lo, hi := eight.Interval(0.05); lo >= eight.Lo || hi <= eight.Hi {
		t.Errorf("%v to %v with eight looks, %v to %v with one", lo, hi, eight.Lo, eight.Hi)
	}
	if more := CompareRanks(repeat(0.5, 10), true, BenchLooks).More(rule); more != 4 {
		t.Errorf("no spread in 10: %d more blocks", more)
	}
}

func BenchmarkCompareRanks(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 3))
	for _, n := range []int{14, 88, 200, 1000} {
		for _, ties := range []bool{false, true} {
			d := make([]float64, n)
			for i := range d {
				if d[i] = 0.02 * r.NormFloat64(); ties {
					d[i] = math.Round(200*d[i]) / 200
				}
			}
			b.Run(fmt.Sprintf("blocks=%d/ties=%v", n, ties), func(b *testing.B) {
				for b.Loop() {
					CompareRanks(d, true, BenchLooks)
				}
			})
		}
	}
}
