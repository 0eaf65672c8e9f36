package stats

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// someBlocks are of a setting about so many per cent above the baseline, and of one alike.
func someBlocks(n int, percent float64) [][]float64 {
	r := rand.New(rand.NewPCG(11, uint64(n)))
	blocks := make([][]float64, n)
	for i := range blocks {
		blocks[i] = []float64{100 + r.NormFloat64(), 100 + percent + r.NormFloat64(), 100 + r.NormFloat64()}
	}
	return blocks
}

func TestLooksP(t *testing.T) {
	blocks := someBlocks(50, 0.7)
	p := func(n int) float64 { return Compare(blocks[:n])[0].P }
	looks := []int{6, 10, 16}
	for n, reached := range map[int][]int{
		4: {4}, // in the place of the first
		6: {6}, 8: {6, 8}, 10: {6, 10}, 12: {6, 10, 12}, 16: {6, 10, 16},
		50: {6, 10, 16}, // no look is left
	} {
		want := 1.0
		for _, k := range reached {
			want = min(want, 3*p(k))
		}
		c := CompareLooks(blocks[:n], looks)[0]
		if c.Single() != want || c.Adjusted != want || c.P != p(n) {
			t.Errorf("%d blocks: p %v, for looks %v and %v, want %v and %v", n, c.P, c.Single(), c.Adjusted, p(n), want)
		}
	}
}

// A block of which nothing is known is a block: the run may have ended at it.
func TestLooksMissing(t *testing.T) {
	blocks := someBlocks(10, 2)
	blocks[2] = nil
	blocks[4][1] = nan
	c := CompareLooks(blocks, []int{6, 10})
	at6, at10 := Compare(blocks[:6]), Compare(blocks)
	if want := 2 * min(at6[0].P, at10[0].P); c[0].N != 8 || c[0].Single() != want {
		t.Errorf("%d blocks, p %v, want %v", c[0].N, c[0].Single(), want)
	}
	late := someBlocks(10, 2)
	for _, row := range late[:8] { // the setting came late
		row[1] = nan
	}
	if c := CompareLooks(late, []int{6, 10})[0]; c.Single() != min(1, 2*c.P) {
		t.Errorf("without a p-value at the first look: %+v", c)
	}
	if c := CompareLooks([][]float64{{1, nan}, {1, nan}, {2, nan}}, []int{2, 4})[0]; !math.IsNaN(c.Single()) || !math.IsNaN(c.Adjusted) {
		t.Errorf("without any: %+v", c)
	}
}

// Without looks nothing changes, and in a family what looks cost comes first.
func TestLooksFamily(t *testing.T) {
	blocks := someBlocks(12, 1)
	with, without := CompareLooks(blocks, nil), Compare(blocks)
	Adjust([]*Comparison{&with[0], &with[1]})
	Adjust([]*Comparison{&without[0], &without[1]})
	if !reflect.DeepEqual(with, without) {
		t.Errorf("without looks %+v, want %+v", with, without)
	}
	cs := CompareLooks(blocks, RunLooks)
	Adjust([]*Comparison{&cs[0], &cs[1]})
	if cs[0].Adjusted != min(1, 2*cs[0].Single()) || cs[1].Adjusted != min(1, max(cs[0].Adjusted, cs[1].Single())) {
		t.Errorf("a family of %v and %v is %v and %v", cs[0].Single(), cs[1].Single(), cs[0].Adjusted, cs[1].Adjusted)
	}
	if cs[0].Lo != without[0].Lo || cs[0].Hi != without[0].Hi {
		t.Error("the plain interval has looks")
	}
	ranked := CompareRanks(repeat(0.5, 14), true, BenchLooks)
	before := ranked.Adjusted
	if Adjust([]*Comparison{&ranked}); ranked.Adjusted != before {
		t.Errorf("alone in its family %v became %v", before, ranked.Adjusted)
	}
}

// Intervals and advice allow for the looks as the p-value does.
func TestLooksInterval(t *testing.T) {
	blocks := someBlocks(7, 1)
	one, five := Compare(blocks)[0], CompareLooks(blocks, RunLooks)[0]
	lo, hi := five.Interval(0.05)
	if l, h := one.Interval(0.01); lo != l || hi != h {
		t.Errorf("of five looks %v to %v, want %v to %v", lo, hi, l, h)
	}
	if a, b := one.More(Rule{Alpha: 0.01}), five.More(Rule{}); five.Verdict(Rule{}) != Unclear || a != b || b == 0 {
		t.Errorf("%d more blocks with five looks, %d at a fifth of the error", b, a)
	}
	if a, b := one.MoreBeside(1, 0.01), five.MoreBeside(1, 0.05); a != b || b == 0 {
		t.Errorf("1 is beside the interval after %d and %d more blocks", b, a)
	}
}

// A run that is extended has all its ends among its looks, and a share for those to come.
func TestMoreLooks(t *testing.T) {
	for _, c := range []struct {
		looks, ends []int
		blocks      int
		want        []int
	}{
		{nil, []int{10}, 14, []int{10, 14, 14, 14, 14}},
		{nil, []int{10, 14, 15, 16}, 30, []int{10, 14, 15, 16, 30}},
		{GateLooks, []int{17}, 21, []int{16, 17, 21, 21, 21, 21, 21, 21}},
		{RunLooks, []int{40}, 50, []int{6, 10, 16, 25, 40, 50, 50, 50, 50, 50}},
	} {
		got := MoreLooks(c.looks, c.ends, c.blocks, 4)
		if !slices.Equal(got, c.want) {
			t.Errorf("the looks are %v, want %v", got, c.want)
		}
		blocks := someBlocks(c.blocks, 1)
		least := 1.0
		for _, n := range got {
			least = min(least, Compare(blocks[:n])[0].P)
		}
		if p := CompareLooks(blocks, got)[0].Single(); p != min(1, least*float64(len(got))) {
			t.Errorf("p is %v, want %v for each of %d looks", p, least, len(got))
		}
	}
}

// Who stops to look must know when, and that the last is the most blocks there are.
func TestLooksFixed(t *testing.T) {
	for _, looks := range [][]int{RunLooks, GateLooks} {
		if !slices.IsSorted(looks) || looks[len(looks)-1] != 40 {
			t.Error("looks", looks)
		}
	}
	least := func(n int) float64 { return CompareRanks(repeat(0.5, n), true, GateLooks).Single() }
	if least(12) <= 0.001 || least(13) > 0.001 {
		t.Errorf("a gate's least p is %v in 12 blocks and %v in 13", least(12), least(13))
	}
}
