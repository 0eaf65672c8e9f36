package probe

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/dynolab/dyno"
)

// A Look looks at a process outside the measured window: it may stop the world, walk
// page tables and force collections. Only one goroutine may use it at a time.
type Look struct {
	pid    int
	inside *client // nil if there is no injected probe
}

// OpenLook looks at a process; socket is that of its injected probe, "" if it has
// none. The caller closes it.
func OpenLook(pid int, socket string) (*Look, error) {
	if pid <= 0 {
		return nil, fmt.Errorf("look at process %d: there is none", pid)
	}
	l := &Look{pid: pid}
	if socket != "" {
		l.inside = profileClient(socket)
		if _, err := l.inside.ask("hello"); err != nil {
			return nil, fmt.Errorf("look at process %d: %w", pid, err)
		}
	}
	return l, nil
}

// Close ends what it left open in the process: a connection.
func (l *Look) Close() {
	if l.inside != nil {
		l.inside.close()
	}
}

// Snapshot tells where the memory is now. It walks the page tables under the
// process's lock, some 20 ms for each GiB (/proc/PID/smaps_rollup), and stops the
// world, so that objects in spans that a P has cached are counted. Its Stage and At
// are the caller's to fill in.
func (l *Look) Snapshot() (dyno.Snapshot, error) { return l.snapshot("metrics exact", residentExact) }

// Brief is a Snapshot that may be taken again and again, some 10 µs each: the kernel
// may be off by some hundred KiB for each CPU, and the runtime by what is in its
// caches.
func (l *Look) Brief() (dyno.Snapshot, error) { return l.snapshot("metrics brief", resident) }

func (l *Look) snapshot(command string, resident func(pid int) (rss, file float64, err error)) (dyno.Snapshot, error) {
	var s dyno.Snapshot
	if l.inside != nil {
		answer, err := l.inside.ask(command)
		if err == nil {
			s, err = parseMemory(answer)
		}
		if err != nil {
			return s, fmt.Errorf("look where memory is: %w", err)
		}
	}
	rss, file, err := resident(l.pid)
	if errors.Is(err, errors.ErrUnsupported) && l.inside != nil {
		err = nil // the runtime's view is something
	}
	if err != nil {
		return s, fmt.Errorf("look where memory is: %w", err)
	}
	s.RSS, s.File = rss, file
	return s, nil
}

// memoryOf are the metrics of runtime/metrics that are added up for each field of a
// snapshot, in bytes. Together they are /memory/classes/total:bytes.
func memoryOf(s *dyno.Snapshot) map[string]*float64 {
	const class = "/memory/classes/"
	return map[string]*float64{
		"/gc/heap/live:bytes":                 &s.Live,
		class + "heap/objects:bytes":          &s.Dead, // less what is live
		class + "heap/unused:bytes":           &s.Unused,
		class + "heap/free:bytes":             &s.Idle,
		class + "heap/released:bytes":         &s.Released,
		class + "heap/stacks:bytes":           &s.Stacks,
		class + "os-stacks:bytes":             &s.Stacks,
		class + "metadata/mcache/free:bytes":  &s.Metadata,
		class + "metadata/mcache/inuse:bytes": &s.Metadata,
		class + "metadata/mspan/free:bytes":   &s.Metadata,
		class + "metadata/mspan/inuse:bytes":  &s.Metadata,
		class + "metadata/other:bytes":        &s.Metadata,
		class + "other:bytes":                 &s.Other,
		class + "profiling/buckets:bytes":     &s.Other,
		"/sched/goroutines:goroutines":        &s.Goroutines,
	}
}

// parseMemory reads a snapshot from an answer to "metrics".
func parseMemory(answer []byte) (dyno.Snapshot, error) {
	var s dyno.Snapshot
	of := memoryOf(&s)
	for line := range bytes.Lines(answer) {
		name, rest, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
		to := of[string(name)]
		if to == nil {
			continue
		}
		v, err := parseScalar(rest)
		if err != nil {
			return s, fmt.Errorf("parse metric %s: %w", name, err)
		}
		*to += v
	}
	if s.Mapped() == 0 {
		return s, errors.New("parse metrics: nothing of memory")
	}
	// While a span is not swept, what is dead in it is not counted, and what is live
	// is; so this may be below 0 by what rounds.
	s.Dead = max(0, s.Dead-s.Live)
	return s, nil
}

var errNotInjected = errors.New("the subject has no injected probe (consider: a subject built from source)")

func (l *Look) ask(act string, commands ...string) error {
	if l.inside == nil {
		return fmt.Errorf("%s: %w", act, errNotInjected)
	}
	for _, command := range commands {
		if _, err := l.inside.ask(command); err != nil {
			return fmt.Errorf("%s: %w", act, err)
		}
	}
	return nil
}

// Collect forces collections until the heap holds nothing dead: a sync.Pool gives up
// what it holds in the second, and an object with a finalizer is freed by the one
// after that which found it dead.
func (l *Look) Collect() error { return l.ask("force a collection", "gc", "gc", "gc") }

// Free forces a collection and gives back to the system what the heap does not use:
// debug.FreeOSMemory.
func (l *Look) Free() error { return l.ask("give memory back", "free") }

// Profile takes a profile of runtime/pprof as a file, without what the injected probe
// itself does. One that the runtime does not have, as goroutineleak before Go 1.27, is
// an error that wraps errors.ErrUnsupported. The heap's is as of the last collection.
func (l *Look) Profile(name string) ([]byte, error) {
	if l.inside == nil {
		return nil, fmt.Errorf("take profile %s: %w", name, errNotInjected)
	}
	p, err := l.inside.profile("profile " + name)
	var refused refusal
	if errors.As(err, &refused) && strings.HasPrefix(string(refused), "unknown profile") {
		err = fmt.Errorf("%w: %w", err, errors.ErrUnsupported)
	}
	if err != nil {
		return nil, fmt.Errorf("take profile %s: %w", name, err)
	}
	dropOwn(p)
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		return nil, fmt.Errorf("take profile %s: %w", name, err)
	}
	return b.Bytes(), nil
}
