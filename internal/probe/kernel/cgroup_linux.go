package kernel

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/prometheus/procfs"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/cgroup"
	"github.com/dynolab/dyno/internal/probe"
)

// ControlGroup reads what the kernel accounts to the process's control groups. A sample is a
// file of some 10 µs, and three more every t.Every.
type ControlGroup struct{}

func (ControlGroup) Watch(ctx context.Context, t probe.Target) (probe.Reading, error) {
	w, err := openGroups("/proc", t.PID, t.Gentle)
	if err != nil {
		return probe.Reading{}, fmt.Errorf("watch the control group of process %d: %w", t.PID, err)
	}
	defer w.account.Close()
	w.points.Sample = t.Sample
	err = watchFinely(ctx, t, &w.at, w.sample, w.fine)
	r := w.reading(err != nil)
	if err != nil {
		err = fmt.Errorf("watch the control group of process %d: %w", t.PID, err)
	}
	return r, err
}

type groupWatch struct {
	p           procfs.Proc
	account     *cgroup.Account
	begun       bool
	first, last groupCounts
	most        float64 // bytes, by samples and the kernel's mark
	at          time.Duration
	points      probe.Points
	tail        dyno.Series // of memory, since the last sample, which is among the points
}

type groupCounts struct {
	cgroup.Throttling
	kills                 float64 // processes killed for want of memory
	memoryStall, cpuStall float64 // seconds
}

func (w *groupWatch) read() (c groupCounts, err error) {
	oom, err1 := w.account.OOM.Words()
	c.kills = oom["oom_kill"]
	var err2, err3, err4 error
	c.Throttling, err2 = w.account.Throttling()
	c.memoryStall, err3 = w.account.MemoryPressure.Stalled()
	c.cpuStall, err4 = w.account.CPUPressure.Stalled()
	return c, cmp.Or(err1, err2, err3, err4)
}

// openGroups opens the accounts of a process's groups, and resets their high-water mark
// unless it must be gentle. proc is /proc.
func openGroups(proc string, pid int, gentle bool) (*groupWatch, error) {
	var p procfs.Proc
	root, err := procfs.NewFS(proc)
	if err == nil {
		p, err = root.Proc(pid)
	}
	if err != nil {
		return nil, err
	}
	account, err := cgroup.OpenAccount(proc, pid, !gentle)
	return &groupWatch{p: p, account: account}, err
}

// fine reads the memory alone. Its points count only if the process ends before the next sample.
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
		return ErrGone
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
		w.points.Add("cgroup-memory-B", at, w.tail.Value[n-1])
		w.tail.At, w.tail.Value = w.tail.At[:0], w.tail.Value[:0]
	}
	c, err := w.read()
	if err != nil {
		return err
	}
	if !w.begun {
		w.begun, w.first = true, c
	} else if periods := c.Periods - w.last.Periods; periods > 0 {
		w.points.Add("throttled-frac", at, (c.Throttled-w.last.Throttled)/periods)
	}
	w.at, w.last = at, c
	return nil
}

// reading sums up the window, or, if lost, its part until the group was gone.
func (w *groupWatch) reading(lost bool) probe.Reading {
	var r probe.Reading
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
		w.last.kills = oom["oom_kill"]
	}
	kills := w.last.kills - w.first.kills
	if w.account.OOM != nil && !(lost && kills == 0) { // which could not be counted
		value("oom-kills", kills)
	}
	if kills > 0 && !lost {
		r.Warnings.Add(dyno.WarnOOM, "the kernel killed %.0f processes of the subject's control group for lack of memory, not the subject itself", kills)
	}
	if w.account.CPU != nil {
		value("throttled-frac", (w.last.Throttled-w.first.Throttled)/max(1, w.last.Periods-w.first.Periods))
		value("throttled-sec", w.last.Seconds-w.first.Seconds)
	}
	sec := w.at.Seconds()
	if sec > 0 && w.account.MemoryPressure != nil {
		value("memory-stall-frac", (w.last.memoryStall-w.first.memoryStall)/sec)
	}
	if sec > 0 && w.account.CPUPressure != nil {
		value("cpu-stall-frac", (w.last.cpuStall-w.first.cpuStall)/sec)
	}
	if lost {
		for i, at := range w.tail.At {
			w.points.Add("cgroup-memory-B", at, w.tail.Value[i])
		}
	}
	r.Series = w.points.List
	return r
}
