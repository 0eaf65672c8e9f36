package subject

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dynolab/dyno"
)

// A launcher is dyno's own executable, started under the argument launcherName by
// a supervisor: it goes into the control group and becomes the program by exec, so
// that the program's runtime finds the limits from its first instruction, and
// nothing of dyno is in the group.
//
// Its own runtime has an environment of its own: with the program's, GODEBUG's
// traces would speak of it too.
const launcherName = "dyno-launcher"

const (
	passageFile = 3 // it reads a passage from here
	faultFile   = 4 // and writes inside, and then why it failed
)

// A passage says what a launcher becomes, and where.
type passage struct {
	Parent int          // the supervisor
	Join   []string     // files cgroup.procs
	Expect *dyno.Limits // somebody else has moved it: these limits must be in force
	Path   string       // "" is no program: it ends well
	Args   []string
	Env    []string
}

// inside is what a launcher says when it is in its group.
const inside = "inside"

// launchMain is the main of a launcher. It returns if it failed.
func launchMain() {
	runtime.LockOSThread() // the parent-death signal is this thread's, which execs
	unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
	unix.CloseOnExec(faultFile)
	if err := pass(); err != nil {
		writeAll(faultFile, []byte(err.Error()))
		os.Exit(1)
	}
}

func pass() error {
	var p passage
	from := os.NewFile(passageFile, "")
	if err := gob.NewDecoder(from).Decode(&p); err != nil {
		return fmt.Errorf("read what to run: %w", err)
	}
	from.Close()
	if unix.Getppid() != p.Parent { // it died before the signal was asked for
		return errors.New("the supervisor has ended")
	}
	for _, file := range p.Join {
		if err := write(file, "0"); err != nil { // 0 is who writes
			return fmt.Errorf("join the control group %s: %w", filepath.Dir(file), err)
		}
	}
	if p.Expect != nil {
		if err := inForce(*p.Expect); err != nil {
			return err
		}
	}
	writeAll(faultFile, []byte(inside))
	if p.Path == "" {
		return nil
	}
	return fmt.Errorf("%s: %w", p.Path, syscall.Exec(p.Path, p.Args, p.Env))
}

// inForce returns nil if this process is in a group of version 2 with the limits:
// systemd takes a property without a word where it lacks the controller.
func inForce(l dyno.Limits) error {
	all, err := hierarchies("/proc")
	if err != nil {
		return err
	}
	for _, h := range all {
		if h.controllers != nil {
			continue
		}
		memory, _ := os.ReadFile(filepath.Join(h.own, "memory.max"))
		cpu, _ := os.ReadFile(filepath.Join(h.own, "cpu.max"))
		most, err := strconv.ParseInt(strings.TrimSpace(string(memory)), 10, 64)
		if l.Memory > 0 && (err != nil || most > int64(l.Memory)) {
			return errors.New("the scope that it made has no memory limit, as the user's systemd does not have that controller")
		}
		if l.CPU > 0 && (len(cpu) == 0 || bytes.HasPrefix(cpu, []byte("max"))) {
			return errors.New("the scope that it made has no CPU limit, as the user's systemd does not have that controller")
		}
		return nil
	}
	return errors.New("there are no control groups of version 2")
}

// startIn is how long systemd may take to make a scope.
const startIn = 10 * time.Second

// start makes the program of a job a child, inside of the cage.
func (c *cage) start(j *job, files []uintptr) (pid int, err error) {
	order, to, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer to.Close()
	from, fault, err := os.Pipe()
	if err != nil {
		order.Close()
		return 0, err
	}
	defer from.Close()
	// Not /proc/self/exe, which systemd-run would take for itself.
	self := fmt.Sprintf("/proc/%d/exe", os.Getpid())
	argv := append(append([]string{}, c.scope...), self, launcherName)
	pid, err = syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{
		Dir: j.Dir, Env: c.environ(j.Env),
		Files: append(files, order.Fd(), fault.Fd()),
		Sys:   &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
	order.Close()
	fault.Close()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", argv[0], err)
	}
	p := passage{Parent: os.Getpid(), Join: c.join(), Path: j.Path, Args: j.Args, Env: j.Env}
	if c.scope != nil {
		p.Expect = &c.limits
	}
	late := time.AfterFunc(startIn, func() { unix.Kill(pid, unix.SIGKILL) })
	defer late.Stop()
	gob.NewEncoder(to).Encode(p) // an error is that it has ended, which it says itself
	said, _ := io.ReadAll(from)
	why, ok := strings.CutPrefix(string(said), inside)
	if ok && why == "" {
		return pid, nil
	}
	unix.Kill(pid, unix.SIGKILL) // if it is not dead already
	unix.Wait4(pid, nil, 0, nil)
	if why == "" {
		why = "it did not run the program"
		if c.ended().Kills > 0 {
			why = fmt.Sprintf("no program can start under the limit %s: the kernel kills it for want of memory (consider: a higher limit, such as memory=64MiB)", c.limits)
		}
	}
	return 0, errors.New(why)
}

// environ is the environment of a launcher.
func (c *cage) environ(subject []string) []string {
	env := []string{"GOMAXPROCS=1", "GOGC=off", "GORACE=atexit_sleep_ms=0"}
	if c.scope != nil { // where the user's systemd is
		for _, name := range []string{"XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "HOME", "PATH"} {
			if v := variable(subject, name); v != "" {
				env = append(env, name+"="+v)
			}
		}
	}
	return env
}

// newScope makes sure that the user's systemd runs commands under the limits.
func newScope(asked *confinement, env []string) (*cage, error) {
	if asked.Systemd == "" {
		return nil, errors.New("there is no systemd-run")
	}
	l := asked.Limits
	c := &cage{limits: l, scope: []string{asked.Systemd, "--user", "--scope", "--quiet", "--collect"}}
	if l.Memory > 0 {
		c.scope = append(c.scope, "-p", "MemoryMax="+strconv.FormatInt(int64(l.Memory), 10), "-p", "MemorySwapMax=0")
	}
	if l.CPU > 0 {
		c.scope = append(c.scope, "-p", "CPUQuota="+strconv.FormatFloat(100*float64(l.CPU), 'f', 2, 64)+"%")
	}
	c.scope = append(c.scope, "--")
	if err := c.try(env); err != nil {
		return nil, fmt.Errorf("systemd-run --user --scope: %w", err)
	}
	return c, nil
}

// try sends a launcher into the cage that becomes nothing.
func (c *cage) try(env []string) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	from, to, err := os.Pipe()
	if err != nil {
		return err
	}
	defer from.Close()
	pid, err := c.start(&job{Dir: "/", Env: env}, []uintptr{null.Fd(), to.Fd(), to.Fd()})
	to.Close()
	if err != nil {
		if said, _ := io.ReadAll(io.LimitReader(from, 1000)); len(said) > 0 {
			err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(said))
		}
		return err
	}
	_, err = unix.Wait4(pid, nil, 0, nil)
	return err
}
