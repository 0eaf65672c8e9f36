package kernel

import (
	"os"
	"slices"
	"strconv"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/cgroup"
)

// A noise is what some CPUs and dyno itself had used by some time, in CPU seconds.
type noise struct {
	all    procfs.CPUStat // of /proc/stat, the sum of the CPUs
	own    float64
	beside map[int]float64 // of processes that do not disturb, by process
	others map[int]float64 // of families that do not disturb, by their first process

	throttled cgroup.Throttling // of dyno's own control group
	limit     float64           // of that, in CPUs
}

// Above these shares of the CPUs' time there is a warning; not in windows below
// noiseLeast CPU seconds, for which 10 ms ticks are too coarse.
const (
	othersLimit = 0.10
	stealLimit  = 0.02
	noiseLeast  = 0.5
	stopsLimit  = 0.01 // of the periods of the quota of dyno's own group
)

// readNoise sums the CPUs in /proc/stat, and leaves out those beside that have ended. Processes of policy SCHED_IDLE count
// as beside: they run only where nothing else wants to (sched(7)). proc is /proc.
func readNoise(proc string, cpus *unix.CPUSet, beside, others []int) (noise, error) {
	fs, err := procfs.NewFS(proc)
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
	n := noise{all: sum(st, cpus), own: float64(own.Utime.Nano()+own.Stime.Nano()) / 1e9, beside: map[int]float64{}, others: map[int]float64{}}
	n.throttled, n.limit = cgroup.Own(proc)
	for _, pid := range slices.Concat(beside, idlers(cpus)) {
		if cpu, err := CPU(pid); err == nil {
			n.beside[pid] = cpu
		}
	}
	for _, pid := range others {
		if cpu, err := NewFamily(pid).CPU(); err == nil {
			n.others[pid] = cpu
		}
	}
	return n, nil
}

// mayUse is the CPUs that any of the processes may use: all time of these processes is on them, so the rest of
// what they did is others'. On a large machine the time of all CPUs would hide two that are disturbed. It is
// every CPU if a process cannot be asked.
func mayUse(pids ...int) *unix.CPUSet {
	var all unix.CPUSet
	for _, pid := range pids {
		var its unix.CPUSet
		if unix.SchedGetaffinity(pid, &its) != nil {
			all.Fill()
		}
		for i := range its {
			all[i] |= its[i]
		}
	}
	return &all
}

// sum adds up the CPUs; all of /proc/stat if that does not have each of them: lxcfs numbers a container's anew.
func sum(st procfs.Stat, cpus *unix.CPUSet) (all procfs.CPUStat) {
	found := 0
	for number, c := range st.CPU {
		if !cpus.IsSet(int(number)) {
			continue
		}
		found++
		all.User, all.Nice, all.System = all.User+c.User, all.Nice+c.Nice, all.System+c.System
		all.Idle, all.Iowait, all.Steal = all.Idle+c.Idle, all.Iowait+c.Iowait, all.Steal+c.Steal
		all.IRQ, all.SoftIRQ = all.IRQ+c.IRQ, all.SoftIRQ+c.SoftIRQ
	}
	if found < cpus.Count() {
		return st.CPUTotal
	}
	return all
}

// idlers are the processes of policy SCHED_IDLE that may use no other CPUs.
func idlers(cpus *unix.CPUSet) (pids []int) {
	names, _ := os.ReadDir(procfs.DefaultMountPoint)
	for _, n := range names {
		pid, err := strconv.Atoi(n.Name())
		if err != nil {
			continue
		}
		if a, err := unix.SchedGetAttr(pid, 0); err != nil || a.Policy != unix.SCHED_IDLE {
			continue
		}
		var its unix.CPUSet
		if unix.SchedGetaffinity(pid, &its) == nil && within(&its, cpus) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func within(its, cpus *unix.CPUSet) bool {
	for i := range its {
		if its[i]&^cpus[i] != 0 {
			return false
		}
	}
	return true
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
	if periods, stops := n.throttled.Periods-before.throttled.Periods, n.throttled.Throttled-before.throttled.Throttled; stops > stopsLimit*periods && before.limit == n.limit {
		warnings.Add(dyno.WarnOwnLimit, "the limit of dyno's own control group, %.3g of a CPU, stopped it in %.0f %% of its periods, and the service if that is in it: response times have these stops in them (consider: a container without a CPU limit)",
			n.limit, 100*stops/periods)
	}
	total := busy + steal + b.Idle - a.Idle + b.Iowait - a.Iowait + b.IRQ - a.IRQ + b.SoftIRQ - a.SoftIRQ
	if total < noiseLeast {
		return nil, warnings
	}
	own := n.own - before.own
	for pid, cpu := range n.beside {
		if began, ok := before.beside[pid]; ok {
			own += cpu - began
		}
	}
	for pid, cpu := range n.others {
		if began, ok := before.others[pid]; ok {
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
