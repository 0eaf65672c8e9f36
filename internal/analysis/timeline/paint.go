package timeline

import (
	"cmp"
	"errors"
	"io/fs"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
)

// Sources are where a picture has its numbers from. A trial is asked for by one goroutine at
// a time, several trials perhaps at once. Errors other than fs.ErrNotExist become notes.
type Sources struct {
	// Times are of the requests that were kept and were due from one time to another,
	// and perhaps of others; whole says that all were kept. If it returns nil, Lines
	// has to do.
	Times func(r *dyno.Result, from, to time.Duration) (times iter.Seq2[dyno.Times, error], whole bool)
	// Requests are those of some rows.
	Requests    func(r *dyno.Result, rows []int64) ([]dyno.Request, error)
	Lines       func(r *dyno.Result) iter.Seq2[hist.Line, error]
	Collections func(r *dyno.Result) ([]dyno.Collection, error)
	Series      func(r *dyno.Result, metric string) (dyno.Series, error)
	// Each calls do with all numbers from 0 to n-1, if it likes several at a time.
	Each func(n int, do func(i int))
}

// NewPicture makes the picture of an axis, with so many rows of latency. Settings come in
// the order given, others after them.
func NewPicture(rs []*dyno.Result, settings []dyno.Setting, axis []Stretch, rows int, src Sources) *Picture {
	rs = slices.DeleteFunc(dyno.LastOfEach(rs), func(r *dyno.Result) bool { return !pictured(r) })
	p := &Picture{Axis: axis, Rows: rows}
	p.Low, p.High = scaleOf(rs)
	cells := p.cells(rs, settings)
	src.Each(len(cells), func(i int) { cells[i].paint(p, &src) })
	for i := range p.Settings {
		p.Settings[i].join(axis, slices.DeleteFunc(slices.Clone(cells), func(c *cell) bool { return c.setting != i }))
	}
	for _, c := range cells {
		for _, err := range c.notes {
			p.Lost = append(p.Lost, Lost{c.r.Trial.N, err})
		}
	}
	return p
}

// scaleOf is the scale of all latencies, rounded outward to two digits, of at most nine
// decades; 0 without any.
func scaleOf(rs []*dyno.Result) (low, high time.Duration) {
	for _, r := range rs {
		if h := r.Latency; h != nil && h.Count() > 0 {
			if low == 0 || h.Min() < low {
				low = max(h.Min(), 1)
			}
			high = max(high, h.Max())
		}
	}
	if high == 0 {
		return 0, 0
	}
	low = max(low, high/1e9, 1)
	low, high = twoDigits(low, math.Floor), twoDigits(high, math.Ceil)
	if high <= low {
		high = 2 * low
	}
	return low, high
}

func twoDigits(d time.Duration, round func(float64) float64) time.Duration {
	unit := int64(1)
	for int64(d)/unit >= 100 {
		unit *= 10
	}
	return time.Duration(round(float64(d)/float64(unit))) * time.Duration(unit)
}

// A cell is a trial in a stretch.
type cell struct {
	setting, stretch int
	r                *dyno.Result
	Stretch

	heat           *Heat
	whole, seconds bool
	slow           []Slow
	tracks         []*Track // by TrackMetrics; nil if there is no reading
	notes          []error
}

func (p *Picture) cells(rs []*dyno.Result, settings []dyno.Setting) (cells []*cell) {
	of := map[string]int{}
	place := func(s dyno.Setting) int {
		i, ok := of[s.String()]
		if !ok {
			i = len(p.Settings)
			of[s.String()] = i
			p.Settings = append(p.Settings, PictureOf{Setting: s, Trials: make([]int, len(p.Axis)), Heats: make([]*Heat, len(p.Axis)), Whole: true})
		}
		return i
	}
	for _, s := range settings {
		place(s)
	}
	for _, r := range rs {
		at := place(r.Trial.Setting)
		for i, s := range p.Axis {
			if s.Block == r.Trial.Block {
				cells = append(cells, &cell{setting: at, stretch: i, r: r, Stretch: s, whole: true})
			}
		}
	}
	return cells
}

func (c *cell) note(err error) {
	said := func(e error) bool { return e.Error() == err.Error() }
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !slices.ContainsFunc(c.notes, said) {
		c.notes = append(c.notes, err)
	}
}

func (c *cell) paint(p *Picture, src *Sources) {
	c.heat = NewHeat(Scale{c.From, c.To, p.Low, p.High, p.Rows, c.Columns}, c.r.Elapsed)
	cs, err := src.Collections(c.r)
	if c.note(err); err == nil {
		c.heat.AddCollections(cs, c.r.Elapsed)
	}
	if c.r.Latency != nil && c.r.Latency.Count() > 0 {
		c.requests(src)
		for i := range c.slow {
			q := &c.slow[i]
			q.Known = c.heat.Collecting != nil
			q.Met = slices.ContainsFunc(cs, func(x dyno.Collection) bool { return x.Start <= q.Done && x.End >= q.Due })
		}
	}
	c.series(src)
}

// requests counts the requests and finds the slowest: of the whole window the result has
// them, of a part these are added.
func (c *cell) requests(src *Sources) {
	known := c.r.Sent.Slowest
	all := c.From <= 0 && c.To >= c.r.Elapsed && len(known) > 0
	rows := c.times(src, !all)
	if c.heat.Counts == nil {
		c.lines(src)
	}
	if len(rows) > 0 {
		found, err := src.Requests(c.r, rows)
		c.note(err)
		known = append(slices.DeleteFunc(slices.Clone(known), func(q dyno.Request) bool { return slices.Contains(found, q) }), found...)
	}
	for _, q := range known {
		if c.heat.within(q.Due) {
			c.slow = append(c.slow, Slow{Trial: c.r.Trial.N, Request: q})
		}
	}
}

