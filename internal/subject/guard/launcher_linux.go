package guard

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dynolab/dyno/internal/cgroup"
)

// A launcher is dyno's own executable, started by a supervisor under this argument. It joins the
// control group and becomes the program by exec: so the program's runtime finds the limits from its
// first instruction, and nothing of dyno is in the group. It has not the program's environment,
// whose GODEBUG would trace the launcher.
const launcherName = "dyno-launcher"

const (
	becomeFile = 3 // it reads a becoming from here
	faultFile  = 4 // and writes inside, and then why it failed
)

// A becoming tells a launcher what to join and to run.
type becoming struct {
	Parent int            // the supervisor
	Join   []string       // see cgroup.Join
	Expect *cgroup.Limits // systemd has moved it: these limits must be in force; or nil
	Path   string         // "" means that it exits with status 0
	Args   []string
	Env    []string
}

// inside is written by a launcher when it is in its group.
const inside = "inside"

// launchMain is the main of a launcher. It returns on failure only.
func launchMain() {
	runtime.LockOSThread() // the parent-death signal is this thread's, which execs
	unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
	unix.CloseOnExec(faultFile)
	if err := become(); err != nil {
		writeAll(faultFile, []byte(err.Error()))
		os.Exit(1)
	}
}

func become() error {
	var p becoming
	from := os.NewFile(becomeFile, "")
	if err := gob.NewDecoder(from).Decode(&p); err != nil {
		return fmt.Errorf("read what to run: %w", err)
	}
	from.Close()
	if unix.Getppid() != p.Parent { // it died before the signal was asked for
		return errors.New("the supervisor has ended")
	}
	if err := cgroup.Join(p.Join); err != nil {
		return err
	}
	if p.Expect != nil {
		if err := cgroup.InForce(*p.Expect); err != nil {
			return err
		}
	}
	writeAll(faultFile, []byte(inside))
	if p.Path == "" {
		return nil
	}
	return fmt.Errorf("%s: %w", p.Path, syscall.Exec(p.Path, p.Args, p.Env))
}

// makeGroup makes a control group: directories or, if that fails, a scope of systemd.
func makeGroup(c *Confinement, env []string, l ledger) (*cgroup.Group, error) {
	g, err := cgroup.Make(c.Proc, filepath.Base(TempName("/")), c.Limits, func(dir string) { l.note(entry{Group: dir}) })
	if err == nil {
		if err = g.SetLimits(); err == nil {
			return g, nil
		}
		// The kernel does not take the limit: systemd cannot set it either.
		return nil, errors.Join(fmt.Errorf("cannot set the limit %s: %w", c.Name, err), g.Remove())
	}
	noScope := errors.New("systemd-run is not installed")
	if c.Systemd != "" {
		g = cgroup.Scope(c.Systemd, c.Limits)
		if noScope = tryGroup(g, c, env); noScope == nil {
			return g, nil
		}
		noScope = fmt.Errorf("systemd-run --user --scope: %w", noScope)
	}
	what := "the limit " + c.Name
	if c.Limits == (cgroup.Limits{}) {
		what = "a control group, which all settings need if one has a limit"
	}
	if busy := (*cgroup.Busy)(nil); errors.As(err, &busy) {
		return nil, fmt.Errorf("cannot set %s: %w; %w (consider: %s)", what, err, noScope, busy.Cure())
	}
	return nil, fmt.Errorf("cannot set %s: %w; %w (consider: run dyno as root, or in a leaf of a cgroup v2 subtree that you own, with cpu and memory in its cgroup.subtree_control, or where systemd-run --user --scope works)",
		what, err, noScope)
}

// startIn is how long systemd may take to make a scope.
const startIn = 10 * time.Second

// startInside starts the program of a job as a child in the control group.
func startInside(g *cgroup.Group, j *Job, files []uintptr) (pid int, err error) {
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
	p := becoming{Parent: os.Getpid(), Join: g.JoinFiles(), Path: j.Path, Args: j.Args, Env: j.Env}
	env := []string{"GOMAXPROCS=1", "GOGC=off", "GORACE=atexit_sleep_ms=0"}
	if g.Command != nil {
		p.Expect = &g.Limits
		for _, kv := range j.Env { // where the user's systemd is
			switch name, _, _ := strings.Cut(kv, "="); name {
			case "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "HOME", "PATH":
				env = append(env, kv)
			}
		}
	}
	// Not /proc/self/exe, which systemd-run would take for itself.
	self := fmt.Sprintf("/proc/%d/exe", os.Getpid())
	argv := append(slices.Clone(g.Command), self, launcherName)
	pid, err = fork(argv[0], argv, env, j.Dir, append(files, order.Fd(), fault.Fd()), nil)
	order.Close()
	fault.Close()
	if err != nil {
		return 0, err
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
		if g.MemoryEnd().Kills > 0 {
			why = fmt.Sprintf("no program can start under the limit %s: the kernel kills it for lack of memory (consider: a higher limit, such as memory=64MiB)", j.Confine.Name)
		}
	}
	return 0, errors.New(why)
}

// tryGroup starts a launcher without a program in the group.
func tryGroup(g *cgroup.Group, c *Confinement, env []string) error {
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
	pid, err := startInside(g, &Job{Dir: "/", Env: env, Confine: c}, []uintptr{null.Fd(), to.Fd(), to.Fd()})
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

// linger is how long a control group outlives its program after a kill for want of memory: two
// samples of the probe.
const linger = 100 * time.Millisecond
