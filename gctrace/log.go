package gctrace

import (
	"cmp"
	"encoding/json"
	"math"
	"strconv"
	"time"
)

// A Log sums up the collections of a log, of one process or several, in bounded memory. The
// zero value is empty.
type Log struct {
	Name      string
	Requests  int64 // that were answered meanwhile; 0 if that is not known
	Total     Figures
	Processes []*Process // in the order of their first lines, at most mostProcesses
	More      int        // further processes, which are in Total only
	Text      Text

	last *Process
}

const mostProcesses = 16 // each takes some 0.6 MB

// A Process has the collections of one process in a log.
type Process struct {
	Figures
	FirstN, LastN int
	Procs         int     // GOMAXPROCS at the end
	Said          float64 // the runtime's own share of time in collections, since the process began; a fraction
	Timeline      Timeline

	Changes    []Change // of the settings in the middle, at most mostChanges
	Changed    int      // how many there were
	LastChange int      // number of the first collection after the last of them; 0 without any
	goals      goals

	// Began is since when lines tell of the process, counted from its start: 0 if its first
	// collection is among them.
	Began              time.Duration
	lastStart, lastEnd time.Duration
}

// Add takes the log's next collection, and returns the process that it is of.
func (l *Log) Add(c *Cycle) *Process {
	p := l.process(c)
	before, end := p.Span, c.Start+c.Wall()
	missing, paced := int64(0), time.Duration(0)
	if p.Collections > 0 {
		missing = int64(c.N - p.LastN - 1)
		paced = c.Start - p.lastStart
		l.Total.paces += missing + 1
		p.paces += missing + 1
	}
	p.change(c)
	span := max(0, end-p.lastEnd)
	for _, f := range []*Figures{&l.Total, &p.Figures} {
		f.add(c)
		f.Missing += missing
		f.paced += paced
		f.Span += span
		f.capacity += span.Seconds() * float64(c.Procs)
	}
	p.LastN, p.lastStart, p.lastEnd = c.N, c.Start, max(p.lastEnd, end)
	p.Procs, p.Said = c.Procs, c.Percent/100
	p.Timeline.add(c, before, p.Began)
	return p
}

// process finds a collection's process by its number and time: several may have written to
// one file.
func (l *Log) process(c *Cycle) *Process {
	var next, gap *Process
	for i := -1; i < len(l.Processes); i++ {
		p := l.last
		if i >= 0 {
			p = l.Processes[i]
		}
		if p == nil {
			continue
		}
		may := c.N > p.LastN && c.Start >= p.lastStart
		if may && c.N == p.LastN+1 {
			if c.Procs == p.Procs { // two processes may collect in step
				l.last = p
				return p
			}
			next = cmp.Or(next, p)
		}
		if may && c.N > 1 && (gap == nil || p.LastN > gap.LastN && gap != l.last) {
			gap = p
		}
	}
	if p := cmp.Or(next, gap); p != nil {
		l.last = p
		return p
	}
	p := &Process{FirstN: c.N, Timeline: Timeline{Width: firstColumn}}
	if c.N > 1 {
		p.Began = c.Start
	}
	p.lastEnd = p.Began
	if len(l.Processes) < mostProcesses {
		l.Processes = append(l.Processes, p)
	} else {
		l.More++
	}
	l.last = p
	return p
}

// An object is a JSON object that keeps its members' order. Numbers not finite are null.
type object []member

type member struct {
	name  string
	value any
}

func (o object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, m := range o {
		if x, ok := m.value.(float64); ok && (math.IsNaN(x) || math.IsInf(x, 0)) {
			m.value = nil
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(strconv.AppendQuote(b, m.name), ':'), value...)
	}
	return append(b, '}'), nil
}

func (o *object) put(name string, value any) { *o = append(*o, member{name, value}) }

func (f *Figures) object(requests int64) object {
	var o object
	for _, v := range f.Values(requests) {
		o.put(v.Name, v.Value)
	}
	return o
}

// MarshalJSON makes an object of the total's values, and of each process its values and its
// timeline.
func (l *Log) MarshalJSON() ([]byte, error) {
	o := l.Total.object(l.Requests)
	o.put("log", l.Name)
	if len(l.Processes) == 1 && l.More == 0 {
		o.put("gc-cpu-frac-runtime", l.Processes[0].Said)
	}
	o.put("text", l.Text)
	if l.More > 0 {
		o.put("more-processes", l.More)
	}
	processes := []object{}
	for _, p := range l.Processes {
		processes = append(processes, p.object())
	}
	o.put("processes", processes)
	return json.Marshal(o)
}

func (p *Process) object() object {
	o := p.Figures.object(0)
	o.put("first", p.FirstN)
	o.put("last", p.LastN)
	o.put("procs", p.Procs)
	o.put("gc-cpu-frac-runtime", p.Said)
	o.put("began-sec", p.Began.Seconds())
	o.put("column-sec", p.Timeline.Width.Seconds())
	var columns []object
	for i, c := range p.Timeline.Columns {
		column := object{
			{"at-sec", (p.Began + time.Duration(i)*p.Timeline.Width).Seconds()}, // since the process began
			{"collections", c.Collections},
			{"gc-cpu-frac", c.CPU.Seconds() / c.Capacity},
			{"gc-total-sec", c.Wall.Seconds()},
			{"heap-live-B", c.Live / float64(c.Collections)},
			{"heap-end-max-B", c.HeapMax},
		}
		if c.GoalMax > 0 {
			column.put("heap-goal-max-B", c.GoalMax)
		}
		column.put("pause-max-sec", c.PauseMax.Seconds())
		columns = append(columns, column)
	}
	o.put("timeline", columns)
	return o
}
