package lab

import (
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// Describe returns the kernel's release, the CPU model and the memory in bytes; zero values where
// unknown.
func Describe() (kernel, cpu string, memory int64) {
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		kernel = unix.ByteSliceToString(u.Release[:])
	}
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return kernel, "", 0
	}
	if cpus, err := fs.CPUInfo(); err == nil && len(cpus) > 0 {
		cpu = strings.TrimSpace(cpus[0].ModelName)
	}
	if m, err := fs.Meminfo(); err == nil && m.MemTotalBytes != nil {
		memory = int64(*m.MemTotalBytes)
	}
	return kernel, cpu, memory
}
