package kernel

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"github.com/dynolab/dyno/internal/cgroup"
	"golang.org/x/sys/unix"
)

// kernelThread is PF_KTHREAD of Linux, include/linux/sched.h.
const kernelThread = 0x00200000

// Lookup describes a process that can be watched: no thread, not the kernel's, not ended.
func Lookup(pid int) (Process, error) {
	p, err := procfs.NewProc(pid)
	var st procfs.ProcStat
	var status procfs.ProcStatus
	if err == nil {
		st, err = p.Stat()
	}
	if err == nil {
		status, err = p.NewStatus()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH):
		return Process{}, fmt.Errorf("no process %d (consider: ps, or its user's rights if /proc is mounted with hidepid)", pid)
	case err != nil:
		return Process{}, fmt.Errorf("look at process %d: %w (consider: running dyno as its user)", pid, err)
	case st.Flags&kernelThread != 0:
		return Process{}, fmt.Errorf("process %d (%s) is a kernel thread, which has no memory of its own", pid, st.Comm)
	case ended(st):
		return Process{}, fmt.Errorf("process %d (%s) is a zombie: it has ended, and its parent has not noticed", pid, st.Comm)
	case status.TGID != pid:
		return Process{}, fmt.Errorf("%d is a thread of process %d (consider: --pid %[2]d)", pid, status.TGID)
	}
	return describe(p, st), nil
}

// describe tells what may be known of a process; another user's files may not be readable.
func describe(p procfs.Proc, st procfs.ProcStat) Process {
	found := Process{PID: p.PID, Name: st.Comm, Program: program(p), Started: started(st)}
	args, _ := p.CmdLine()
	found.Command = strings.Join(args, " ")
	if info, err := buildinfo.ReadFile(fmt.Sprintf("/proc/%d/exe", p.PID)); err == nil {
		found.Go = info.GoVersion
	}
	found.Grouped = cgroup.Apart("/proc", p.PID)
	return found
}

func program(p procfs.Proc) string {
	if exe, err := p.Executable(); err == nil && exe != "" {
		return filepath.Base(strings.TrimSuffix(exe, " (deleted)"))
	}
	if args, err := p.CmdLine(); err == nil && len(args) > 0 {
		return filepath.Base(args[0])
	}
	return ""
}

// started is when a process began, to 10 ms: field 22 of proc_pid_stat(5), in ticks since the
// machine was started.
func started(st procfs.ProcStat) time.Time {
	const ticks = 100
	var up unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &up); err != nil {
		return time.Time{}
	}
	age := time.Duration(up.Nano()) - time.Duration(st.Starttime)*(time.Second/ticks)
	return time.Now().Add(-age)
}

// Find returns the processes whose kernel name or executable's name a regular expression matches
// anywhere, as pidstat -C does. It leaves out dyno, the processes that dyno started, and kernel
// threads. The error is that of the expression or of /proc.
func Find(name string) ([]Process, error) {
	match, err := regexp.Compile(name)
	if err != nil {
		return nil, fmt.Errorf("bad process name: %w", err)
	}
	all, err := procfs.AllProcs()
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	stats := map[int]procfs.ProcStat{}
	for _, p := range all {
		if st, err := p.Stat(); err == nil { // else it has ended meanwhile, or may not be looked at
			stats[p.PID] = st
		}
	}
	var found []Process
	for _, p := range all {
		st, ok := stats[p.PID]
		if !ok || st.Flags&kernelThread != 0 || ended(st) || descends(p.PID, os.Getpid(), stats) {
			continue
		}
		if match.MatchString(st.Comm) || match.MatchString(program(p)) {
			found = append(found, describe(p, st))
		}
	}
	slices.SortFunc(found, func(a, b Process) int { return a.PID - b.PID })
	return found, nil
}

func descends(pid, from int, stats map[int]procfs.ProcStat) bool {
	for range len(stats) { // what is read of a changing tree may have circles
		if pid == from {
			return true
		}
		if pid = stats[pid].PPID; pid == 0 {
			break
		}
	}
	return false
}

// ended reports whether a process only waits for its parent to ask for its exit status.
func ended(st procfs.ProcStat) bool { return st.State == "Z" || st.State == "X" }

func memTotal() float64 {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return 0
	}
	m, err := fs.Meminfo()
	if err != nil || m.MemTotalBytes == nil {
		return 0
	}
	return float64(*m.MemTotalBytes)
}
