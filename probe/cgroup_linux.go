package probe

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"github.com/dynolab/dyno"
)

// cgroup reads what the kernel accounts to the control groups of the process: of
// version 1, or 2, or each where the machine has both. A sample is a file of some
// 10 µs, and three more every t.Every.
//
// The files stay open: by their paths nothing could be read any more once the
// process has ended.
type cgroup struct{}

func (cgroup) Watch(ctx context.Context, t Target) (Reading, error) {
	w, err := openGroups("/proc", t.PID, t.Gentle)
	if err != nil {
		return Reading{}, fmt.Errorf("watch the control group of process %d: %w", t.PID, err)
	}
	defer w.close()
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

// Names of files and of what is in them, by version; Documentation/admin-guide of
// Linux, cgroup-v1/memory.rst and scheduler/sched-bwc.rst, cgroup-v2.rst.
var (
	currentNames = []string{"memory.current", "memory.usage_in_bytes"}
	peakNames    = []string{"memory.peak", "memory.max_usage_in_bytes"}
	oomNames     = []string{"memory.events", "memory.oom_control"}
)

// A groupWatch is one window of cgroup. Files are nil where there are none.
type groupWatch struct {
	p                             procfs.Proc
	current, peak, oom            *os.File
	cpu, memPressure, cpuPressure *os.File
	fresh                         bool // the peak was reset
	begun                         bool
	firstOOM, oomKills            float64
	firstCPU, lastCPU             throttle
	firstMemStall, memStall       float64 // seconds
	firstCPUStall, cpuStall       float64
	most                          float64 // bytes, by samples and the kernel's mark
	at, last                      time.Duration
	points                        points
	tail                          dyno.Series // of memory, since the last sample, which is among the points
}

// A throttle is what cpu.stat tells of a limit.
type throttle struct{ periods, throttled, seconds float64 }

// openGroups opens the files of the groups of a process, and sets their high-water
// mark back unless it has to be gentle. proc is /proc.
func openGroups(proc string, pid int, gentle bool) (*groupWatch, error) {
	p, memory, cpu, err := groupsOf(proc, pid)
	if err != nil {
		return nil, err
	}
	w := &groupWatch{
		p:       p,
		current: open(memory, currentNames...), oom: open(memory, oomNames...),
		cpu: open(cpu, "cpu.stat"), memPressure: open(memory, "memory.pressure"), cpuPressure: open(cpu, "cpu.pressure"),
	}
	for _, name := range peakNames {
		if memory == "" || w.peak != nil {
			continue
		}
		// A write sets the mark back: of version 1 for all, of version 2 for this
		// descriptor, since Linux 6.12.
		var f *os.File
		if !gentle {
			f, _ = os.OpenFile(filepath.Join(memory, name), os.O_RDWR, 0)
		}
		if f == nil {
			f = open(memory, name)
		} else if _, err := f.WriteString("0\n"); err == nil {
			w.fresh = true
		}
		w.peak = f
	}
	if w.current == nil && w.cpu == nil {
		w.close()
		return nil, errors.New("it has none whose memory or CPU time is accounted")
	}
	return w, nil
}

// open opens the first of the files that is there.
func open(dir string, names ...string) *os.File {
	if dir == "" {
		return nil
	}
	for _, name := range names {
		if f, err := os.Open(filepath.Join(dir, name)); err == nil {
			return f
		}
	}
	return nil
}

func (w *groupWatch) close() {
	closeAll(w.current, w.peak, w.oom, w.cpu, w.memPressure, w.cpuPressure)
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// groupsOf finds the directories of a process's groups that account memory and
// CPU time; "" where there is none. A hierarchy of version 1 that has a controller
// has it alone.
func groupsOf(proc string, pid int) (p procfs.Proc, memory, cpu string, err error) {
	root, err := procfs.NewFS(proc)
	if err != nil {
		return p, "", "", err
	}
	p, err = root.Proc(pid)
	if err != nil {
		return p, "", "", err
	}
	groups, err := p.Cgroups()
	if err != nil {
		return p, "", "", err
	}
	self, err := root.Self()
	if err != nil {
		return p, "", "", err
	}
	mounts, err := self.MountInfo()
	if err != nil {
		return p, "", "", err
	}
	dir := func(controller string) string {
		unified := ""
		for _, g := range groups {
			for _, m := range mounts {
				rest, ok := strings.CutPrefix(g.Path, strings.TrimSuffix(m.Root, "/"))
				if !ok || rest != "" && rest[0] != '/' {
					continue
				}
				_, has := m.SuperOptions[controller]
				switch {
				case m.FSType == "cgroup" && has && slices.Contains(g.Controllers, controller):
					return filepath.Join(m.MountPoint, rest)
				case m.FSType == "cgroup2" && len(g.Controllers) == 0:
					unified = filepath.Join(m.MountPoint, rest)
				}
			}
		}
		return unified
	}
	return p, dir("memory"), dir("cpu"), nil
}

// slurp reads a file of the kernel from its beginning.
func slurp(f *os.File, buf []byte) ([]byte, error) {
	n, err := f.ReadAt(buf, 0)
	if n > 0 {
		return buf[:n], nil
	}
	return nil, err
}

// single reads a file of one number; 0 where there is no file.
func single(f *os.File) (float64, error) {
	if f == nil {
		return 0, nil
	}
	var buf [64]byte
	text, err := slurp(f, buf[:])
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(string(bytes.TrimSpace(text)), 64)
}

// words reads a file of lines, each a word and a number.
func words(f *os.File) (map[string]float64, error) {
	if f == nil {
		return nil, nil
	}
	var buf [4096]byte
	text, err := slurp(f, buf[:])
	if err != nil {
		return nil, err
	}
	m := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 2 {
			m[f[0]], _ = strconv.ParseFloat(f[1], 64)
		}
	}
	return m, nil
}

// stalled reads from a file of pressure for how long some thread has waited, in
// seconds: its line "some avg10=… avg60=… avg300=… total=MICROSECONDS"
// (Documentation/accounting/psi.rst).
func stalled(f *os.File) (float64, error) {
	if f == nil {
		return 0, nil
	}
	var buf [512]byte
	text, err := slurp(f, buf[:])
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "some "); ok {
			_, total, _ := strings.Cut(rest, "total=")
			us, err := strconv.ParseFloat(strings.TrimSpace(total), 64)
			return us / 1e6, err
		}
	}
	return 0, errors.New("no line of pressure")
}

