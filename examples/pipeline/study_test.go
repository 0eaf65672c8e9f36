//go:build study

package main

import (
	"context"
	"testing"
)

// The study's benchmark as it stands there, two names for what the study ran under
// one name, one after the other: nothing is taken out of the pipeline, and nothing
// ends it. Each iteration leaves 43 goroutines behind, some 200 KB, so it is built
// only with -tags=study:
//
//	dyno bench ./examples/pipeline --build=-tags=study --pair Pipeline1,Pipeline2

func BenchmarkPipeline1(b *testing.B) { benchmarkStudy(b, "slow") }
func BenchmarkPipeline2(b *testing.B) { benchmarkStudy(b, "fast") }

func benchmarkStudy(b *testing.B, variant string) {
	src, v := source(benchStrings, benchLen), variants[variant]
	for i := 0; i < b.N; i++ {
		start(context.Background(), src, v, benchWorkers)
	}
}
