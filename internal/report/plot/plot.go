// Package plot draws changes and their intervals in characters.
package plot

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/chart"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/stats"
)

// Columns of a plot.
const (
	Least = 16 // a narrower one shows nothing
	Most  = 60
)

// A Plot is an axis of logarithms of ratios, in characters.
type Plot struct {
	lo, hi     float64
	negligible float64
	Width      int
}

// New is a plot with room for the changes, nil without changes. Changes within
// ±negligible are on a shaded ground.
func New(rows []chart.Interval, negligible float64) *Plot {
	if rows == nil {
		return nil
	}
	p := &Plot{negligible: negligible}
	if !(p.negligible < 0.9) {
		p.negligible = 0
	}
	p.lo, p.hi = chart.RatioRange(rows, p.negligible)
	return p
}

// Lay gives the plot its width, and makes the axis longer by a character, so that no
// change is the middle of one and what is negligible lies alike on both sides.
func (p *Plot) Lay(width int) {
	p.Width = width
	each := math.Log(p.hi/p.lo) / float64(width-1)
	left := math.Ceil(-math.Log(p.lo)/each) + 0.5
	left = min(left, float64(width)-0.5)
	p.lo, p.hi = math.Exp(-each*left), math.Exp(each*(float64(width)-left))
}

// at is the column of a ratio.
func (p *Plot) at(ratio float64) int {
	share := math.Log(max(p.lo, min(ratio, p.hi))/p.lo) / math.Log(p.hi/p.lo)
	return min(int(share*float64(p.Width)), p.Width-1)
}

// Axis is the heading of the plot: changes above their columns.
func (p *Plot) Axis() string {
	place := func(t chart.Tick) int {
		n := utf8.RuneCountInString(t.Label)
		return max(0, min(p.at(t.Value)-n/2, p.Width-n))
	}
	ticks := chart.RatioTicks(p.lo, p.hi, func(ts []chart.Tick) bool {
		for i := 1; i < len(ts); i++ {
			if place(ts[i-1])+utf8.RuneCountInString(ts[i-1].Label)+2 > place(ts[i]) {
				return false
			}
		}
		return true
	})
	line := ""
	for _, t := range ticks {
		line += strings.Repeat(" ", max(0, place(t)-utf8.RuneCountInString(line))) + t.Label
	}
	return line
}

// Cell draws a change on the ground that all rows have: the line of no change, and
// what is negligible.
func (p *Plot) Cell(x compare.Versus) layout.Cell {
	line := []rune(strings.Repeat(" ", p.Width))
	for i := range line {
		if p.shaded(i) {
			line[i] = '░'
		}
	}
	zero := p.at(1)
	line[zero] = '│'
	if !Drawn(x) {
		return layout.Cell{Text: string(line), Mark: layout.Faint}
	}
	if x.Lo >= 0 && x.Hi > 0 && x.Lo <= x.Hi {
		lo, hi := p.at(x.Lo), p.at(x.Hi)
		for i := lo; i <= hi; i++ {
			line[i] = '─'
		}
		if lo < zero && zero < hi {
			line[zero] = '┼'
		}
		line[lo], line[hi] = '├', '┤'
		if x.Lo < p.lo {
			line[lo] = '<'
		}
		if x.Hi > p.hi {
			line[hi] = '>'
		}
	}
	line[p.at(x.Ratio)] = '●'
	if x.Verdict == stats.Unclear {
		line[p.at(x.Ratio)] = '○'
	}
	return layout.Cell{Text: string(line), Mark: layout.MarkOf(x.Verdict)}
}

// shaded reports whether the middle of a column is negligible, as verdicts have it:
// by the same factor down and up.
func (p *Plot) shaded(column int) bool {
	change := math.Log(p.lo) + math.Log(p.hi/p.lo)*(float64(column)+0.5)/float64(p.Width)
	return math.Abs(change) < math.Log1p(p.negligible) && column != p.at(1)
}

// Note explains the plot.
func (p *Plot) Note() string {
	s := "Plot: ● the change, ○ if unclear, ├─┤ its interval, │ no change"
	negligible := fmt.Sprintf("negligible (±%s)", dyno.Fraction(p.negligible))
	switch zero := p.at(1); {
	case p.negligible == 0:
	case p.shaded(zero-1) || p.shaded(zero+1):
		s += ", ░ " + negligible
	default: // within that one character
		s += " or " + negligible
	}
	return s + "; each character is the same factor."
}

// Drawn reports whether there is a change to draw.
func Drawn(x compare.Versus) bool { return x.Ratio > 0 && !math.IsInf(x.Ratio, 0) && x.Note.Kind == "" }
