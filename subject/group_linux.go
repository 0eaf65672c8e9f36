package subject

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
	"syscall"
	"time"
)

// A groupImpl talks to the supervisor of the group.
type groupImpl struct {
	mu      *sync.Mutex
	control *os.File // its standard input
	orders  *gob.Encoder
}

func (i groupImpl) send(o order) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.orders.Encode(o)
}

// A supervisor that does not take an order has ended already: the errors of
// these do not matter.

func (i groupImpl) terminate(grace time.Duration) { i.send(order{Stop: grace}) }
func (i groupImpl) kill()                         { i.control.Close() }
func (i groupImpl) remove(path string)            { i.send(order{Remove: path}) }

// hold returns what other supervisors hold so that this one, which has nothing
// to run, removes its paths after they and dyno have ended.
func (g *group) hold() *os.File { return g.impl.control }

// launch starts a supervisor for the job.
func launch(j job) (*group, error) {
	if !mainCalled.Load() {
		return nil, errors.New("start supervisor: this program's main does not call subject.Main")
	}
	stdin, control, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	report, stdout, err := os.Pipe()
	if err != nil {
		stdin.Close()
		control.Close()
		return nil, err
	}
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{supervisorName},
		Stdin: stdin, Stdout: stdout, Stderr: os.Stderr,
		// Nothing of what the subject is given. A race detector, if dyno
		// has one, would wait a second before each exit.
		Env: []string{"GOMAXPROCS=1", "GORACE=atexit_sleep_ms=0"}, Dir: "/",
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	cmd.ExtraFiles = []*os.File{j.held, j.direct} // nil is a descriptor that is closed
	j.Direct = j.direct != nil
	widen(int(stdout.Fd()))
	err = cmd.Start()
	stdin.Close()
	stdout.Close()
	g := &group{done: make(chan struct{}), impl: groupImpl{new(sync.Mutex), control, gob.NewEncoder(control)}}
	if err == nil {
		if err = g.impl.send(order{Job: &j}); err == nil {
			started := make(chan error, 1)
			go g.follow(cmd, report, j, started)
			if err = <-started; err == nil {
				return g, nil
			}
			g.once.Do(g.impl.kill)
			<-g.done
			return nil, err
		}
		cmd.Process.Kill()
		cmd.Wait()
	}
	control.Close()
	report.Close()
	return nil, fmt.Errorf("start supervisor: %w", err)
}

// follow reads the supervisor's frames until it ends.
func (g *group) follow(cmd *exec.Cmd, report *os.File, j job, started chan<- error) {
	defer close(g.done)
	defer cmd.Wait()
	defer report.Close()
	defer func() {
		select {
		case started <- errors.New("start supervisor: it ended at once"):
		default:
		}
	}()
	g.status, g.alone = "supervisor killed", true
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
		if _, err := io.ReadFull(r, body[:n]); err != nil {
			return
		}
		switch head[0] {
		case frameStarted:
			g.pid, _ = strconv.Atoi(string(body[:n]))
			started <- nil
		case frameFailed:
			started <- errors.New(string(body[:n]))
		case frameStdout:
			if j.stdout != nil {
				j.stdout.Write(body[:n])
			}
		case frameStderr:
			if j.stderr != nil {
				j.stderr.Write(body[:n])
			}
		case frameMemory:
			gob.NewDecoder(bytes.NewReader(body[:n])).Decode(&g.memory)
		case frameEnded, frameAlone:
			g.status, g.alone = string(body[:n]), head[0] == frameAlone
		}
	}
}
