package main

import (
	"net/http/httptest"
	"testing"
	"time"
)

func TestHeld(t *testing.T) {
	for at, want := range map[time.Duration]time.Duration{
		0:                       500 * time.Millisecond,
		100 * time.Millisecond:  400 * time.Millisecond,
		500 * time.Millisecond:  0,
		1999 * time.Millisecond: 0,
		2250 * time.Millisecond: 250 * time.Millisecond,
	} {
		if got := held(at); got != want {
			t.Errorf("held(%v) = %v, want %v", at, got, want)
		}
	}
}

// The share tells which percentiles are known.
func TestThreePercentAreLong(t *testing.T) {
	const of = 20_000
	long := 0
	for i := range uint64(of) {
		if isLong(i) {
			long++
		}
	}
	if share := float64(long) / of; share < 0.027 || share > 0.033 {
		t.Errorf("%.4f of the requests are long, want 0.03", share)
	}
}

func TestHandlers(t *testing.T) {
	t.Setenv("LIVE", "10")
	t.Setenv("ITERS", "2")
	for _, c := range []struct{ kind, neighbour string }{{"spin", ""}, {"tail", ""}, {"alloc", "none"}, {"alloc", "idle"}, {"spin", "cache"}} {
		h, err := handler(c.kind, c.neighbour)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 { // more than alloc keeps
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil)); w.Code != 200 || w.Body.Len() == 0 {
				t.Errorf("%v answers %d and %d bytes", c, w.Code, w.Body.Len())
			}
		}
	}
	if _, err := handler("none", ""); err == nil {
		t.Error("a kind that is not there is served")
	}
	t.Setenv("ITERS", "0")
	if _, err := handler("spin", ""); err == nil {
		t.Error("ITERS=0 is taken")
	}
}
