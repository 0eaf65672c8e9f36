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
	"github.com/dynolab/dyno/internal/lab/logs"
	"github.com/dynolab/dyno/internal/probe"
)

// A window is the measured part of a trial, in which probes watch.
type window struct {
	measured
	trial   *trial
	running *Running
	target  probe.Target
	start   time.Time // when it was opened
	latency latencyLog
	series  *seriesLog

	ends     []func() // of the probes; those that began first end last
	mu       sync.Mutex
	readings map[string]probe.Reading // by probe
	missed   error                    // of the probe that is the purpose of the trial
}

// often: with less time between samples probes cost too much. At 10 ms they took 12 % of the CPU of
// a service with 200 requests a second.
const often = 100 * time.Millisecond

func newWindow(t *trial, running *Running) *window {
	w := &window{trial: t, running: running, target: running.Target, series: newSeriesLog(t.dir), readings: map[string]probe.Reading{}}
	if observe := t.lab.Second; observe != nil {
		w.latency.observer = func(h *hist.Histogram, from, to time.Duration) { observe(&t.Trial, h, from, to) }
	}
	url := func(path string) string { // of a path of the service; a URL stays as it is
		if strings.HasPrefix(path, "/") {
			return running.Base + path
		}
		return path
	}
	to := &w.target
	to.Every = t.Probes.Every.Or(dyno.DefaultEvery)
	to.Expvar, to.Prometheus, to.Pprof = url(t.Probes.Expvar), url(t.Probes.Prometheus), url(t.Probes.Pprof)
	to.Insecure = t.Load.Insecure
	to.Metrics, to.Profile, to.Length = t.Probes.Metrics, t.Profile, time.Duration(t.Trace)
	if l := t.Load; t.For == dyno.ForProfile && l.Requests == 0 && l.RequestsPerClient == 0 && l.Command == "" {
		to.Length = time.Duration(l.Duration)
	}
	to.Create = func(name string) (io.WriteCloser, error) {
		if t.dir == "" {
			return nil, errors.New("there is no run directory to keep it in")
		}
		return logs.Create(filepath.Join(t.dir, name))
	}
	return w
}

// open starts the probes and returns when each has taken its first reading. The probe of the trial's
// purpose begins first and ends last: no other sees what it does then, such as a forced collection.
func (w *window) open(ctx context.Context) error {
	if w.trial.givenUp() {
		w.target.Socket = ""
	}
	for _, r := range w.trial.beside.alive() {
		if r.Probe == nil && r.Target.PID != w.target.PID {
			w.target.Beside = append(w.target.Beside, r.Target.All()...)
		}
	}
	for _, r := range w.trial.beside.alive() {
		if r.Target.PID != w.target.PID {
			w.target.Others = append(w.target.Others, r.Target.Others...)
		}
	}
	if w.target.Every < often && (w.target.PID != 0 || w.target.Expvar+w.target.Prometheus != "") {
		w.warnings.AddOf(dyno.WarnProbeCost, "probes.every", "probes that read every %v cost the subject CPU time (consider: 1s)", w.target.Every)
	}
	if purpose := w.trial.For; purpose != "" && purpose != dyno.ForMemory && purpose != dyno.ForSame { // snapshots serve that one
		if err := w.begin(ctx, []string{purpose}); err != nil { // nothing of this trial counts without it
			return err
		}
	}
	return w.begin(ctx, w.probes())
}

// starts says that the load is about to begin: latency second by second counts from now.
func (w *window) starts() error {
	w.series.begin(w.target.Every)
	w.start = time.Now()
	if w.trial.Load.Command != "" { // whose requests are not seen one by one
		return nil
	}
	return w.latency.open(w.trial.dir, w.start)
}

