package slowest

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/dynolab/dyno/internal/analysis/compare"
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
	for i := range settings {
		w := settings[i].Slow
		switch {
		case w == nil:
			continue
		case out == nil:
			out = append(out, spent(settings, name, sec))
		}
		if i < mostFigures {
			of := ""
			if len(settings) > 1 {
				of = " of " + name(i)
			}
			f := lives(w, sec)
			f.ID, f.Title = "slow-"+strconv.Itoa(i+1), "Slow requests"+of+", one by one"
			out = append(out, f)
		}
	}
	return out
}

// spent are bars of what requests spend their time in: typical ones, those near the percentile, and all above it.
func spent(settings []compare.Setting, name func(int) string, sec chart.Format) Figure {
	var parts []slow.Part
	costs := func(g slow.Group) map[slow.Part]float64 {
		sum := map[slow.Part]float64{}
		for k, s := range g.Cost {
			sum[k.Part] += s
			if !slices.Contains(parts, k.Part) {
				parts = append(parts, k.Part)
			}
		}
		return sum
	}
	type bar struct {
		name string
		cost map[slow.Part]float64
	}
	var bars []bar
	for i := range settings {
		w := settings[i].Slow
		if w == nil || i >= mostFigures {
			continue
		}
		of := ""
		if len(settings) > 1 {
			of = name(i) + ", "
		}
		for _, g := range []struct {
			name string
			of   func(*slow.Trial) slow.Group
		}{
			{"typical", func(t *slow.Trial) slow.Group { return t.Typical }},
			{"near " + words.Percentile(w.Quantile), func(t *slow.Trial) slow.Group { return t.Band }},
			{words.SlowShare(w.Quantile), func(t *slow.Trial) slow.Group { return t.Slow }},
		} {
			b := bar{of + g.name, map[slow.Part]float64{}}
			for _, t := range w.Trials {
				for p, s := range costs(g.of(t)) {
					b.cost[p] += s / float64(len(w.Trials))
				}
			}
			bars = append(bars, b)
		}
	}
	slices.Sort(parts)
	var names []string
	for _, p := range parts {
		names = append(names, words.Spent(p, slow.Site{}))
	}
	g := layout.Grid{Cols: []layout.Column{{Left: true}}, Head: [][]string{{""}}}
	for _, n := range names {
		g.Cols, g.Head[0] = append(g.Cols, layout.Column{}), append(g.Head[0], n)
	}
	var stacks []chart.Stack
	for _, b := range bars {
		s, row := chart.Stack{Name: b.name, Mark: math.NaN()}, []string{b.name}
		for _, p := range parts {
			s.Parts = append(s.Parts, b.cost[p])
			row = append(row, sec(b.cost[p]))
		}
		stacks = append(stacks, s)
		g.Rows = append(g.Rows, layout.Row{Cells: layout.Cells(row...)})
	}
	const title = "What requests spend their time in"
	return Figure{
		"slow-parts", title, "Means of the traces, in the service. Hover over a part for its figure.",
		chart.Stacks(names, stacks, sec), layout.Section{Title: title, Grids: []layout.Grid{g}},
	}
}

// lives are the slowest requests of a setting, and a typical one, on one axis of time.
func lives(w *slow.Why, sec chart.Format) Figure {
	var names []string
	for p := range slow.Arriving + 1 {
		names = append(names, words.Spent(p, slow.Site{}))
	}
	g := layout.Grid{
		Cols: []layout.Column{{Left: true}, {}, {}, {Left: true}},
		Head: [][]string{{"", "from", "to", ""}},
	}
	var stories []chart.Story
	lives := w.Lives()
	for n, l := range lives {
		what := fmt.Sprintf("slow request %d", n+1)
		if n == len(lives)-1 {
			what = "a typical request"
		}
		t := chart.Story{Title: fmt.Sprintf("%s: %s (trial %d, at %s)", what, sec(l.Took), l.Trial, sec(l.At))}
		g.Rows = append(g.Rows, layout.Row{Group: t.Title})
		for k, lane := range l.Lanes {
			x := chart.Lane{Name: laneName(k, lane)}
			for _, s := range lane.Spans {
				x.Spans = append(x.Spans, chart.Span{From: s.From, To: s.To, Part: int(s.Part), Text: words.Site(s.Site), Tip: sec(s.To-s.From) + ", " + words.Spent(s.Part, s.Site)})
				if s.To-s.From >= 0.02*l.Took {
					g.Rows = append(g.Rows, layout.Row{Cells: layout.Cells(x.Name, sec(s.From), sec(s.To), words.Spent(s.Part, s.Site))})
				}
			}
			t.Lanes = append(t.Lanes, x)
		}
		for _, h := range l.Hands {
			t.Hands = append(t.Hands, chart.Hand{At: h.At, From: h.From, To: h.To})
		}
		stories = append(stories, t)
	}
	return Figure{
		Shows: "Each row is a goroutine: the request's own, and those that it waited for. A line from one to another is where it let that one go on. " +
			"At: since the trace began; go tool trace opens the trial's trace.out there.",
		Picture: chart.Timelines(names, stories, sec),
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
