// Package profile writes what profiles of a run tell: shares, functions, changes, lines and stacks.
package profile

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dynolab/dyno/internal/analysis/profiles"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/stats"
)

// A Profile is what is shown of the profiles of a run. Each part may be empty.
type Profile struct {
	About  []string            `json:"about,omitempty"`
	Shares []profiles.CPUShare `json:"cpu,omitempty"`
	Tops   []*profiles.Top     `json:"top,omitempty"`
	Diffs  []*profiles.Diff    `json:"differences,omitempty"`
	Rows   int                 `json:"-"` // of each table; 0 means all
	Notes  []string            `json:"notes,omitempty"`

	Unproved string `json:"-"` // what Diffs in which no function is proved to have changed say instead of that; may be ""
}

// AboutProfiles says which profiles a run has, what is left out, and how to open them in pprof.
func AboutProfiles(r *profiles.Run) (about, notes []string) {
	about = []string{r.Name + ": profiles of separate trials, whose response times are not compared"}
	if r.Bench != "" {
		about[0] = r.Bench + ": profiles of separate processes, whose times are not compared"
	}
	for i, kind := range r.Kinds {
		var parts []string
		for n, s := range r.Settings {
			of := slices.DeleteFunc(slices.Clone(r.Of[kind]), func(p profiles.Profiled) bool { return p.Setting != s })
			if len(of) == 0 {
				continue
			}
			parts = append(parts, fmt.Sprintf("%s (%d)", layout.Label(s), len(of)))
			if i == 0 && n == 0 {
				notes = []string{"To open in pprof: go tool pprof -http=: " + of[0].File}
				if len(of) > 1 {
					notes[0] += " (several files of one setting are added up)"
				}
			}
		}
		about = append(about, kind+": "+strings.Join(parts, ", "))
	}
	return append(about, LeftOut(r)...), notes
}

// LeftOut says which profiles could not be read.
func LeftOut(r *profiles.Run) (lines []string) {
	for _, l := range r.Losses {
		lines = append(lines, "left out: "+l.Error())
	}
	return lines
}

const nameWidth = 52

