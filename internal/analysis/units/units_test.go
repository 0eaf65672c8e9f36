package units

import "testing"

func TestBetter(t *testing.T) {
	for unit, want := range map[string]int{
		"sec/op": -1, "B/op": -1, "allocs/op": -1, "B/s": 1, "MB/s": 1, "req/s": 1, "rows/s": 1, "p99-sec": -1, "p99-ns": -1,
		"rows/sec": 1, "errors/s": 0, "allocs/s": 0, "misses/s": 0, "dropped-rows/s": 0, "alloc-B/s": 0, "gc-sec/s": 0, "/s": 0,
		"sec/GC": -1, "ns/row": -1, "x-bytes/op": -1, "hits/op": 0, "ratio": 0, "": 0,
	} {
		if got := Better(unit); got != want {
			t.Errorf("%q: %d, want %d", unit, got, want)
		}
	}
}
