package plant

import (
	"math"
	"reflect"
	"runtime"
	"testing"
	"time"
)

func TestTable(t *testing.T) {
	const table = "aa 0 0 0 0 0 0\nbb 10 20 30 40 0.02 0.5\n\ncc 1 2 3 4 0\ndd x 0 0 0 0 0\nee 0 0 0 0 y 0\nff -1 0 0 0 0 0\n"
	for token, want := range map[string]*dynoPlantAmounts{
		"aa": {},
		"bb": {spins: 10, retain: 20, hold: 30, delay: 40, share: 0.02, burn: 0.5},
		"cc": nil, "dd": nil, "ee": nil, "ff": nil, "gg": nil, "a": nil,
	} {
		if got := dynoPlantRead(table, token); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", token, got, want)
		}
	}
}

// The rounds are those of the published generator, so none is left out.
func TestSpin(t *testing.T) {
	x := uint64(88172645463325252)
	for n := range uint64(1000) {
		if got := dynoPlantSpin(n); got != x {
			t.Fatalf("%d rounds: %d, want %d", n, got, x)
		}
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
}

func TestRetain(t *testing.T) {
	defer dynoPlantKept.Store(nil)
	a := dynoPlantAmounts{retain: 10_000}
	for range 7 {
		a.request()
	}
	nodes, bytes, touched := 0, 0, 0
	for n := dynoPlantKept.Load(); n != nil; n = n.next {
		nodes++
		bytes += len(n.data)
		for _, b := range n.data {
			touched += int(b)
		}
	}
	if nodes != 7 || bytes != 70_000 || touched != 7*3 {
		t.Errorf("%d nodes, %d bytes, %d pages touched; want 7, 70000 and 21", nodes, bytes, touched)
	}
}

// A request holds the lock for as long as it is told to, and a delay holds none.
func TestHoldAndDelay(t *testing.T) {
	const long = 2 * time.Millisecond
	// held reports whether somebody else had the lock while a request lasted.
	held := func(a dynoPlantAmounts) (seen bool) {
		done := make(chan time.Duration)
		go func() {
			began := time.Now()
			a.request()
			done <- time.Since(began)
		}()
		for {
			select {
			case took := <-done:
				if took < long {
					t.Errorf("%+v: over after %v", a, took)
				}
				return seen
			default:
			}
			if dynoPlantLock.TryLock() {
				dynoPlantLock.Unlock()
			} else {
				seen = true
			}
			runtime.Gosched() // a lock that is taken again and again leaves nothing to others
		}
	}
	seen := false
	for range 1000 { // this goroutine may not get to look
		if seen = held(dynoPlantAmounts{hold: long}); seen {
			break
		}
	}
	if !seen {
		t.Error("the lock is not held")
	}
	if held(dynoPlantAmounts{delay: long, share: 1}) {
		t.Error("a delay holds the lock")
	}
	if !dynoPlantLock.TryLock() {
		t.Error("the lock is held after all requests")
	}
}

func TestDraw(t *testing.T) {
	const n = 1_000_000
	for _, share := range []float64{0, 0.001, 0.02, 0.5, 1} {
		hits := 0
		for i := range uint64(n) {
			if dynoPlantDraw(i+1) < share {
				hits++
			}
		}
		if sd := math.Sqrt(n * share * (1 - share)); math.Abs(float64(hits)-n*share) > 4*sd {
			t.Errorf("a share of %v: %d of %d", share, hits, n)
		}
	}
}
