package gclog

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/dynolab/dyno/gctrace"
	"github.com/dynolab/dyno/internal/report/layout"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (go test ./report/gclog -update rewrites it); got:\n%s", file, got)
	}
}

// gcLogOf is a log of processes with the given numbers of collections, some
// 3 ms apart.
func gcLogOf(name string, collections ...int) *gctrace.Log {
	rng := rand.New(rand.NewPCG(1, 2))
	const us = time.Microsecond
	l := &gctrace.Log{Name: name, Text: gctrace.Text{Bytes: 321_000, Lines: 4000}}
	for _, n := range collections {
		at := 3 * time.Second
		for i := 1; i <= n; i++ {
			at += time.Duration(2000+rng.IntN(2000)) * us
			stop := time.Duration(4+rng.IntN(60)) * us
			l.Add(&gctrace.Cycle{
				N: i, Start: at, SweepTerm: stop, Mark: 329 * us, MarkTerm: 51 * us, Procs: 12, Percent: 4,
				SweepTermCPU: 620 * us, Assist: 120 * us, Background: 560 * us, Idle: 940 * us,
				HeapStart: 4 << 20, HeapEnd: float64(4+rng.IntN(3)) * (1 << 20), Live: 2 << 20, Goal: 5 << 20, Forced: i%100 == 7,
			})
		}
	}
	return l
}

func gcText(t *testing.T, l *gctrace.Log, o layout.Options) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Text(&b, l, o); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > o.Columns() || strings.HasSuffix(line, " \n") {
			t.Errorf("line of %d characters: %q", n, line)
		}
	}
	return b.Bytes()
}

func TestGCLog(t *testing.T) {
	one := gcLogOf("gc.log", 2551)
	one.Requests, one.Text.Scavenger, one.Text.Scavenged = 10_000, 12, 3<<20
	golden(t, "gc.txt", gcText(t, one, layout.Options{}))
	golden(t, "gc-80.txt", gcText(t, one, layout.Options{Width: 80}))
	several := gcLogOf("gc.log", 300, 2, 20)
	several.Text.Torn, several.Text.Lost = 22, 2
	golden(t, "gc-several.txt", gcText(t, several, layout.Options{}))
	golden(t, "gc-one.txt", gcText(t, gcLogOf("gc.log", 1), layout.Options{}))
	var b bytes.Buffer
	if err := Compare(&b, one, several, layout.Options{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "gc-compare.txt", b.Bytes())
}

func TestExplainGC(t *testing.T) {
	var b bytes.Buffer
	for _, line := range []string{
		"gc 2553 @8.452s 14%: 0.004+0.33+0.051 ms clock, 0.056+0.12/0.56/0.94+0.61 ms cpu, 4->4->2 MB, 5 MB goal, 12 P",
		"gc 9 @0.7s 3% (checking for goroutine leaks): 0.1+12+0.05 ms clock, 0.2+0/1.5/9+0.1 ms cpu, 14->15->9 MB, 17592186044415 MB goal, 1 MB stacks, 0 MB globals, 2 P (forced)\n",
		"gc 7 @0.714s 9%: 0.16+0.51+3.8+9.9+0.17 ms clock, 0.64+0.51+0+0.007/3.4/10+0.69 ms cpu, 3->4->2 MB, 5 MB goal, 32 P",
	} {
		if err := Explain(&b, line, layout.Options{}); err != nil {
			t.Error(err)
		}
		b.WriteByte('\n')
	}
	golden(t, "gc-explain.txt", b.Bytes())
	for _, line := range []string{"", "gc", "gc 1 @2s 3%: 1+2 ms clock, 3 ms cpu, 4->5->6 MB, 7 MB goal, 8 P", "gc 1: 1+2+3 ms clock, 1+1/1/1+1 ms cpu, 1 P"} {
		if err := Explain(&b, line, layout.Options{}); err == nil {
			t.Errorf("%q was explained", line)
		}
	}
}
