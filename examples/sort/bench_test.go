package main

import (
	"fmt"
	"runtime"
	"testing"
)

// BenchmarkCall is the study's benchmark of the calls alone, and two calls
// more, over a heap that is nearly empty and over large ones.
//
//	go test -run ^$ -bench Call -count 10
func BenchmarkCall(b *testing.B) {
	for _, mib := range []int{0, 64, 512} {
		heap := fill(mib)
		for _, name := range []string{"memstats", "heap", "heap0", "metrics"} {
			b.Run(fmt.Sprintf("call=%s/live=%dMiB", name, mib), func(b *testing.B) {
				call := calls[name]
				b.ReportAllocs()
				for i := 0; i < b.N; i++ {
					call()
				}
			})
		}
		runtime.KeepAlive(heap)
	}
}

// fill allocates so much in objects of 64 bytes.
func fill(mib int) []*[64]byte {
	heap := make([]*[64]byte, mib<<20/64)
	for i := range heap {
		heap[i] = new([64]byte)
	}
	runtime.GC()
	return heap
}

// BenchmarkWork is what a request does beside the call.
func BenchmarkWork(b *testing.B) {
	for _, size := range []int{2, 1024, 10240, 102400, 204800, 409600} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; i < b.N; i++ {
				if _, err := sortedNumbers(size); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
