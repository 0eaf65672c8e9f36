package tail

import (
	"encoding/json"
	"errors"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/stats"
)

const window = 10 * time.Second

// everySo are collections of a length, evenly spaced, but for a jitter.
func everySo(rng *rand.Rand, apart, length time.Duration) (cs []dyno.Collection) {
	for at := apart / 2; at+length < window; at += apart {
		from := at + time.Duration(rng.Int64N(int64(apart/4)))
		cs = append(cs, dyno.Collection{N: len(cs) + 1, Start: from, End: from + length, SweepTerm: 20e3, MarkTerm: 30e3})
	}
	return cs
}

// synthetic are requests that take 1 ms, but where slow says more.
func synthetic(rng *rand.Rand, n int, slow func(due time.Duration) time.Duration) (rs []dyno.Request) {
	for range n {
		due := time.Duration(rng.Int64N(int64(window - 200*time.Millisecond)))
		took := time.Millisecond + time.Duration(rng.Int64N(1e5)) + slow(due)
		rs = append(rs, dyno.Request{Due: due, Sent: due, Done: due + took})
	}
	return append(rs, dyno.Request{Due: 0, Done: window, Failed: true}) // counts for nothing but the window
}

// trialTail is a tail where requests are slow for the collections, or as often
// for reasons of their own.
func trialTail(t *testing.T, seed uint64, because bool) *Trial {
	rng := rand.New(rand.NewPCG(seed, 1))
	cs := everySo(rng, 100*time.Millisecond, 10*time.Millisecond)
	rs := synthetic(rng, 20_000, func(due time.Duration) time.Duration {
		hit := rng.IntN(10) == 0
		if because {
			for _, c := range cs {
				if due >= c.Start && due < c.End {
					return c.End - due + 5*time.Millisecond
				}
			}
			return 0
		}
		if hit {
			return 40 * time.Millisecond // long enough to meet a collection half of the time
		}
		return 0
	})
	tail, err := New(batches(rs, nil), cs)
	if err != nil {
		t.Fatal(err)
	}
	return tail
}

// Requests that are slow for collections are told from those that meet as many by
// their length alone.
func TestTailKnownTruth(t *testing.T) {
	for _, because := range []bool{true, false} {
		of := map[int]*Trial{}
		var rs []*dyno.Result
		for n := 1; n <= 6; n++ {
			of[n] = trialTail(t, uint64(n), because)
			rs = append(rs, &dyno.Result{Trial: dyno.Trial{N: n, Block: n}})
		}
		s := Of(rs, of)
		want := NotInTail
		if because {
			want = InTail
		}
		if s.Verdict != want {
			t.Errorf("because %v: verdict %q of %+v", because, s.Verdict, s)
		}
		if because && (s.SlowMet.Mean < 0.99 || s.SlowChance.Mean > 0.35 || s.P99Clear.Mean > 0.0012 || s.P99.Mean < 0.012 || s.P99Chance.Mean < 0.010) {
			t.Errorf("%+v", s)
		}
		if !because && (s.SlowMet.Mean < 0.4 || math.Abs(s.Excess.Mean) > 0.03 || math.Abs(s.P99Clear.Mean-s.P99Chance.Mean) > 1e-4) {
			t.Errorf("%+v", s)
		}
		if s.Requests != 120_000 || math.Abs(s.Stopped.Mean-100*50e-6/10) > 2e-5 || s.Met.Mean < 0.1 || s.Met.Mean > 0.2 {
			t.Errorf("%+v", s)
		}
	}
}

// The chance of meeting a span is that over all shifts of the spans.
func TestChanceIsTheMeanOverShifts(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const window = 1000
	var list []span
	for range 8 {
		from := time.Duration(rng.IntN(1000))
		list = append(list, span{from, from + time.Duration(rng.IntN(40))})
	}
	s := newSpans(append([]span{{-20, 5}, {990, 1200}}, list...), window)
	for _, took := range []time.Duration{0, 1, 7, 30, 100, 400} {
		met, shifts := 0, 0
		for shift := 0.5; shift < window; shift++ { // between whole times
			for _, x := range s.list {
				// Around the end, something is at three places.
				a, b, hit := float64(x.From)+shift, float64(x.To)+shift, false
				for _, at := range []float64{300 - window, 300, 300 + window, 300 + 2*window} {
					hit = hit || a <= at+float64(took) && b >= at
				}
				if hit {
					met++
					break
				}
			}
			shifts++
		}
		got, want := s.chance(took), float64(met)/float64(shifts)
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("%d: chance %v, over all shifts %v", took, got, want)
		}
	}
}

func TestTailEdges(t *testing.T) {
	few := synthetic(rand.New(rand.NewPCG(1, 1)), 99, func(time.Duration) time.Duration { return 0 })
	if tail, err := New(batches(few, nil), nil); tail != nil || err != nil {
		t.Errorf("of 99 requests: %+v, %v", tail, err)
	}
	if _, err := New(batches(few, errors.New("torn")), nil); err == nil {
		t.Error("no error")
	}
	many := synthetic(rand.New(rand.NewPCG(1, 1)), 1000, func(time.Duration) time.Duration { return 0 })
	none, _ := New(batches(many, nil), nil)
	if none.Met != 0 || none.SlowMet != 0 || none.SlowChance != 0 || none.P99Clear != none.P99 || none.P99Chance != none.P99 || none.Slow > 10 || none.Slow < 5 {
		t.Errorf("without collections: %+v", none)
	}
	always, _ := New(batches(many, nil), []dyno.Collection{{Start: -time.Second, End: time.Hour}})
	if always.Met != 1 || always.SlowMet != 1 || always.SlowChance != 1 || !math.IsNaN(always.P99Clear) || !math.IsNaN(always.P99Chance) {
		t.Errorf("always collecting: %+v", always)
	}
}

