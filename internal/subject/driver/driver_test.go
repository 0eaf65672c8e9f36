package driver

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestBenchmarks(t *testing.T) {
	a, b := filepath.Join(t.TempDir(), "a_test.go"), filepath.Join(t.TempDir(), "b_test.go")
	for path, text := range map[string]string{a: `package a

import "testing"

func BenchmarkPlain(b *testing.B) {}
func Benchmark(*testing.B)        {}
func Benchmarking(b *testing.B)   {}
func BenchmarkÜ(b *testing.B)     {}
func BenchmarkOf(b *testing.B, n int) {}
func BenchmarkNone()              {}
func BenchmarkT(t *testing.T)     {}
func BenchmarkResult(b *testing.B) error { return nil }
func BenchmarkGeneric[T any](b *testing.B) {}
func (x X) BenchmarkMethod(b *testing.B) {}

type X int
`, b: "package a\n\nimport . \"testing\"\n\nfunc BenchmarkDot(b *B) {}\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := benchmarks([]string{a, b})
	if want := []string{"BenchmarkPlain", "Benchmark", "BenchmarkÜ", "BenchmarkDot"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}