// begin starts probes together and waits until they have begun. It fails if the trial's purpose cannot
// be met.
func (w *window) begin(ctx context.Context, names []string) error {
	// The probes outlive ctx: close ends them, after the load has ended.
	watch, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var watching sync.WaitGroup
	w.ends = append(w.ends, func() { cancel(); watching.Wait() })
	begun := make(chan struct{}, len(names))
	for _, name := range names {
		find := w.trial.lab.Probe
		if w.running.Probe != nil {
			find = w.running.Probe
		}
		p, ok := find(name)
		if !ok {
			return fmt.Errorf("unknown probe %q", name)
		}
		target := w.target
		target.Begun = sync.OnceFunc(func() { begun <- struct{}{} })
		target.Sample = w.sample(name)
		watching.Go(func() {
			defer target.Begun() // also if the probe fails at once
			reading, err := p.Watch(watch, target)
			if name == "runtime" {
				w.trial.silent(err, 0)
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			switch {
			case err != nil && name == w.trial.For:
				w.missed = err
			case err != nil:
				reading.Warnings.AddOf(dyno.WarnProbe, name, "probe %s: %v", name, err)
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
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.missed
}

// sample is the Target.Sample of a probe.
func (w *window) sample(name string) func(metric string, at time.Duration, v float64) {
	log, live := w.series.of(name), w.trial.lab.Live
	if live == nil {
		return log
	}
	return func(metric string, at time.Duration, v float64) {
		live(&w.trial.Trial, name, metric, v)
		log(metric, at, v)
	}
}

// probes returns the probes that the plan asks for and that this subject allows.
func (w *window) probes() (names []string) {
	use, to := w.trial.Probes.Use, &w.target
	allows := map[string]bool{
		"proc": to.PID != 0, "cgroup": to.Grouped, "runtime": to.Socket != "", "gctrace": to.Trace != nil, "expvar": to.Expvar != "", "prometheus": to.Prometheus != "",
		"needs": len(to.Needs) > 0, "pprof": to.Pprof != "" && slices.Contains(use, "pprof"),
	}
	for _, name := range dyno.ProbeNames {
		if allows[name] && (len(use) == 0 || slices.Contains(use, name)) {
			names = append(names, name)
		}
	}
	if w.trial.For == dyno.ForTrace && to.PID != 0 && w.running.Probe == nil {
		names = append(names, "preempted")
	}
	return names
}

// close ends the probes. It may be called again, or without open.
func (w *window) close() {
	for _, end := range slices.Backward(w.ends) {
		end()
	}
	w.ends = nil
}

// moved drops what was read of processes that do not answer: why says so, "" if they do.
func (w *window) moved(why string) {
	if why == "" {
		return
	}
	for _, name := range []string{"proc", "runtime", "gctrace"} {
		delete(w.readings, name)
	}
	w.warnings.Add(dyno.WarnAnswers, "%s", why)
}

// writeFiles writes files of a probe into a trial's directory; "" means nowhere.
func writeFiles(dir string, files []probe.File) error {
	for _, f := range files {
		if dir == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600); err != nil {
			return fmt.Errorf("keep %s: %w", f.Name, err)
		}
	}
	return nil
}

// latencyFile is known to package store.
const latencyFile = "latency.hlog"

// A latencyLog writes latency second by second, so that it survives dyno.
type latencyLog struct {
	observer func(h *hist.Histogram, from, to time.Duration) // may be nil
	file     *os.File
	lines    *hist.Log
	err      error // the first
}

func (l *latencyLog) open(dir string, start time.Time) (err error) {
	if dir == "" {
		return nil
	}
	if l.file, err = logs.Create(filepath.Join(dir, latencyFile)); err == nil {
		l.lines, err = hist.NewLog(l.file, start)
	}
	if err != nil {
		return fmt.Errorf("make the latency log of a trial: %w", err)
	}
	return nil
}

func (l *latencyLog) second(h *hist.Histogram, from, to time.Duration) {
	if l.observer != nil {
		l.observer(h, from, to)
	}
	if l.lines != nil && l.err == nil {
		l.err = l.lines.Add(h, from, to)
	}
}

// close ends the log, and removes one that is not whole: the store then writes sum, the latency of
// the whole window.
func (l *latencyLog) close(sum *hist.Histogram) {
	if l.file == nil {
		return
	}
	l.file.Close()
	if l.err != nil || sum == nil || sum.Count() == 0 {
		os.Remove(l.file.Name())
	}
}
