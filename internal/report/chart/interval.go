package chart

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Intervals draws a row for each ratio with its interval, on a logarithmic axis labelled in per
// cent. The zone that verdicts call the same, 1/(1+negligible) to 1+negligible, is shaded. What
// is beyond a tenth or ten times ends in an arrow. An unknown ratio has only its text.
func Intervals(groups []Group, negligible float64) SVG {
	if !(negligible > 0 && negligible < 0.9) {
		negligible = 0 // and not NaN
	}
	var rows []Interval
	for _, g := range groups {
		rows = append(rows, g.Rows...)
	}
	if len(rows) == 0 {
		return nothing("intervals")
	}
	lo, hi := RatioRange(rows, negligible)
	same := 1.0
	return draw("intervals", fmt.Sprintf("Changes with their intervals: %d rows", len(rows)), func(s *sheet) {
		d := &intervalDrawing{sheet: s, negligible: negligible, axis: axis{lo: lo, hi: hi, log: true, origin: &same}}
		d.lay(rows)
		d.draw(groups)
		d.explain(rows)
	})
}

const farthest = 10

// RatioRange is the range of ratios that Intervals shows, between a tenth and ten times: all
// ratios, and intervals unless they make the axis much longer.
func RatioRange(rows []Interval, negligible float64) (lo, hi float64) {
	least := max(1.03, 1+3*negligible)
	lo, hi = 1/least, least
	far := 2.0
	for _, r := range rows {
		if positive(r.Ratio) {
			lo, hi = min(lo, r.Ratio), max(hi, r.Ratio)
			far = max(far, math.Pow(max(r.Ratio, 1/r.Ratio), 1.5))
		}
	}
	for _, r := range rows {
		if r.Lo >= 0 {
			lo = min(lo, max(r.Lo, 1/far))
		}
		if r.Hi > 0 {
			hi = max(hi, min(r.Hi, far))
		}
	}
	margin := math.Pow(hi/lo, 0.02)
	return max(lo/margin, 0.98/farthest), min(hi*margin, 1.02*farthest)
}

type intervalDrawing struct {
	*sheet
	axis
	negligible float64
	row        float64 // height
	mid        float64 // of the bar within a row
	stacked    bool    // narrow, and label and text do not fit into one line
}

func (d *intervalDrawing) lay(rows []Interval) {
	together := 0.0
	for _, r := range rows {
		together = max(together, textWidth(clean(r.Label)+"  "+clean(r.Text), d.size))
	}
	d.start, d.end = 9, d.width-9
	if d.narrow {
		d.stacked = together > d.width
		d.row = d.line() + 22
		if d.stacked {
			d.row += d.line()
		}
		d.mid = d.row - 13
		return
	}
	names(d.sheet, rows, func(r Interval) string { return r.Label })
	text := min(widest(d.size, rows, func(r Interval) string { return r.Text }), 300)
	d.start, d.end = d.names+d.size, d.width-text-d.size
	d.row, d.mid = 24, 12
}

func (d *intervalDrawing) draw(groups []Group) {
	top := 2*d.line() + 2
	type place struct {
		title string
		row   *Interval
		y     float64
	}
	var places []place
	y := top + 4
	for _, g := range groups {
		if g.Title != "" && len(g.Rows) > 0 {
			y += 6
			places = append(places, place{title: g.Title, y: y + 0.5*d.line()})
			y += d.line() + 2
		}
		for i := range g.Rows {
			places = append(places, place{row: &g.Rows[i], y: y})
			y += d.row
		}
	}
	bottom := y + 4
	d.height = bottom
	ts := RatioTicks(d.lo, d.hi, d.across(d.size))
	if d.narrow { // a line through the words of a row could be taken for a sign
		for _, p := range places {
			if p.row != nil {
				d.ground(ts, p.y+d.mid-10, p.y+d.mid+10)
			}
		}
	} else {
		d.ground(ts, top, bottom)
	}
	d.tickLabels(ts, d.axis, top-5)
	half := (d.end - d.start) / 2
	d.text(d.start, top-5-d.line(), "faint", "← lower", half)
	d.text(d.end, top-5-d.line(), "faint end", "higher →", half)
	if len(places) > 14 && !d.narrow || len(places) > 10 && d.narrow { // the labels above are out of sight
		d.tickLabels(ts, d.axis, bottom+d.size+2)
		d.height += d.line()
	}
	for _, p := range places {
		if p.row == nil {
			d.text(0, d.middle(p.y), "heading", p.title, d.width*0.88) // bold is wider
			continue
		}
		d.words(p.row, p.y)
		d.bar(p.row, p.y+d.mid)
	}
}

