package kernel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/probe"
	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// Proc reads the kernel's account of the process, and how quiet the machine was. A sample is
// one /proc/PID/stat and one clock, some 60 µs.
//
// Note: /proc/PID/smaps_rollup would tell shared memory from private, but walks the page
// tables under the subject's lock: some 20 ms for each GiB.
type Proc struct{}

func (Proc) Watch(ctx context.Context, t probe.Target) (probe.Reading, error) {
	p, err := newTree(t.All()...)
	w := &procWatch{p: p, gentle: t.Gentle, beside: t.Beside, others: t.Others, points: probe.Points{Sample: t.Sample}}
	if err == nil {
		w.statm, err = os.Open(fmt.Sprintf("/proc/%d/statm", t.PID))
	}
	if err != nil {
		return probe.Reading{}, fmt.Errorf("watch process %d: %w", t.PID, err)
	}
	defer w.statm.Close()
	err = watchFinely(ctx, t, &w.at, w.sample, w.resident)
	r, err2 := w.reading()
	if err = cmp.Or(err, err2); err != nil {
		err = fmt.Errorf("watch process %d: %w", t.PID, err)
	}
	return r, err
}

// watchFinely calls sample every t.Every and fine in between, so often that the mean of memory
// is that of the window; last is when the last sample was.
func watchFinely(ctx context.Context, t probe.Target, last *time.Duration, sample, fine func(at time.Duration) error) error {
	every := t.Interval()
	t.Every = min(every, rssEvery)
	if t.Gentle {
		t.Every = min(every, gentleEvery)
	}
	return probe.Watch(ctx, t, func(at time.Duration) error {
		// Half a tick of slack, so that ticks of 50 ms make samples of 1 s.
		if at == 0 || ctx.Err() != nil || at-*last >= every-t.Every/2 {
			return sample(at)
		}
		return fine(at)
	})
}

const (
	// rssEvery is how often resident memory is read. Once a second would show only one
	// phase of a heap that grows and falls; at 20 ms the probes took 1.3 % of the throughput
	// of a service that fills the CPUs (doc/method/measuring.md).
	rssEvery    = 50 * time.Millisecond
	gentleEvery = 100 * time.Millisecond // in a watch of hours
	// mostRise is by how much memory may still grow in the last third of a window, as a share and in bytes.
	mostRise  = 0.05
	leastRise = 4 << 20
	// fdsEvery is how often descriptors are counted: before Linux 6.2 that reads a directory.
	fdsEvery = time.Second
)

type procWatch struct {
	p       tree
	statm   *os.File     // stays open: that is nine tenths of a reading's cost
	cpus    *unix.CPUSet // that dyno or the subject may use
	noise   noise
	precise bool    // the CPU clock can be read
	fresh   bool    // the high-water mark was reset
	mark    uint64  // the high-water mark at the beginning, bytes
	gentle  bool    // Target.Gentle
	beside  []int   // Target.Beside
	others  []int   // Target.Others
	memory  float64 // of the machine, bytes

	begun    bool
	first    procfs.ProcStat
	cpuFirst float64 // seconds
	waited   float64 // for a CPU until then, seconds; below 0 if that is not known
	last     procfs.ProcStat
	cpuLast  float64
	at       time.Duration // of the last sample
	fdsAt    time.Duration // of the last with descriptors
	rssAt    time.Duration // of the last reading of resident memory
	rssLast  float64       // bytes
	most     float64       // bytes
	area     float64       // under it, byte seconds
	rise     rise
	threads  float64 // the most
	fds      float64 // the most; 0 if they may not be counted
	files    float64 // the most of resident memory that was pages of files, bytes

	points probe.Points
}

