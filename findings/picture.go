package findings

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/hist"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/timeline"
)

// The size of a picture of a whole run.
const (
	pictureColumns = 1200
	pictureRows    = 100
)

// mostTimes is of how many requests that were kept a picture is made, if the latency
// logs do as well: they are read in some 15 ns each, on as many cores as there are.
const mostTimes = 100_000_000

// Picture returns the picture of the whole run, nil if there is nothing to show, and notes on what is missing
// in it.
func (f *Findings) Picture() (p *timeline.Picture, notes []compare.Doubt) {
	note := func(d compare.Doubt) {
		d.Kind = dyno.WarnPicture
		notes = append(notes, d)
	}
	if f.Plan.Slice > 0 {
		note(compare.Doubt{})
		return nil, notes
	}
	p, err := picture(f.Dir, f.Results, 0, 0, pictureColumns)
	if err != nil {
		note(compare.Doubt{Err: err})
	}
	if p == nil {
		return nil, notes
	}
	if n := timeline.AxisBlocks(f.Results); n > len(p.Axis) {
		note(compare.Doubt{N: len(p.Axis), Of: n})
	}
	for _, lost := range p.Lost {
		note(compare.Doubt{Trial: lost.Trial, Err: lost.Err})
	}
	return p, notes
}

// PictureOf reads the part of a picture between two seconds of its time axis; 0 and 0 mean all of it. It is
// nil if there is nothing to show.
func PictureOf(dir *Dir, from, to float64, columns int) (*timeline.Picture, error) {
	if dir.Run.Plan.Slice > 0 {
		return nil, nil
	}
	return picture(dir, dir.Brief(), from, to, columns)
}

func picture(dir *Dir, results []*dyno.Result, from, to float64, columns int) (*timeline.Picture, error) {
	axis := timeline.Axis(results, columns)
	if len(axis) == 0 {
		return nil, nil
	}
	if from != 0 || to != 0 {
		whole := timeline.AxisLength(axis)
		if axis = timeline.CutAxis(axis, toDuration(from), toDuration(to), columns); len(axis) == 0 || columns < 1 {
			return nil, fmt.Errorf("from %g to %g s in %d columns is no part of %.9g s", from, to, columns, whole.Seconds())
		}
	}
	return timeline.NewPicture(results, dir.Run.Plan.Levels(), axis, pictureRows, sources(dir, results, axis)), nil
}

// toDuration converts a number of seconds of any size.
func toDuration(sec float64) time.Duration {
	if !(sec > 0) {
		return 0
	}
	return time.Duration(math.Round(min(sec, 1e9) * 1e9))
}

func sources(dir *Dir, results []*dyno.Result, axis []timeline.Stretch) timeline.Sources {
	kept, logs := kept(dir, results, axis)
	return timeline.Sources{
		Times: func(r *dyno.Result, from, to time.Duration) (iter.Seq2[dyno.Times, error], bool) {
			n := kept[r.Trial.N]
			whole := n >= r.Sent.Requests
			if n == 0 || n != unreadable && (logs || !whole && bySeconds(axis)) {
				return nil, false
			}
			return dir.Times(r.Trial.N, from, to), whole
		},
		Requests: func(r *dyno.Result, rows []int64) ([]dyno.Request, error) { return dir.RequestsAt(r.Trial.N, rows) },
		Lines: func(r *dyno.Result) iter.Seq2[hist.Line, error] {
			for _, s := range axis {
				if s.Block == r.Trial.Block {
					return dir.Latency(r, s.From, s.To)
				}
			}
			return dir.Latency(r, 0, r.Elapsed)
		},
		Collections: func(r *dyno.Result) ([]dyno.Collection, error) { return Collections(dir, r) },
		Series: func(r *dyno.Result, metric string) (dyno.Series, error) {
			ss, err := dir.Series(r.Trial.N, metric)
			if err != nil || len(ss) == 0 {
				return dyno.Series{}, err
			}
			return ss[0], nil
		},
		Each: each,
	}
}

// unreadable stands for the number of requests that cannot be read; Times says why.
const unreadable = -1

// kept counts the kept requests of each trial of an axis. It also reports whether these are so many that the
// latency logs are read instead, because columns show no more than the logs tell.
func kept(dir *Dir, results []*dyno.Result, axis []timeline.Stretch) (of map[int]int64, logs bool) {
	of = map[int]int64{}
	read := 0.0
	for _, r := range results {
		for _, s := range axis {
			if s.Block != r.Trial.Block || !measured(r) || r.Elapsed == 0 {
				continue
			}
			n, err := dir.Kept(r.Trial.N)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				continue
			case err != nil:
				n = unreadable
			}
			of[r.Trial.N] = n
			read += float64(n) * max(0, (min(s.To, r.Elapsed)-s.From).Seconds()/r.Elapsed.Seconds())
		}
	}
	return of, read > mostTimes && bySeconds(axis)
}

// bySeconds reports whether no column is shorter than a line of a latency log.
func bySeconds(axis []timeline.Stretch) bool {
	for _, s := range axis {
		if s.To-s.From < time.Duration(s.Columns)*time.Second {
			return false
		}
	}
	return true
}

func each(n int, do func(i int)) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	workers.Wait()
}
