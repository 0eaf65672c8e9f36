package analysis

import (
	"math"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
)

// A GCLine is one collection as the runtime's trace tells it. Its Start and End
// are since the process began; times have two digits that count, and sizes are
// of whole MiB, cut off, unless Exact.
type GCLine struct {
	dyno.Collection
	Procs int           // GOMAXPROCS
	CPU   time.Duration // that it took from the program: all but Idle
	Frac  float64       // of GOMAXPROCS × time since the process began that collections took, as the runtime says; whole per cents, cut off
	Exact bool          // the sizes are to the byte, but Live, which never is
}

// A GCLog sums up the collections of a log, which may be of several processes,
// in memory that does not grow with it. The zero value is empty.
type GCLog struct {
	Name      string
	Requests  int64 // that were answered meanwhile; 0 if that is not known
	Total     GCFigures
	Processes []*GCProcess // in the order of their first lines, at most mostProcesses
	More      int          // further processes, which are in Total only
	Text      GCText

	last *GCProcess
}

// A GCText says what a log was made of, besides collections.
type GCText struct {
	Bytes     int64   `json:"bytes"`
	Lines     int64   `json:"lines"`
	Torn      int64   `json:"torn"`      // gc lines that were put together again
	Guessed   int64   `json:"guessed"`   // of these, with a number that log text may have continued
	Lost      int64   `json:"lost"`      // gc lines that began and did not end
	Pacer     int64   `json:"pacer"`     // lines
	Scavenger int64   `json:"scavenger"` // lines
	Scavenged float64 `json:"scavenged-B"`
}

const (
	mostProcesses = 16   // each takes some 0.6 MB
	mostColumns   = 1024 // of a timeline; it has between half of them and all
	firstColumn   = time.Millisecond
)

// GCFigures are sums over collections.
type GCFigures struct {
	Collections int64
	Forced      int64         // by runtime.GC
	Missing     int64         // numbers that were left out
	Span        time.Duration // that the lines tell of: from the start of the process, or of its first collection if that is not number 1, to the end of its last
	Wall        time.Duration // in which a collection was under way
	CPU         time.Duration // that collections took from the program
	Assist      time.Duration // CPU time of goroutines that had to mark to be allowed to allocate
	Background  time.Duration // CPU time of workers that were set aside for marking
	Idle        time.Duration // CPU time of workers on Ps with nothing else to do; not in CPU
	Mark        time.Duration // wall clock time of marking, all together
	MarkMost    time.Duration // the longest
	SweepTerm   *hist.Histogram
	MarkTerm    *hist.Histogram // the two stops of the world of each; nil before the first
	Live        GCSize
	HeapStart   GCSize
	HeapEnd     GCSize
	Goal        GCSize

	capacity float64       // GOMAXPROCS × Span, seconds
	paced    time.Duration // between starts of collections
	paces    int64         // how many times that was
}

// A GCSize is a size in bytes over collections. First, Last and Max are as they
// were told.
type GCSize struct {
	First, Last, Max float64
	sum              float64
	n                int64
}

// Mean returns the mean, NaN if there was none. Half a MiB is added where only
// whole MiB were told, so that it is not too low.
func (s *GCSize) Mean() float64 { return s.sum / float64(s.n) }

func (s *GCSize) add(x float64, exact bool) {
	if s.n == 0 {
		s.First = x
	}
	s.n++
	s.Last = x
	s.Max = max(s.Max, x)
	if !exact {
		x += 1 << 19
	}
	s.sum += x
}

// Frac is the share of GOMAXPROCS × Span that collections took, NaN if the span
// is 0. The runtime's own share is somewhat less: lines count a stop of the world
// on all Ps from when it was asked for, the runtime from when each P stopped.
func (f *GCFigures) Frac() float64 { return f.CPU.Seconds() / f.capacity }

// Pace is the mean time in seconds from the start of a collection to that of
// the next, NaN if no two followed each other.
func (f *GCFigures) Pace() float64 { return f.paced.Seconds() / float64(f.paces) }

// PauseMax is the longest stop of the world.
func (f *GCFigures) PauseMax() time.Duration {
	if f.SweepTerm == nil {
		return 0
	}
	return max(f.SweepTerm.Max(), f.MarkTerm.Max())
}

// PauseTotal is the time in seconds that the world was stopped.
func (f *GCFigures) PauseTotal() float64 {
	if f.SweepTerm == nil {
		return 0
	}
	return f.SweepTerm.Mean()*float64(f.SweepTerm.Count()) + f.MarkTerm.Mean()*float64(f.MarkTerm.Count())
}

func (f *GCFigures) add(c *GCLine) {
	if f.SweepTerm == nil {
		f.SweepTerm, f.MarkTerm = hist.New(), hist.New()
	}
	f.Collections++
	if c.Forced {
		f.Forced++
	}
	f.Wall += c.End - c.Start
	f.CPU += c.CPU
	f.Assist += c.Assist
	f.Background += c.Background
	f.Idle += c.Idle
	mark := c.End - c.Start - c.SweepTerm - c.MarkTerm
	f.Mark += mark
	f.MarkMost = max(f.MarkMost, mark)
	f.SweepTerm.Add(c.SweepTerm)
	f.MarkTerm.Add(c.MarkTerm)
	f.Live.add(c.Live, false)
	f.HeapStart.add(c.HeapStart, c.Exact)
	f.HeapEnd.add(c.HeapEnd, c.Exact)
	if c.Goal > 0 {
		f.Goal.add(c.Goal, c.Exact)
	}
}