// Trials that do not count are left out; of one trial there is no verdict.
func TestTailsOfASetting(t *testing.T) {
	var rs, base100, base200 []*dyno.Result
	for i := range 12 {
		r := &dyno.Result{Trial: dyno.Trial{N: i + 1, Block: i/2 + 1, Setting: dyno.Setting{{Factor: "GOGC", Value: []string{"200", "100"}[i%2]}}}}
		rs = append(rs, r)
		if i%2 == 1 {
			base100 = append(base100, r)
		} else {
			base200 = append(base200, r)
		}
	}
	of := map[int]*Trial{}
	for _, r := range rs {
		of[r.Trial.N] = &Trial{Requests: 1000, Slow: 10, SlowMet: 0.75, SlowChance: 0.2 + 0.01*float64(r.Trial.Block)}
		if r.Trial.Setting.String() == "GOGC=200" {
			of[r.Trial.N].SlowMet = 0.2 + 0.15*float64(r.Trial.Block)
		}
	}
	base100 = base100[1:]
	rs[3].Sent.Saturated = "busy"
	delete(of, 6)
	base, other := Of(base100, of), Of(base200, of)
	if base.Trials != 3 || base.Verdict != InTail || base.Requests != 3000 || math.Abs(base.Excess.Mean-0.5) > 1e-9 || base.SlowMet != interval(0.75, 0.75, 0.75) {
		t.Errorf("%+v", base)
	}
	if other.Trials != 6 || other.SlowMet.Hi > 1 || other.Verdict != InTail {
		t.Errorf("%+v", other)
	}
	data, err := json.Marshal(base)
	if want := `"slow-met-frac":{"mean":0.75,"lo":0.75,"hi":0.75}`; err != nil || !strings.Contains(string(data), want) {
		t.Errorf("no %s in %s, %v", want, data, err)
	}
	one := Of(base200, map[int]*Trial{base200[0].Trial.N: {Requests: 1000, Slow: 10, SlowMet: 0.75, SlowChance: 0.22}})
	if one.Trials != 1 || one.Verdict != "" || one.SlowMet.Mean != 0.75 {
		t.Errorf("one trial: %+v", one)
	}
	if Of(base100, nil) != nil {
		t.Error("a tail of nothing")
	}
	for want, e := range map[Verdict]stats.Mean{NotInTail: interval(0.01, -0.02, 0.04), Unclear: interval(0.2, -0.1, 0.5), InTail: interval(0.06, 0.01, 0.11), "": interval(0.5, math.NaN(), math.NaN())} {
		if got := verdictOf(e, 0.2, 1000); got != want {
			t.Errorf("%+v: %q, want %q", e, got, want)
		}
	}
	if got := verdictOf(interval(0, 0, 0), 0.99, 1000); got != Unclear {
		t.Errorf("where all meet one anyway: %q", got)
	}
	// A slow request in each of a few trials, and luck.
	if got := verdictOf(interval(0.6, 0.5, 0.7), 0.4, 3); got != Unclear {
		t.Errorf("all of three: %q", got)
	}
	if got := verdictOf(interval(-0.02, -0.03, -0.01), 0.02, 18); got != Unclear {
		t.Errorf("none of 18: %q", got)
	}
	if got := verdictOf(interval(0, 0, 0), 0, 2); got != NotInTail {
		t.Errorf("without collections: %q", got)
	}
}

func BenchmarkTail(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	cs := everySo(rng, 2*time.Millisecond, time.Millisecond)
	rs := synthetic(rng, 1_000_000, func(time.Duration) time.Duration { return time.Duration(rng.ExpFloat64() * 1e6) })
	for b.Loop() {
		if _, err := New(batches(rs, nil), cs); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e6, "ns/request")
}

func interval(m, lo, hi float64) stats.Mean { return stats.Mean{Mean: m, Lo: lo, Hi: hi} }

// batches are requests as a file of them is read.
func batches(rs []dyno.Request, err error) iter.Seq2[dyno.Times, error] {
	return func(yield func(dyno.Times, error) bool) {
		row := int64(0)
		for part := range slices.Chunk(rs, 3) {
			t := dyno.Times{Row: row}
			for _, r := range part {
				t.Due, t.Done = append(t.Due, int64(r.Due)), append(t.Done, int64(r.Done))
				t.Failed = append(t.Failed, r.Failed)
			}
			if !slices.Contains(t.Failed, true) {
				t.Failed = nil
			}
			row += int64(len(part))
			if !yield(t, nil) {
				return
			}
		}
		if err != nil {
			yield(dyno.Times{}, err)
		}
	}
}

// Split parts requests at a collection's ends, which count as met; failed ones are in neither part.
func TestSplit(t *testing.T) {
	ms := int64(time.Millisecond)
	times := func(yield func(dyno.Times, error) bool) {
		yield(dyno.Times{Due: []int64{0, 5 * ms, 9 * ms, 11 * ms, 21 * ms, 12 * ms}, Done: []int64{4 * ms, 10 * ms, 25 * ms, 12 * ms, 22 * ms, 13 * ms}, Failed: []bool{false, false, false, false, false, true}}, nil)
	}
	met, clear, err := Split(times, []dyno.Collection{{Start: 10 * time.Millisecond, End: 20 * time.Millisecond}})
	if err != nil || met.Count() != 3 || clear.Count() != 2 {
		t.Fatalf("%d met, %d did not, %v", met.Count(), clear.Count(), err)
	}
	if met.Max() != 16*time.Millisecond || clear.Max() != 4*time.Millisecond {
		t.Errorf("the longest that met took %v, of the others %v", met.Max(), clear.Max())
	}
}
