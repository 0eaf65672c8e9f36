package kernel

import (
	"fmt"

	"github.com/prometheus/procfs"
)

// Resident is a process's resident memory, and the part of it that is pages of files, in bytes:
// /proc/PID/statm. Since Linux 6.2 it may be off by some hundred KiB for each CPU.
func Resident(pid int) (rss, file float64, err error) {
	var m procfs.ProcStatm
	p, err := procfs.NewProc(pid)
	if err == nil {
		m, err = p.Statm()
	}
	if err == nil && m.ResidentBytes() == 0 {
		err = ErrGone
	}
	if err != nil {
		return 0, 0, fmt.Errorf("read memory of process %d: %w", pid, err)
	}
	return float64(m.ResidentBytes()), float64(m.SHRBytes()), nil
}

// ResidentExact counts pages with /proc/PID/smaps_rollup, or returns Resident if it cannot read
// that file. file is memory that is neither anonymous nor shared (/proc/PID/status).
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