// A GCProcess is the collections of one process.
type GCProcess struct {
	GCFigures
	FirstN, LastN int
	Procs         int     // GOMAXPROCS at the end
	Said          float64 // the runtime's own share of time in collections, since the process began; a fraction
	Timeline      GCTimeline

	began, lastStart, lastEnd time.Duration
}

// Began is since when lines tell of the process, since that began: 0 if its
// first collection is among them.
func (p *GCProcess) Began() time.Duration { return p.began }

// follows reports whether c may be of the process, and surely so.
func (p *GCProcess) follows(c *GCLine) (may, surely bool) {
	may = c.N > p.LastN && c.Start >= p.lastStart
	return may, may && c.N == p.LastN+1
}

// Add takes the next collection of the log.
func (l *GCLog) Add(c *GCLine) {
	p := l.process(c)
	before := p.Span
	missing, paced := int64(0), time.Duration(0)
	if p.Collections > 0 {
		missing = int64(c.N - p.LastN - 1)
		paced = c.Start - p.lastStart
		l.Total.paces += missing + 1
		p.paces += missing + 1
	}
	span := max(0, c.End-p.lastEnd)
	for _, f := range []*GCFigures{&l.Total, &p.GCFigures} {
		f.add(c)
		f.Missing += missing
		f.paced += paced
		f.Span += span
		f.capacity += span.Seconds() * float64(c.Procs)
	}
	p.LastN, p.lastStart, p.lastEnd = c.N, c.Start, max(p.lastEnd, c.End)
	p.Procs, p.Said = c.Procs, c.Frac
	p.Timeline.add(c, before, p.began)
}

// process finds which process a collection is of, by its number and time. The
// lines of several that wrote to one file may be mixed.
func (l *GCLog) process(c *GCLine) *GCProcess {
	var gap *GCProcess
	for i := -1; i < len(l.Processes); i++ {
		p := l.last
		if i >= 0 {
			p = l.Processes[i]
		}
		if p == nil {
			continue
		}
		may, surely := p.follows(c)
		if surely {
			l.last = p
			return p
		}
		if may && c.N > 1 && (gap == nil || p.LastN > gap.LastN && gap != l.last) {
			gap = p
		}
	}
	if gap != nil {
		l.last = gap
		return gap
	}
	p := &GCProcess{FirstN: c.N}
	if c.N > 1 {
		p.began = c.Start
	}
	p.lastEnd = p.began
	if len(l.Processes) < mostProcesses {
		l.Processes = append(l.Processes, p)
	} else {
		l.More++
	}
	l.last = p
	return p
}

// A GCTimeline is a process over its time, in columns of the same width.
type GCTimeline struct {
	Width   time.Duration
	Columns []GCColumn
}

// A GCColumn is the collections that began in a stretch of time; but CPU and
// Wall are of the part of collections that lay in it.
type GCColumn struct {
	Collections int64
	CPU, Wall   time.Duration
	Capacity    float64 // GOMAXPROCS × time, seconds, as far as the lines tell of it
	Live        float64 // bytes found live, all collections together
	HeapMax     float64 // bytes at the end of marking
	GoalMax     float64 // bytes; 0 if there was none
	PauseMax    time.Duration
}

// Merge adds what d has to c.
func (c *GCColumn) Merge(d *GCColumn) {
	c.Collections += d.Collections
	c.CPU += d.CPU
	c.Wall += d.Wall
	c.Capacity += d.Capacity
	c.Live += d.Live
	c.HeapMax = max(c.HeapMax, d.HeapMax)
	c.GoalMax = max(c.GoalMax, d.GoalMax)
	c.PauseMax = max(c.PauseMax, d.PauseMax)
}

// at returns the column of a time, after making the columns wide enough.
func (t *GCTimeline) at(d time.Duration) *GCColumn {
	if t.Width == 0 {
		t.Width = firstColumn
	}
	for d/t.Width >= mostColumns {
		half := make([]GCColumn, (len(t.Columns)+1)/2, mostColumns)
		for i := range t.Columns {
			half[i/2].Merge(&t.Columns[i])
		}
		t.Columns = half
		t.Width *= 2
	}
	for len(t.Columns) <= int(d/t.Width) {
		t.Columns = append(t.Columns, GCColumn{})
	}
	return &t.Columns[d/t.Width]
}

// add takes a collection of a process of which lines had told for a time
// before, and whose first column is at base.
func (t *GCTimeline) add(c *GCLine, before, base time.Duration) {
	start, end := max(0, c.Start-base), max(0, c.End-base)
	t.at(end)
	col := t.at(start)
	col.Collections++
	col.Live += c.Live + 1<<19
	col.HeapMax = max(col.HeapMax, c.HeapEnd)
	col.GoalMax = max(col.GoalMax, c.Goal)
	col.PauseMax = max(col.PauseMax, c.SweepTerm, c.MarkTerm)
	wall := c.End - c.Start
	t.spread(start, end, func(col *GCColumn, part time.Duration) {
		col.Wall += part
		col.CPU += time.Duration(math.Round(float64(c.CPU) * float64(part) / float64(wall)))
	})
	t.spread(before, end, func(col *GCColumn, part time.Duration) {
		col.Capacity += part.Seconds() * float64(c.Procs)
	})
}

// spread parts a stretch of time among its columns.
func (t *GCTimeline) spread(from, to time.Duration, each func(*GCColumn, time.Duration)) {
	for from < to {
		end := min(to, from/t.Width*t.Width+t.Width)
		each(&t.Columns[from/t.Width], end-from)
		from = end
	}
}
