package lab

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/prometheus/procfs"
)

// Describe returns the kernel's release, the CPU model and the memory in bytes; zero values where
// unknown.
func Describe() (kernel, cpu string, memory int64) {
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	kernel = strings.TrimSpace(string(release))
	if fs, err := procfs.NewDefaultFS(); err == nil {
		if cpus, _ := fs.CPUInfo(); len(cpus) > 0 {
			cpu = cpus[0].ModelName
		}
	}
	if m, err := meminfo("/proc"); err == nil && m.MemTotalBytes != nil {
		memory = int64(*m.MemTotalBytes)
	}
	return kernel, cpu, memory
}

func meminfo(proc string) (info procfs.Meminfo, err error) {
	fs, err := procfs.NewFS(proc)
	if err == nil {
		info, err = fs.Meminfo()
	}
	return info, err
}

// memoryOf returns Hands.Memory: of the machine or, if it has less left, of a control group around
// this process. A call takes some 100 µs.
func memoryOf(proc string, group func() (left, limit float64)) func() (left, total float64, err error) {
	return func() (left, total float64, err error) {
		info, err := meminfo(proc)
		if err != nil {
			return 0, 0, fmt.Errorf("read memory of the machine: %w", err)
		}
		if info.MemAvailableBytes == nil || info.MemTotalBytes == nil {
			return 0, 0, errors.New("read memory of the machine: no MemAvailable")
		}
		left, total = float64(*info.MemAvailableBytes), float64(*info.MemTotalBytes)
		if l, limit := group(); l < left {
			left, total = l, min(limit, total)
		}
		return left, total, nil
	}
}
