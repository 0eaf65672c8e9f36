package schedule

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/dynolab/dyno"
)

func collect(s Times) (all []time.Duration) {
	for due, ok := s(); ok; due, ok = s() {
		all = append(all, due)
	}
	return all
}

func TestConstant(t *testing.T) {
	got := collect(Until(Constant(dyno.PerSecond(3)), time.Second))
	want := []time.Duration{0, 333333333, 666666666}
	if !slices.Equal(got, want) {
		t.Errorf("3/s for 1s: %v, want %v", got, want)
	}
	n := 0
	var last time.Duration
	s := First(Constant(dyno.PerSecond(7)), 7_000_001)
	for due, ok := s(); ok; due, ok = s() {
		n, last = n+1, due
	}
	if n != 7_000_001 || last != 1_000_000*time.Second {
		t.Errorf("after %d times the last is %v: rounding adds up", n, last)
	}
	if got := collect(First(Constant(dyno.PerSecond(1)), 0)); got != nil {
		t.Errorf("First 0: %v", got)
	}
}

func TestPoisson(t *testing.T) {
	const n, rate = 100_000, 250
	a := collect(First(Poisson(dyno.PerSecond(rate), 1, 0), n))
	if !slices.Equal(a, collect(First(Poisson(dyno.PerSecond(rate), 1, 0), n))) {
		t.Error("the same seed gives different schedules")
	}
	if slices.Equal(a, collect(First(Poisson(dyno.PerSecond(rate), 1, 1), n))) {
		t.Error("another stream gives the same schedule")
	}
	if !slices.IsSorted(a) {
		t.Error("times decrease")
	}
	// Exponential gaps: mean 1/rate, and the standard deviation equals the mean.
	var sum, squares float64
	for i := 1; i < n; i++ {
		gap := (a[i] - a[i-1]).Seconds() * rate
		sum, squares = sum+gap, squares+gap*gap
	}
	mean := sum / (n - 1)
	sd := math.Sqrt(squares/(n-1) - mean*mean)
	if math.Abs(mean-1) > 0.02 || math.Abs(sd-1) > 0.02 {
		t.Errorf("gaps have mean %.3f and deviation %.3f of 1/rate, want 1 and 1", mean, sd)
	}
}
