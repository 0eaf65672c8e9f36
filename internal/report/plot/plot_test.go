package plot

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/chart"
	"github.com/dynolab/dyno/internal/stats"
)

// TestPlot: a change is where the axis says, its interval on both sides of it, and
// what is beyond the axis goes on.
func TestPlot(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		x    compare.Versus
		want string
	}{
		{compare.Versus{Ratio: 1.1, Lo: 1.05, Hi: 1.15, Verdict: stats.Worse}, "              ░│░ ├──●──┤"},
		{compare.Versus{Ratio: 1, Lo: 0.95, Hi: 1.05, Verdict: stats.Unclear}, "            ├──○──┤"},
		{compare.Versus{Ratio: 0.9, Lo: nan, Hi: nan, Verdict: stats.Better}, "        ●     ░│░"},
		{compare.Versus{Ratio: 1.05, Lo: 0, Hi: inf, Verdict: stats.Unclear}, "<──────────────┼──○────────────>"},
		{compare.Versus{Ratio: 40, Lo: 20, Hi: 60, Verdict: stats.Worse}, "              ░│░              ●"},
		{compare.Versus{Ratio: nan, Lo: nan, Hi: nan}, "              ░│░"},
		{compare.Versus{Ratio: 1.2, Lo: nan, Hi: nan, Note: compare.Reason{Kind: compare.ReasonNotCompared}}, "              ░│░"},
	} {
		p := Plot{lo: 0.8, hi: 1.3, negligible: 0.02}
		p.Lay(32)
		got := p.Cell(c.x).Text
		if strings.TrimRight(got, " ") != c.want || utf8.RuneCountInString(got) != 32 {
			t.Errorf("%+v: got\n%s, want\n%s\n%s", c.x, got, c.want, p.Axis())
		}
	}
}

// TestPlotAxis: a label stands above its change, whatever the axis; no change is in
// the middle of a character.
func TestPlotAxis(t *testing.T) {
	for _, r := range []chart.Interval{{Ratio: 1.001}, {Ratio: 1.3}, {Ratio: 9}, {Ratio: 0.01}, {Ratio: 2.6, Lo: 1.9, Hi: 3.5}, {Ratio: 1e9}} {
		for _, width := range []int{Least, 31, Most} {
			p := Plot{negligible: 0.01}
			p.lo, p.hi = chart.RatioRange([]chart.Interval{r}, 0.01)
			p.Lay(width)
			axis := []rune(p.Axis())
			if len(axis) > width || p.at(1) >= len(axis) || axis[p.at(1)] != '0' {
				t.Errorf("%v on %d: no 0 above %d in %q", r, width, p.at(1), string(axis))
			}
			if p.shaded(p.at(1)-1) != p.shaded(p.at(1)+1) {
				t.Errorf("%v on %d: what is negligible lies on one side", r, width)
			}
		}
	}
}

// TestPlotShade: what verdicts call the same reaches as far down as up.
func TestPlotShade(t *testing.T) {
	for _, width := range []int{Least, 40, Most} {
		p := Plot{negligible: 0.3}
		p.lo, p.hi = chart.RatioRange([]chart.Interval{{Ratio: 1.1}}, 0.3)
		p.Lay(width)
		down, up := 0, 0
		for i := range p.at(1) {
			if p.shaded(i) {
				down++
			}
		}
		for i := p.at(1) + 1; i < width; i++ {
			if p.shaded(i) {
				up++
			}
		}
		if down != up || up < p.at(1.2)-p.at(1) {
			t.Errorf("on %d: %d down, %d up", width, down, up)
		}
	}
}
