package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
)

// levels is noise with a level for each value.
func levels(r *rand.Rand, f noise, n int, level func(i int) float64) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = f(r) + level(i)
	}
	return xs
}

func flat(int) float64 { return 0 }

func stepAt(at int, height float64) func(int) float64 {
	return func(i int) float64 {
		if i < at {
			return 0
		}
		return height
	}
}

// rounded is normal noise of a coarse clock: many values are equal.
func rounded(r *rand.Rand) float64 { return math.Round(r.NormFloat64()) }

func skewed(r *rand.Rand) float64 { return math.Exp(r.NormFloat64()) }

// share is the part of series for which it holds.
func share(t *testing.T, series int, holds func(r *rand.Rand) bool) float64 {
	t.Helper()
	var n atomic.Int64
	t.Run("", func(t *testing.T) {
		const parts = 4
		for part := range parts {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for i := range series / parts {
					if holds(rand.New(rand.NewPCG(uint64(part), uint64(i)))) {
						n.Add(1)
					}
				}
			})
		}
	})
	return float64(n.Load()) / float64(series)
}

// Series without a change have one found in no more than ChangeAlpha, whatever
// their noise.
func TestChangePointsFalseAlarms(t *testing.T) {
	for name, f := range map[string]noise{"normal": normal, "student3": student3, "rounded": rounded, "skewed": skewed} {
		for n, series := range map[int]int{5: 100, 10: 1000, 30: often(300, 1000), 100: often(60, 200)} {
			got := share(t, series, func(r *rand.Rand) bool { return len(ChangePoints(levels(r, f, n, flat))) > 0 })
			// Three standard deviations of such a simulation above it.
			if most := min(0.05, ChangeAlpha+3*math.Sqrt(ChangeAlpha/float64(series))); got > most {
				t.Errorf("%s, %d values: false alarms in %.1f %% of series, want at most %.1f", name, n, 100*got, 100*most)
			}
			t.Logf("%s, %d values: %.2f %% of %d series", name, n, 100*got, series)
		}
	}
}

// A shift of three standard deviations is found where it is, and nothing beside it.
func TestChangePointsPower(t *testing.T) {
	for _, x := range []struct {
		n, at         int
		f             noise
		sd            float64 // of the noise
		found, placed float64 // least shares of all series: one is found, it is at most 1 off and alone
	}{
		{30, 15, normal, 1, 0.99, 0.90},
		{30, 15, student3, math.Sqrt(3), 0.99, 0.90},
		{12, 6, normal, 1, 0.75, 0.75},
		{30, 24, normal, 1, 0.90, 0.85},
		{200, 190, normal, 1, 0.95, 0.85},
	} {
		var placed atomic.Int64
		series := often(60, 200)
		found := share(t, series, func(r *rand.Rand) bool {
			cs := ChangePoints(levels(r, x.f, x.n, stepAt(x.at, 3*x.sd)))
			if len(cs) == 1 && abs(cs[0].At-x.at) <= 1 {
				placed.Add(1)
			}
			return len(cs) > 0
		})
		alone := float64(placed.Load()) / float64(series)
		t.Logf("3 sd at %d of %d: found %.1f %%, alone and within 1 %.1f %%", x.at, x.n, 100*found, 100*alone)
		if found < x.found || alone < x.placed {
			t.Errorf("3 sd at %d of %d: found in %.1f %%, alone and within 1 in %.1f %%", x.at, x.n, 100*found, 100*alone)
		}
	}
}

// What went up and came back is two changes.
func TestChangePointsTakenBack(t *testing.T) {
	got := share(t, often(60, 200), func(r *rand.Rand) bool {
		cs := ChangePoints(levels(r, normal, 60, func(i int) float64 {
			if i >= 25 && i < 35 {
				return 4
			}
			return 0
		}))
		return len(cs) == 2 && abs(cs[0].At-25) <= 1 && abs(cs[1].At-35) <= 1
	})
	if t.Logf("both ends of a hill found: %.1f %%", 100*got); got < 0.9 {
		t.Errorf("both ends of a hill are found in %.1f %% of series", 100*got)
	}
}

func abs(i int) int { return max(i, -i) }

func TestChangePointsEdges(t *testing.T) {
	nan := math.NaN()
	xs := []float64{1, 1.1, nan, 0.9, 1, 1.2, math.Inf(1), 5, 5.1, 4.9, 5.2, 5.05, 4.95}
	cs := ChangePoints(xs)
	if len(cs) != 1 || cs[0].At != 7 || cs[0].Before != 1 || math.Abs(cs[0].After-5.025) > 1e-9 || cs[0].P > ChangeAlpha {
		t.Errorf("got %+v", cs)
	}
	if again := ChangePoints(xs); !slices.Equal(cs, again) {
		t.Errorf("the same values gave %+v, then %+v", cs, again)
	}
	for _, none := range [][]float64{nil, {1}, {nan, nan}, slices.Repeat([]float64{7}, 50), {0, 0, 0, 0, 9, 9, 9, 9}} {
		if cs := ChangePoints(none); len(cs) > 0 {
			t.Errorf("%v: %+v", none, cs)
		}
	}
	if cs := ChangePoints([]float64{0, 0.1, 0.2, 0.3, 0.15, 9, 9.1, 9.2, 9.3, 9.4}); len(cs) != 1 || cs[0].At != 5 {
		t.Errorf("ten values: %+v", cs)
	}
}

// The demonstration series of Apache Otava (tests/resources/sample.csv) has a change of -12.9 % in its second metric, before the seventh of ten
// values. Otava tells it at p 0.05; ranks of ten values have p 0.027 there, and one more value makes it 0.02.
func TestChangePointsOtava(t *testing.T) {
	steady := []float64{154023, 138455, 143112, 149190, 132098, 151344, 155145, 148889, 149466, 148209}
	fell := []float64{10.43, 10.23, 10.29, 10.91, 10.34, 10.69, 9.23, 9.11, 9.13, 9.03}
	if found := ChangePoints(steady); len(found) != 0 {
		t.Errorf("metric1: %+v", found)
	}
	if found := ChangePoints(append(fell, 9.05)); len(found) != 1 || found[0].At != 6 {
		t.Errorf("metric2: %+v", found)
	}
}
