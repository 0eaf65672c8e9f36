package guard

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A supervision is the connection to a supervisor. Errors of orders do not matter: a supervisor
// that takes none has ended.
type supervision struct {
	mu      sync.Mutex // of orders
	orders  *gob.Encoder
	control *os.File // the supervisor's standard input

	supervisor *os.Process
	stopped    atomic.Bool // the supervisor was, from outside
}

func (s *supervision) send(o order) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.orders.Encode(o)
}

func (s *supervision) terminate(grace time.Duration) { s.send(order{Stop: grace}) }

// Kill begins to end the tree, and does not wait.
func (s *supervision) Kill() { s.control.Close() }

// RemoveInEnd removes a path in the end, after the paths with that belong to it. None of them has to exist.
// If path exists, no other process may use it.
func (s *supervision) RemoveInEnd(path string, with ...string) {
	s.send(order{Remove: path, With: with})
}

// Start starts a supervisor that does the job.
func Start(j Job, o IO) (*Tree, error) {
	if !mainCalled.Load() {
		return nil, errors.New("start supervisor: this program's main does not call guard.Main")
	}
	var held *os.File
	if o.Before != nil {
		held = o.Before.control // which then has no end before this supervisor ends
	}
	j.Ledger = ledgerPath()
	if j.Path != "" && j.Ledger != "" {
		j.Env = marked(j.Env, j.Ledger)
	}
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{supervisorName},
		Stderr:     os.Stderr,
		ExtraFiles: []*os.File{held, o.File}, // heldFile, directFile; nil is a descriptor that is closed
		// The race detector would wait a second before each exit.
		Env: []string{"GOMAXPROCS=1", "GORACE=atexit_sleep_ms=0"}, Dir: "/",
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	report, err := cmd.StdoutPipe()
	if err != nil {
		stdin.Close()
		return nil, err
	}
	widen(int(cmd.Stdout.(*os.File).Fd()))
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start supervisor: %w", err)
	}
	control := stdin.(*os.File)
	t := &Tree{Done: make(chan struct{}), supervision: supervision{control: control, orders: gob.NewEncoder(control)}}
	t.send(order{Job: &j, Direct: o.File != nil}) // an error is that the supervisor has ended: see follow
	started := make(chan error, 1)
	t.supervisor = cmd.Process
	go t.follow(cmd, report, o, started, j.Ledger)
	if err := <-started; err != nil {
		t.Stop(0)
		return nil, err
	}
	return t, nil
}

// watch kills a supervisor that was stopped: it forwards nothing, and its program waits for room in its
// pipes. It looks twice, since all of dyno may have been stopped and continued one process after the other.
func (t *Tree) watch(ended <-chan struct{}) {
	tick := time.NewTicker(stoppedLook)
	defer tick.Stop()
	for before := false; ; {
		select {
		case <-ended:
			return
		case <-tick.C:
		}
		var child unix.Siginfo
		err := unix.Waitid(unix.P_PID, t.supervisor.Pid, &child, unix.WSTOPPED|unix.WNOHANG|unix.WNOWAIT, nil)
		now := err == nil && child.Signo != 0
		if now && before {
			t.stopped.Store(true)
			t.supervisor.Kill()
		}
		before = now
	}
}

var stoppedLook = time.Second // a test has no time

func (t *Tree) follow(cmd *exec.Cmd, report io.Reader, o IO, started chan<- error, ledger string) {
	defer close(t.Done)
	ended := make(chan struct{})
	go t.watch(ended)
	defer func() {
		cmd.Wait() // closes the pipes
		close(ended)
		if cmd.ProcessState.Success() {
			return
		}
		t.Broken = fmt.Sprintf("ended: %v (consider: the kernel's log, if memory was short)", cmd.ProcessState)
		if t.stopped.Load() {
			t.Broken = "was stopped from outside (SIGSTOP), and then killed"
		}
		if t.PID != 0 { // what is kept without a program, such as builds, is still needed
			collect(ledger)
		}
	}()
	defer func() {
		select {
		case started <- errors.New("start supervisor: it ended at once"):
		default:
		}
	}()
	t.Status, t.Alone = "supervisor killed", true
	r := bufio.NewReaderSize(report, 256<<10)
	var head [5]byte
	var body []byte
	for {
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return
		}
		n := int(binary.LittleEndian.Uint32(head[1:]))
		if n > cap(body) {
			body = make([]byte, n)
		}
		body = body[:n]
		if _, err := io.ReadFull(r, body); err != nil {
			return
		}
		switch head[0] {
		case frameStarted:
			t.PID, _ = strconv.Atoi(string(body))
			started <- nil
		case frameFailed:
			started <- errors.New(string(body))
		case frameStdout:
			if o.Stdout != nil {
				o.Stdout.Write(body)
			}
		case frameStderr:
			if o.Stderr != nil {
				o.Stderr.Write(body)
			}
		case frameEnded:
			t.ending = ending{} // gob leaves out what is zero
			gob.NewDecoder(bytes.NewReader(body)).Decode(&t.ending)
		}
	}
}
