package guard

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dynolab/dyno/internal/cgroup"
)

// A supervisor is dyno's own executable, started under this name for each program. In a session of
// its own, neither Ctrl-C nor a kill -9 of dyno reaches it, and it adopts the orphans of its
// descendants (PR_SET_CHILD_SUBREAPER): PR_SET_PDEATHSIG reaches only the child itself. Orders come by
// gob on standard input. When that ends, it kills all descendants, removes what it was told to, and
// exits. It also reads the program's output: see outputPump.
const supervisorName = "dyno-supervisor"

// Descriptors of a supervisor beside the standard ones.
const (
	heldFile   = 3 // the control of IO.Before, which it does nothing with
	directFile = 4 // IO.File
)

// Main must be the first call of main, and of TestMain in tests that start processes. In a
// supervisor or launcher it does that work and exits; otherwise it returns at once.
func Main() {
	if len(os.Args) == 1 && os.Args[0] == supervisorName {
		supervise()
		os.Exit(0)
	}
	if len(os.Args) == 2 && os.Args[1] == launcherName {
		launchMain()
		os.Exit(0)
	}
	mainCalled.Store(true)
}

// An order is what dyno asks of a supervisor; the first has the job.
type order struct {
	Job    *Job
	Direct bool // the job's standard output is directFile
	Remove string
	With   []string      // to be removed before
	Stop   time.Duration // SIGTERM now, SIGKILL so much later
}

// Frames are what a supervisor writes to dyno on its standard output: one byte
// of kind, the length of the body in 4 bytes, little endian, and the body.
const (
	frameStarted = 'p' // process ID in decimal
	frameFailed  = 'f' // why the program could not be started
	frameStdout  = 'o' // one write of the program
	frameStderr  = 'e'
	frameEnded   = 'x' // an ending by gob
)

func appendFrame(b []byte, kind byte, body []byte) []byte {
	b = append(b, kind)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(body)))
	return append(b, body...)
}

func sendFrame(kind byte, body string) { writeAll(1, appendFrame(nil, kind, []byte(body))) }

// writeAll writes b, or as much as the other side reads.
func writeAll(fd int, b []byte) {
	for len(b) > 0 {
		n, err := unix.Write(fd, b)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return
		}
		b = b[n:]
	}
}

func supervise() {
	runtime.LockOSThread() // Pdeathsig is bound to the thread that forks: keep it
	unix.CloseOnExec(1)
	unix.CloseOnExec(heldFile)
	unix.CloseOnExec(directFile)
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	// Caught, as ignored signals would be ignored by the program as well.
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGPIPE)

	orders := make(chan order)
	go func() {
		defer close(orders)
		for dec := gob.NewDecoder(os.Stdin); ; {
			var o order
			if dec.Decode(&o) != nil {
				return
			}
			orders <- o
		}
	}()
	first, ok := <-orders
	if !ok || first.Job == nil {
		return
	}
	s := &supervisor{orders: orders, ledger: openLedger(first.Job.Ledger)}
	defer s.ledger.close()
	if err := s.run(first.Job, first.Direct); err != nil {
		sendFrame(frameFailed, err.Error())
	}
	if s.group != nil {
		if err := s.group.Remove(); err != nil {
			fmt.Fprintln(os.Stderr, "dyno:", err)
		}
	}
	for _, e := range s.paths {
		e.remove()
	}
}

type supervisor struct {
	orders <-chan order
	ledger ledger
	paths  []entry
	group  *cgroup.Group    // of the program; nil if it needs none
	pid    int              // of the program; 0 when it has ended
	asked  bool             // to end, while it lived
	late   <-chan time.Time // when the time of grace is over
	quit   syscall.Signal   // Job.Quit, until it was sent

	quitting bool // it was sent
}

func (s *supervisor) obey(o order) {
	if o.Remove != "" {
		e := entry{Path: o.Remove, With: o.With}
		s.ledger.note(e)
		s.paths = append(s.paths, e)
	}
	if o.Stop > 0 && s.pid != 0 {
		s.ask()
		askGroup(s.pid)
		s.late = time.After(o.Stop)
	}
}

// ask notes that the program is to be ended, unless it is dead already and not reaped yet.
func (s *supervisor) ask() { s.asked = s.asked || unix.Kill(s.pid, 0) == nil }

