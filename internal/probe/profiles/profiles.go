// Package profiles takes profiles and execution traces, from the injected probe or from a
// service's own net/http/pprof.
package profiles

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/probe"
	"github.com/dynolab/dyno/internal/probe/goruntime"
	"github.com/google/pprof/profile"
)

// Profiles takes profiles of the window, in trials of their own, since they cost the
// subject what no compared trial may cost.
//
// Those of heap, mutexes and blocking are differences between the window's ends. The
// runtime publishes allocations only when collections have ended since (runtime/mprof.go),
// so each reading of the heap collects first: before the window, and after its CPU profile.
type Profiles struct{}

// What the injected probe records of waiting. All mutex contentions cost 0.1 % of the CPU,
// but all blocking 4.4 %: shorter waits than blockRate are sampled without bias.
const (
	mutexFraction = 1      // one contention in so many
	blockRate     = 10_000 // nanoseconds
)

type profiler interface {
	// rates turns on mutex and block profiles, and reports whether it could.
	rates(names []string) (set bool, err error)
	// take returns a profile as of now; heap collects first.
	take(name string) (*profile.Profile, error)
	// startCPU and cpu take a CPU profile until ctx ends.
	startCPU() error
	cpu(ctx context.Context) (p *profile.Profile, doubt string, err error)
	Close()
}

// mayAsk is an error where there is neither an injected probe nor a page.
func mayAsk(t probe.Target) error {
	if t.Pprof == "" && t.Socket == "" {
		return errors.New("the subject has no injected probe (consider: a subject built from source, or probes.pprof: /debug/pprof)")
	}
	return nil
}

// Watch returns the profiles that could be taken, with warnings for others; none is an error.
func (Profiles) Watch(ctx context.Context, t probe.Target) (probe.Reading, error) {
	var from profiler = &injected{goruntime.Client{Socket: t.Socket}}
	err := mayAsk(t)
	if t.Pprof != "" {
		from, err = newRemote(t)
	}
	if err != nil {
		return probe.Reading{}, fmt.Errorf("take profiles: %w", err)
	}
	defer from.Close()
	w := profileWatch{from: from, want: slices.Clone(t.Profile)}
	if err := w.watch(ctx, t); err != nil {
		return probe.Reading{}, fmt.Errorf("take profiles: %w", err)
	}
	if len(w.reading.Files) == 0 {
		return probe.Reading{}, fmt.Errorf("take profiles: %s", strings.Join(w.reading.Warnings.Texts(), "; "))
	}
	return w.reading, nil
}

type profileWatch struct {
	from    profiler
	want    []string
	set     bool                        // the rates of what is recorded of waiting are ours
	first   map[string]*profile.Profile // as of the beginning, by runtime/pprof's name
	began   time.Time
	reading probe.Reading
	err     error // a time-out
}

// differences are profiles that the runtime keeps since its start.
var differences = []string{"heap", "mutex", "block"}

func (w *profileWatch) watch(ctx context.Context, t probe.Target) error {
	if err := w.start(); err != nil {
		return err
	}
	w.began = time.Now()
	t.Begin()
	if !w.wants("cpu") {
		<-ctx.Done()
	} else {
		p, doubt, err := w.from.cpu(ctx)
		w.keep("cpu", p, err)
		if doubt != "" {
			w.reading.Warnings.AddOf(dyno.WarnProfile, "cpu", "%s", doubt)
		}
	}
	length := time.Since(w.began)
	if w.wants("goroutine") { // before the collections of the heap, which take time
		p, err := w.from.take("goroutine")
		w.keep("goroutine", p, err)
	}
	for _, name := range differences {
		if w.first[name] != nil && w.err == nil {
			w.difference(name, length)
		}
	}
	return w.err
}

func (w *profileWatch) start() (err error) {
	if w.set, err = w.from.rates(w.want); err != nil {
		return err
	}
	w.first = map[string]*profile.Profile{}
	for _, name := range differences {
		if !w.wants(name) && !(name == "heap" && w.wants("allocs")) {
			continue
		}
		p, err := w.from.take(name)
		w.keep(name, nil, err)
		if err == nil {
			w.first[name] = p
		}
	}
	if w.wants("cpu") {
		w.keep("cpu", nil, w.from.startCPU())
	}
	if w.err == nil && len(w.want) == 0 {
		return errors.New(strings.Join(w.reading.Warnings.Texts(), "; "))
	}
	return w.err
}

func (w *profileWatch) wants(name string) bool { return w.err == nil && slices.Contains(w.want, name) }

// keep makes a file of p, if it is not nil. A profile that failed is a warning and not
// wanted any more. After a time-out none is, as it would come again and again.
func (w *profileWatch) keep(name string, p *profile.Profile, err error) {
	if err == nil && p != nil {
		var data []byte
		if data, err = goruntime.Encode(p); err == nil {
			w.reading.Files = append(w.reading.Files, probe.File{Name: name + ".pb.gz", Data: data})
		}
	}
	switch {
	case probe.IsTimeout(err):
		w.err = err
	case err != nil:
		w.reading.Warnings.AddOf(dyno.WarnProfile, name, "profile %s is missing: %v", name, err)
		w.want = slices.DeleteFunc(w.want, func(n string) bool { return n == name || name == "heap" && n == "allocs" })
	}
}

// difference keeps a profile's growth in the window. Heap and allocs are one profile, shown
// by different columns.
func (w *profileWatch) difference(name string, length time.Duration) {
	p, err := w.from.take(name)
	if err == nil {
		w.first[name].Scale(-1)
		p, err = profile.Merge([]*profile.Profile{p, w.first[name]})
	}
	if err != nil {
		w.keep(name, nil, err)
		return
	}
	p.TimeNanos, p.DurationNanos = w.began.UnixNano(), int64(length)
	p.Comments = append(p.Comments, "dyno: the difference between the start and the end of the measured window")
	if name != "heap" {
		if len(p.Sample) == 0 && !w.set {
			w.reading.Warnings.AddOf(dyno.WarnProfile, name, "profile %s is empty: nothing waited, or the service does not record it (consider: runtime.SetMutexProfileFraction, runtime.SetBlockProfileRate)", name)
		}
		w.keep(name, p, nil)
		return
	}
	for _, as := range []struct{ name, shown string }{{"heap", "inuse_space"}, {"allocs", "alloc_space"}} {
		if w.wants(as.name) {
			p.DefaultSampleType = as.shown
			w.keep(as.name, p, nil)
		}
	}
}

type injected struct{ goruntime.Client }

func (p *injected) rates(names []string) (bool, error) {
	if _, err := p.Ask("metrics brief"); err != nil { // before what may take a minute
		return false, err
	}
	for _, knob := range []struct {
		name string
		to   int
	}{{"mutex", mutexFraction}, {"block", blockRate}} {
		if !slices.Contains(names, knob.name) {
			continue
		}
		if _, err := p.Ask(fmt.Sprintf("set %s %d", knob.name, knob.to)); err != nil {
			return false, err
		}
	}
	return true, nil
}

func (p *injected) take(name string) (*profile.Profile, error) {
	if name == "heap" {
		if _, err := p.Ask("gc"); err != nil {
			return nil, err
		}
	}
	return p.Profile("profile " + name)
}

func (p *injected) startCPU() error {
	_, err := p.Ask("cpu start")
	return err
}

func (p *injected) cpu(ctx context.Context) (*profile.Profile, string, error) {
	<-ctx.Done()
	cpu, err := p.Profile("cpu stop")
	return cpu, "", err
}
