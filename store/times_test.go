package store_test

import (
	"math"
	"testing"
)

func BenchmarkTimes(b *testing.B) {
	const n = 2_000_000
	d := create(b)
	if err := d.WriteRequests(1, requests(n)); err != nil {
		b.Fatal(err)
	}
	rows := 0
	for b.Loop() {
		for t, err := range d.Times(1, 0, math.MaxInt64) {
			if err != nil {
				b.Fatal(err)
			}
			rows += len(t.Due)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rows), "ns/row")
}
