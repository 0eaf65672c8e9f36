package plot

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

func bare(x float64) string { return fmt.Sprintf("%.3g", x) }

func TestScatter(t *testing.T) {
	got := strings.Join(Scatter([]Point{
		{10, 100, 'o', "50"}, {20, 10, 'o', "100"}, {40, 1, 'o', "200"}, {20, 10, '●', ""}, {math.NaN(), 3, 'x', ""}, {3, 0, 'x', ""},
	}, 40, 7, bare, bare), "\n")
	want := `
100 │o50
    │
 10 │                 ●100
    │
  1 │                               200o
    └───────────────────────────────────
     10    14.1      20     28.3      40`
	if "\n"+got != want {
		t.Errorf("got\n%s\nwant%s", got, want)
	}
	if Scatter([]Point{{1, 1, 'o', ""}, {0, 1, 'o', ""}}, 40, 7, bare, bare) != nil {
		t.Error("a picture of one point")
	}
}

// Whatever the points, a picture has the size that was asked for, and all signs that no other covers.
func TestScatterOdd(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		var ps []Point
		for range 2 + rng.IntN(30) {
			ps = append(ps, Point{math.Exp(20 * rng.NormFloat64()), math.Exp(rng.NormFloat64()), 'o', strings.Repeat("9", rng.IntN(12))})
		}
		height := 6 + rng.IntN(10)
		lines := Scatter(ps, 90, height, bare, bare)
		if len(lines) != height || !strings.ContainsRune(strings.Join(lines, ""), 'o') {
			t.Fatalf("%d lines, want %d: %v", len(lines), height, ps)
		}
		for _, l := range lines {
			if utf8.RuneCountInString(l) > 90 {
				t.Fatalf("a line of %d characters:\n%s", utf8.RuneCountInString(l), strings.Join(lines, "\n"))
			}
		}
	}
}