// fine reads the memory alone. Its points are in the series only if they are the
// last before the end of the process.
func (w *groupWatch) fine(at time.Duration) error {
	if w.current == nil {
		return nil
	}
	v, err := single(w.current)
	if err != nil {
		return err
	}
	if m, err := w.p.Statm(); err != nil {
		return err
	} else if m.Resident == 0 { // it is dying, and v what it has not given back yet
		return errGone
	}
	w.most, w.last = max(w.most, v), at
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
	oom, err := words(w.oom)
	if err != nil {
		return err
	}
	stat, err := words(w.cpu)
	if err != nil {
		return err
	}
	cpu := throttle{stat["nr_periods"], stat["nr_throttled"], stat["throttled_time"]/1e9 + stat["throttled_usec"]/1e6}
	memStall, err1 := stalled(w.memPressure)
	cpuStall, err2 := stalled(w.cpuPressure)
	if err := cmp.Or(err1, err2); err != nil { // pressure is switched off: psi=0
		closeAll(w.memPressure, w.cpuPressure)
		w.memPressure, w.cpuPressure = nil, nil
	}
	if !w.begun {
		w.begun, w.firstOOM, w.firstCPU = true, oom["oom_kill"], cpu
		w.firstMemStall, w.firstCPUStall = memStall, cpuStall
	} else if periods := cpu.periods - w.lastCPU.periods; periods > 0 {
		w.points.add("throttled-frac", at, (cpu.throttled-w.lastCPU.throttled)/periods)
	}
	w.at, w.last, w.lastCPU, w.oomKills = at, at, cpu, oom["oom_kill"]
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
	if w.current != nil {
		if mark, err := single(w.peak); err == nil && w.fresh {
			w.most = max(w.most, mark)
		}
		value("cgroup-peak-B", w.most)
	}
	if oom, err := words(w.oom); lost && err == nil { // the group outlives those who were killed, for a moment
		w.oomKills = oom["oom_kill"]
	}
	kills := w.oomKills - w.firstOOM
	if w.oom != nil && !(lost && kills == 0) { // which nobody could count
		value("oom-kills", kills)
	}
	if kills > 0 && !lost {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the kernel killed %.0f processes of the subject's control group for want of memory, not the subject itself", kills))
	}
	if w.cpu != nil {
		throttled := 0.0
		if periods := w.lastCPU.periods - w.firstCPU.periods; periods > 0 {
			throttled = (w.lastCPU.throttled - w.firstCPU.throttled) / periods
		}
		value("throttled-frac", throttled)
		value("throttled-sec", w.lastCPU.seconds-w.firstCPU.seconds)
	}
	if sec := w.at.Seconds(); sec > 0 && w.memPressure != nil {
		value("memory-stall-frac", (w.memStall-w.firstMemStall)/sec)
	}
	if sec := w.at.Seconds(); sec > 0 && w.cpuPressure != nil {
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