func (w *procWatch) begin() (err error) {
	_, err = w.p.cpu()
	w.precise = err == nil
	w.waited = w.p.waited()
	// Writing 5 resets the high-water mark (Linux, Documentation/filesystems/proc.rst). It
	// fails for another user's process, and without CONFIG_PROC_PAGE_MONITOR.
	w.fresh = !w.gentle && len(w.p) == 1 && os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", w.p[0].PID), []byte("5"), 0) == nil
	w.memory = memTotal()
	if w.mark, err = highWater(w.p[0]); err != nil {
		return err
	}
	users := []int{os.Getpid()}
	for _, p := range w.p {
		users = append(users, p.PID)
	}
	w.cpus = mayUse(users...)
	w.noise, err = readNoise(procfs.DefaultMountPoint, w.cpus, w.beside, w.others)
	return err
}

func (w *procWatch) sample(at time.Duration) error {
	if !w.begun {
		if err := w.begin(); err != nil {
			return err
		}
	}
	st, err := w.p.stat()
	if err == nil && (ended(st) || w.begun && st.Starttime != w.first.Starttime) { // or another has its number
		err = ErrGone
	}
	if err != nil {
		return gone(err)
	}
	cpu := st.CPUTime()
	if w.precise {
		if cpu, err = w.p.cpu(); err != nil {
			return gone(err)
		}
	}
	rss := float64(st.ResidentMemory())
	w.count(at, rss)
	if !w.begun {
		w.begun, w.first, w.cpuFirst, w.fdsAt = true, st, cpu, -fdsEvery
	} else if sec := (at - w.at).Seconds(); sec > 0 {
		w.points.Add("cpu-frac", at, (cpu-w.cpuLast)/sec)
		w.points.Add("minflt/s", at, float64(st.MinFlt-w.last.MinFlt)/sec)
		w.points.Add("majflt/s", at, float64(st.MajFlt-w.last.MajFlt)/sec)
	}
	w.points.Add("rss-B", at, rss)
	if files, err := w.p.files(); err == nil {
		w.points.Add("rss-file-B", at, files)
		w.files = max(w.files, files)
	}
	w.points.Add("vsz-B", at, float64(st.VSize))
	if w.memory > 0 {
		w.points.Add("mem-frac", at, rss/w.memory)
	}
	w.points.Add("threads", at, float64(st.NumThreads))
	w.threads = max(w.threads, float64(st.NumThreads))
	if at-w.fdsAt >= fdsEvery {
		w.fdsAt = at
		if n, err := w.p.descriptors(); err == nil { // not allowed for another user's process
			w.points.Add("fds", at, float64(n))
			w.fds = max(w.fds, float64(n))
		}
	}
	w.at, w.last, w.cpuLast = at, st, cpu
	return nil
}

// resident reads the resident memory alone, in some 5 µs.
func (w *procWatch) resident(at time.Duration) error {
	if len(w.p) > 1 {
		pages, err := w.p.pages()
		if err != nil {
			return gone(err)
		}
		w.count(at, float64(pages*os.Getpagesize()))
		return nil
	}
	var text [128]byte
	n, err := w.statm.ReadAt(text[:], 0)
	if n == 0 {
		return gone(err)
	}
	var size, pages int
	if _, err := fmt.Sscan(string(text[:n]), &size, &pages); err != nil {
		return fmt.Errorf("parse statm: %w", err)
	}
	if pages == 0 { // it waits for its parent
		return ErrGone
	}
	w.count(at, float64(pages)*float64(os.Getpagesize()))
	return nil
}

// ErrGone says that the process has ended, though its parent may keep its directory in /proc.
var ErrGone = errors.New("the process has ended")

// gone is ErrGone where err says that a file of the process is no more.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return ErrGone
	}
	return err
}

func (w *procWatch) count(at time.Duration, rss float64) {
	w.area += (at - w.rssAt).Seconds() * (rss + w.rssLast) / 2
	w.rssAt, w.rssLast, w.most = at, rss, max(w.most, rss)
	w.rise.add(at, rss)
}

