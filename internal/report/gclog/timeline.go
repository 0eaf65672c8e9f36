package gclog

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dynolab/dyno/gctrace"
	"github.com/dynolab/dyno/internal/report/layout"
)

const (
	gcRows = 24 // of a timeline, at most
	gcBar  = 24 // characters for the heap
)

// timeline shows the process with the most collections, a row for each stretch of time.
func (s *gcLog) timeline() {
	if len(s.Processes) == 0 {
		return
	}
	p := slices.MaxFunc(s.Processes, func(p, q *gctrace.Process) int { return cmp.Compare(p.Collections, q.Collections) })
	rows, width := gcRowsOf(p)
	if len(rows) < 2 {
		return
	}
	most := 0.0
	for _, r := range rows {
		most = max(most, r.HeapMax, r.GoalMax)
	}
	if most == 0 {
		most = 1
	}
	heap := layout.ScaleOf("-B", most)
	heap.Decimals = 0
	if most < 10<<20 || heap.Unit == "GiB" {
		heap.Decimals = 1
	}
	at := layout.ScaleOf("-sec", float64(len(rows))*width.Seconds()+p.Began.Seconds())
	at.Decimals = max(0, int(math.Ceil(-math.Log10(width.Seconds()/at.Factor)-1e-9)))
	g := layout.Grid{
		Cols: []layout.Column{{}, {}, {}, {Left: true}, {}, {}, {}, {Left: true}},
		Head: [][]string{{"from, " + at.Unit, "gc", "time in GC", "", "longest stop", "live", "goal", "heap, up to " + heap.With(most)}},
	}
	for i, r := range rows {
		from := p.Began + time.Duration(i)*width
		cs := layout.Cells(strconv.FormatFloat(from.Seconds()/at.Factor, 'f', at.Decimals, 64), strconv.FormatInt(r.Collections, 10), "", "", "", "", "", "")
		if r.Capacity > 0 {
			frac := r.CPU.Seconds() / r.Capacity
			cs[2].Text = strconv.FormatFloat(100*frac, 'f', 1, 64) + " %"
			cs[3].Text = layout.Bar(int64(min(1, frac)*1e6), 1e6, 10)
		}
		if r.Collections > 0 {
			pause := r.PauseMax.Seconds()
			cs[4].Text = gcTime(pause)
			live := r.Live / float64(r.Collections)
			cs[5].Text, cs[7].Text = heap.Format(live), heapBar(live, r.HeapMax, r.GoalMax, most)
			if r.GoalMax > 0 {
				cs[6].Text = heap.Format(r.GoalMax)
			}
		}
		g.Rows = append(g.Rows, layout.Row{Cells: cs})
	}
	s.WriteByte('\n')
	of := ""
	if len(s.Processes) > 1 {
		of = fmt.Sprintf(" of process %d", slices.Index(s.Processes, p)+1)
	}
	s.WriteString(layout.Fold(fmt.Sprintf("Over time%s (heap: █ live, ▒ grown to, · goal; sizes in %s)", of, heap.Unit), "", "", s.width))
	g.Text(&s.Builder, s.color)
}

func heapBar(live, heap, goal, most float64) string {
	at := func(x float64) int { return int(math.Round(gcBar * x / most)) }
	l := min(max(1, at(live)), gcBar)
	h := max(l, at(heap))
	return strings.Repeat("█", l) + strings.Repeat("▒", h-l) + strings.Repeat("·", max(0, at(goal)-h))
}

// gcRowsOf merges columns into rows of a round width. A column at the edge of two rows goes
// to one of them, which is at most a twentieth of a row.
func gcRowsOf(p *gctrace.Process) ([]gctrace.Column, time.Duration) {
	t := &p.Timeline
	span := time.Duration(len(t.Columns)) * t.Width
	var width time.Duration
	for w := range layout.Ladder([]int64{1, 2, 5}, 1) {
		if width = time.Duration(w); width >= t.Width && span <= gcRows*width {
			break
		}
	}
	rows := make([]gctrace.Column, (span+width-1)/width)
	for i := range t.Columns {
		rows[time.Duration(i)*t.Width/width].Merge(&t.Columns[i])
	}
	for len(rows) > 0 && rows[len(rows)-1].Collections == 0 && rows[len(rows)-1].Wall == 0 {
		rows = rows[:len(rows)-1]
	}
	return rows, width
}
