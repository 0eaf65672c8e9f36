package main

import "testing"

func BenchmarkPrices(b *testing.B) {
	b.Run("few", func(b *testing.B) {
		for b.Loop() {
			Prices(1)
		}
	})
	b.Run("many", func(b *testing.B) {
		for b.Loop() {
			Prices(20)
		}
	})
}

func BenchmarkLines(b *testing.B) {
	b.Run("few", func(b *testing.B) {
		for b.Loop() {
			Lines(1)
		}
	})
	b.Run("many", func(b *testing.B) {
		for b.Loop() {
			Lines(20)
		}
	})
}
