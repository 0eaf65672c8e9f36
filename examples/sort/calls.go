package main

import (
	"bytes"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
)

// calls are the ways to ask the runtime how much memory is in use.
var calls = map[string]func(){
	"none":     func() {},
	"memstats": memStats,
	"heap":     func() { heapProfile(1) },
	"heap0":    func() { heapProfile(0) },
	"metrics":  readMetrics,
}

// memStats stops the world.
func memStats() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
}

// heapProfile writes the heap profile into a buffer and forgets it. With debug 1
// it is text, which ends with the figures of ReadMemStats, so that the world is
// stopped for it, too; with 0 it is a compressed protocol buffer.
func heapProfile(debug int) {
	var b bytes.Buffer
	if err := pprof.Lookup("heap").WriteTo(&b, debug); err != nil {
		panic(err) // a buffer takes everything
	}
}

// readMetrics reads what replaces the fields of MemStats that one would log. It
// does not stop the world.
func readMetrics() {
	samples := [...]metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/gc/heap/allocs:bytes"},
		{Name: "/gc/heap/goal:bytes"},
		{Name: "/gc/cycles/total:gc-cycles"},
	}
	metrics.Read(samples[:])
}
