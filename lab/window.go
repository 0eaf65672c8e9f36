package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/probe"
)

// A window is the measured part of a trial: the time in which probes watch.
type window struct {
	lab    *Lab
	result *dyno.Result
	target probe.Target
	base   string   // scheme and address of the service
	dir    string   // of the trial; "" if nothing is written
	log    *os.File // latency, second by second
	lines  *hist.Log
	logErr error // the first
	series *seriesLog

	cancel   []context.CancelFunc // of the probes; those that began first end last
	watching []*sync.WaitGroup
	mu       sync.Mutex
	readings map[string]probe.Reading // by probe
	missed   error                    // why what the trial is for could not be had
}

// often is below which time between samples the probes are no longer free: at
// 10 ms they took 12 % of the CPU of a service with 200 requests a second.
const often = 100 * time.Millisecond

// open starts the probes and returns when each has taken its first reading.
// What the trial is for comes first, and ends last: what it does to the
// subject at its ends, such as to force a collection, no other probe sees.
func (w *window) open(ctx context.Context) error {
	w.readings = map[string]probe.Reading{}
	w.aim()
	if w.target.Every < often && (w.target.PID != 0 || w.target.Expvar+w.target.Prometheus != "") {
		w.result.Warnings = append(w.result.Warnings, fmt.Sprintf(
			"probes read every %v, which costs the subject CPU time (consider: 1s)", w.target.Every))
	}
	if purpose := w.result.Trial.For; purpose != "" && purpose != dyno.ForMemory { // which has no probe: it looks after the window
		if err := w.start(ctx, []string{purpose}); err != nil {
			return err
		}
		if err := w.failure(); err != nil { // nothing of this trial counts without it
			return err
		}
	}
	if err := w.start(ctx, w.names()); err != nil {
		return err
	}
	w.series.begin(w.target.Every)
	w.result.Start = time.Now()
	return w.openLog()
}

// aim fills in the target.
func (w *window) aim() {
	t := &w.result.Trial
	to := &w.target
	to.Every = t.Probes.Every.Or(dyno.DefaultEvery)
	to.Expvar, to.Prometheus, to.Pprof = w.where(t.Probes.Expvar), w.where(t.Probes.Prometheus), w.where(t.Probes.Pprof)
	to.Insecure = t.Load.Insecure
	to.Metrics, to.Profile, to.Length = t.Probes.Metrics, t.Profile, time.Duration(t.Trace)
	if l := t.Load; t.For == dyno.ForProfile && l.Requests == 0 && l.RequestsPerClient == 0 && l.Command == "" {
		to.Length = time.Duration(l.Duration)
	}
	to.Create = w.create
}

// create makes a file of the trial for a probe.
func (w *window) create(name string) (io.WriteCloser, error) {
	if w.dir == "" {
		return nil, errors.New("there is no run directory to keep it")
	}
	return os.Create(filepath.Join(w.dir, name))
}

// start starts probes together and waits until they have begun.
func (w *window) start(ctx context.Context, names []string) error {
	// The probes outlive ctx on purpose: when the subject dies or the user
	// interrupts, close ends them, after the load has.
	watch, cancel := context.WithCancel(context.WithoutCancel(ctx))
	watching := new(sync.WaitGroup)
	w.cancel, w.watching = append(w.cancel, cancel), append(w.watching, watching)
	begun := make(chan struct{}, len(names))
	for _, name := range names {
		p, ok := w.lab.Probe(name)
		if !ok {
			return fmt.Errorf("no probe is called %q", name)
		}
		target := w.target
		target.Begun = sync.OnceFunc(func() { begun <- struct{}{} })
		target.Sample = w.sample(name)
		watching.Go(func() {
			defer target.Begun() // also if the probe fails at once
			reading, err := p.Watch(watch, target)
			w.mu.Lock()
			defer w.mu.Unlock()
			switch {
			case err != nil && name == w.result.Trial.For:
				w.missed = err
			case err != nil:
				reading.Warnings = append(reading.Warnings, fmt.Sprintf("probe %s: %v", name, err))
			}
			w.readings[name] = reading
		})
	}
	for range names {
		select {
		case <-begun:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// sample is the Target.Sample of a probe.
func (w *window) sample(name string) func(metric string, at time.Duration, v float64) {
	log, live := w.series.of(name), w.lab.Live
	if live == nil {
		return log
	}
	return func(metric string, at time.Duration, v float64) {
		live(name, metric, v)
		log(metric, at, v)
	}
}

// failure is why what the trial is for could not be had, or nil.
func (w *window) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.missed
}

// where makes a URL of a path of the service, or leaves it one.
func (w *window) where(path string) string {
	if strings.HasPrefix(path, "/") {
		return w.base + path
	}
	return path
}

// names are the probes that the plan asks for and that this subject allows.
func (w *window) names() []string {
	use := w.result.Trial.Probes.Use
	return slices.DeleteFunc(slices.Clone(dyno.ProbeNames), func(name string) bool {
		switch {
		case len(use) > 0 && !slices.Contains(use, name):
			return true
		case name == "cgroup":
			return !w.target.Grouped
		case name == "runtime":
			return w.target.Socket == ""
		case name == "gctrace":
			return w.target.Trace == nil
		case name == "expvar":
			return w.target.Expvar == ""
		case name == "prometheus":
			return w.target.Prometheus == ""
		case name == "pprof":
			return w.target.Pprof == "" || !slices.Contains(use, name)
		}
		return w.target.PID == 0
	})
}

// write puts what the probes brought back whole into the trial's directory.
func (w *window) write(files []probe.File) error {
	for _, f := range files {
		if w.dir == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(w.dir, f.Name), f.Data, 0o666); err != nil {
			return fmt.Errorf("keep what a probe took: %w", err)
		}
	}
	return nil
}

// close ends the probes. It does nothing the second time, or if the window was
// never opened.
func (w *window) close() {
	for i, cancel := range slices.Backward(w.cancel) {
		cancel()
		w.watching[i].Wait()
	}
	w.cancel = nil
}

// latencyFile is the name that package store knows.
const latencyFile = "latency.hlog"

// openLog begins the log of latency, which thus survives whatever ends dyno.
func (w *window) openLog() (err error) {
	if w.dir == "" || w.result.Trial.Load.Command != "" { // whose requests are not seen one by one
		return nil
	}
	if w.log, err = os.Create(filepath.Join(w.dir, latencyFile)); err == nil {
		w.lines, err = hist.NewLog(w.log, w.result.Start)
	}
	if err != nil {
		return fmt.Errorf("make the latency log of a trial: %w", err)
	}
	return nil
}

// second writes a line of the log.
func (w *window) second(h *hist.Histogram, from, to time.Duration) {
	if w.lab.Second != nil {
		w.lab.Second(h, from, to)
	}
	if w.lines != nil && w.logErr == nil {
		w.logErr = w.lines.Add(h, from, to)
	}
}

// closeLog ends the log. One that is not whole is removed: the store then
// writes the sum of all seconds.
func (w *window) closeLog() {
	if w.log == nil {
		return
	}
	w.log.Close()
	if h := w.result.Latency; w.logErr != nil || h == nil || h.Count() == 0 {
		os.Remove(w.log.Name())
	}
}
