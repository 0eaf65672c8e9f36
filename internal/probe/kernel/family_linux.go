package kernel

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"
)

// A Family is a process and all that it has started, such as a database server with a process for each connection.
type Family struct {
	first int

	// Of Clock:
	known, parents []int
	scanned        time.Time
}

// NewFamily is the family of a process.
func NewFamily(pid int) *Family { return &Family{first: pid} }

// members are the living processes, the first of them first: /proc/PID/task/*/children (proc(5)).
func (f *Family) members() []int {
	found, _ := f.look()
	return found
}

// look also tells which members may wait for children: the first, and those that have some.
func (f *Family) look() (found, parents []int) {
	found = []int{f.first}
	for i := 0; i < len(found); i++ {
		before := len(found)
		lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", found[i]))
		for _, list := range lists {
			text, _ := os.ReadFile(list) // a thread may have ended
			for _, word := range strings.Fields(string(text)) {
				if pid, err := strconv.Atoi(word); err == nil {
					found = append(found, pid)
				}
			}
		}
		if i == 0 || len(found) > before {
			parents = append(parents, found[i])
		}
	}
	return found, parents
}

// Used is CPU and Resident.
func (f *Family) Used() (cpu, rss float64, err error) {
	if cpu, err = f.CPU(); err == nil {
		rss, err = f.Resident()
	}
	return cpu, rss, err
}

// userHZ is the unit of times in /proc/PID/stat (sysconf(_SC_CLK_TCK), 100 on all of Linux's platforms that Go has).
const userHZ = 100

// CPU is the CPU time of all members in seconds, those included that have ended and were waited for: cutime and
// cstime of their parents, in ticks of 10 ms.
func (f *Family) CPU() (sum float64, err error) {
	for _, pid := range f.members() {
		cpu, err := CPU(pid)
		if err != nil {
			if pid == f.first {
				return 0, err
			}
			continue // it has just ended
		}
		sum += cpu + waitedFor(pid)
	}
	return sum, nil
}

// scanEvery is how long Clock takes the members for known: to look for them costs some 50 µs each.
const scanEvery = time.Second

// Clock is CPU for who reads it often, at a microsecond or two for each member: a new one is found within a second, and what
// parents waited for counts in ticks of 10 ms.
func (f *Family) Clock() (sum float64, err error) {
	if now := time.Now(); now.Sub(f.scanned) > scanEvery {
		f.known, f.parents = f.look()
		f.scanned = now
	}
	for _, pid := range f.known {
		cpu, err := CPU(pid)
		if err != nil && pid == f.first {
			return 0, err
		}
		sum += cpu // 0 of one that has ended
	}
	for _, pid := range f.parents {
		sum += waitedFor(pid)
	}
	return sum, nil
}

// waitedFor is the CPU time of children that have ended and were waited for, in seconds.
func waitedFor(pid int) float64 {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0
	}
	st, err := p.Stat()
	if err != nil {
		return 0
	}
	return float64(st.CUTime+st.CSTime) / userHZ
}

// Resident is the resident memory of all members in bytes. What they may share counts once, as the most that one
// has: their program, and a server's buffers.
func (f *Family) Resident() (float64, error) {
	var own, shared int
	for _, pid := range f.members() {
		p, err := procfs.NewProc(pid)
		if err != nil {
			continue
		}
		m, err := p.Statm()
		if err != nil || m.Resident == 0 { // it has just ended
			continue
		}
		own += int(m.Resident - m.Shared)
		shared = max(shared, int(m.Shared))
	}
	if own+shared == 0 {
		return 0, ErrGone
	}
	return float64((own + shared) * os.Getpagesize()), nil
}