// times counts the requests that were kept; it returns the rows of the slowest if wanted.
func (c *cell) times(src *Sources, want bool) (rows []int64) {
	times, whole := src.Times(c.r, c.From, c.To)
	if times == nil {
		return nil
	}
	slow := &slowest{heat: c.heat}
	for t, err := range times {
		if err != nil {
			c.note(err)
			c.heat.Counts = nil
			return nil
		}
		c.heat.Add(&t)
		if want {
			slow.add(&t)
		}
	}
	c.heat.known() // that there were none
	c.whole = whole
	return slow.rows()
}

// mostWhole is the longest window of which a line that holds all of it tells about time.
const mostWhole = 2 * time.Second

// lines counts requests by the lines of the latency log.
func (c *cell) lines(src *Sources) {
	n, long := 0, time.Duration(0)
	for l, err := range src.Lines(c.r) {
		if err != nil {
			c.note(err)
			c.heat.Counts = nil
			return
		}
		n, long = n+1, l.To-l.From
		c.heat.AddLine(&l)
	}
	if n == 1 && long > mostWhole { // another generator's: it told nothing of when
		c.heat.Counts = nil
	}
	c.seconds = c.heat.Counts != nil
}

// slowest finds the slowest requests of a map's time.
type slowest struct {
	heat *Heat
	list []slowRow // the slowest first
}

type slowRow struct{ took, row int64 }

func (s *slowest) add(t *dyno.Times) {
	least := int64(-1)
	if len(s.list) == mostSlow {
		least = s.list[mostSlow-1].took
	}
	for i, due := range t.Due {
		took := t.Done[i] - due
		if took <= least || due < s.heat.begin || due >= s.heat.end || t.Failed != nil && t.Failed[i] {
			continue
		}
		at, _ := slices.BinarySearchFunc(s.list, took, func(x slowRow, took int64) int { return cmp.Compare(took, x.took) })
		s.list = slices.Insert(s.list, at, slowRow{took, t.Row + int64(i)})
		if len(s.list) > mostSlow {
			s.list = s.list[:mostSlow]
		}
		if len(s.list) == mostSlow {
			least = s.list[mostSlow-1].took
		}
	}
}

func (s *slowest) rows() (rows []int64) {
	for _, x := range s.list {
		rows = append(rows, x.row)
	}
	return rows
}

// series reads one metric at a time: hours of all would take too much memory.
func (c *cell) series(src *Sources) {
	c.tracks = make([]*Track, len(TrackMetrics))
	for i, metric := range TrackMetrics {
		if metric == collectingMetric {
			if x := c.heat.Collecting; x != nil {
				c.tracks[i] = &Track{metric, x, x, x}
			}
			continue
		}
		s, err := src.Series(c.r, metric)
		if c.note(err); err == nil {
			c.tracks[i] = c.track(s)
		}
	}
}

// track is nil if there is no reading in the cell.
func (c *cell) track(s dyno.Series) *Track {
	var t *Track
	for i, at := range s.At {
		v := s.Value[i]
		if math.IsNaN(v) || at < c.From || at > min(c.To, c.r.Elapsed) || !c.heat.within(at) {
			continue
		}
		if t == nil {
			t = newTrack(s.Metric, c.Columns)
		}
		x := c.heat.column(int64(at))
		if t.Last[x] = v; !(t.Min[x] <= v) {
			t.Min[x] = v
		}
		if !(t.Max[x] >= v) {
			t.Max[x] = v
		}
	}
	return t
}

func newTrack(metric string, columns int) *Track {
	t := &Track{metric, make([]float64, columns), make([]float64, columns), make([]float64, columns)}
	for i := range columns {
		t.Min[i], t.Max[i], t.Last[i] = math.NaN(), math.NaN(), math.NaN()
	}
	return t
}

func (s *PictureOf) join(axis []Stretch, cells []*cell) {
	before := make([]int, len(axis)) // columns
	columns := 0
	for i, stretch := range axis {
		before[i] = columns
		columns += stretch.Columns
	}
	for _, c := range cells {
		s.Trials[c.stretch], s.Heats[c.stretch] = c.r.Trial.N, c.heat
		s.Whole, s.Seconds = s.Whole && c.whole, s.Seconds || c.seconds
		s.Slowest = append(s.Slowest, c.slow...)
	}
	slices.SortStableFunc(s.Slowest, func(a, b Slow) int { return cmp.Compare(b.Done-b.Due, a.Done-a.Due) })
	s.Slowest = s.Slowest[:min(len(s.Slowest), mostSlow)]
	for i, metric := range TrackMetrics {
		var t *Track
		for _, c := range cells {
			if c.tracks[i] == nil {
				continue
			}
			if t == nil {
				t = newTrack(metric, columns)
			}
			at := before[c.stretch]
			copy(t.Min[at:], c.tracks[i].Min)
			copy(t.Max[at:], c.tracks[i].Max)
			copy(t.Last[at:], c.tracks[i].Last)
		}
		if t != nil {
			s.Tracks = append(s.Tracks, *t)
		}
	}
}
