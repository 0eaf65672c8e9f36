package slow

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func byTime(rs []Request, all []served) {
	slices.SortFunc(rs, func(a, b Request) int { return int(a.Sent - b.Sent) })
	slices.SortFunc(all, func(a, b served) int { return int(a.woken - b.woken) })
}

// Requests that share connections are told apart by when their handlers began and ended, also those that waited
// together before they began, or before their answers left.
func TestHandlers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var rs []Request
	var all []served
	truth := map[int64]Request{} // by woken
	sent, began, stall := int64(0), int64(0), int64(0)
	for range 5000 {
		sent += rng.Int64N(1_000_000)
		took := 100_000 + int64(2e6*rng.ExpFloat64())
		if sent > stall+100e6 {
			stall = sent + 8e6 // none begins until then
		}
		began = max(sent+20_000+rng.Int64N(50_000), stall, began+1_000) // in the order of their frames
		q := Request{Client: rng.IntN(64), Sent: sent, Done: began + took + 20_000 + rng.Int64N(80_000)}
		s := served{woken: began, wrote: began + took - min(took, 50_000), done: began + took, handler: true}
		truth[s.woken] = q
		switch rng.IntN(1000) {
		case 0: // it failed
			all = append(all, s)
		case 1: // its handler is not in the trace
			rs = append(rs, q)
		default:
			rs, all = append(rs, q), append(all, s)
		}
	}
	byTime(rs, all)
	of := handlers(rs, all)
	known, wrong := 0, 0
	for i, n := range of {
		if n == none {
			continue
		}
		known++
		if truth[all[n].woken] != rs[i] {
			wrong++
		}
	}
	if known < len(rs)*99/100 || wrong > len(rs)/500 {
		t.Errorf("%d of %d requests are known, %d of them wrong", known, len(rs), wrong)
	}
}

// The requests of connections are found by time alone, also where many are under way at once.
func TestMatch(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var rs []Request
	var all []served
	truth := map[int64]int{} // client by woken
	for client := range 50 {
		at := rng.Int64N(1e7)
		for range 20 + rng.IntN(20) {
			took := 100_000 + rng.Int64N(5e6)
			rs = append(rs, Request{client, at, at, at + took})
			s := servedBy(int32(1000+client), at, at+30_000+rng.Int64N(30_000), at+took-40_000, at+took-30_000)
			truth[s.woken] = client
			all = append(all, s)
			at += took + rng.Int64N(3e7)
		}
	}
	byTime(rs, all)
	found := 0
	for i, n := range match(rs, all) {
		if n == none {
			continue
		}
		if found++; truth[all[n].woken] != rs[i].Client {
			t.Errorf("a request of client %d is held for one of client %d", rs[i].Client, truth[all[n].woken])
		}
	}
	if found < len(rs)*99/100 {
		t.Errorf("%d of %d requests found", found, len(rs))
	}
}

// A service that asks another one in its own process has requests within requests.
func TestMatchWithin(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var rs []Request
	var all []served
	at := int64(0)
	for range 200 {
		took := 1_000_000 + rng.Int64N(1e6)
		rs = append(rs, Request{0, at, at, at + took})
		all = append(all, servedBy(1, at, at+50_000, at+took-60_000, at+took-50_000), servedBy(2, at, at+150_000, at+took-160_000, at+took-150_000))
		at += took + 100_000
	}
	for i, n := range match(rs, all) {
		if n == none || all[n].goroutine != 1 {
			t.Fatalf("request %d is %d", i, n)
		}
	}
}

// Requests that nothing tells apart are left out.
func TestMatchAlike(t *testing.T) {
	rs := []Request{{0, 0, 0, 1e6}, {1, 0, 0, 1e6}}
	all := []served{servedBy(1, 0, 50_000, 8e5, 9e5), servedBy(2, 0, 50_000, 8e5, 9e5)}
	for _, n := range match(rs, all) {
		if n != none {
			t.Errorf("matched with %d", n)
		}
	}
}

// Clients that always wait for an answer contain nearly all that any connection does in a short time.
func TestMatchWaiting(t *testing.T) {
	const clients, each = 64, 500
	rng := rand.New(rand.NewPCG(7, 8))
	var rs []Request
	var all []served
	for client := range clients {
		at := rng.Int64N(1e7)
		for range each {
			took := 5_000_000 + rng.Int64N(1e7)
			begin := at + 50_000 + rng.Int64N(took-300_000)
			rs = append(rs, Request{client, at, at, at + took})
			all = append(all, servedBy(int32(1000+client), at, begin, begin+100_000, begin+150_000))
			at += took + 10_000
		}
	}
	byTime(rs, all)
	found := 0
	for i, n := range match(rs, all) {
		if n == none {
			continue
		}
		if found++; int(all[n].goroutine) != 1000+rs[i].Client {
			t.Fatalf("a request of client %d is held for one of goroutine %d", rs[i].Client, all[n].goroutine)
		}
	}
	if found < len(rs)*9/10 {
		t.Errorf("%d of %d requests found", found, len(rs))
	}
}
