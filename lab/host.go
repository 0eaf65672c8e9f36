package lab

import (
	"os"
	"strings"

	"github.com/prometheus/procfs"
)

// Describe returns the kernel's release, the CPU model and the memory in bytes; zero values where
// unknown.
func Describe() (kernel, cpu string, memory int64) {
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	kernel = strings.TrimSpace(string(release))
	cpus, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(cpus)) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			cpu = strings.TrimSpace(value)
			break
		}
	}
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return kernel, cpu, 0
	}
	if m, err := fs.Meminfo(); err == nil && m.MemTotalBytes != nil {
		memory = int64(*m.MemTotalBytes)
	}
	return kernel, cpu, memory
}
