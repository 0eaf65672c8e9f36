package report

import (
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dynolab/dyno/analysis/profiles"
	"github.com/dynolab/dyno/stats"
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
	about = []string{r.Name + ": profiles of trials of their own, whose response times are not compared"}
	if r.Bench != "" {
		about[0] = r.Bench + ": profiles of processes of their own, whose times are not compared"
	}
	for i, kind := range r.Kinds {
		var parts []string
		for _, s := range r.Settings {
			of := slices.DeleteFunc(slices.Clone(r.Of[kind]), func(p profiles.Profiled) bool { return p.Setting != s })
			if len(of) > 0 {
				parts = append(parts, fmt.Sprintf("%s (%d)", label(s), len(of)))
			}
			if i > 0 || s != r.Settings[0] || len(of) == 0 {
				continue
			}
			notes = []string{"In pprof's own pages: go tool pprof -http=: " + of[0].File}
			if len(of) > 1 {
				notes[0] += " (several files of one setting are added up)"
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

// ProfileText writes p for a reader at a terminal. The error is w's.
func ProfileText(w io.Writer, p *Profile, o Options) error {
	var b strings.Builder
	for _, line := range p.About {
		b.WriteString(fold(line, "", "  ", o.width()))
	}
	for i, s := range p.sections(nameWidth, o.width()) {
		if i > 0 || len(p.About) > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(fold(s.title, "", "  ", o.width()))
		for _, g := range s.grids {
			b.WriteByte('\n')
			g.narrow(o.width())
			g.text(&b, o.Color)
		}
		for _, n := range s.notes {
			b.WriteByte('\n')
			b.WriteString(fold(n, "", "", o.width()))
		}
	}
	p.writeNotes(&b, func(s string) string { return fold(s, "", "  ", o.width()) })
	_, err := io.WriteString(w, b.String())
	return err
}

// ProfileMarkdown writes p as GitHub Markdown. The error is w's.
func ProfileMarkdown(w io.Writer, p *Profile) error {
	var b strings.Builder
	for _, line := range p.About {
		b.WriteString(escapeMarkdown(line) + "\n")
	}
	for _, s := range p.sections(math.MaxInt, math.MaxInt) {
		b.WriteByte('\n')
		s.markdown(&b)
	}
	p.writeNotes(&b, func(s string) string { return escapeMarkdown(s) + "\n" })
	_, err := io.WriteString(w, b.String())
	return err
}

func (p *Profile) writeNotes(b *strings.Builder, line func(string) string) {
	for _, n := range p.Notes {
		b.WriteString("\n" + line(n))
	}
}

func (p *Profile) sections(names, width int) []section {
	var out []section
	if len(p.Shares) > 0 {
		name, keys := shortNames(p.Shares, width)
		s := cpuShares(p.Shares, name, width)
		s.notes = append(keys, s.notes...)
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
	long := func(s profiles.CPUShare) bool { return utf8.RuneCountInString(label(s.Setting)) > maxName }
	if width == math.MaxInt || !slices.ContainsFunc(all, long) {
		return label, nil
	}
	number := map[string]string{}
	for i, s := range all {
		number[s.Setting] = fmt.Sprintf("[%d]", i+1)
		keys = append(keys, number[s.Setting]+" "+label(s.Setting))
	}
	return func(s string) string { return number[s] }, keys
}

func label(setting string) string {
	if setting == "" {
		return "(as is)"
	}
	return setting
}

func cpuShares(all []profiles.CPUShare, name func(setting string) string, width int) section {
	greatest := 0.0
	for _, s := range all {
		greatest = max(greatest, s.Total.Mean)
	}
	sc := scaleOf("cpu-sec/req", greatest)
	g := grid{cols: []column{{left: true}}, head: [][]string{{"CPU per request"}}}
	rows := make([]row, len(profiles.CPUClasses)+2)
	rows[0].cells = cells("in all, " + sc.unit)
	for c, name := range profiles.CPUClasses {
		rows[c+1].cells = cells(name)
	}
	last := len(rows) - 1
	rows[last].cells = cells("mark + assist + sweep + other GC")
	for _, s := range all {
		g.cols = append(g.cols, column{}, column{left: true, keep: 1}, column{keep: 2})
		g.head[0] = append(g.head[0], name(s.Setting), "", sc.unit)
		rows[0].cells = append(rows[0].cells, cell{text: sc.format(s.Total.Mean)}, cell{}, cell{})
		for c, class := range s.Classes {
			rows[c+1].cells = append(rows[c+1].cells, classCells(class, sc)...)
		}
		rows[last].cells = append(rows[last].cells, classCells(s.GC, sc)...)
	}
	g.rows = rows
	g.narrow(width)
	note := "Idle mark is work of CPUs that had nothing else to do. Runtime: maps, copying, channels, locks; libraries: what is neither the subject's own nor the runtime's, system calls too."
	spread := slices.ContainsFunc(g.cols, func(c column) bool { return c.keep == 1 })
	if spread && slices.ContainsFunc(all, func(s profiles.CPUShare) bool { return s.Trials > 1 }) {
		note = "± is half of the 95 % interval over the trials, in points. " + note
	}
	return section{
		title: "What CPU time is spent on, by the stacks of the CPU profiles",
		grids: []grid{g},
		notes: []string{note},
	}
}

func classCells(c profiles.ClassShare, sc scale) []cell {
	far := ""
	if h := (c.Share.Hi - c.Share.Lo) / 2; !math.IsNaN(h) {
		far = fmt.Sprintf("±%.1f", 100*h)
	}
	return []cell{{text: fmt.Sprintf("%.1f%%", 100*c.Share.Mean)}, {text: far, mark: faint}, {text: sc.format(c.PerReq.Mean)}}
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

func inUnit(sc scale) string {
	if sc.unit == "" {
		return ""
	}
	return ", in " + sc.unit
}

func (p *Profile) top(t *profiles.Top, names int) section {
	rows := shown(t.Rows, p.Rows)
	sc := scaleOf(t.Metric, t.Total)
	counts, _, _ := strings.Cut(t.Counts, "/")
	// The figure that is first is the one that interval, share and order are of.
	columns := []string{"own", "flat", "cum"}
	if at := slices.Index(columns, t.Order); at > 0 {
		columns = slices.Insert(slices.Delete(columns, at, at+1), 0, t.Order)
	}
	g := grid{
		cols: []column{{}, {left: true, keep: 2}, {}, {}, {}, {keep: 1}, {left: true}},
		head: [][]string{{columns[0], "", "share", columns[1], columns[2], counts, "function"}},
	}
	for _, r := range rows {
		figures := map[string]float64{"own": r.Own, "flat": r.Flat, "cum": r.Cum}
		value := figures[columns[0]]
		count := ""
		if t.Counts != "" {
			count = scaleOf(t.Counts, r.Count).format(r.Count)
		}
		g.rows = append(g.rows, row{cells: []cell{
			{text: sc.format(value)}, {text: spread(value, float64(r.Lo), float64(r.Hi)), mark: faint}, {text: fmt.Sprintf("%.1f%%", 100*r.Share)},
			{text: sc.format(figures[columns[1]])}, {text: sc.format(figures[columns[2]])}, {text: count}, {text: shortName(clean(r.Name), names)},
		}})
	}
	return section{
		title: fmt.Sprintf("%s%s of %s, %s: %s in all; %s%s", t.Kind, per(t.Metric), label(t.Setting), count(t.Trials, "trial"), sc.with(t.Total), order(t.Order), inUnit(sc)),
		grids: []grid{g},
	}
}

func shown[T any](rows []T, most int) []T {
	if most > 0 {
		return rows[:min(most, len(rows))]
	}
	return rows
}

func order(by string) string {
	return map[string]string{
		"own":  "own: a function of the subject with the library calls it makes",
		"flat": "by flat: what a function does itself",
		"cum":  "by cum: a function with all that it calls",
	}[by]
}

func (p *Profile) diff(d *profiles.Diff, names int) section {
	rows := shown(d.Rows, p.Rows)
	greatest := math.Abs(d.Total.Diff)
	for _, r := range rows[:min(1, len(rows))] {
		greatest = max(greatest, math.Abs(r.Own.Diff), math.Abs(r.Flat.Diff), math.Abs(r.Cum.Diff))
	}
	sc := scaleOf(d.Metric, greatest)
	g := grid{
		cols: []column{{}, {left: true}, {left: true}, {keep: 2}, {keep: 2}, {keep: 1}, {keep: 1}, {left: true}},
		head: [][]string{{"change", "", "", "flat", "cum", "before", "after", "function"}},
	}
	for _, r := range rows {
		c := map[string]profiles.Change{"own": r.Own, "flat": r.Flat, "cum": r.Cum}[d.Order]
		m := markOf(c.Verdict)
		name := shortName(clean(r.Name), names)
		at := ""
		if l := r.Line; l.File != "" && r.Own.Diff != 0 {
			at = fmt.Sprintf("%s:%d", path.Base(clean(l.File)), l.Line)
			if l.Via != "" {
				at += " via " + shortName(clean(l.Via), names-utf8.RuneCountInString(at)-7)
			}
		}
		if names == math.MaxInt && at != "" {
			name, at = name+", "+at, ""
		}
		g.rows = append(g.rows, row{cells: []cell{
			{text: sc.signed(c.Diff), mark: m}, {text: sc.signedInterval(c.Lo, c.Hi)}, {text: string(c.Verdict), mark: m},
			{text: sc.signed(r.Flat.Diff)}, {text: sc.signed(r.Cum.Diff)}, {text: sc.format(c.Base)}, {text: sc.format(c.Value)}, {text: name},
		}})
		if at != "" {
			g.rows = append(g.rows, row{cells: []cell{{}, {}, {}, {}, {}, {}, {}, {text: "  " + at, mark: faint}}})
		}
	}
	s := section{
		title: fmt.Sprintf("%s%s, %s against %s, %s: %s in all; %s%s", d.Kind, per(d.Metric), label(d.Setting), label(d.Base), count(d.Pairs, "pair"),
			sc.signedWith(d.Total.Diff), order(d.Order), inUnit(sc)),
		notes: []string{p.found(d)},
	}
	if len(g.rows) > 0 {
		s.grids = []grid{g}
	}
	return s
}

// found counts the changed functions and says what that rests on.
func (p *Profile) found(d *profiles.Diff) string {
	switch n := len(d.Changed()); {
	case d.Pairs == 0:
		return "No block has a profile of both settings, so there is nothing to compare."
	case d.Pairs < profiles.Pairs:
		return fmt.Sprintf("Of %s of trials no change can be told from noise; from %d on it can (consider: --profile-repeat %[2]d).", count(d.Pairs, "pair"), profiles.Pairs)
	case n == 0 && p.Unproved != "":
		return p.Unproved
	case n == 0:
		return fmt.Sprintf("No function is surely changed by more than %.3g %% of the total.", 100*d.Negligible)
	case n == 1:
		return "1 function is surely changed; all others are unclear or the same."
	default:
		return fmt.Sprintf("%d functions are surely changed (%s: less than before); all others are unclear or the same.", n, stats.Better)
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
	r := []rune(name)
	if len(r) <= width || width < 8 {
		return name
	}
	head := (width - 1) / 3
	return string(r[:head]) + "…" + string(r[len(r)-(width-1-head):])
}
