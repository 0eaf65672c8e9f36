package predict

import (
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/dynolab/dyno/gctrace"
	"github.com/dynolab/dyno/internal/analysis/gcmodel"
)

// A Log is a log of gctrace, with what it does not say itself.
type Log struct {
	Name     string
	Requests float64       // that were answered; 0 if that is not known
	Duration time.Duration // in which; 0 means the time of the log
	Told     gcmodel.Setting
}

// periodic is the time after a collection at which the runtime begins another, whatever the heap is
// (forcegcperiod of runtime/proc.go), less the rounding of a log's clock.
const periodic = 2*time.Minute - time.Second

// early is the least part of the way to its goal that the heap has gone when the pacer begins to mark. It is
// 0.7 in the runtime (runtime/mgcpacer.go, minTriggerRatioDistance), less what whole MiB hide.
const early = 0.6

// ReadLog reads the window of a log. Lines of several processes are put together, as those of replicas
// or of restarts. The error is ErrNothing for a log without collections, else r's.
func ReadLog(r io.Reader, l Log) (*Source, error) {
	var log gctrace.Log
	of := map[*gctrace.Process][]gctrace.Cycle{}
	var order []*gctrace.Process
	_, err := gctrace.Read(r, func(c *gctrace.Cycle, _ []byte) {
		p := log.Add(c)
		if of[p] == nil {
			order = append(order, p)
		}
		of[p] = append(of[p], *c)
	})
	if err != nil {
		return nil, fmt.Errorf("read log: %w", err)
	}
	if log.Total.Collections == 0 {
		return nil, ErrNothing
	}
	s := &Source{Name: l.Name, Log: true, Per: Minute, Notes: []Note{{Kind: NoMemory}}}
	g := logReader{left: map[NoteKind]int{}}
	var ws []Window
	changed := 0
	for _, p := range order {
		if p.LastChange > 0 {
			changed++
			of[p] = slices.DeleteFunc(of[p], func(c gctrace.Cycle) bool { return c.N < p.LastChange })
		}
		if w, ok := g.window(of[p], l.Told); ok {
			ws = append(ws, Window{Window: w})
		}
	}
	if len(ws) == 0 {
		return nil, fmt.Errorf("%d collections are too few to measure allocation between them: %w", log.Total.Collections, ErrNothing)
	}
	w := pooled(ws)
	s.Elapsed = w.Elapsed
	w.Requests = w.Elapsed / 60
	if l.Requests > 0 {
		s.Per, w.Requests = Request, l.Requests
		if l.Duration > 0 {
			w.Requests *= w.Elapsed / l.Duration.Seconds()
		}
	}
	s.Trials, s.Pooled = []Window{w}, []Window{w}
	if n := len(order); n > 1 {
		s.Notes = append(s.Notes, Note{Kind: Processes, N: n})
	}
	if changed > 0 {
		s.Notes = append(s.Notes, Note{Kind: Changed, N: changed})
	}
	if lost := int(log.Total.Missing); lost > 0 {
		s.Notes = append(s.Notes, Note{Kind: Missing, N: lost, Of: lost + int(log.Total.Collections)})
	}
	for _, kind := range []NoteKind{Forced, Periodic} {
		if n := g.left[kind]; n > 0 {
			s.Notes = append(s.Notes, Note{Kind: kind, N: n, Of: int(log.Total.Collections)})
		}
	}
	s.goals()
	return s, nil
}

type logReader struct{ left map[NoteKind]int }

// window returns the window of one process, from the end of its first collection to the end of its last. ok
// is false if there is only one.
func (g *logReader) window(cs []gctrace.Cycle, told gcmodel.Setting) (w gcmodel.Window, ok bool) {
	w = gcmodel.Window{Setting: told, CPU: math.NaN(), RSSPeak: math.NaN(), Mapped: math.NaN(), Overhead: math.NaN(), Filling: math.NaN(), HeapPeak: math.NaN()}
	cycles := make([]gcmodel.Cycle, len(cs)) // those that are left out included
	for i := range cs {
		c := &cs[i]
		cycles[i] = gcmodel.Cycle{
			Trigger: c.HeapStart, End: c.HeapEnd, Marked: c.Live, Goal: c.Goal,
			Mark: c.Mark.Seconds(), Assist: c.Assist.Seconds(), Idle: c.Idle.Seconds(),
		}
		mend(&cycles[i], c.Paced)
		w.HeapPeak = greater(w.HeapPeak, cycles[i].End)
		w.Procs = float64(c.Procs)
		if i == 0 {
			continue
		}
		before := &cs[i-1]
		switch {
		case c.Forced:
			g.left[Forced]++
		case c.Start-before.Start-before.Wall() >= periodic && c.HeapStart-before.Live < early*(c.Goal-before.Live):
			g.left[Periodic]++
		default:
			w.Cycles = append(w.Cycles, cycles[i])
			w.GCCPU += (c.CPU() + c.Idle).Seconds()
		}
	}
	w.Left = len(cs) - 1 - len(w.Cycles)
	last := &cs[len(cs)-1]
	w.Elapsed = (last.Start + last.Wall() - cs[0].Start - cs[0].Wall()).Seconds()
	w.Alloc = allocated(cycles, func(i int) bool { return cs[i].N == cs[i-1].N+1 }) / float64(len(cycles)) * float64(len(cycles)-1)
	return w, len(w.Cycles) > 0 && w.Elapsed > 0
}
