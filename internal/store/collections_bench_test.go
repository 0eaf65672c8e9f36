package store

import (
	"bytes"
	"testing"

	"github.com/dynolab/dyno"
)

func BenchmarkReadCollections(b *testing.B) {
	const n = 100_000
	cs := make([]dyno.Collection, n)
	for i := range cs {
		cs[i] = dyno.Collection{N: i + 1000, Start: 123456789012, End: 123456999012, SweepTerm: 12345, MarkTerm: 23456, Assist: 12345678, Background: 1234567, Idle: 123, HeapStart: 4 << 20, HeapEnd: 5 << 20, Live: 3333333, Goal: 6 << 20, Uncertainty: 1000}
	}
	var text bytes.Buffer
	if err := writeCollections(&text, cs); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		got, err := readCollections(bytes.NewReader(text.Bytes()), n)
		if err != nil || len(got) != n || got[n-1] != cs[n-1] {
			b.Fatal(err, len(got))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/line")
}
