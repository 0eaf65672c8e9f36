package awake

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

const self = "/proc/self/exe"

// loops starts a loop on each CPU, and returns when one has ended.
func loops(cpus []int) error {
	runtime.LockOSThread() // children have what this thread has, and die with it
	if err := unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0); err != nil {
		return os.NewSyscallError("sched_setattr", err)
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
			SysProcAttr: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
		}
		if err := cmd.Start(); err != nil {
			return err
		}
		// Each session may be a group of the scheduler (sched(7), autogroup), which has the weight of nice 0 else.
		os.WriteFile("/proc/"+strconv.Itoa(cmd.Process.Pid)+"/autogroup", []byte("19"), 0)
		go func() { ended <- cmd.Wait() }()
	}
	return <-ended
}
