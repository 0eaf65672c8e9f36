package slowest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/exectrace"
	"github.com/dynolab/dyno/internal/analysis/slow"
	"github.com/dynolab/dyno/internal/report/chart"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/words"
)

// A Figure is a picture with its table.
type Figure struct {
	ID, Title, Shows string
	Picture          chart.SVG
	Table            layout.Section
}

// mostFigures is the number of settings of which requests are shown one by one.
const mostFigures = 6

// Figures show what typical and slow requests spend their time in, and the slowest of each setting, one by one. name is
// that of a setting by its place, sec prints seconds.
func Figures(settings []compare.Setting, name func(int) string, sec chart.Format) (out []Figure) {
	var bars []bar
	shown := 0
	for i := range settings {
		w := settings[i].Slow
		if w == nil || shown == mostFigures {
			continue
		}
		of, label := "", ""
		if len(settings) > 1 {
			of, label = " of "+name(i), name(i)+", "
		}
		bars = append(bars, barsOf(w, label)...)
		id := "slow-" + strconv.Itoa(i+1)
		slowest, usual := w.Lives()
		all := heat(w, slowest, id, sec)
		all.ID, all.Title = id+"-all", "All requests"+of+", by when they began"
		each := lives(slowest, usual, id, sec)
		each.ID, each.Title = id, "Slow requests"+of+", one by one"
		out = append(out, all, each)
		shown++
	}
	if bars == nil {
		return nil
	}
	return append([]Figure{spent(bars, sec)}, out...)
}

// parts are in the order of their colours, which are the same in all figures. There are ten: the last, which are rare, begin again.
var parts = []slow.Part{
	exectrace.Running, exectrace.Runnable, exectrace.Syscall, exectrace.Network, exectrace.Locking, exectrace.Channels, exectrace.Sleeping,
	slow.Arriving, exectrace.Preempted, exectrace.Assisting, exectrace.Sweeping, exectrace.Stopped, exectrace.Otherwise, exectrace.Collector,
}

func partNames() (names []string) {
	for _, p := range parts {
		names = append(names, words.Spent(p, slow.Site{}))
	}
	return names
}

// A bar is what some requests spend their time in.
type bar struct {
	name string
	cost map[slow.Part]float64
}

// barsOf are of typical requests, those near the percentile, and all above it.
func barsOf(w *slow.Why, label string) (out []bar) {
	for _, g := range []struct {
		name string
		of   func(*slow.Trial) slow.Group
	}{
		{"typical", func(t *slow.Trial) slow.Group { return t.Typical }},
		{"near " + words.Percentile(w.Quantile), func(t *slow.Trial) slow.Group { return t.Band }},
		{words.SlowShare(w.Quantile), func(t *slow.Trial) slow.Group { return t.Slow }},
	} {
		b := bar{label + g.name, map[slow.Part]float64{}}
		for _, t := range w.Trials {
			for k, s := range g.of(t).Cost {
				b.cost[k.Part] += s / float64(len(w.Trials))
			}
		}
		out = append(out, b)
	}
	return out
}

func spent(bars []bar, sec chart.Format) Figure {
	const title = "What requests spend their time in"
	g := layout.Grid{Cols: []layout.Column{{Left: true}}, Head: [][]string{{""}}}
	names := partNames()
	used := func(p slow.Part) bool {
		return slices.ContainsFunc(bars, func(b bar) bool { return b.cost[p] > 0 })
	}
	for i, p := range parts {
		if used(p) {
			g.Cols, g.Head[0] = append(g.Cols, layout.Column{}), append(g.Head[0], names[i])
		}
	}
	var stacks []chart.Stack
	for _, b := range bars {
		s, row := chart.Stack{Name: b.name, Mark: math.NaN()}, []string{b.name}
		for _, p := range parts {
			s.Parts = append(s.Parts, b.cost[p])
			if used(p) {
				row = append(row, sec(b.cost[p]))
			}
		}
		stacks = append(stacks, s)
		g.Rows = append(g.Rows, layout.Row{Cells: layout.Cells(row...)})
	}
	return Figure{
		"slow-parts", title, "Means of the traces, in the service. Hover over a part for its figure.",
		chart.Stacks(names, stacks, sec), layout.Section{Title: title, Grids: []layout.Grid{g}},
	}
}

// trace names the trace of a trial, or that in a file.
func trace(trial int, file string) string { return cmp.Or(file, "trial "+strconv.Itoa(trial)) }

// A trace is no longer than dyno.MostTrace; rows reach to hours.
const mostSeconds, mostRows = 60, 70

// story is the ID of a slow request.
func story(id string, n int) string { return id + "-" + strconv.Itoa(n+1) }

