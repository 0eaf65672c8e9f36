package cgroup

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// An Account holds open the kernel's accounting files of a process's groups. They stay readable
// after the process has ended. A missing file is nil, and reads as 0.
type Account struct {
	Memory                      *File // bytes in use
	Peak                        *File // most bytes in use
	OOM                         *File // words: oom_kill is the number of killed processes
	CPU                         *File // words: see Throttling
	MemoryPressure, CPUPressure *File // version 2 only: see Stalled

	PeakReset bool // the peak is that since the account was opened
}

// OpenAccount opens the files of the groups of process pid. With reset it sets the high-water mark
// of memory back where the kernel allows it: in version 1 for all readers, in version 2 (from Linux
// 6.12) for this Account. proc is /proc.
func OpenAccount(proc string, pid int, reset bool) (*Account, error) {
	all, err := hierarchies(proc, pid)
	if err != nil {
		return nil, err
	}
	a := openAccount(with(memory, all).dir, with(cpu, all).dir, reset)
	if a.Memory == nil && a.CPU == nil { // it may be in another container, which sees its own groups
		a.Close()
		a = openAccount(inside(proc, pid, "memory"), inside(proc, pid, "cpu"), reset)
	}
	if a.Memory == nil && a.CPU == nil {
		a.Close()
		return nil, errors.New("it has no group that accounts for memory or CPU time")
	}
	return a, nil
}

// inside is the directory of a controller that the process itself sees.
func inside(proc string, pid int, controller string) string {
	root := filepath.Join(proc, strconv.Itoa(pid), "root/sys/fs/cgroup")
	if dir := filepath.Join(root, controller); isDir(dir) { // version 1
		return dir
	}
	return root
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

var memoryUsage = []string{"memory.current", "memory.usage_in_bytes"}

// openAccount opens the files in two directories; "" has none.
func openAccount(memory, cpu string, reset bool) *Account {
	a := &Account{
		Memory: open(memory, os.O_RDONLY, memoryUsage...),
		OOM:    open(memory, os.O_RDONLY, "memory.events", "memory.oom_control"),
		CPU:    open(cpu, os.O_RDONLY, "cpu.stat"),

		MemoryPressure: openPressure(memory, "memory.pressure"), CPUPressure: openPressure(cpu, "cpu.pressure"),
	}
	peaks := []string{"memory.peak", "memory.max_usage_in_bytes"}
	if reset {
		if a.Peak = open(memory, os.O_RDWR, peaks...); a.Peak != nil {
			_, err := a.Peak.WriteString("0\n")
			a.PeakReset = err == nil
		}
	}
	if a.Peak == nil {
		a.Peak = open(memory, os.O_RDONLY, peaks...)
	}
	return a
}

// open opens the first of the files that exists.
func open(dir string, flag int, names ...string) *File {
	for _, name := range names {
		if f, err := os.OpenFile(filepath.Join(dir, name), flag, 0); dir != "" && err == nil {
			return &File{f}
		}
	}
	return nil
}

// openPressure returns nil too where the kernel does not account pressure (psi=0).
func openPressure(dir, name string) *File {
	f := open(dir, os.O_RDONLY, name)
	if _, err := f.Stalled(); err != nil {
		f.Close()
		return nil
	}
	return f
}

func (a *Account) Close() {
	closeAll(a.Memory, a.Peak, a.OOM, a.CPU, a.MemoryPressure, a.CPUPressure)
}

func closeAll(files ...*File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// Throttling is what a CPU limit has cost so far.
type Throttling struct {
	Periods   float64 // of the quota, in which the group ran
	Throttled float64 // of these, the periods in which it was stopped
	Seconds   float64 // for which it was stopped, summed over CPUs
}

// Throttling reads cpu.stat (scheduler/sched-bwc.rst).
func (a *Account) Throttling() (Throttling, error) {
	stat, err := a.CPU.Words()
	return Throttling{stat["nr_periods"], stat["nr_throttled"], stat["throttled_time"]/1e9 + stat["throttled_usec"]/1e6}, err
}

// A File is an open file of the kernel, read from its beginning each time. Nil reads as 0.
type File struct{ *os.File }

func (f *File) read() ([]byte, error) {
	if f == nil {
		return nil, nil
	}
	var buf [8192]byte
	n, err := f.ReadAt(buf[:], 0)
	if n > 0 {
		err = nil
	}
	return buf[:n], err
}

// Number reads a file of one number.
func (f *File) Number() (float64, error) {
	text, err := f.read()
	if f == nil || err != nil {
		return 0, err
	}
	return strconv.ParseFloat(string(bytes.TrimSpace(text)), 64)
}

// Words reads a file of lines, each a word and a number.
func (f *File) Words() (map[string]float64, error) {
	text, err := f.read()
	m := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 2 {
			m[f[0]], _ = strconv.ParseFloat(f[1], 64)
		}
	}
	return m, err
}

// Stalled reads from a pressure file for how many seconds some thread has waited: "some avg10=…
// avg60=… avg300=… total=MICROSECONDS" (accounting/psi.rst).
func (f *File) Stalled() (float64, error) {
	text, err := f.read()
	if f == nil || err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), "some ")
	line, _, _ := strings.Cut(rest, "\n")
	_, total, _ := strings.Cut(line, "total=")
	us, err := strconv.ParseFloat(total, 64)
	return us / 1e6, err
}
