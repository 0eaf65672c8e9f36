package kernel

import (
	"errors"
	"fmt"

	"github.com/prometheus/procfs"
)

// Resident is the memory of a process that is resident, and how much of it is pages
// of files, in bytes: /proc/PID/statm.
func Resident(pid int) (rss, file float64, err error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, 0, fmt.Errorf("read memory of process %d: %w", pid, err)
	}
	m, err := p.Statm()
	if err == nil && m.ResidentBytes() == 0 {
		err = errors.New("the process has ended")
	}
	if err != nil {
		return 0, 0, fmt.Errorf("read memory of process %d: %w", pid, err)
	}
	return float64(m.ResidentBytes()), float64(m.SHRBytes()), nil
}

// ResidentExact counts the pages themselves: /proc/PID/smaps_rollup, or resident where
// that may not be read. What it does not count as anonymous is of files, and memory that
// processes share, which is told in /proc/PID/status.
func ResidentExact(pid int) (rss, file float64, err error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, 0, fmt.Errorf("read memory of process %d: %w", pid, err)
	}
	m, err := p.ProcSMapsRollup()
	if err != nil || m.Rss == 0 {
		return Resident(pid)
	}
	rss, file = float64(m.Rss), float64(m.Rss)-float64(m.Anonymous)
	if st, err := p.NewStatus(); err == nil {
		file -= float64(st.RssShmem)
	}
	return rss, max(0, file), nil
}
