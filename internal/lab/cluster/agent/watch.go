package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dynolab/dyno/internal/lab"
	"github.com/dynolab/dyno/internal/lab/cluster/wire"
	"github.com/dynolab/dyno/internal/probe"
	"github.com/dynolab/dyno/internal/probe/goruntime"
	"github.com/dynolab/dyno/internal/probe/kernel"
)

// watch runs a probe until the coordinator says stop.
func (s *session) watch(ctx context.Context, j *wire.WatchJob) error {
	p, ok := lab.ProbeNamed(j.Probe)
	if !ok {
		return s.Send(&wire.Message{Reading: &wire.Reading{Err: fmt.Sprintf("unknown probe %q", j.Probe)}})
	}
	watching, end := context.WithCancel(ctx)
	defer end()
	var stopping sync.WaitGroup
	defer stopping.Wait()
	defer end()
	stopping.Go(func() {
		defer end()
		s.await(watching, func(m *wire.Message) bool { return m.Stop })
	})
	stop := s.beat(wire.Beat, alive)
	r, err := p.Watch(watching, probe.Target{
		PID: j.PID, Socket: j.Socket, Every: j.Every, Grouped: j.Grouped, Insecure: j.Insecure,
		Expvar: j.Expvar, Prometheus: j.Prometheus, Pprof: j.Pprof, Metrics: j.Metrics, Profile: j.Profile, Length: j.Length,
		Begun: func() { s.Send(&wire.Message{Ready: new(wire.Ready)}) },
		Sample: func(metric string, at time.Duration, v float64) {
			s.Send(&wire.Message{Sample: &wire.Sample{Metric: metric, At: at, Value: v}})
		},
		Create: func(name string) (io.WriteCloser, error) { return &part{s, name}, nil },
	})
	stop()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	told := &wire.Reading{Reading: r}
	if err != nil {
		told.Err = err.Error()
	}
	return s.Send(&wire.Message{Reading: told})
}

// A part sends a file as it is written.
type part struct {
	*session
	name string
}

func (p *part) Write(data []byte) (int, error) {
	return len(data), p.Send(&wire.Message{Part: &probe.File{Name: p.name, Data: data}})
}

func (p *part) Close() error { return nil }

// look answers one question about a process.
func look(l *wire.Look) *wire.Looked {
	answer := new(wire.Looked)
	err := answerLook(l, answer)
	if err != nil {
		answer.Err = err.Error()
		answer.Unsupported = errors.Is(err, errors.ErrUnsupported)
	}
	return answer
}

func answerLook(l *wire.Look, answer *wire.Looked) (err error) {
	switch l.What {
	case wire.LookFind:
		answer.PID, err = find("/proc", l.Container)
		return err
	case wire.LookResident:
		answer.Resident, _, err = kernel.Resident(l.PID)
		return err
	case wire.LookUsage:
		answer.CPU, answer.Resident, err = kernel.NewFamily(l.PID).Used()
		return err
	}
	in, err := goruntime.OpenInspector(l.PID, l.Socket)
	if err != nil {
		return err
	}
	defer in.Close()
	switch l.What {
	case wire.LookHello: // was asked as it was opened
	case wire.LookSnapshot:
		answer.Snapshot, err = in.Snapshot()
	case wire.LookBrief:
		answer.Snapshot, err = in.Brief()
	case wire.LookCollect:
		err = in.Collect()
	case wire.LookFree:
		err = in.Free()
	case wire.LookProfile:
		answer.Data, err = in.Profile(l.Name)
	default:
		err = fmt.Errorf("unknown question %q", l.What)
	}
	return err
}

// find returns the service of a container: the process of its control group that began first, or what that
// starts if it is a shell or an init. The paths of control groups contain the container's number, also
// seen from another container of the pod.
func find(proc, container string) (pid int, err error) {
	dirs, err := filepath.Glob(filepath.Join(proc, "[0-9]*"))
	if err != nil {
		return 0, err
	}
	var all []int
	for _, dir := range dirs {
		groups, err := os.ReadFile(filepath.Join(dir, "cgroup"))
		if n, bad := strconv.Atoi(filepath.Base(dir)); err == nil && bad == nil && strings.Contains(string(groups), container) {
			all = append(all, n)
		}
	}
	if len(all) == 0 {
		return 0, fmt.Errorf("no process of container %s is in sight (consider: shareProcessNamespace)", container)
	}
	pid = slices.Min(all)
	for wraps(proc, pid) { // the service is its child
		next := pid
		for _, n := range all {
			if parentOf(proc, n) == pid {
				next = n
				break
			}
		}
		if next == pid {
			break
		}
		pid = next
	}
	return pid, nil
}

// wrappers only start a service and wait for it.
var wrappers = []string{"sh", "bash", "ash", "dash", "busybox", "tini", "dumb-init", "docker-init", "catatonit", "s6-svscan"}

func wraps(proc string, pid int) bool {
	name, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "comm"))
	return err == nil && slices.Contains(wrappers, strings.TrimSpace(string(name)))
}

func parentOf(proc string, pid int) int {
	stat, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1])
	return parent
}
