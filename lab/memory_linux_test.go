package lab

import (
	"os"
	"path/filepath"
	"testing"
)

// The machine's memory counts, unless a control group of this process or one
// above it has less left.
func TestMemoryOf(t *testing.T) {
	root := t.TempDir()
	for path, text := range map[string]string{
		"meminfo":                             "MemTotal:       16000 kB\nMemFree:         100 kB\nMemAvailable:    8000 kB\n",
		"a/memory.max":                        "6144000\n",
		"a/memory.current":                    "2048000\n",
		"a/memory.stat":                       "anon 5\ninactive_file 1024000\n",
		"a/b/memory.max":                      "max\n",
		"a/b/memory.current":                  "1000\n",
		"memory/c/memory.limit_in_bytes":      "1024000\n",
		"memory/c/memory.usage_in_bytes":      "2048000\n",
		"memory/c/memory.stat":                "inactive_file 7\ntotal_inactive_file 1536000\n",
		"memory/d/memory.limit_in_bytes":      "9223372036854771712\n",
		"memory/d/memory.usage_in_bytes":      "2048000\n",
		"memory/large/memory.limit_in_bytes":  "1024000000\n",
		"memory/large/memory.usage_in_bytes":  "2048000\n",
		"memory/broken/memory.limit_in_bytes": "\n",
	} {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		groups      string
		left, total float64 // KiB
	}{
		{"", 8000, 16000},
		{"0::/a/b\n", 5000, 6000},
		{"4:memory:/c\n0::/a\n", 500, 1000},
		{"4:memory:/d\n0::/\n", 8000, 16000},
		{"4:memory:/large\n", 8000, 16000},
		{"4:memory:/broken\n", 8000, 16000},
		{"nonsense\n", 8000, 16000},
	} {
		left, total, err := memoryOf(filepath.Join(root, "meminfo"), limitedGroups(root, c.groups))()
		if err != nil || left != c.left*1024 || total != c.total*1024 {
			t.Errorf("%q: %v of %v KiB, %v", c.groups, left/1024, total/1024, err)
		}
	}
	if _, _, err := memoryOf(filepath.Join(root, "none"), nil)(); err == nil {
		t.Error("no error without meminfo")
	}
}

func BenchmarkMemory(b *testing.B) {
	read := memory()
	for b.Loop() {
		if _, _, err := read(); err != nil {
			b.Fatal(err)
		}
	}
}