// run starts the program and returns when it and all descendants have ended; without a program,
// when the orders end.
func (s *supervisor) run(j *Job, direct bool) error {
	if len(j.Last) > 0 {
		last := entry{Last: j.Last}
		s.ledger.note(last)
		s.paths = append(s.paths, last)
	}
	for _, dir := range j.Scratch {
		s.ledger.note(entry{Path: dir})
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		s.paths = append(s.paths, entry{Path: dir})
	}
	if err := j.writeFiles(); err != nil {
		return err
	}
	if j.Confine != nil {
		var err error
		if s.group, err = makeGroup(j.Confine, j.Env, s.ledger); err != nil {
			return err
		}
	}
	if j.Path == "" {
		if s.group != nil {
			if err := tryGroup(s.group, j.Confine, j.Env); err != nil {
				return err
			}
		}
		sendFrame(frameStarted, "0")
		for o := range s.orders {
			s.obey(o)
		}
		return nil
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	p, err := newOutputPump()
	if err != nil {
		return err
	}
	files := []uintptr{null.Fd(), uintptr(p.out.w), uintptr(p.err.w)}
	if direct {
		files[1] = directFile
	}
	err = pinned(j.CPUs, func() error { return s.start(j, files) })
	runtime.KeepAlive(null) // else its finalizer may close it before the fork
	unix.Close(p.out.w)
	unix.Close(p.err.w)
	if direct {
		unix.Close(directFile)
	}
	if err != nil {
		return err
	}
	sendFrame(frameStarted, strconv.Itoa(s.pid))
	drained := make(chan struct{})
	go func() { p.run(); close(drained) }()

	status := s.await()
	unix.Close(p.cancel[1]) // a foreign process may hold the pipes open
	<-drained
	e := ending{Status: status, Alone: !s.asked}
	if s.group != nil {
		e.Memory = s.group.MemoryEnd()
	}
	var body bytes.Buffer
	gob.NewEncoder(&body).Encode(e) // cannot fail
	sendFrame(frameEnded, body.String())
	if e.Alone && e.Memory.Kills > 0 {
		time.Sleep(linger)
	}
	return nil
}

func (s *supervisor) start(j *Job, files []uintptr) (err error) {
	if s.group != nil {
		s.pid, err = startInside(s.group, j, files)
		return err
	}
	s.quit = j.Quit
	s.pid, err = fork(j.Path, j.Args, j.Env, j.Dir, files, j.User)
	return err
}

func fork(path string, argv, env []string, dir string, files []uintptr, user *User) (pid int, err error) {
	sys := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if user != nil {
		sys.Credential = &syscall.Credential{Uid: user.UID, Gid: user.GID}
	}
	pid, err = syscall.ForkExec(path, argv, &syscall.ProcAttr{Dir: dir, Env: env, Files: files, Sys: sys})
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return pid, nil
}

// pinned calls start with the thread on some CPUs only. Children inherit them from their first
// instruction on, and so take GOMAXPROCS from them. No CPUs means as it is.
func pinned(cpus []int, start func() error) error {
	if len(cpus) == 0 {
		return start()
	}
	var before, set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return os.NewSyscallError("sched_getaffinity", err)
	}
	for _, c := range cpus {
		set.Set(c)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("pin to CPUs %v: %w (consider: CPUs that this process may use)", cpus, err)
	}
	err := start()
	return errors.Join(err, os.NewSyscallError("sched_setaffinity", unix.SchedSetaffinity(0, &before)))
}

// PinnedCPUs returns the last n CPUs that dyno may use, for Job.CPUs: the first is for dyno and for most
// machines' interrupts. There are fewer if dyno may use fewer, none if unknown.
func PinnedCPUs(n int) []int {
	var may unix.CPUSet
	if unix.SchedGetaffinity(0, &may) != nil {
		return nil
	}
	var cpus []int
	for cpu := range len(may) * 64 {
		if may.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus[max(0, len(cpus)-n):]
}

// await returns how the program ended, when no descendant is left.
func (s *supervisor) await() (status string) {
	type death struct {
		pid    int
		status unix.WaitStatus
	}
	deaths := make(chan death)
	go func() {
		defer close(deaths)
		for {
			var d death
			var err error
			if d.pid, err = unix.Wait4(-1, &d.status, 0, nil); err == unix.ECHILD {
				return // no child is left
			} else if err == nil {
				deaths <- d
			}
		}
	}()
	var again <-chan time.Time // not nil: killing
	orders := s.orders
	for {
		kill := false
		select {
		case o, ok := <-orders:
			if !ok {
				orders, kill = nil, true
				if s.pid != 0 {
					s.ask()
				}
			} else {
				s.obey(o)
			}
		case <-s.late:
			kill = true
		case <-again:
			kill = true
		case d, ok := <-deaths:
			if !ok {
				return status
			}
			if d.pid == s.pid {
				// Its children are ours now. Mostly there are none, and
				// to look for them takes milliseconds.
				status, s.pid, kill = describe(d.status), 0, children() && !s.quitting
			}
		}
		if kill && s.quit != 0 && s.pid != 0 {
			unix.Kill(s.pid, s.quit)
			unix.Kill(-s.pid, unix.SIGCONT)
			s.quit, s.quitting, s.late = 0, true, time.After(quitGrace)
		} else if kill {
			s.killAll()
			// Children of the killed become ours as these die, and
			// may have forked meanwhile.
			again = time.After(2 * time.Millisecond)
		}
	}
}

// children reports whether this process has any, dead ones included.
func children() bool {
	return unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) != unix.ECHILD
}

// killAll sends SIGKILL to all descendants of this moment, in any group or session.
func (s *supervisor) killAll() {
	if s.pid != 0 { // not reaped yet, so the number is still that group's
		killGroup(s.pid)
	}
	for _, pid := range Descendants(os.Getpid()) {
		unix.Kill(pid, unix.SIGKILL)
	}
}

// describe says how a process ended in the words of os.ProcessState.
func describe(w unix.WaitStatus) string {
	if w.Signaled() {
		s := "signal: " + syscall.Signal(w.Signal()).String()
		if w.CoreDump() {
			s += " (core dumped)"
		}
		return s
	}
	return "exit status " + strconv.Itoa(w.ExitStatus())
}
