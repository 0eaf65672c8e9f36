//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dynolab/dyno/eval/internal/program"
)

// usage is what one run of a program cost.
type usage struct {
	wall time.Duration
	cpu  time.Duration // user and system, from its start to its end
	peak int64         // highest resident memory, bytes
	out  []byte        // its standard output
}

// busy is the share of its CPU that the program had.
func (u usage) busy() float64 { return u.cpu.Seconds() / u.wall.Seconds() }

// cpus are the two CPUs of the bench. The main goroutine is locked to its
// thread, because a child inherits the CPU of the thread that starts it, and
// ends with that thread (Pdeathsig).
type cpus struct {
	server, generator int
	all               unix.CPUSet
	realtime          bool // what runs on one of the two goes before all else
}

func findCPUs() (cpus, error) {
	var c cpus
	if err := unix.SchedGetaffinity(0, &c.all); err != nil {
		return c, fmt.Errorf("ask for the CPUs: %w", err)
	}
	var first []int
	for i := 0; len(first) < 2 && i < len(c.all)*64; i++ {
		if c.all.IsSet(i) {
			first = append(first, i)
		}
	}
	if len(first) < 2 {
		return c, errors.New("needs two CPUs, one for the server and one for the generator")
	}
	c.server, c.generator = first[0], first[1]
	return c, nil
}

// start starts a program on one CPU, or with cpu < 0 on any, in a process group
// of its own, which is killed when ctx ends.
func (c *cpus) start(ctx context.Context, cpu int, stdout, stderr *os.File, env []string, argv ...string) (*exec.Cmd, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return killGroup(cmd) }
	if cpu >= 0 {
		var one unix.CPUSet
		one.Set(cpu)
		if err := unix.SchedSetaffinity(0, &one); err != nil {
			return nil, fmt.Errorf("pin to CPU %d: %w", cpu, err)
		}
		defer unix.SchedSetaffinity(0, &c.all)
	}
	if cpu >= 0 && c.realtime {
		rr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 5}
		if err := unix.SchedSetAttr(0, &rr, 0); err != nil {
			return nil, fmt.Errorf("set real-time priority: %w (consider: as root, or without -rt)", err)
		}
		defer unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr}, 0)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	return cmd, nil
}

func killGroup(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// run runs a program to its end on one CPU, or with cpu < 0 on any. Its output
// goes to files in dir, so that no pipe is in its way.
func (c *cpus) run(ctx context.Context, dir string, cpu int, argv ...string) (usage, error) {
	var u usage
	stdout, err := os.Create(filepath.Join(dir, "stdout"))
	if err != nil {
		return u, err
	}
	defer stdout.Close()
	stderr, err := os.Create(filepath.Join(dir, "stderr"))
	if err != nil {
		return u, err
	}
	defer stderr.Close()

	began := time.Now()
	cmd, err := c.start(ctx, cpu, stdout, stderr, nil, argv...)
	if err != nil {
		return u, err
	}
	var wg sync.WaitGroup
	ended := make(chan struct{})
	wg.Go(func() { u.peak = watchPeak(cmd.Process.Pid, ended) })
	err = cmd.Wait()
	u.wall = time.Since(began)
	killGroup(cmd) // what it may have left
	close(ended)
	wg.Wait()
	if ctx.Err() != nil {
		return u, fmt.Errorf("run %s: %w", filepath.Base(argv[0]), context.Cause(ctx))
	}
	if err != nil {
		said, _ := os.ReadFile(stderr.Name())
		return u, fmt.Errorf("run %s: %w: %s", filepath.Base(argv[0]), err, program.LastLine(string(said)))
	}
	u.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	// A child's ru_maxrss begins with the peak of the process that started it,
	// since they share their memory until exec. So it is the child's own only
	// where it is higher; else the last look at VmHWM is all there is.
	rss := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
	if own := peakOf(os.Getpid()); rss > own {
		u.peak = rss
	}
	u.out, err = os.ReadFile(stdout.Name())
	return u, err
}

// watchPeak looks at a process's peak memory until it has ended.
func watchPeak(pid int, ended <-chan struct{}) int64 {
	t := time.NewTicker(20 * time.Millisecond)
	defer t.Stop()
	var peak int64
	for {
		peak = max(peak, peakOf(pid))
		select {
		case <-ended:
			return peak
		case <-t.C:
		}
	}
}

func peakOf(pid int) int64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return parsePeak(status)
}

// target is the server as the bench sees it.
type target struct {
	url  string // without a path
	stop func()
}

// startServer starts this program once more, as the server, and waits until it
// listens.
//
// Busy, it never sleeps, which makes the generator the one that is measured.
// Where time counts it sleeps: the scheduler punishes who spins, with pauses of
// up to 50 ms in every second where others want the CPU, even in real time.
func (c *cpus) startServer(ctx context.Context, self string, busy bool) (*target, error) {
	argv := []string{self, "server"}
	if busy {
		argv = append(argv, "-busy")
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	// Without asyncpreemptoff the runtime interrupts the thread 100 times a second.
	cmd, err := c.start(ctx, c.server, w, os.Stderr, []string{"GODEBUG=asyncpreemptoff=1"}, argv...)
	w.Close()
	if err != nil {
		return nil, err
	}
	t := &target{stop: func() { killGroup(cmd); cmd.Wait() }}
	line := make([]byte, 64)
	n, err := r.Read(line) // 0 if it ends before
	addr := bytes.TrimSpace(line[:n])
	if err != nil || len(addr) == 0 {
		t.stop()
		return nil, fmt.Errorf("start the server: it ended (%v)", cmd.ProcessState)
	}
	t.url = "http://" + string(addr)
	return t, nil
}

// The connection is closed at once, so that the next generator has the server
// for itself.
var control = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}

func (t *target) reset() error {
	_, err := t.ask("/reset")
	return err
}

func (t *target) truth() (tr truth, err error) {
	body, err := t.ask("/truth")
	if err == nil {
		err = json.Unmarshal(body, &tr)
	}
	return tr, err
}

func (t *target) ask(path string) ([]byte, error) {
	resp, err := control.Get(t.url + path)
	if err != nil {
		return nil, fmt.Errorf("ask the server: %w", err)
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}
