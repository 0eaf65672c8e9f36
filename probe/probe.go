// Package probe watches a running Go service: the kernel's view in /proc, the
// runtime's view in its metrics, what the collector says of each cycle on
// standard error, and what the service itself publishes.
//
// It owns the reading and the parsing, and nothing else: it starts no process,
// no goroutine and no load, and it knows no file of the run directory. Every
// probe is split into a part that reads and a part that parses; parsers take
// bytes and are tested on the output of real programs of several Go versions.
package probe

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/gctrace"
)

// A Target is what a probe may look at. The caller owns all of it.
type Target struct {
	PID    int               // of the subject; proc needs it
	Socket string            // unix socket of the injected probe, "" if there is none; runtime needs it
	Trace  *gctrace.Splitter // that the subject's standard error is written to, or nil; gctrace needs it
	Every  time.Duration     // between samples; 0 means dyno.DefaultEvery
	Begun  func()            // called once, when the first reading is done; may be nil

	// Sample takes each point of the series as it is read, so that hours of them
	// need no memory; nil means that they come with the Reading. at counts from the
	// probe's first reading.
	Sample func(metric string, at time.Duration, v float64)

	// Gentle is a watch of a process that is not dyno's: nothing of it may be
	// changed, such as its high-water mark of memory, and its memory is read 10
	// times a second at most.
	Gentle bool

	Grouped bool // the process has a control group of its own; cgroup needs it

	// Hold is called before each reading but the first and the last, and returns
	// when the probe may read, or ctx ends; nil never waits. So what watching
	// costs can be told from what its two ends cost.
	Hold func(ctx context.Context)

	// Where the service itself publishes what it knows: URLs, "" where it does
	// not; expvar, prometheus, and of profile and trace those without a Socket
	// need them.
	Expvar, Prometheus, Pprof string
	Metrics                   []string // of Prometheus that are wanted beside go_* and process_*
	Insecure                  bool     // certificates of https are not checked

	Profile []string      // of dyno.ProfileNames: what profile takes
	Length  time.Duration // of what trace takes; of the window, where profile can know it, else 0

	// Create makes a file of the trial for what is too large to be a File;
	// trace needs it.
	Create func(name string) (io.WriteCloser, error)
}

// Interval is the time between samples.
func (t *Target) Interval() time.Duration {
	return cmp.Or(max(t.Every, 0), time.Duration(dyno.DefaultEvery))
}

// firstTick is how long after the first reading the second comes. The probes of a
// gentle watch all read at the same multiples of every: to wake is half of what a
// reading costs dyno.
func (t *Target) firstTick(now time.Time) time.Duration {
	every := t.Interval()
	if !t.Gentle {
		return every
	}
	first := every - time.Duration(now.UnixNano())%every
	if first < every/2 { // too short for a rate
		first += every
	}
	return first
}

// A Reading is what a probe saw. Values are of the whole window, Series of its
// course, unless Target.Sample took that. Beside what dyno.Metrics lists there are totals that the lab divides
// by the number of requests: cpu-sec, alloc-B, allocs, gc-cpu-sec, mutex-wait-sec, minflt,
// throttled-sec.
type Reading struct {
	Values   dyno.Values
	Own      dyno.Values // of the same kind, under the names that the service itself gives them
	Series   []dyno.Series
	Warnings dyno.Warnings // doubts that the reader of the result must see

	Collections []dyno.Collection // that ended in the window, in order; since Origin
	Origin      time.Time
	Files       []File // that belong into the trial's directory
}

// A File is something that a probe brought back whole, such as a profile.
type File struct {
	Name string
	Data []byte
}

// A Probe is one source of observation.
//
// Watch's lifetime is the measured window. It takes its first reading at once
// and calls t.Begun, samples every t.Every, takes its last reading when ctx
// ends, and returns. The end of ctx is no error. A Watch that returns an error
// before it has called Begun could not begin; one that does so after lost the
// subject, and its reading is what it had seen by then. Watch starts no goroutine.
type Probe interface {
	Watch(ctx context.Context, t Target) (Reading, error)
}

// Watch is the frame of every probe: read at once, call Begun, read every
// t.Every, and read a last time when ctx ends. read is told how long ago the
// window began.
func Watch(ctx context.Context, t Target, read func(at time.Duration) error) error {
	start := time.Now()
	if err := read(0); err != nil {
		return err
	}
	if t.Begun != nil {
		t.Begun()
	}
	every := t.Interval()
	first := t.firstTick(start)
	tick := time.NewTicker(first)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return read(time.Since(start))
		case <-tick.C:
			if first != every {
				first = every
				tick.Reset(every)
			}
			if t.Hold != nil {
				t.Hold(ctx)
			}
			if ctx.Err() != nil {
				continue // the last reading is the next
			}
			if err := read(time.Since(start)); err != nil {
				return err
			}
		}
	}
}

// IsTimeout reports whether an answer did not come in time.
func IsTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}
