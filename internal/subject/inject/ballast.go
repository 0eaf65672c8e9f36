package main

// The fourth file that dyno adds to a service: see probe.go. With DYNO_BALLAST, a number of bytes, it makes
// the live heap so much larger, before main begins: objects of 64 bytes with two pointers, which a collection
// has to follow. dyno tune --headroom asks thereby what a service does whose data grow.

import (
	dynoProbeOS "os"
	dynoProbeRuntime "runtime"
	dynoProbeStrconv "strconv"
)

type dynoProbeStone struct {
	next, other *dynoProbeStone
	_           [48]byte
}

var dynoProbeBallast *dynoProbeStone // the root: all others are found from it

func init() {
	text := dynoProbeOS.Getenv("DYNO_BALLAST")
	if text == "" {
		return
	}
	dynoProbeOS.Unsetenv("DYNO_BALLAST") // it is not for children of this process
	n, err := dynoProbeStrconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		dynoProbeOS.Stderr.WriteString("dyno probe: bad DYNO_BALLAST " + dynoProbeStrconv.Quote(text) + " (want a number of bytes)\n")
		return
	}
	dynoProbeLoad(n)
	dynoProbeRuntime.GC() // so that the first cycles under load have the pace of the larger heap
}

func dynoProbeLoad(bytes int64) {
	for size := int64(64); bytes >= size; bytes -= size {
		s := &dynoProbeStone{next: dynoProbeBallast}
		if s.next != nil {
			s.other = s.next.next
		}
		dynoProbeBallast = s
	}
}