func (d *intervalDrawing) ground(ts []Tick, top, bottom float64) {
	if d.negligible > 0 {
		d.rect("zone", d.at(1/(1+d.negligible)), top, d.at(1+d.negligible), bottom, "")
	}
	d.columns(d.axis, ts, top, bottom)
}

func (d *intervalDrawing) words(r *Interval, y float64) {
	d.name(r.Label, y+2, y+d.mid)
	class := "value " + string(r.Mark)
	switch {
	case d.stacked:
		d.text(0, y+d.size+2+d.line(), class, r.Text, d.width)
	case d.narrow:
		d.text(d.width, y+d.size+2, class+" end", r.Text, d.width)
	default:
		d.text(d.end+d.size, d.middle(y+d.mid), class, r.Text, d.width-d.end-d.size)
	}
}

func (d *intervalDrawing) bar(r *Interval, y float64) {
	class := string(r.Mark)
	if r.Lo >= 0 && r.Hi > 0 && r.Lo <= r.Hi {
		x1, x2 := d.at(r.Lo), d.at(r.Hi)
		d.rule("span "+class, x1, y, x2, y)
		d.finish(class, x1, y, -1, r.Lo < d.lo)
		d.finish(class, x2, y, 1, r.Hi > d.hi)
	}
	if positive(r.Ratio) {
		d.mark(r, d.at(r.Ratio), y)
	}
}

// finish ends an interval on the left (-1) or right (1): with a bar, or with an arrow if it goes on.
func (d *intervalDrawing) finish(class string, x, y, side float64, on bool) {
	if !on {
		d.rule("span "+class, x, y-4, x, y+4)
		return
	}
	d.path("arrow "+class, through(x, y-4, x+5*side, y, x, y+4), "continues")
}

// mark draws a ratio; a ring marks one beyond the axis.
func (d *intervalDrawing) mark(r *Interval, x, y float64) {
	side := float64(r.Better)
	switch {
	case r.Better == 0:
		side = math.Copysign(1, math.Log(r.Ratio))
	case r.Mark == Worse:
		side = -side
	}
	tip := r.Label + ": " + r.Text
	d.path("mark "+string(r.Mark), markForm(r.Mark, x, y, side), tip)
	if r.Ratio < d.lo || r.Ratio > d.hi {
		d.path("arrow "+string(r.Mark), form(0, x, y, 7.5), tip+" (beyond the axis)")
	}
}

func markForm(m Mark, x, y, side float64) string {
	switch m {
	case Better, Worse:
		return through(x-4*side, y-5.5, x+6*side, y, x-4*side, y+5.5) + "Z"
	case Plain:
		return form(3, x, y, 4)
	}
	return form(0, x, y, 4.5)
}

func (d *intervalDrawing) explain(rows []Interval) {
	var entries []entry
	for _, m := range []Mark{Better, Worse, Same, Unclear} {
		word := string(m)
		switch {
		case !slices.ContainsFunc(rows, func(r Interval) bool { return r.Mark == m && positive(r.Ratio) }):
		case m == Better || m == Worse: // which side that is depends on the metric
			entries = append(entries, entry{26, func(x, y float64) {
				d.path("mark "+word, markForm(m, x+7, y, -1), "")
				d.path("mark "+word, markForm(m, x+19, y, 1), "")
			}, word + " (points to the " + word + " side)"})
		default:
			entries = append(entries, entry{12, func(x, y float64) { d.path("mark "+word, markForm(m, x+6, y, 1), "") }, word})
		}
	}
	if d.negligible > 0 {
		percent := strconv.FormatFloat(d.negligible*100, 'g', 3, 64)
		entries = append(entries, entry{14, func(x, y float64) { d.rect("zone", x, y-6, x+14, y+6, "") }, "negligible, ±" + percent + "%"})
	}
	if len(entries) > 0 {
		d.legend(1, entries)
	}
}
