package x

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

func BenchmarkSmall(b *testing.B) {
	for i := 0; i < b.N; i++ {
		F()
	}
}

func BenchmarkPrints(b *testing.B) {
	fmt.Print("no newline ", b.N)
	fmt.Fprintln(os.Stderr, "and there")
	b.Log("and a log")
	b.ReportMetric(7, "things/op")
	fmt.Println(" a line")
	fmt.Println("5 things")
	fmt.Print("again ", b.N)
}

func BenchmarkProcs(b *testing.B) { b.ReportMetric(float64(runtime.NumCPU()), "cpus") }

func BenchmarkFails(b *testing.B) { b.Fatalf("it is %s", os.Getenv("WHY")) }

func BenchmarkFailsLater(b *testing.B) {
	if b.N > 1 {
		b.Fatal("later")
	}
}

func BenchmarkPanics(b *testing.B) { panic("oh") }

func BenchmarkSkipped(b *testing.B) { b.Skip("not here") }

func BenchmarkFloods(b *testing.B) {
	s := strings.Repeat("x", 1<<20)
	for i := 0; i < 8; i++ {
		fmt.Print(s)
		fmt.Fprint(os.Stderr, s)
	}
}

func BenchmarkForks(b *testing.B) {
	if b.N == 1 && os.Getenv("FORKED") == "" {
		os.Setenv("FORKED", "1")
		exec.Command("sleep", "1000").Start()
	}
}

func BenchmarkHangs(b *testing.B) { select {} }

func BenchmarkLeaks(b *testing.B) {
	for i := 0; i < 3; i++ {
		go func() { select {} }()
	}
	for i := 0; i < b.N; i++ {
		Kept = make([]byte, 1<<16)
	}
}

var Kept []byte

func BenchmarkFamily(b *testing.B) {
	for _, name := range []string{"a", "b", "c"} {
		b.Run(name, func(b *testing.B) {
			for i := 0; i < b.N; i++ {
				F()
			}
			if name == "b" && os.Getenv("WHY") == "b" {
				b.Fatal("not b")
			}
		})
	}
}
