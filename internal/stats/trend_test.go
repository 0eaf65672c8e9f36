package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// readings are n, one a second, of f at the second with normal noise of sd.
func readings(n int, sd float64, f func(sec float64) float64) (at, value []float64) {
	r := rand.New(rand.NewPCG(8000, uint64(n)))
	at, value = make([]float64, n), make([]float64, n)
	for i := range at {
		at[i] = float64(i)
		value[i] = f(at[i]) + sd*r.NormFloat64()
	}
	return at, value
}

func TestTrendShapes(t *testing.T) {
	for _, x := range []struct {
		name   string
		n      int
		sd     float64
		f      func(sec float64) float64
		want   Shape
		slope  float64 // within a tenth
		shift  float64 // within a tenth
		at     float64 // within 10 s
		reason ReasonKind
	}{
		{"leak", 600, 1, func(s float64) float64 { return 100 + 0.1*s }, Growing, 0.1, 0, 0, ""},
		{"shrinking", 600, 1, func(s float64) float64 { return 100 - 0.1*s }, Falling, -0.1, 0, 0, ""},
		{"level", 600, 1, func(s float64) float64 { return 100 }, Level, 0, 0, 0, ""},
		{"step", 600, 1, func(s float64) float64 { return 30 * step(s, 400) }, Stepped, 0, 30, 400, ""},
		{"step down", 600, 1, func(s float64) float64 { return -30 * step(s, 400) }, Stepped, 0, -30, 400, ""},
		{"step at the end", 600, 1, func(s float64) float64 { return 30 * step(s, 570) }, Stepped, 0, 30, 570, ""},
		{"cache that fills", 600, 1, func(s float64) float64 { return min(s, 200) }, Flattening, 0, 200, 200, ""},
		{"saw", 600, 1, func(s float64) float64 { return math.Mod(s, 70) }, Sawtooth, 0, 69, 0, ""},
		{"leak below a saw", 600, 0.1, func(s float64) float64 { return 0.2*s + math.Mod(s, 70) }, Growing, 0.2, 0, 0, ""},
		{"leak below many teeth", 6000, 0.1, func(s float64) float64 { return 0.2*s + math.Mod(s, 7) }, Growing, 0.2, 0, 0, ""},
		{"tooth and a half", 600, 1, func(s float64) float64 { return math.Mod(s, 400) }, Untold, 0, 0, 0, FewFalls},
		{"tooth that fell at once", 600, 0.1, func(s float64) float64 { return math.Mod(s+597, 600) }, Untold, 0, 0, 0, JumpsBack},
		{"still flattening", 600, 1, func(s float64) float64 { return 300 * (1 - math.Exp(-s/300)) }, Untold, 0, 0, 0, LessAtEnd},
		{"slices that double", 600, 1, func(s float64) float64 { return 20 * math.Floor(s/20) }, Growing, 1, 0, 0, ""},
		{"goroutines", 600, 0, func(s float64) float64 { return math.Floor(12 + s/10) }, Growing, 0.1, 0, 0, ""},
		{"a goroutine more", 600, 0, func(s float64) float64 { return 12 + step(s, 300) }, Stepped, 0, 1, 300, ""},
		{"always 12", 600, 0, func(s float64) float64 { return 12 }, Level, 0, 0, 0, ""},
		{"too few", 7, 0, func(s float64) float64 { return s }, Untold, 0, 0, 0, FewReadings},
	} {
		t.Run(x.name, func(t *testing.T) {
			got := TrendOf(readings(x.n, x.sd, x.f))
			if got.Shape != x.want || got.Reason.Kind != x.reason {
				t.Errorf("%+v, want %v, %q", got, x.want, x.reason)
			}
			if x.slope != 0 && !(math.Abs(got.Slope/x.slope-1) < 0.1 && got.Lo <= got.Slope && got.Slope <= got.Hi) {
				t.Errorf("slope %v, %v to %v, want %v", got.Slope, got.Lo, got.Hi, x.slope)
			}
			if x.shift != 0 && !(math.Abs(got.Shift/x.shift-1) < 0.1 && math.Abs(got.At-x.at) <= 10) {
				t.Errorf("shift %v at %v, want %v at %v", got.Shift, got.At, x.shift, x.at)
			}
		})
	}
}

// Readings that are none do not count, and a slope does not depend on units.
func TestTrendReadings(t *testing.T) {
	at, value := readings(300, 1, func(s float64) float64 { return s })
	want := TrendOf(at, value)
	holed, valued := []float64{0, math.NaN(), 0}, []float64{math.NaN(), 1, math.Inf(1)}
	for i := range at {
		holed, valued = append(holed, at[i]), append(valued, 1e6*value[i])
	}
	got := TrendOf(holed, valued)
	if got.N != 300 || got.Shape != Growing || math.Abs(got.Slope/want.Slope/1e6-1) > 1e-9 || math.Abs(got.Detectable/want.Detectable/1e6-1) > 1e-9 {
		t.Errorf("%+v, want a million times %+v", got, want)
	}
	same := TrendOf(make([]float64, 300), value)
	if same.Shape != Untold || same.Reason.Kind == "" {
		t.Errorf("all at one time: %+v", same)
	}
}

func BenchmarkTrend(b *testing.B) {
	at, value := readings(100000, 1, func(s float64) float64 { return math.Mod(s, 9000) })
	for b.Loop() {
		TrendOf(at, value)
	}
}

// Whatever the readings, there is an answer.
func TestTrendOdd(t *testing.T) {
	r := rand.New(rand.NewPCG(9000, 1))
	odd := []float64{0, 1, -1, 1e300, -1e300, 1e-300, 3.5, math.Inf(1), math.NaN()}
	for i := range 2000 {
		n := r.IntN(100)
		at, value := make([]float64, n), make([]float64, n)
		sec := 0.0
		for i := range at {
			sec += odd[r.IntN(4)] * math.Exp(10*r.NormFloat64()) * float64(r.IntN(2))
			at[i], value[i] = math.Abs(sec), odd[r.IntN(len(odd))]
		}
		if i%2 == 0 {
			clear(at)
			for i := range at {
				at[i] = math.Exp(float64(i * r.IntN(3)))
			}
			slices.Sort(at)
		}
		if got := TrendOf(at, value); got.Shape == "" || (got.Shape == Untold) != (got.Reason.Kind != "") {
			t.Fatalf("%v, %v: %+v", at, value, got)
		}
	}
}