// reading sums up the window, or its part until the process ended, which is no error.
func (w *procWatch) reading() (probe.Reading, error) {
	if !w.begun {
		return probe.Reading{}, nil
	}
	mark, err := highWater(w.p[0]) // 0 if it has ended
	peak, mean := w.most, w.rssLast
	if err == nil && len(w.p) == 1 && (w.fresh || mark > w.mark) { // else the mark is older than the window
		peak = max(peak, float64(mark))
	}
	if w.rssAt > 0 {
		mean = w.area / w.rssAt.Seconds()
	}
	cpu := w.cpuLast - w.cpuFirst
	r := probe.Reading{Series: w.points.List, Values: dyno.Values{
		{Metric: "rss-peak-B", Value: peak},
		{Metric: "rss-mean-B", Value: mean},
		{Metric: "threads", Value: w.threads},
		{Metric: "cpu-sec", Value: cpu},
		{Metric: "minflt", Value: float64(w.last.MinFlt - w.first.MinFlt)},
	}}
	// The kernel knows user from system time by ticks only, scaled to the precise sum
	// (kernel/sched/cputime.c, cputime_adjust).
	if user, system := float64(w.last.UTime-w.first.UTime), float64(w.last.STime-w.first.STime); user+system > 0 {
		r.Values = append(r.Values,
			dyno.Value{Metric: "cpu-user-sec", Value: cpu * user / (user + system)},
			dyno.Value{Metric: "cpu-system-sec", Value: cpu * system / (user + system)})
	}
	if w.files > 0 {
		r.Values = append(r.Values, dyno.Value{Metric: "rss-file-B", Value: w.files})
	}
	if w.fds > 0 {
		r.Values = append(r.Values, dyno.Value{Metric: "fds", Value: w.fds})
	}
	if waited := w.p.waited() - w.waited; waited >= 0 && w.waited >= 0 && cpu > 0 {
		r.Values = append(r.Values, dyno.Value{Metric: "cpu-wait-frac", Value: waited / (cpu + waited)})
	}
	if before, late := w.rise.most(); late-before > max(leastRise, mostRise*before) && before > 0 {
		r.Warnings.Add(dyno.WarnUnsettled, "memory still grew when the load ended: it was %.0f %% higher in the last third than before, so its peak tells how far it had come (consider: a longer -d, or -w)", 100*(late/before-1))
	}
	if !w.precise {
		r.Warnings.Add(dyno.WarnCoarse, "CPU time has a resolution of 10 ms, as dyno cannot read the CPU clock of the process")
	}
	now, err := readNoise(procfs.DefaultMountPoint, w.cpus, w.beside, w.others)
	if err != nil {
		return r, err
	}
	values, warnings := now.since(w.noise, cpu)
	r.Values, r.Warnings = append(r.Values, values...), append(r.Warnings, warnings...)
	return r, nil
}

func highWater(p procfs.Proc) (uint64, error) {
	st, err := p.NewStatus()
	return st.VmHWM, err
}

// CPU returns the CPU seconds of all threads of a process, also ended ones, to the
// nanosecond: the clock of clock_getcpuclockid(3), MAKE_PROCESS_CPUCLOCK with CPUCLOCK_SCHED
// of Linux, include/linux/posix-timers.h. Anyone may read it.
//
// Note: /proc/PID/task/*/schedstat is as fine, but forgets threads that ended, and takes an
// open and a read for each thread.
func CPU(pid int) (float64, error) {
	const sched = 2
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|sched, &ts); err != nil {
		return 0, fmt.Errorf("read CPU clock: %w", err)
	}
	return float64(ts.Sec) + float64(ts.Nsec)/1e9, nil
}

// waited returns how long the threads of a process that live could run and waited for a CPU, in seconds:
// the second number of /proc/PID/task/*/schedstat (Linux, Documentation/scheduler/sched-stats.rst).
// It is below 0 if that cannot be read. Go's threads hardly ever end, so that little is forgotten.
func waited(pid int) float64 {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	sum := -1.0
	for _, file := range files {
		text, _ := os.ReadFile(file) // a thread may have ended
		var ran, waited float64
		if _, err := fmt.Sscan(string(text), &ran, &waited); err == nil {
			sum = max(sum, 0) + waited/1e9
		}
	}
	return sum
}
