package main

import (
	"context"
	"fmt"
	"testing"
)

// The study's source: 30 strings of 10 letters. Both benchmarks run with
//
//	go test -run ^$ -bench . -count 10
//
// and are for benchstat -col /variant.
const (
	benchStrings = 30
	benchLen     = 10
	benchWorkers = 10 // of each stage, as many as the study's machine had CPUs
)

// BenchmarkPipeline runs the pipeline to its end: all strings come out of it.
func BenchmarkPipeline(b *testing.B) {
	for _, name := range []string{"slow", "fast"} {
		b.Run("variant="+name, func(b *testing.B) {
			src, v := source(benchStrings, benchLen), variants[name]
			b.ReportAllocs()
			for i := 0; i < b.N; i++ {
				n := 0
				for range start(context.Background(), src, v, benchWorkers) {
					n++
				}
				if n != benchStrings {
					b.Fatalf("%d strings came out", n)
				}
			}
		})
	}
}

// BenchmarkStart is the study's own benchmark: it starts the pipeline and takes
// nothing out of it, so the time is that of starting goroutines, beside
// whatever those of earlier rounds do meanwhile. The study leaves them behind
// for good, 43 for each round; here they are ended after each batch, while the
// clock stands.
func BenchmarkStart(b *testing.B) {
	const batch = 200
	for _, name := range []string{"slow", "fast"} {
		b.Run("variant="+name, func(b *testing.B) {
			src, v := source(benchStrings, benchLen), variants[name]
			ends := make([]<-chan string, 0, batch)
			b.ReportAllocs()
			b.ResetTimer()
			for done := 0; done < b.N; {
				ctx, cancel := context.WithCancel(context.Background())
				for ends = ends[:0]; len(ends) < batch && done < b.N; done++ {
					ends = append(ends, start(ctx, src, v, benchWorkers))
				}
				b.StopTimer()
				cancel()
				for _, c := range ends {
					for range c {
					}
				}
				b.StartTimer()
			}
		})
	}
}

// BenchmarkWorkers makes workers and ends them again.
func BenchmarkWorkers(b *testing.B) {
	for _, kind := range []string{"goroutines", "threads"} {
		for _, n := range []int{100, 1000} {
			b.Run(fmt.Sprintf("kind=%s/n=%d", kind, n), func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; i < b.N; i++ {
					ctx, cancel := context.WithCancel(context.Background())
					wait := sleep(ctx, n, kind == "threads")
					cancel()
					wait()
				}
			})
		}
	}
}
