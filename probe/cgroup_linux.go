package probe

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/prometheus/procfs"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/cgroup"
)

// groupProbe reads what the kernel accounts to the control groups of the process.
// A sample is a file of some 10 µs, and three more every t.Every.
type groupProbe struct{}

func (groupProbe) Watch(ctx context.Context, t Target) (Reading, error) {
	w, err := openGroups("/proc", t.PID, t.Gentle)
	if err != nil {
		return Reading{}, fmt.Errorf("watch the control group of process %d: %w", t.PID, err)
	}
	defer w.account.Close()
	w.points.sample = t.Sample
	every := t.every()
	t.Every = min(every, rssEvery)
	if t.Gentle {
		t.Every = min(every, gentleEvery)
	}
	err = watch(ctx, t, func(at time.Duration) error {
		if at == 0 || ctx.Err() != nil || at-w.at >= every-t.Every/2 {
			return w.sample(at)
		}
		return w.fine(at)
	})
	r := w.reading(err != nil)
	if err != nil {
		err = fmt.Errorf("watch the control group of process %d: %w", t.PID, err)
	}
	return r, err
}

// A groupWatch is one window of cgroup.
type groupWatch struct {
	p                       procfs.Proc
	account                 *cgroup.Account
	begun                   bool
	firstOOM, oomKills      float64
	firstCPU, lastCPU       cgroup.Throttling
	firstMemStall, memStall float64 // seconds
	firstCPUStall, cpuStall float64
	most                    float64 // bytes, by samples and the kernel's mark
	at                      time.Duration
	points                  points
	tail                    dyno.Series // of memory, since the last sample, which is among the points
}

// openGroups opens the accounts of a process's groups, and sets their high-water
// mark back unless it has to be gentle. proc is /proc.
func openGroups(proc string, pid int, gentle bool) (*groupWatch, error) {
	root, err := procfs.NewFS(proc)
	if err != nil {
		return nil, err
	}
	p, err := root.Proc(pid)
	if err != nil {
		return nil, err
	}
	account, err := cgroup.OpenAccount(proc, pid, !gentle)
	return &groupWatch{p: p, account: account}, err
}

// fine reads the memory alone. Its points are in the series only if they are the
// last before the end of the process.
func (w *groupWatch) fine(at time.Duration) error {
	if w.account.Memory == nil {
		return nil
	}
	v, err := w.account.Memory.Number()
	if err != nil {
		return err
	}
	if m, err := w.p.Statm(); err != nil {
		return err
	} else if m.Resident == 0 { // it is dying, and v what it has not given back yet
		return errGone
	}
	w.most = max(w.most, v)
	w.tail.At, w.tail.Value = append(w.tail.At, at), append(w.tail.Value, v)
	return nil
}

func (w *groupWatch) sample(at time.Duration) error {
	if err := w.fine(at); err != nil {
		return err
	}
	if n := len(w.tail.At); n > 0 {
		w.points.add("cgroup-memory-B", at, w.tail.Value[n-1])
		w.tail.At, w.tail.Value = w.tail.At[:0], w.tail.Value[:0]
	}
	oom, err := w.account.OOM.Words()
	if err != nil {
		return err
	}
	cpu, err := w.account.Throttling()
	if err != nil {
		return err
	}
	memStall, err1 := w.account.MemoryPressure.Stalled()
	cpuStall, err2 := w.account.CPUPressure.Stalled()
	if err := cmp.Or(err1, err2); err != nil {
		return err
	}
	if !w.begun {
		w.begun, w.firstOOM, w.firstCPU = true, oom["oom_kill"], cpu
		w.firstMemStall, w.firstCPUStall = memStall, cpuStall
	} else if periods := cpu.Periods - w.lastCPU.Periods; periods > 0 {
		w.points.add("throttled-frac", at, (cpu.Throttled-w.lastCPU.Throttled)/periods)
	}
	w.at, w.lastCPU, w.oomKills = at, cpu, oom["oom_kill"]
	w.memStall, w.cpuStall = memStall, cpuStall
	return nil
}

// reading is what was seen. lost says that the group has gone before the window
// was over: then it is what there is.
func (w *groupWatch) reading(lost bool) Reading {
	var r Reading
	if !w.begun {
		return r
	}
	value := func(metric string, v float64) { r.Values = append(r.Values, dyno.Value{Metric: metric, Value: v}) }
	if w.account.Memory != nil {
		if mark, err := w.account.Peak.Number(); err == nil && w.account.PeakReset {
			w.most = max(w.most, mark)
		}
		value("cgroup-peak-B", w.most)
	}
	if oom, err := w.account.OOM.Words(); lost && err == nil { // the group outlives those who were killed, for a moment
		w.oomKills = oom["oom_kill"]
	}
	kills := w.oomKills - w.firstOOM
	if w.account.OOM != nil && !(lost && kills == 0) { // which could not be counted
		value("oom-kills", kills)
	}
	if kills > 0 && !lost {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the kernel killed %.0f processes of the subject's control group for want of memory, not the subject itself", kills))
	}
	if w.account.CPU != nil {
		throttled := 0.0
		if periods := w.lastCPU.Periods - w.firstCPU.Periods; periods > 0 {
			throttled = (w.lastCPU.Throttled - w.firstCPU.Throttled) / periods
		}
		value("throttled-frac", throttled)
		value("throttled-sec", w.lastCPU.Seconds-w.firstCPU.Seconds)
	}
	if sec := w.at.Seconds(); sec > 0 && w.account.MemoryPressure != nil {
		value("memory-stall-frac", (w.memStall-w.firstMemStall)/sec)
	}
	if sec := w.at.Seconds(); sec > 0 && w.account.CPUPressure != nil {
		value("cpu-stall-frac", (w.cpuStall-w.firstCPUStall)/sec)
	}
	if lost {
		for i, at := range w.tail.At {
			w.points.add("cgroup-memory-B", at, w.tail.Value[i])
		}
	}
	r.Series = w.points.list
	return r
}
