package x_test

import "testing"

func BenchmarkOuter(b *testing.B) {
	for i := 0; i < b.N; i++ {
	}
}
