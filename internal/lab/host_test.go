//go:build linux

package lab

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/dynolab/dyno/internal/cgroup"
)

// The machine's memory counts, unless a control group has less left.
func TestMemoryOf(t *testing.T) {
	proc := t.TempDir()
	if err := os.WriteFile(filepath.Join(proc, "meminfo"), []byte("MemTotal:       16000 kB\nMemFree:         100 kB\nMemAvailable:    8000 kB\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	inf := math.Inf(1)
	for _, c := range []struct{ groupLeft, groupLimit, left, total float64 }{ // KiB
		{inf, inf, 8000, 16000},
		{5000, 6000, 5000, 6000},
		{5000, 99000, 5000, 16000},
		{9000, 10000, 8000, 16000},
	} {
		group := func() (left, limit float64) { return c.groupLeft * 1024, c.groupLimit * 1024 }
		if left, total, err := memoryOf(proc, group)(); err != nil || left != c.left*1024 || total != c.total*1024 {
			t.Errorf("%v: %v of %v KiB, %v", c, left/1024, total/1024, err)
		}
	}
	if _, _, err := memoryOf(filepath.Join(proc, "none"), nil)(); err == nil {
		t.Error("no error without meminfo")
	}
}

func BenchmarkMemory(b *testing.B) {
	read := memoryOf("/proc", cgroup.MemoryLeft("/proc"))
	for b.Loop() {
		if _, _, err := read(); err != nil {
			b.Fatal(err)
		}
	}
}
