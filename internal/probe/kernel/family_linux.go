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
	sum     float64
	read    map[int]float64 // CPU time of each member
	scanned time.Time
}

// NewFamily is the family of a process.
func NewFamily(pid int) *Family { return &Family{first: pid} }

// members are the living processes, the first of them first: /proc/PID/task/*/children (proc(5)).
func (f *Family) members() []int {
	found := []int{f.first}
	for i := 0; i < len(found); i++ {
		lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", found[i]))
		for _, list := range lists {
			text, _ := os.ReadFile(list) // a thread may have ended
			for _, word := range strings.Fields(string(text)) {
				if pid, err := strconv.Atoi(word); err == nil {
					found = append(found, pid)
				}
			}
		}
	}
	return found
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
		sum += cpu
		p, err := procfs.NewProc(pid)
		if err != nil {
			continue
		}
		if st, err := p.Stat(); err == nil {
			sum += float64(st.CUTime+st.CSTime) / userHZ
		}
	}
	return sum, nil
}

// scanEvery is how long Clock takes the members for known: to look for them costs some 50 µs each.
const scanEvery = time.Second

// Clock is CPU time in seconds for who reads it often: differences say when the family worked. It costs a microsecond or
// two for each member. What a new member used before it is found is not in it.
func (f *Family) Clock() (float64, error) {
	if now := time.Now(); f.read == nil || now.Sub(f.scanned) > scanEvery {
		found := map[int]float64{}
		for _, pid := range f.members() {
			cpu, known := f.read[pid]
			if !known {
				cpu, _ = CPU(pid)
			}
			found[pid] = cpu
		}
		f.read, f.scanned = found, now
	}
	for pid, before := range f.read {
		cpu, err := CPU(pid)
		switch {
		case err == nil:
			f.sum += cpu - before
			f.read[pid] = cpu
		case pid == f.first:
			return 0, err
		}
	}
	return f.sum, nil
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
