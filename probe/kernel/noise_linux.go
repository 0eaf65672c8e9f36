package kernel

import (
	"os"
	"slices"
	"strconv"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/dynolab/dyno"
)

// A noise is what the machine and dyno itself had used by some time, in CPU seconds.
type noise struct {
	all    procfs.CPUStat // of /proc/stat, all CPUs
	own    float64
	beside map[int]float64 // of processes that do not disturb, by process
}

// Above these shares of the machine's CPU time there is a warning; not in windows below
// noiseLeast CPU seconds, for which 10 ms ticks are too coarse.
const (
	othersLimit = 0.10
	stealLimit  = 0.02
	noiseLeast  = 0.5
)

// readNoise leaves out those beside that have ended. Processes of policy SCHED_IDLE count as beside: they run only
// where nothing else wants to (sched(7)).
func readNoise(beside []int) (noise, error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return noise{}, err
	}
	st, err := fs.Stat()
	if err != nil {
		return noise{}, err
	}
	var own unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &own); err != nil {
		return noise{}, err
	}
	n := noise{st.CPUTotal, float64(own.Utime.Nano()+own.Stime.Nano()) / 1e9, map[int]float64{}}
	for _, pid := range slices.Concat(beside, idlers()) {
		if cpu, err := CPU(pid); err == nil {
			n.beside[pid] = cpu
		}
	}
	return n, nil
}

// idlers are the processes of policy SCHED_IDLE.
func idlers() (pids []int) {
	names, _ := os.ReadDir(procfs.DefaultMountPoint)
	for _, n := range names {
		if pid, err := strconv.Atoi(n.Name()); err == nil {
			if a, err := unix.SchedGetAttr(pid, 0); err == nil && a.Policy == unix.SCHED_IDLE {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// since says what disturbed a window in which the subject used so many CPU seconds.
// The subjects beside it disturb no turn of its own.
//
// Time in interrupts counts for no process: most is the network's, on behalf of subject and
// load, and CONFIG_IRQ_TIME_ACCOUNTING decides whether theirs includes it. The subject's
// children that do not answer count as other processes.
func (n noise) since(before noise, subject float64) (values dyno.Values, warnings dyno.Warnings) {
	a, b := before.all, n.all
	steal := b.Steal - a.Steal
	busy := b.User - a.User + b.Nice - a.Nice + b.System - a.System
	total := busy + steal + b.Idle - a.Idle + b.Iowait - a.Iowait + b.IRQ - a.IRQ + b.SoftIRQ - a.SoftIRQ
	if total < noiseLeast {
		return nil, nil
	}
	own := n.own - before.own
	for pid, cpu := range n.beside {
		if began, ok := before.beside[pid]; ok {
			own += cpu - began
		}
	}
	others := max(busy-subject-own, 0) / total
	if others > othersLimit {
		warnings.Add(dyno.WarnOthers, "other processes used %.0f %% of the CPUs during this trial", 100*others)
	}
	steal /= total
	if steal > stealLimit {
		warnings.Add(dyno.WarnSteal, "the hypervisor withheld %.0f %% of the CPUs during this trial (steal)", 100*steal)
	}
	return dyno.Values{{Metric: "others-cpu-frac", Value: others}, {Metric: "steal-frac", Value: steal}}, warnings
}
