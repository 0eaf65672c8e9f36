package profile

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/dynolab/dyno/internal/analysis/profiles"
	"github.com/dynolab/dyno/internal/report/layout"
)

// context is the number of lines of source around those with a figure.
const context = 3

// List writes functions line by line. sources has the lines of files as the profile
// names them; versus adds the change since a baseline. The error is w's.
func List(w io.Writer, ls []profiles.Listing, metric string, versus bool, sources map[string][]string) error {
	var b strings.Builder
	for i, l := range ls {
		if i > 0 {
			b.WriteByte('\n')
		}
		sc := layout.ScaleOf(metric, l.Cum)
		if l.Cum == 0 {
			sc = layout.ScaleOf(metric, l.Diff)
		}
		diff := ""
		if versus {
			diff = ", change " + sc.SignedWith(l.Diff)
		}
		fmt.Fprintf(&b, "%s in %s\n  flat %s, cum %s%s%s%s\n\n", layout.Clean(l.Name), layout.Clean(l.File), sc.With(l.Flat), sc.With(l.Cum), per(metric), diff, inUnit(sc))
		listing(&b, l, sc, versus, sources[l.File])
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func listing(b *strings.Builder, l profiles.Listing, sc layout.Scale, versus bool, source []string) {
	g := &layout.Grid{Cols: []layout.Column{{}, {}, {Keep: 1}, {}, {Left: true}}, Head: [][]string{{"flat", "cum", "change", "line", ""}}}
	by := map[int]profiles.ListingLine{}
	for _, x := range l.Lines {
		by[x.Line] = x
		for n := x.Line - context; n <= x.Line+context && source != nil && x.Line > 0; n++ {
			if _, ok := by[n]; !ok && n >= l.Line && n > 0 && n <= len(source) {
				by[n] = profiles.ListingLine{Line: n}
			}
		}
	}
	last := 0
	for _, n := range slices.Sorted(maps.Keys(by)) {
		if last > 0 && n > last+1 {
			g.Rows = append(g.Rows, layout.Row{Cells: layout.Cells("", "", "", "⋮", "")})
		}
		last = n
		x, text := by[n], ""
		if n > 0 && n <= len(source) { // 0: the line is not known
			text = strings.ReplaceAll(layout.Clean(source[n-1]), "\t", "    ")
		}
		change := ""
		if versus && x.CumDiff != 0 {
			change = sc.Signed(x.CumDiff)
		}
		g.Rows = append(g.Rows, layout.Row{Cells: []layout.Cell{{Text: orDot(x.Flat, sc)}, {Text: orDot(x.Cum, sc)}, {Text: change}, {Text: fmt.Sprint(n), Mark: layout.Faint}, {Text: text}}})
	}
	g.Text(b, false)
}

func orDot(x float64, sc layout.Scale) string {
	if x == 0 {
		return "."
	}
	return sc.Format(x)
}

func shareOf(x, of float64) string {
	if of == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f%%", 100*x/of)
}

const flameLeast = 0.01

// Flame writes a tree of stacks with shares, without those below 1 %. The error is w's.
func Flame(w io.Writer, f *profiles.Flame, metric string) error {
	var b strings.Builder
	sc := layout.ScaleOf(metric, f.Value)
	fmt.Fprintf(&b, "%7s %9s  all%s%s\n", "100%", sc.Format(f.Value), per(metric), inUnit(sc))
	var walk func(*profiles.Flame, int)
	walk = func(at *profiles.Flame, depth int) {
		for _, c := range at.Children {
			if math.Abs(c.Value) < flameLeast*math.Abs(f.Value) {
				continue
			}
			fmt.Fprintf(&b, "%7s %9s  %s%s\n", shareOf(c.Value, f.Value), sc.Format(c.Value), strings.Repeat("  ", depth), shortName(layout.Clean(c.Name), nameWidth))
			walk(c, depth+1)
		}
	}
	walk(f, 0)
	_, err := io.WriteString(w, b.String())
	return err
}

// Folded writes one stack a line, root first, with semicolons between functions, and what
// ends there per million requests in the finest unit (ns, B, 1). The error is w's.
func Folded(w io.Writer, f *profiles.Flame, metric string) error {
	var b strings.Builder
	_, steps := layout.UnitOf(metric)
	factor := 1e6 / steps[len(steps)-1].Factor
	if per(metric) == "" {
		factor = 1
	}
	var walk func(*profiles.Flame, string)
	walk = func(at *profiles.Flame, path string) {
		if n := math.Round(at.Flat * factor); n > 0 && path != "" {
			fmt.Fprintf(&b, "%s %.0f\n", path, n)
		}
		for _, c := range at.Children {
			name := strings.ReplaceAll(layout.Clean(c.Name), ";", ":")
			if path != "" {
				name = path + ";" + name
			}
			walk(c, name)
		}
	}
	walk(f, "")
	_, err := io.WriteString(w, b.String())
	return err
}