// Text writes p for a reader at a terminal. The error is w's.
func Text(w io.Writer, p *Profile, o layout.Options) error {
	var b strings.Builder
	for _, line := range p.About {
		b.WriteString(layout.Fold(line, "", "  ", o.Columns()))
	}
	for i, s := range p.Sections(nameWidth, o.Columns()) {
		if i > 0 || len(p.About) > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(layout.Fold(s.Title, "", "  ", o.Columns()))
		for _, g := range s.Grids {
			b.WriteByte('\n')
			g.Narrow(o.Columns())
			g.Text(&b, o.Color)
		}
		for _, n := range s.Notes {
			b.WriteString("\n" + layout.Fold(n, "", "", o.Columns()))
		}
	}
	for _, n := range p.Notes {
		b.WriteString("\n" + layout.Fold(n, "", "  ", o.Columns()))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Markdown writes p as GitHub Markdown. The error is w's.
func Markdown(w io.Writer, p *Profile) error {
	var b strings.Builder
	for _, line := range p.About {
		b.WriteString(layout.EscapeMarkdown(line) + "\n")
	}
	for _, s := range p.Sections(math.MaxInt, math.MaxInt) {
		b.WriteByte('\n')
		s.Markdown(&b)
	}
	for _, n := range p.Notes {
		b.WriteString("\n" + layout.EscapeMarkdown(n) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Sections are the tables, of at most names characters for a function and width for the page.
func (p *Profile) Sections(names, width int) []layout.Section {
	var out []layout.Section
	if len(p.Shares) > 0 {
		name, keys := shortNames(p.Shares, width)
		s := CPUShares(p.Shares, name, width)
		s.Notes = append(keys, s.Notes...)
		out = append(out, s)
	}
	for _, t := range p.Tops {
		out = append(out, p.top(t, names))
	}
	for _, d := range p.Diffs {
		out = append(out, p.diff(d, names))
	}
	return out
}

// shortNames numbers the settings if a name is too long, and returns the key to the numbers.
func shortNames(all []profiles.CPUShare, width int) (name func(string) string, keys []string) {
	number, long := map[string]string{}, false
	for i, s := range all {
		number[s.Setting] = fmt.Sprintf("[%d]", i+1)
		keys = append(keys, number[s.Setting]+" "+layout.Label(s.Setting))
		long = long || utf8.RuneCountInString(layout.Label(s.Setting)) > layout.MaxName
	}
	if width == math.MaxInt || !long {
		return layout.Label, nil
	}
	return func(s string) string { return number[s] }, keys
}

// CPUShares is the table of what CPU time was spent on; name is the name of a setting.
func CPUShares(all []profiles.CPUShare, name func(setting string) string, width int) layout.Section {
	greatest := 0.0
	for _, s := range all {
		greatest = max(greatest, s.Total.Mean)
	}
	sc := layout.ScaleOf("cpu-sec/req", greatest)
	g := layout.Grid{Cols: []layout.Column{{Left: true}}, Head: [][]string{{"CPU per request"}}}
	rows := make([]layout.Row, len(profiles.CPUClasses)+2)
	rows[0].Cells = layout.Cells("total, " + sc.Unit)
	for c, name := range profiles.CPUClasses {
		rows[c+1].Cells = layout.Cells(name)
	}
	last := len(rows) - 1
	rows[last].Cells = layout.Cells("mark + assist + sweep + other GC")
	for _, s := range all {
		g.Cols = append(g.Cols, layout.Column{}, layout.Column{Left: true, Keep: 1}, layout.Column{Keep: 2})
		g.Head[0] = append(g.Head[0], name(s.Setting), "", sc.Unit)
		rows[0].Cells = append(rows[0].Cells, layout.Cell{Text: sc.Format(s.Total.Mean)}, layout.Cell{}, layout.Cell{})
		for c, class := range s.Classes {
			rows[c+1].Cells = append(rows[c+1].Cells, classCells(class, sc)...)
		}
		rows[last].Cells = append(rows[last].Cells, classCells(s.GC, sc)...)
	}
	g.Rows = rows
	g.Narrow(width)
	note := "Idle mark uses CPUs that had nothing else to do. Runtime: maps, copying, channels, locks. Libraries: all code but the subject's own and the runtime's, with system calls."
	spread := slices.ContainsFunc(g.Cols, func(c layout.Column) bool { return c.Keep == 1 })
	if spread && slices.ContainsFunc(all, func(s profiles.CPUShare) bool { return s.Trials > 1 }) {
		note = "± is half of the 95 % interval over the trials, in percentage points. " + note
	}
	return layout.Section{
		Title: "How CPU time is spent, by the stacks of the CPU profiles",
		Grids: []layout.Grid{g},
		Notes: []string{note},
	}
}

func classCells(c profiles.ClassShare, sc layout.Scale) []layout.Cell {
	far := ""
	if h := (c.Share.Hi - c.Share.Lo) / 2; !math.IsNaN(h) {
		far = fmt.Sprintf("±%.1f", 100*h)
	}
	return []layout.Cell{{Text: fmt.Sprintf("%.1f%%", 100*c.Share.Mean)}, {Text: far, Mark: layout.Faint}, {Text: sc.Format(c.PerReq.Mean)}}
}

func per(metric string) string {
	switch {
	case strings.HasSuffix(metric, "/req"):
		return " per request"
	case strings.HasSuffix(metric, "/op"):
		return " per operation"
	}
	return ""
}

func inUnit(sc layout.Scale) string {
	if sc.Unit == "" {
		return ""
	}
	return ", in " + sc.Unit
}

func (p *Profile) top(t *profiles.Top, names int) layout.Section {
	rows := shown(t.Rows, p.Rows)
	sc := layout.ScaleOf(t.Metric, t.Total)
	counts, _, _ := strings.Cut(t.Counts, "/")
	// The figure that is first is the one that interval, share and order are of.
	columns := []string{t.Order}
	for _, c := range []string{"own", "flat", "cum"} {
		if c != t.Order {
			columns = append(columns, c)
		}
	}
	g := layout.Grid{
		Cols: []layout.Column{{}, {Left: true, Keep: 2}, {}, {}, {}, {Keep: 1}, {Left: true}},
		Head: [][]string{{columns[0], "", "share", columns[1], columns[2], counts, "function"}},
	}
	for _, r := range rows {
		figures := map[string]float64{"own": r.Own, "flat": r.Flat, "cum": r.Cum}
		value := figures[columns[0]]
		count := ""
		if t.Counts != "" {
			count = layout.ScaleOf(t.Counts, r.Count).Format(r.Count)
		}
		g.Rows = append(g.Rows, layout.Row{Cells: []layout.Cell{
			{Text: sc.Format(value)}, {Text: layout.Spread(value, float64(r.Lo), float64(r.Hi)), Mark: layout.Faint}, {Text: fmt.Sprintf("%.1f%%", 100*r.Share)},
			{Text: sc.Format(figures[columns[1]])}, {Text: sc.Format(figures[columns[2]])}, {Text: count}, {Text: shortName(layout.Clean(r.Name), names)},
		}})
	}
	return layout.Section{
		Title: fmt.Sprintf("%s%s of %s, %s: %s in total; %s%s", t.Kind, per(t.Metric), layout.Label(t.Setting), layout.Count(t.Trials, "trial"), sc.With(t.Total), order(t.Order), inUnit(sc)),
		Grids: []layout.Grid{g},
	}
}

// shown are the first rows; 0 means all.
func shown[T any](rows []T, most int) []T {
	return rows[:min(cmp.Or(max(most, 0), len(rows)), len(rows))]
}

func order(by string) string {
	return map[string]string{
		"own":  "own: a function of the subject with the library calls it makes",
		"flat": "by flat: a function without its calls",
		"cum":  "by cum: a function with all its calls",
	}[by]
}

func (p *Profile) diff(d *profiles.Diff, names int) layout.Section {
	rows := shown(d.Rows, p.Rows)
	greatest := math.Abs(d.Total.Diff)
	for _, r := range shown(rows, 1) {
		greatest = max(greatest, math.Abs(r.Own.Diff), math.Abs(r.Flat.Diff), math.Abs(r.Cum.Diff))
	}
	sc := layout.ScaleOf(d.Metric, greatest)
	g := layout.Grid{
		Cols: []layout.Column{{}, {Left: true}, {Left: true}, {Keep: 2}, {Keep: 2}, {Keep: 1}, {Keep: 1}, {Left: true}},
		Head: [][]string{{"change", "", "", "flat", "cum", "before", "after", "function"}},
	}
	for _, r := range rows {
		c := map[string]profiles.Change{"own": r.Own, "flat": r.Flat, "cum": r.Cum}[d.Order]
		m := layout.MarkOf(c.Verdict)
		name := shortName(layout.Clean(r.Name), names)
		at := ""
		if l := r.Line; l.File != "" && r.Own.Diff != 0 {
			at = fmt.Sprintf("%s:%d", path.Base(layout.Clean(l.File)), l.Line)
			if l.Via != "" {
				at += " via " + shortName(layout.Clean(l.Via), names-utf8.RuneCountInString(at)-7)
			}
		}
		if names == math.MaxInt && at != "" {
			name, at = name+", "+at, ""
		}
		g.Rows = append(g.Rows, layout.Row{Cells: []layout.Cell{
			{Text: sc.Signed(c.Diff), Mark: m}, {Text: sc.SignedInterval(float64(c.Lo), float64(c.Hi))}, {Text: string(c.Verdict), Mark: m},
			{Text: sc.Signed(r.Flat.Diff)}, {Text: sc.Signed(r.Cum.Diff)}, {Text: sc.Format(c.Base)}, {Text: sc.Format(c.Value)}, {Text: name},
		}})
		if at != "" {
			g.Rows = append(g.Rows, layout.Row{Cells: []layout.Cell{{}, {}, {}, {}, {}, {}, {}, {Text: "  " + at, Mark: layout.Faint}}})
		}
	}
	s := layout.Section{
		Title: fmt.Sprintf("%s%s, %s against %s, %s: %s in total; %s%s", d.Kind, per(d.Metric), layout.Label(d.Setting), layout.Label(d.Base), layout.Count(d.Pairs, "pair"),
			sc.SignedWith(d.Total.Diff), order(d.Order), inUnit(sc)),
		Notes: []string{p.found(d)},
	}
	if len(g.Rows) > 0 {
		s.Grids = []layout.Grid{g}
	}
	return s
}

// found counts the changed functions and says what that rests on.
func (p *Profile) found(d *profiles.Diff) string {
	switch n := len(d.Changed()); {
	case d.Pairs == 0:
		return "No block has a profile of both settings, so there is nothing to compare."
	case d.Pairs < profiles.Pairs:
		return fmt.Sprintf("%s of trials cannot tell a change from noise; it takes %d (consider: --profile-repeat %[2]d).", layout.Count(d.Pairs, "pair"), profiles.Pairs)
	case n == 0 && p.Unproved != "":
		return p.Unproved
	case n == 0:
		return fmt.Sprintf("No function surely changed by more than %.3g %% of the total.", 100*d.Negligible)
	case n == 1:
		return "1 function surely changed; all others are unclear or the same."
	default:
		return fmt.Sprintf("%d functions surely changed (%s: less than before); all others are unclear or the same.", n, stats.Better)
	}
}

// shortName cuts the middle of the package's path, then the path, then the middle of the rest.
func shortName(name string, width int) string {
	if utf8.RuneCountInString(name) <= width {
		return name
	}
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		first, _, _ := strings.Cut(name, "/")
		for _, short := range []string{first + "/…" + name[i:], "…" + name[i:]} {
			if utf8.RuneCountInString(short) <= width {
				return short
			}
		}
		name = name[i+1:]
	}
	if width < 8 {
		return name
	}
	return layout.Middle(name, width)
}

// ChangeOf is the change of a function in a few words, with the line that changed most.
func ChangeOf(d *profiles.Diff, f profiles.FunctionChange) string {
	name, arguments, generic := strings.Cut(f.Name, "[") // which have slashes of their own
	where := path.Base(name)
	if generic {
		where += "[" + arguments
	}
	if f.Line.Line > 0 {
		where += fmt.Sprintf(" (%s:%d)", path.Base(f.Line.File), f.Line.Line)
	}
	what := map[string]string{"cpu": "CPU time", "allocs": "allocated"}
	sc := layout.ScaleOf(d.Metric, f.Own.Diff)
	return fmt.Sprintf("%s, %s %s per operation %s", where, cmp.Or(what[d.Kind], d.Kind), sc.SignedWith(f.Own.Diff), sc.SignedInterval(float64(f.Own.Lo), float64(f.Own.Hi)))
}
