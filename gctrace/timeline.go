package gctrace

import (
	"math"
	"time"
)

const (
	mostColumns = 1024 // of a timeline; it has between half of them and all
	firstColumn = time.Millisecond
)

// A Timeline is a process over its time, in columns of the same width.
type Timeline struct {
	Width   time.Duration
	Columns []Column
}

// A Column has the collections that began in it, but the CPU and Wall that lay in it.
type Column struct {
	Collections int64
	CPU, Wall   time.Duration
	Capacity    float64 // GOMAXPROCS × time, seconds, as far as the lines tell of it
	Live        float64 // bytes found live, all collections together
	HeapMax     float64 // bytes at the end of marking
	GoalMax     float64 // bytes; 0 if there was none
	PauseMax    time.Duration
}

// Merge adds another column to c.
func (c *Column) Merge(d *Column) {
	c.Collections += d.Collections
	c.CPU += d.CPU
	c.Wall += d.Wall
	c.Capacity += d.Capacity
	c.Live += d.Live
	c.HeapMax = max(c.HeapMax, d.HeapMax)
	c.GoalMax = max(c.GoalMax, d.GoalMax)
	c.PauseMax = max(c.PauseMax, d.PauseMax)
}

// at returns a time's column, after making the columns wide enough.
func (t *Timeline) at(d time.Duration) *Column {
	for d/t.Width >= mostColumns {
		half := make([]Column, (len(t.Columns)+1)/2, mostColumns)
		for i := range t.Columns {
			half[i/2].Merge(&t.Columns[i])
		}
		t.Columns = half
		t.Width *= 2
	}
	for len(t.Columns) <= int(d/t.Width) {
		t.Columns = append(t.Columns, Column{})
	}
	return &t.Columns[d/t.Width]
}

// add takes a collection. Lines had told of before of its process, whose first column is at base.
func (t *Timeline) add(c *Cycle, before, base time.Duration) {
	wall := c.Wall()
	start, end := max(0, c.Start-base), max(0, c.Start+wall-base)
	t.at(end)
	col := t.at(start)
	col.Collections++
	col.Live += c.Live + 1<<19
	col.HeapMax = max(col.HeapMax, c.HeapEnd)
	col.GoalMax = max(col.GoalMax, c.Goal)
	col.PauseMax = max(col.PauseMax, c.SweepTerm, c.MarkTerm)
	t.spread(start, end, func(col *Column, part time.Duration) {
		col.Wall += part
		col.CPU += time.Duration(math.Round(float64(c.CPU()) * float64(part) / float64(wall)))
	})
	t.spread(before, end, func(col *Column, part time.Duration) {
		col.Capacity += part.Seconds() * float64(c.Procs)
	})
}

func (t *Timeline) spread(from, to time.Duration, each func(*Column, time.Duration)) {
	for from < to {
		end := min(to, from/t.Width*t.Width+t.Width)
		each(&t.Columns[from/t.Width], end-from)
		from = end
	}
}
