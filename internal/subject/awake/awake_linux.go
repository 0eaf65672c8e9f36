package awake

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const self = "/proc/self/exe"

// loops starts a loop on each CPU, says so, and returns when one has ended.
func loops(cpus []int) error {
	runtime.LockOSThread() // children have what this thread has, and die with it
	if err := unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0); err != nil {
		return os.NewSyscallError("sched_setattr", err)
	}
	if err := lightSession(); err != nil {
		return err
	}
	ended := make(chan error)
	for _, cpu := range cpus {
		var one unix.CPUSet
		one.Set(cpu)
		if err := unix.SchedSetaffinity(0, &one); err != nil {
			return os.NewSyscallError("sched_setaffinity", err)
		}
		cmd := &exec.Cmd{
			Path: self, Args: []string{name, "on-" + strconv.Itoa(cpu)}, Env: os.Environ(), Stderr: os.Stderr,
			SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		go func() { ended <- cmd.Wait() }()
	}
	os.Stdout.WriteString(ready)
	return <-ended
}

// lightSession gives this session the weight of nice 19. Only the loops and their guard are in it. The
// scheduler may make a group of each session (sched(7), autogroup); against another group, the policy of the
// processes inside does not count. The kernel accepts a value from an ordinary user only every 0.1 s, for the
// whole machine (kernel/sched/autogroup.c).
func lightSession() (err error) {
	const tries = 20
	for range tries {
		if err = os.WriteFile("/proc/self/autogroup", []byte("19"), 0); !errors.Is(err, unix.EAGAIN) {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if errors.Is(err, fs.ErrNotExist) { // this kernel makes no groups of sessions
		return nil
	}
	return err
}
