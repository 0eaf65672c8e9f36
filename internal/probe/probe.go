// Package probe has what all probes have in common: what they may look at, how they take
// readings, and how readings of several become one. It starts no process, goroutine or load.
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
	Also   []int             // processes that proc adds to it: together they are the subject
	Socket string            // unix socket of the injected probe, "" if there is none; runtime needs it
	Trace  *gctrace.Splitter // that the subject's standard error is written to, or nil; gctrace needs it
	Every  time.Duration     // between samples; 0 means dyno.DefaultEvery
	Begun  func()            // called once, when the first reading is done; may be nil

	// Sample takes each point of the series as it is read, at since the first
	// reading. nil: they come with the Reading.
	Sample func(metric string, at time.Duration, v float64)

	// Gentle watches a process that is not dyno's: nothing of it is changed, such as
	// its high-water mark of memory, which is read 10 times a second at most.
	Gentle bool

	Needs  []Need // that work for the subject; the probe needs
	Others []int  // processes whose descendants, too, disturb no turn of the subject: servers that subjects of the block need

	Beside []int // PIDs of the subjects that take turns with it: no other processes

	Grouped bool // the process has a control group of its own; cgroup needs it

	// Hold, if not nil, is called before each reading but the first and the last,
	// and returns when the probe may read or ctx ends. So the cost of watching can
	// be told from that of its two ends.
	Hold func(ctx context.Context)

	// URLs of what the service itself publishes, "" if it does not; expvar and
	// prometheus need theirs, profile and trace need Pprof or Socket.
	Expvar, Prometheus, Pprof string
	Metrics                   []string // of Prometheus that are wanted beside go_* and process_*
	Insecure                  bool     // certificates of https are not checked

	Profile []string      // of dyno.ProfileNames: what profile takes
	Length  time.Duration // of what trace takes; of the window, where profile can know it, else 0

	// Create makes a file of the trial; trace needs it.
	Create func(name string) (io.WriteCloser, error)
}

// A Need is a server that works for the subject.
type Need struct {
	Name   string
	PID    int  // of its first process; 0 if that is not known
	Booked bool // all that it does is for this subject; else its CPU time is that of all that use it

	// Usage is the CPU time and resident memory of its processes until now, in seconds and bytes, where they are on another
	// machine; nil: those of PID.
	Usage func(ctx context.Context) (cpu, rss float64, err error)

	Count func(ctx context.Context) (Count, error) // since it was started; nil: it does not count
}

// A Count is what a server did for a subject until now. What it does not count is 0.
type Count struct {
	Statements  map[string]dyno.Statement // by what tells them apart; nil: they are not counted
	Unknown     string                    // why they are not, and the cure; "" if nothing can be done
	Evicted     float64                   // how often it forgot some
	KeepMore    string                    // arguments with which it keeps more
	Temp        float64                   // bytes of temporary files
	Connections float64                   // now
	Opened      float64                   // connections, until now

	HasRows, HasTemp, HasConnections, HasOpened bool
}

// All are the processes of the subject: PID and Also.
func (t *Target) All() []int { return append([]int{t.PID}, t.Also...) }

// Interval is the time between readings: Every, or the default.
func (t *Target) Interval() time.Duration {
	return cmp.Or(max(t.Every, 0), time.Duration(dyno.DefaultEvery))
}

// Begin says that the first reading is done.
func (t *Target) Begin() {
	if t.Begun != nil {
		t.Begun()
	}
}

// firstTick is the time from the first reading to the second. All probes of a gentle
// watch read at the same multiples of every: waking is half of a reading's cost.
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

// A Reading is what a probe saw: Values of the whole window, Series of its course.
// Besides dyno.Metrics there are totals that the lab divides by the number of
// requests: cpu-sec, alloc-B, allocs, gc-cpu-sec, mutex-wait-sec, minflt, throttled-sec.
type Reading struct {
	Values   dyno.Values
	Own      dyno.Values // of the same kind, under the names that the service itself gives them
	Series   []dyno.Series
	Warnings dyno.Warnings // doubts that the reader of the result must see

	Collections []dyno.Collection // that ended in the window, in order; since Origin
	Origin      time.Time
	Files       []File // that belong into the trial's directory

	Statements dyno.Statements // what needs did in the window

	InForce InForce // settings of the Go runtime, as far as this probe knows them
	GOGC    Bounds  // by the goals of collections
}

// Bounds are those of a value that is not known to the digit: the medians over N observations.
type Bounds struct {
	N      int
	Lo, Hi float64
}

// InForce is what a probe saw of the settings of the Go runtime in the window, as [dyno.InForce] writes them:
// the first, and each that was another than the one before. It keeps mostInForce of them, and the last.
type InForce []dyno.Setting

// mostInForce bounds what is kept of a program that turns its settings all the time.
const mostInForce = 16

// Add takes what is in force now.
func (f *InForce) Add(now dyno.Setting) {
	n := len(*f)
	switch {
	case len(now) == 0 || n > 0 && (*f)[n-1].String() == now.String():
	case n < mostInForce:
		*f = append(*f, now)
	default:
		(*f)[n-1] = now
	}
}

// A File is something whole, such as a profile.
type File struct {
	Name string
	Data []byte
}

// A Probe is one source of observation. Its Watch lasts as long as the measured
// window: it reads at once, calls t.Begun, reads every t.Every and when ctx ends,
// which is no error. An error before Begun means that it could not begin; a later one,
// that it lost the subject: then the reading is what it had seen. It starts no goroutine.
type Probe interface {
	Watch(ctx context.Context, t Target) (Reading, error)
}

// Watch is the frame of every probe. It calls read with the time since the window began.
func Watch(ctx context.Context, t Target, read func(at time.Duration) error) error {
	start := time.Now()
	if err := read(0); err != nil {
		return err
	}
	t.Begin()
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

// IsTimeout reports whether err is a time-out of the network.
func IsTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}
