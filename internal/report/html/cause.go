package html

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/leak"
	"github.com/dynolab/dyno/internal/report/chart"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/places"
	"github.com/dynolab/dyno/internal/report/profile"
	"github.com/dynolab/dyno/internal/report/tables"
	"github.com/dynolab/dyno/internal/report/words"
)

// profileRows is the number of functions in a page's table of a profile.
const profileRows = 15

// machines are the agents and nodes of a run whose load came from others.
func (v *pageView) machines() (out []block) {
	for _, s := range places.Sections(v.Places) {
		out = append(out, v.show(s, true)...)
	}
	return out
}

func (v *pageView) causes() (out []block) {
	out = append(out, v.show(v.Asked())...)
	out = append(out, v.show(v.Why())...)
	out = append(out, v.show(v.Tail())...)
	if len(v.CPU) > 0 {
		out = append(out, v.show(profile.CPUShares(v.CPU, v.Named, wide), true)...)
	}
	for _, s := range v.Slowest() {
		out = append(out, v.show(s, true)...)
	}
	for _, f := range v.SlowFigures(v.called, Seconds) {
		out = append(out, v.svg(f.ID, tame(f.Title, mostCell), f.Shows, f.Picture, &f.Table))
	}
	out = append(out, v.show(v.Attribution())...)
	if p := v.page.Profile; p != nil {
		c := *p
		c.Shares, c.Rows = nil, profileRows // the table has them
		for _, s := range c.Sections(mostName, wide) {
			out = append(out, tucked(v.show(s, true))...)
		}
		if len(p.Notes) > 0 {
			out = append(out, block{Lines: tameAll(p.Notes, 50, mostNote)})
		}
	}
	if rows := v.flameRows(); rows != nil {
		out = append(out, block{
			ID: "flames", Title: "Flame graphs",
			Lines: []string{"The width of a box is the cost of a function and its calls; in a difference, red is more and green is less than the baseline. " +
				"Click a box to show it alone; the search marks boxes. These are pprof's own pages."},
			Flames: rows,
		})
	}
	return out
}

type flameRow struct {
	Kind    string
	Buttons []flameButton
}

type flameButton struct{ Label, Source, URL string }

func (v *pageView) flameRows() (rows []flameRow) {
	for i, f := range v.page.Flames {
		b := flameButton{Label: tame(layout.Label(f.Setting), mostCell)}
		if f.Base != "" {
			b.Label += " against " + tame(f.Base, mostCell)
		}
		switch {
		case f.URL != "":
			b.URL = f.URL
		case f.HTML != nil:
			b.Source = fmt.Sprintf("flame-%d", i+1)
		default:
			continue // it was left out
		}
		kind := tame(f.Kind, mostName)
		at := slices.IndexFunc(rows, func(r flameRow) bool { return r.Kind == kind })
		if at < 0 {
			at = len(rows)
			rows = append(rows, flameRow{Kind: kind})
		}
		rows[at].Buttons = append(rows[at].Buttons, b)
	}
	return rows
}

func (v *pageView) memories() (out []block) {
	if v.Trials == 0 {
		return nil
	}
	out = append(out, v.show(v.Memory())...)
	if s, ok := v.Resident(); ok {
		out = append(out, v.svg("memory", "Where the resident memory is",
			"At the end of the load, means of the trials. The line across each bar is the resident memory that the kernel counts (RSS); mapped memory that was never touched lies beyond it.",
			v.stacks(), &s, s.Notes...))
	}
	out = append(out, v.show(v.GivenBack())...)
	out = append(out, v.growth()...)
	return append(out, v.show(v.Leak())...)
}

