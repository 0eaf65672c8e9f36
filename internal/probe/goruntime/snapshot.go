package goruntime

import (
	"errors"
	"fmt"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/probe/kernel"
)

// An Inspector looks at a process outside the measured window: it may stop the world, walk page
// tables and force collections. One goroutine at a time may use it.
type Inspector struct {
	pid    int
	inside *Client // nil if there is no injected probe
}

// OpenInspector opens a process for inspection; socket is its injected probe's, "" if it has none. The
// caller closes the Inspector.
func OpenInspector(pid int, socket string) (*Inspector, error) {
	if pid <= 0 {
		return nil, fmt.Errorf("look at process %d: it does not exist", pid)
	}
	l := &Inspector{pid: pid}
	if socket != "" {
		l.inside = &Client{Socket: socket}
		// Before what may take a minute: what a probe that is awake answers at once.
		if _, err := l.inside.Ask("metrics brief"); err != nil {
			return nil, fmt.Errorf("look at process %d: %w", pid, err)
		}
	}
	return l, nil
}

func (l *Inspector) Close() {
	if l.inside != nil {
		l.inside.Close()
	}
}

// Snapshot measures exactly where memory is now: it stops the world and walks the page tables under
// the process's lock, some 20 ms a GiB. The caller fills in Stage and At.
func (l *Inspector) Snapshot() (dyno.Snapshot, error) {
	s, err := l.snapshot("metrics exact", kernel.ResidentExact)
	if err == nil && s.File > 0 {
		files, largest, err := kernel.MappedFiles(l.pid)
		if err == nil { // else they count as the program's, as where smaps may not be read
			s.Files, s.Largest = min(files, s.File), largest
		}
	}
	return s, err
}

// Brief is a Snapshot of some 10 µs: the kernel may be off by some hundred KiB a CPU, the
// runtime by what is in its caches.
func (l *Inspector) Brief() (dyno.Snapshot, error) {
	return l.snapshot("metrics brief", kernel.Resident)
}

func (l *Inspector) snapshot(command string, resident func(pid int) (rss, file float64, err error)) (dyno.Snapshot, error) {
	var s dyno.Snapshot
	if l.inside != nil {
		answer, err := l.inside.Ask(command)
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

// parseMemory adds up the runtime/metrics, in bytes, that are of one field of a snapshot.
// Together they are /memory/classes/total:bytes.
func parseMemory(answer []byte) (s dyno.Snapshot, err error) {
	numbers, err := parseSample(answer)
	if err != nil {
		return s, err
	}
	const class = "/memory/classes/"
	for name, to := range map[string]*float64{
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
	} {
		*to += numbers[name]
	}
	if s.Mapped() == 0 {
		return s, errors.New("parse metrics: no memory metrics")
	}
	// In spans not swept yet the live is counted and the dead is not.
	s.Dead = max(0, s.Dead-s.Live)
	s.InForce = numbers.inForce()
	return s, nil
}

var errNotInjected = errors.New("the subject has no injected probe (consider: a subject built from source)")

func (l *Inspector) ask(act string, commands ...string) error {
	if l.inside == nil {
		return fmt.Errorf("%s: %w", act, errNotInjected)
	}
	for _, command := range commands {
		if _, err := l.inside.Ask(command); err != nil {
			return fmt.Errorf("%s: %w", act, err)
		}
	}
	return nil
}

// Collect collects until nothing dead is left: a sync.Pool gives up its content in the
// second collection, an object with a finalizer is freed by the one after it was found dead.
func (l *Inspector) Collect() error { return l.ask("force a collection", "gc", "gc", "gc") }

// Free collects and gives unused memory back to the system: debug.FreeOSMemory.
func (l *Inspector) Free() error { return l.ask("give memory back", "free") }

// Profile takes a profile of runtime/pprof, without the injected probe's own work. One that
// the runtime does not have is an error that wraps errors.ErrUnsupported.
func (l *Inspector) Profile(name string) ([]byte, error) {
	if l.inside == nil {
		return nil, fmt.Errorf("take profile %s: %w", name, errNotInjected)
	}
	p, err := l.inside.Profile("profile " + name)
	var refused refusal
	if errors.As(err, &refused) && strings.HasPrefix(string(refused), "unknown profile") {
		err = fmt.Errorf("%w: %w", err, errors.ErrUnsupported)
	}
	var data []byte
	if err == nil {
		data, err = Encode(p)
	}
	if err != nil {
		return nil, fmt.Errorf("take profile %s: %w", name, err)
	}
	return data, nil
}
