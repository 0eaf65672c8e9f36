//go:build linux

package load

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

// The least quota of a process's control groups and their ancestors counts, of
// either version.
func TestQuota(t *testing.T) {
	root := t.TempDir()
	for path, text := range map[string]string{
		"a/cpu.max":                       "150000 100000\n",
		"a/b/cpu.max":                     "max 100000\n",
		"a/b/c/cpu.max":                   "10000 100000\n",
		"cpu,cpuacct/d/cpu.cfs_quota_us":  "50000\n",
		"cpu,cpuacct/d/cpu.cfs_period_us": "100000\n",
		"cpu,cpuacct/e/cpu.cfs_quota_us":  "-1\n",
		"cpu,cpuacct/e/cpu.cfs_period_us": "100000\n",
	} {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for groups, want := range map[string]float64{
		"0::/a/b/c\n":                            0.1,
		"0::/a/b\n":                              1.5,
		"0::/\n":                                 math.Inf(1),
		"4:memory:/x\n2:cpu,cpuacct:/d\n0::/a\n": 0.5,
		"2:cpu,cpuacct:/e\n":                     math.Inf(1),
		"":                                       math.Inf(1),
		"nonsense\n":                             math.Inf(1),
	} {
		if got := quota(root, groups); got != want {
			t.Errorf("%q: %v, want %v", groups, got, want)
		}
	}
}
