package hist

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestBinary(t *testing.T) {
	h, rng := New(), rand.New(rand.NewPCG(1, 1))
	for range 1500 {
		h.Add(time.Duration(rng.ExpFloat64() * 1e6))
	}
	data, err := h.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 4000 {
		t.Errorf("1,500 requests take %d bytes", len(data))
	}
	var g Histogram
	if err := g.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	same := func(a, b *Histogram) {
		t.Helper()
		for _, q := range []float64{0, 0.5, 0.99, 1} {
			if a.Quantile(q) != b.Quantile(q) {
				t.Errorf("quantile %v: %v, want %v", q, b.Quantile(q), a.Quantile(q))
			}
		}
		if a.Mean() != b.Mean() || a.Stddev() != b.Stddev() || a.Count() != b.Count() {
			t.Errorf("moments %v %v %v, want %v %v %v", b.Mean(), b.Stddev(), b.Count(), a.Mean(), a.Stddev(), a.Count())
		}
	}
	same(h, &g)
	g.Add(time.Second) // it is whole
	if !g.Whole() {
		t.Error("counts are missing")
	}
	empty := New()
	data, _ = empty.MarshalBinary()
	if err := g.UnmarshalBinary(data); err != nil || g.Count() != 0 {
		t.Errorf("an empty one: %d, %v", g.Count(), err)
	}
	same(empty, &g)
}

func FuzzBinary(f *testing.F) {
	h := New()
	h.Add(time.Millisecond)
	data, _ := h.MarshalBinary()
	f.Add(data)
	f.Add(data[:len(data)-1])
	f.Add([]byte{2, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		var h Histogram
		if h.UnmarshalBinary(data) == nil {
			h.Add(time.Millisecond)
			h.Quantile(0.5)
		}
	})
}
