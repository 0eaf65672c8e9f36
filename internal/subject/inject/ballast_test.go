package main

import (
	"runtime"
	"testing"
)

// The ballast is live for collections: so many bytes more, until it is let go.
func TestBallastIsLive(t *testing.T) {
	live := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := live()
	const want = 8 << 20
	dynoProbeLoad(want)
	if got := live() - before; got < want*95/100 || got > want*105/100 {
		t.Errorf("%d bytes more are live; want %d", got, want)
	}
	n := 0
	for s := dynoProbeBallast; s != nil; s = s.next {
		n++
	}
	if n != want/64 {
		t.Errorf("%d objects, want %d", n, want/64)
	}
	dynoProbeBallast = nil
	if got := live() - before; got > want/10 {
		t.Errorf("%d bytes are still live", got)
	}
}
