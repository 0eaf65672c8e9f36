package lab

import (
	"errors"
	"fmt"

	"github.com/prometheus/procfs"

	"github.com/dynolab/dyno/cgroup"
)

// memory returns Hands.Memory: of the machine or, if it has less left, of a control group around
// this process. A call takes some 100 µs.
func memory() func() (left, total float64, err error) {
	return memoryOf("/proc", cgroup.MemoryLeft())
}

func memoryOf(proc string, group func() (left, limit float64)) func() (left, total float64, err error) {
	return func() (left, total float64, err error) {
		fs, err := procfs.NewFS(proc)
		if err != nil {
			return 0, 0, fmt.Errorf("read memory of the machine: %w", err)
		}
		info, err := fs.Meminfo()
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
