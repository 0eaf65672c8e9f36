package chart

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func plain(x float64) string { return fmt.Sprintf("%.4g", x) }
func whole(x float64) string { return fmt.Sprintf("%.0f ms", x) } // many values, one label
func mib(x float64) string   { return fmt.Sprintf("%.4g MiB", x/(1<<20)) }
func fixed(x float64) string { return fmt.Sprintf("%.2f", x) }

// TestTicks: whatever the axis, ticks lie on it in order, say different things and
// do not run into each other.
func TestTicks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 20000 {
		lo := math.Pow(10, 24*rng.Float64()-12)
		hi := lo * (1 + math.Pow(10, 16*rng.Float64()-8))
		a := axis{lo: lo, hi: hi, start: 50, end: 50 + 600*rng.Float64()}
		format := []Format{plain, whole, mib, fixed}[n%4]
		kind := n / 4 % 4
		switch kind {
		case 1:
			a.lo, a.hi = -a.hi, a.hi*rng.Float64()
		case 2, 3:
			a.log = true
		}
		ts := a.ticks(format, a.across(13))
		if kind == 3 {
			ts = RatioTicks(a.lo, a.hi, a.across(13))
		}
		if !a.across(13)(ts) {
			t.Errorf("%+v: %v run into each other", a, ts)
		}
		labels := map[string]bool{}
		for i, k := range ts {
			if !(k.Value >= a.lo && k.Value <= a.hi) || i > 0 && k.Value <= ts[i-1].Value || labels[k.Label] ||
				strings.Contains(k.Label, "NaN") || strings.Contains(k.Label, "-0") && k.Value == 0 {
				t.Fatalf("%+v: tick %d of %v", a, i, ts)
			}
			labels[k.Label] = true
		}
	}
}

// TestTicksAreRound in the unit that is printed.
func TestTicksAreRound(t *testing.T) {
	for _, c := range []struct {
		axis axis
		f    Format
		want string
	}{
		{axis{lo: 32e6, hi: 51e6, end: 600}, mib, "32 MiB 34 MiB 36 MiB 38 MiB 40 MiB 42 MiB 44 MiB 46 MiB 48 MiB"},
		{axis{lo: 0, hi: 0.0171, end: 300}, plain, "0 0.005 0.01 0.015"},
		{axis{lo: -3, hi: 50, end: 300}, plain, "0 10 20 30 40 50"},
		{axis{lo: 4e-5, hi: 0.1, end: 200, log: true}, plain, "0.0001 0.001 0.01 0.1"},
		{axis{lo: 4e-5, hi: 0.021, end: 880, log: true}, plain, "5e-05 0.0001 0.0002 0.0005 0.001 0.002 0.005 0.01 0.02"},
		{axis{lo: 1.9, hi: 2.6, end: 300, log: true}, plain, "1.9 2 2.1 2.2 2.3 2.4 2.5 2.6"},
		{axis{lo: 9.99e14, hi: 1e15, end: 300}, plain, "9.99e+14 9.995e+14 1e+15"},
	} {
		if got := printed(c.axis.ticks(c.f, c.axis.across(13))); got != c.want {
			t.Errorf("%+v: got %s, want %s", c.axis, got, c.want)
		}
	}
	for _, c := range []struct {
		lo, hi, width float64
		want          string
	}{
		{0.97, 1.03, 500, "-3% -2% -1% 0 +1% +2% +3%"},
		{0.45, 3.6, 520, "-50% -30% 0 +50% ×2 ×3"},
		{0.098, 10.2, 340, "-90% -80% -50% 0 ×2 ×5 ×10"},
		{0.098, 10.2, 150, "-90% 0 ×10"},
		{0.8, 1.3, 400, "-20% -10% 0 +10% +20% +30%"},
	} {
		a := axis{lo: c.lo, hi: c.hi, log: true, end: c.width}
		if got := printed(RatioTicks(a.lo, a.hi, a.across(13))); got != c.want {
			t.Errorf("%v to %v on %v: got %s, want %s", c.lo, c.hi, c.width, got, c.want)
		}
	}
}

func printed(ts []Tick) string {
	var labels []string
	for _, k := range ts {
		labels = append(labels, k.Label)
	}
	return strings.Join(labels, " ")
}

func TestApart(t *testing.T) {
	ys := []float64{10, 11, 12, 95, 99}
	apart(ys, 10, 5, 100)
	for i, y := range ys {
		if y < 5 || y > 100 || i > 0 && y < ys[i-1]+10 {
			t.Fatalf("got %v", ys)
		}
	}
}

func TestCut(t *testing.T) {
	long := strings.Repeat("GOGC=100 ", 100000) + "variant=17"
	short := cut(long, 200, 13)
	if textWidth(short, 13) > 200 || !strings.HasPrefix(short, "GOGC=100") || !strings.HasSuffix(short, "17") || !strings.Contains(short, "…") {
		t.Errorf("got %q", short)
	}
	if got := cut("p99", 200, 13); got != "p99" {
		t.Errorf("got %q", got)
	}
	if got := cut("p99", 1, 13); got != "…" {
		t.Errorf("got %q", got)
	}
}
