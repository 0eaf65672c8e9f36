//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A process is a subject of dyno, as /proc shows it.
type process struct {
	pid   int
	level string
	began time.Time // to 10 ms
	marks []mark
}

// A mark is VmHWM at one moment.
type mark struct {
	at   time.Time
	peak int64
}

func (p *process) last() mark { return p.marks[len(p.marks)-1] }

// peak is what VmHWM was when a window ended.
func (p *process) peak(end time.Time) (peak int64) {
	for _, m := range p.marks {
		if !m.at.After(end) {
			peak = m.peak
		}
	}
	return peak
}

type watcher struct {
	end, ended chan struct{}
	seen       []*process
}

// watch looks at all processes whose executable is below dir, every 20 ms, and for new ones five
// times a second.
func watch(dir, factor string) *watcher {
	w := &watcher{end: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		t := time.NewTicker(20 * time.Millisecond)
		defer t.Stop()
		alive := map[int]*process{}
		for i := 0; ; i++ {
			if i%10 == 0 {
				w.find(dir, factor, alive)
			}
			for pid, p := range alive {
				status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
				peak := parsePeak(status)
				if err != nil || peak == 0 { // it has ended, and a process without memory has not begun
					delete(alive, pid)
					continue
				}
				p.marks = append(p.marks, mark{time.Now(), peak})
			}
			select {
			case <-w.end:
				return
			case <-t.C:
			}
		}
	}()
	return w
}

func (w *watcher) stop() []*process {
	close(w.end)
	<-w.ended
	return slices.DeleteFunc(w.seen, func(p *process) bool { return len(p.marks) == 0 })
}

func (w *watcher) find(dir, factor string, alive map[int]*process) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || alive[pid] != nil {
			continue
		}
		exe, err := os.Readlink(filepath.Join("/proc", e.Name(), "exe"))
		if err != nil || !strings.HasPrefix(exe, dir+"/") {
			continue
		}
		environ, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		level, ok := variable(environ, factor)
		stat, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		age, err := age(stat)
		if !ok || err != nil {
			continue
		}
		p := &process{pid: pid, level: level, began: time.Now().Add(-age)}
		alive[pid] = p
		w.seen = append(w.seen, p)
	}
}

func variable(environ []byte, name string) (string, bool) {
	for e := range bytes.SplitSeq(environ, []byte{0}) {
		if v, ok := bytes.CutPrefix(e, []byte(name+"=")); ok {
			return string(v), true
		}
	}
	return "", false
}

// age is how long ago a process began, by /proc/PID/stat, in ticks of 10 ms since the machine did.
func age(stat []byte) (time.Duration, error) {
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	fields := strings.Fields(string(rest))
	if len(fields) < 20 {
		return 0, fmt.Errorf("read stat: %d fields", len(fields))
	}
	ticks, err := strconv.ParseInt(fields[19], 10, 64)
	if err != nil {
		return 0, err
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return 0, err
	}
	return time.Duration(now.Nano()) - time.Duration(ticks)*10*time.Millisecond, nil
}

// parsePeak reads VmHWM, in bytes; 0 if it is not there.
func parsePeak(status []byte) int64 {
	_, rest, _ := bytes.Cut(status, []byte("\nVmHWM:"))
	line, _, _ := bytes.Cut(rest, []byte("kB"))
	n, _ := strconv.ParseInt(string(bytes.TrimSpace(line)), 10, 64)
	return n << 10
}