func (v *pageView) stacks() chart.SVG {
	parts := tables.ResidentParts[:len(tables.ResidentParts)-2] // without what is not resident, and without the sum
	var names []string
	var bars []chart.Stack
	used := slices.DeleteFunc(slices.Clone(parts), func(p tables.ResidentPart) bool {
		return !slices.ContainsFunc(v.Settings, func(s compare.Setting) bool { r := tables.Told(&s); return r != nil && p.Of(r) > 0.001*r.End.RSS })
	})
	for _, p := range used {
		names = append(names, p.Label)
	}
	for i := range v.Settings {
		r := tables.Told(&v.Settings[i])
		if r == nil {
			continue
		}
		bar := chart.Stack{Name: v.called(i), Mark: r.End.RSS}
		for _, p := range used {
			bar.Parts = append(bar.Parts, max(0, p.Of(r)))
		}
		bars = append(bars, bar)
	}
	return chart.Stacks(names, bars, axis("rss-peak-B"))
}

var grewNames = map[string]string{
	"heap-live-B": "The live heap at each collection",
	"heap-true-B": "The live heap at each collection, without allocations during it",
	"heap-B":      "The heap",
	"rss-B":       "Resident memory",
}

const leastPoints = 3

// clock prints seconds since a window began.
func clock(sec float64) string {
	if sec < 120 {
		return strings.TrimSuffix(strconv.FormatFloat(sec, 'f', 1, 64), ".0") + " s"
	}
	return words.Plainly(time.Duration(sec * float64(time.Second)))
}

const mostGrowth = 6

// growth has a picture of each setting that leaks or may leak, else of the first.
func (v *pageView) growth() (out []block) {
	var shown []int
	first := -1
	for i := range v.Settings {
		l := v.Settings[i].Leak
		if l == nil || l.Memory == nil {
			continue
		}
		if first < 0 {
			first = i
		}
		if l.Memory.Verdict != leak.NoLeak {
			shown = append(shown, i)
		}
	}
	if shown == nil && first >= 0 {
		shown = []int{first}
	}
	for _, i := range shown[:min(len(shown), mostGrowth)] {
		m := v.Settings[i].Leak.Memory
		var by string
		var at, value []float64
		for _, by = range []string{m.By, "heap-live-B", "rss-B"} {
			if at, value = v.trackOf(v.Settings[i].Setting, by); len(at) >= leastPoints {
				break
			}
		}
		if len(at) < leastPoints {
			continue
		}
		shows := grewNames[by] + " over the window of one trial."
		if !math.IsNaN(m.Slope) {
			sc := words.Coarse(layout.ScaleOf("leak-B", tables.LeakFigures(m, m.Slope, m.Lo, m.Hi, m.Detectable)...))
			of := "Over all trials it"
			if by != m.By {
				of = fmt.Sprintf("The metric behind the verdict (%s)", tame(m.By, 60))
			}
			shows += fmt.Sprintf(" %s grows by %s/h %s.", of, sc.With(m.Slope), sc.Interval(m.Lo, m.Hi))
		}
		what, _ := layout.UnitOf(by)
		out = append(out, v.svg(fmt.Sprintf("growth-%d", i+1), fmt.Sprintf("%s of %s: %s", tame(what, 60), tame(v.SettingName(i), mostCell), m.Verdict), shows,
			chart.Trend(chart.Line{Name: v.called(i), X: at, Y: value, Scale: true}, nil, clock, axis(by)), growthTable(by, at, value)))
	}
	return out
}

func growthTable(metric string, at, value []float64) *layout.Section {
	g := layout.Grid{Cols: []layout.Column{{}, {}}, Head: [][]string{{"time", metric}}}
	step := max(1, (len(at)+19)/20)
	for i := 0; i < len(at); i += step {
		g.Rows = append(g.Rows, layout.Row{Cells: layout.Cells(clock(at[i]), axis(metric)(value[i]))})
	}
	return &layout.Section{Title: "Growth", Grids: []layout.Grid{g}}
}

// compared are the trials of setting i that are compared, in the order of blocks.
func (v *pageView) compared(i int) []*dyno.Result {
	return v.trials[v.Settings[i].Setting.String()]
}