// heat are all requests by when they began and how long they took; a click leads to those that are shown one by one.
func heat(w *slow.Why, slowest []slow.Life, id string, sec chart.Format) Figure {
	type cell struct {
		trace       string
		second, row int
	}
	links := map[cell]string{}
	for n, l := range slowest {
		at := cell{trace(l.Trial, l.File), int(l.At), slow.Row(l.Took)}
		links[at] = cmp.Or(links[at], story(id, n))
	}
	seconds, first, last := 1, math.MaxInt, math.MinInt
	cells := func(t *slow.Trial) []slow.Cell { // a kept file may say anything
		return slices.DeleteFunc(slices.Clone(t.Heat), func(c slow.Cell) bool {
			return c.N <= 0 || c.Second < 0 || c.Second > mostSeconds || c.Row < 0 || c.Row > mostRows
		})
	}
	for _, t := range w.Trials {
		for _, c := range cells(t) {
			seconds, first, last = max(seconds, c.Second+1), min(first, c.Row), max(last, c.Row)
		}
	}
	var m chart.Map
	perRow := map[int]int{}
	for n, t := range w.Trials {
		name := trace(t.N, t.File)
		m.Columns = append(m.Columns, name)
		m.Columns = append(m.Columns, make([]string, seconds-1)...)
		for _, c := range cells(t) {
			perRow[c.Row] += c.N
			m.Cells = append(m.Cells, chart.Cell{
				Column: n*seconds + c.Second, Row: c.Row - first, Count: c.N, Link: links[cell{name, c.Second, c.Row}],
				Tip: fmt.Sprintf("%s of %s to %s, %s, second %d", layout.Count(c.N, "request"), sec(slow.RowFrom(c.Row)), sec(slow.RowFrom(c.Row+1)), name, c.Second+1),
			})
		}
	}
	g := layout.Grid{Cols: []layout.Column{{}, {}, {}}, Head: [][]string{{"from", "to", "requests"}}}
	for row := first; row <= last; row++ {
		m.Rows = append(m.Rows, "")
		if row%4 == 0 { // each is four times the one before
			m.Rows[row-first] = sec(slow.RowFrom(row))
		}
		g.Rows = append(g.Rows, layout.Row{Cells: layout.Cells(sec(slow.RowFrom(row)), sec(slow.RowFrom(row+1)), layout.Digits(int64(perRow[row])))})
	}
	return Figure{
		Shows: "Each column is a second of a trace, each row a time in the service; the darker, the more requests. " +
			"A click on a framed cell leads to a request of it, below.",
		Picture: chart.Heat(m),
		Table:   layout.Section{Title: "All requests, by the time they took", Grids: []layout.Grid{g}},
	}
}

// lives are the slowest requests of a setting, and a typical one, on one axis of time.
func lives(slowest []slow.Life, usual *slow.Life, id string, sec chart.Format) Figure {
	g := layout.Grid{
		Cols: []layout.Column{{Left: true}, {}, {}, {Left: true}},
		Head: [][]string{{"", "from", "to", ""}},
	}
	var stories []chart.Story
	add := func(id, what string, l slow.Life) {
		t := chart.Story{ID: id, Title: fmt.Sprintf("%s: %s (%s, at %s)", what, sec(l.Took), trace(l.Trial, l.File), sec(l.At))}
		g.Rows = append(g.Rows, layout.Row{Group: t.Title})
		for k, lane := range l.Lanes {
			x := chart.Lane{Name: laneName(k, lane)}
			for _, s := range lane.Spans {
				did := words.Spent(s.Part, s.Site)
				x.Spans = append(x.Spans, chart.Span{From: s.From, To: s.To, Part: slices.Index(parts, s.Part), Text: words.Site(s.Site), Tip: sec(s.To-s.From) + ", " + did})
				if s.To-s.From >= 0.02*l.Took {
					g.Rows = append(g.Rows, layout.Row{Cells: layout.Cells(x.Name, sec(s.From), sec(s.To), did)})
				}
			}
			t.Lanes = append(t.Lanes, x)
		}
		for _, h := range l.Hands {
			t.Hands = append(t.Hands, chart.Hand(h))
		}
		stories = append(stories, t)
	}
	for n, l := range slowest {
		add(story(id, n), fmt.Sprintf("slow request %d", n+1), l)
	}
	if usual != nil {
		add("", "a typical request", *usual)
	}
	return Figure{
		Shows: "Each row is a goroutine: the request's own, and those that it waited for. A line from one to another is where it let that one go on. " +
			"At: since the trace began, which go tool trace can show, too.",
		Picture: chart.Timelines(partNames(), stories, sec),
		Table:   layout.Section{Title: "Slow requests, one by one", Grids: []layout.Grid{g}},
	}
}

// laneName is the request's own goroutine, that of another request, or the function that one was started with.
func laneName(n int, l slow.Lane) string {
	switch {
	case n == 0:
		return "the request"
	case l.Other:
		return "another request"
	}
	return words.Site(l.Site)
}
