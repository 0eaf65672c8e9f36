package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

type gen struct {
	name string
	f    func(r *rand.Rand, y []float64) // adds to y
}

func ar(phi float64, f noise) func(r *rand.Rand, y []float64) {
	return func(r *rand.Rand, y []float64) {
		x := f(r) / math.Sqrt(1-phi*phi)
		for i := range y {
			y[i] += x
			x = phi*x + f(r)
		}
	}
}
func walk(r *rand.Rand, y []float64) {
	x := 0.0
	for i := range y {
		x += r.NormFloat64()
		y[i] += x
	}
}
func times(n int) []float64 {
	at := make([]float64, n)
	for i := range at {
		at[i] = float64(i)
	}
	return at
}

func TestExplore(t *testing.T) {
	N := 20000
	if s := os.Getenv("EN"); s != "" {
		N, _ = strconv.Atoi(s)
	}
	gens := []gen{{"iid", ar(0, normal)}, {"t3", ar(0, student3)}, {"ar.5", ar(.5, normal)}, {"ar.8", ar(.8, normal)}, {"ar.9", ar(.9, normal)}, {"walk", walk}}
	for _, n := range []int{8, 20, 30, 60, 300, 5000} {
		at := times(n)
		for _, g := range gens {
			R := N
			if n == 5000 {
				R = N / 20
			}
			r := rand.New(rand.NewPCG(1, uint64(n)))
			fa, cover, found := 0, 0, 0
			var dsum, ssum, gsum float64
			prev := math.NaN()
			for range R {
				y := make([]float64, n)
				g.f(r, y)
				x := TrendOf(at, y, TrendRule{})
				if x.Shape == Growing {
					fa++
				}
				if x.Lo <= 0 && x.Hi >= 0 {
					cover++
				}
				l := lineOf(seriesOf(at, y).bins(finest))
				j := judge(seriesOf(at, y), l, TrendRule{})
				dsum += math.Log(x.Detectable * float64(n-1))
				ssum += math.Log(j.steps * float64(n-1))
				gsum += math.Log(j.guard * float64(n-1))
				if !math.IsNaN(prev) {
					for i := range y {
						y[i] += prev * at[i]
					}
					if TrendOf(at, y, TrendRule{}).Shape == Growing {
						found++
					}
				}
				prev = x.Detectable
			}
			f := float64(R)
			fmt.Printf("%5d %-5s FA %.5f cover %.3f power %.4f  D*T %.3g walk %.3g guard %.3g\n", n, g.name, float64(fa)/f, float64(cover)/f, float64(found)/(f-1), math.Exp(dsum/f), math.Exp(ssum/f), math.Exp(gsum/f))
		}
	}
}
