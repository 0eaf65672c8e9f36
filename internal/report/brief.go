package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/chart"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/plot"
	"github.com/dynolab/dyno/internal/report/profile"
	"github.com/dynolab/dyno/internal/report/screen"
	"github.com/dynolab/dyno/internal/report/tables"
	"github.com/dynolab/dyno/internal/report/words"
	"github.com/dynolab/dyno/internal/stats"
)

// Screen is the number of lines that a brief text has at most.
const Screen = screen.Lines

const (
	leastChanges  = 13 // lines, with the verdict above
	briefRows     = 20 // of a table
	briefPackages = 5  // of a suite, which has no rows for what is unclear
	briefItems    = 3  // warnings, and failures
	briefCauses   = 3  // of a setting
)

// brief writes the answer on one screen: what to ship, how each setting compares, the changes as
// a picture, causes, what may not be believed, and what to do next. Where it is too long,
// passages of the highest ranks are left out, and named.
func (v view) brief(r *tables.Report, o layout.Options) string {
	parts := v.briefService(o)
	if v.Kind == compare.OfBenchmarks {
		parts = v.briefBenchmarks(r)
	}
	parts = slices.DeleteFunc(parts, func(p passage) bool { return p.empty() })
	var left []string
	for {
		var b strings.Builder
		shown := slices.Clone(parts)
		if o.Lines == 0 { // a part of a longer text has its own end
			shown = append(shown, v.next(r, left))
		}
		v.text(&b, shown, o.Color)
		last := -1
		for i, p := range parts {
			if p.rank > 0 && (last < 0 || p.rank > parts[last].rank) {
				last = i
			}
		}
		if text := b.String(); last < 0 || strings.Count(text, "\n") <= cmp.Or(o.Lines, Screen) {
			return text
		}
		left = append(left, parts[last].name)
		parts = slices.Delete(parts, last, last+1)
	}
}

// Several writes comparisons of two runs, one for each setting that both have: on one screen if they
// fit. Warnings come at the end, each kind once, in the words of the first setting that has it.
func Several(w io.Writer, ts []*compare.Table, o layout.Options) error {
	var b strings.Builder
	var differences, warnings []string
	o.Lines = max(Screen/len(ts)-2, 1)
	said := map[string]bool{}
	for i, t := range ts {
		r := &tables.Report{Table: t}
		v := view{r.View(o.Columns())}
		o.More = i > 0
		b.WriteString(v.brief(r, o))
		for n := range t.Doubts {
			d := &t.Doubts[n]
			key, to := string(d.Kind)+d.About, &warnings
			if d.Kind == dyno.WarnRunsDiffer {
				key, to = key+d.Said[0], &differences
			}
			if !said[key] || d.Kind == "" {
				*to = append(*to, words.Doubt(t, d))
			}
			said[key] = true
		}
	}
	last := view{(&tables.Report{Table: ts[0]}).View(o.Columns())}
	items := append(differences, atMost("", warnings, 0).items...)
	last.text(&b, []passage{{name: "Warnings", items: items}, {lines: sentences([]string{"All tables: the same command with --full"})}}, o.Color)
	_, err := io.WriteString(w, b.String())
	return err
}

func (p *passage) empty() bool {
	return p.lines == nil && p.section.Title == "" && p.items == nil && len(p.failed) == 0 && !p.keys && p.raw == ""
}

func (v view) briefService(o layout.Options) []passage {
	lines := append([]string{tables.Heading(v.Table)}, v.About...)
	if o.Lines > 0 { // a part of a longer text, which says the rest
		lines = lines[:1]
	}
	if v.Name != "" && len(v.Settings) > 2 { // room is dear
		lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "subject: ") })
	}
	about := passage{name: "what was measured", lines: sentences(lines), opening: true}
	if v.Trials == 0 {
		return []passage{about, v.briefFailures()}
	}
	found, advice := words.Brief(v.Table)
	if o.More {
		about, advice = passage{}, ""
	}
	verdict := passage{lines: found}
	if advice != "" {
		verdict.lines = append([]words.Said{{Rest: advice}}, found...)
	}
	if len(verdict.lines) > mostFound {
		more := layout.Count(len(verdict.lines)-mostFound, "more verdict")
		verdict.lines = append(verdict.lines[:mostFound:mostFound], words.Said{Rest: "The tables have " + more + "."})
	}
	changes := passage{name: "the changes", raw: v.briefChanges(o)}
	if o.Lines > 0 && (!v.Separate || o.Lines < leastChanges) { // figures follow, or there is no room
		changes.rank = 4
	}
	warnings := v.briefWarnings()
	if o.Lines > 0 && v.Separate { // they are said once, of all settings
		warnings = passage{}
	}
	return []passage{
		about, {keys: true}, verdict, changes,
		{name: "causes", rank: 3, lines: sentences(v.causes())},
		{name: "slow requests", rank: 3, lines: sentences(v.slow())},
		{name: "leaks", rank: 2, lines: sentences(v.lasting())},
		v.briefThresholds(),
		v.briefFailures(),
		warnings,
	}
}

// atMost are the first of some items.
func atMost(name string, items []string, rank int) passage {
	if more := len(items) - briefItems; more > 1 {
		items = append(items[:briefItems:briefItems], fmt.Sprintf("and %d more", more))
	}
	return passage{name: name, rank: rank, items: items}
}

// briefWarnings are the first; of two runs, more, as they say what else is different.
func (v view) briefWarnings() passage {
	all := words.Warnings(v.Table)
	if v.Separate && len(all) <= 3*briefItems {
		return passage{name: "Warnings", rank: 1, items: all}
	}
	return atMost("Warnings", all, 1)
}

func (v view) briefFailures() passage {
	failed := tables.Failures(v.Table)
	for i := range failed {
		if v.Trials > 0 {
			failed[i].Lines = telling(failed[i].Lines)
		}
	}
	if more := len(failed) - briefItems; more > 0 {
		failed = append(failed[:briefItems:briefItems], tables.Failed{What: "and", Lines: []string{layout.Count(more, "more kind") + " of failure, in all tables"}})
	}
	return passage{name: "Failed trials", failed: failed}
}

// telling are the first line of a failure, and the line of the subject's last ones that says why:
// that of a panic or a wrong flag, or else the last of its stderr.
func telling(lines []string) []string {
	if len(lines) < 3 {
		return lines
	}
	errs := lines
	if out := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "last lines of its stdout") }); out > 2 {
		errs = lines[:out]
	}
	why := slices.IndexFunc(errs, func(l string) bool {
		l = strings.TrimSpace(l)
		return strings.HasPrefix(l, "panic: ") || strings.HasPrefix(l, "fatal error: ") || strings.HasPrefix(l, "flag provided but not defined")
	})
	if why < 0 {
		why = len(errs) - 1
	}
	return []string{lines[0], lines[why]}
}

func (v view) briefThresholds() passage {
	if len(v.Thresholds) == 0 {
		return passage{}
	}
	s, _ := v.ThresholdTable(2*briefItems, briefItems)
	if failed, unclear := v.Gate(); failed+unclear == 0 && len(v.Thresholds) > briefItems {
		s.Grids, s.Notes = nil, nil
	}
	return passage{name: "thresholds", section: s}
}

// briefChanges are the primary metrics: how they changed, with a plot, or their values where nothing
// can be compared.
func (v view) briefChanges(o layout.Options) string {
	var b strings.Builder
	if len(v.Settings) < 2 || v.Blocks < 2 {
		values := v.briefValues()
		values.Text(&b, v.Width, o.Color)
		return b.String()
	}
	g := layout.Grid{
		Cols: []layout.Column{{Left: true}, {}, {Left: true}, {}, {}, {Left: true, Keep: 1}, {Left: true}},
		Head: [][]string{{"", v.SettingName(0), "", "", "change", "95% interval", "verdict"}},
	}
	var changes []compare.Versus
	rows := v.changed(briefRows)
	for n, c := range rows {
		label, base := "", ""
		sc := v.RowScale(c.metric)
		if n == 0 || rows[n-1].metric != c.metric {
			label, _ = layout.UnitOf(c.metric)
			base = sc.With(v.Settings[0].Values[c.metric].Center)
		}
		x := v.Settings[c.setting].Versus[c.metric]
		mark := layout.MarkOf(x.Verdict)
		g.Rows = append(g.Rows, layout.Row{Cells: []layout.Cell{
			{Text: label}, {Text: base}, {Text: v.SettingName(c.setting)}, {Text: sc.With(v.Settings[c.setting].Values[c.metric].Center)},
			{Text: v.Delta(c.setting, c.metric, sc), Mark: mark}, {Text: layout.Interval(x.Lo, x.Hi)}, {Text: string(x.Verdict), Mark: mark},
		}})
		changes = append(changes, x)
	}
	if len(rows) == 0 {
		return ""
	}
	if len(v.Settings) == 2 {
		g.Head[0][3] = v.SettingName(1)
		g.Drop(2)
	}
	v.draw(&g, changes)
	b.WriteByte('\n')
	g.Text(&b, o.Color)
	if more := len(v.changed(math.MaxInt)) - len(rows); more > 0 {
		fmt.Fprintf(&b, "%d more comparisons are in the tables.\n", more)
	}
	if slices.ContainsFunc(rows, v.drifted) {
		b.WriteString(layout.Fold("A change compares within each block, so it can differ from the ratio of the two medians beside it.", "", "", v.Width))
	}
	if slices.ContainsFunc(changes, surprising) {
		b.WriteString(layout.Fold("Unclear although the interval excludes 0: among so many comparisons this can happen by chance.", "", "", v.Width))
	}
	return b.String()
}

// drifted reports a change that is not that of the two medians beside it: its interval excludes their ratio, or a reader sees another number.
func (v view) drifted(c change) bool {
	const seen = 0.05
	x := v.Settings[c.setting].Versus[c.metric]
	ratio := v.Settings[c.setting].Values[c.metric].Center / v.Settings[0].Values[c.metric].Center
	off := math.Abs(math.Log(ratio / x.Ratio))
	return ratio < x.Lo || ratio > x.Hi || off > seen || off > v.Negligible && (ratio-1)*(x.Ratio-1) < 0
}

// surprising reports a change without a verdict whose interval leaves out none.
func surprising(x compare.Versus) bool {
	return x.Verdict == stats.Unclear && x.Note.Kind == "" && (x.Lo > 1 || x.Hi < 1)
}

// draw adds a plot of a change for each row to a table, if the page has room beside it.
func (v view) draw(g *layout.Grid, changes []compare.Versus) {
	var rows []chart.Interval
	for _, x := range changes {
		if plot.Drawn(x) {
			rows = append(rows, chart.Interval{Ratio: x.Ratio, Lo: x.Lo, Hi: x.Hi})
		}
	}
	p, room := plot.New(rows, v.Negligible), v.Width-g.Width()-len(layout.Gap)
	if p == nil || v.Width == math.MaxInt || room < plot.Least {
		return
	}
	p.Lay(min(room, plot.Most))
	g.Add(len(g.Cols), layout.Column{Left: true}, p.Axis())
	for n, x := range changes {
		cells := g.Rows[n].Cells
		cells[len(cells)-1] = p.Cell(x)
	}
}

type change struct {
	metric  string
	setting int
}

// changed are the comparisons of primary metrics, in the order of the table. Where they are more than
// most, only those that are better or worse.
func (v view) changed(most int) (all []change) {
	for _, m := range v.Metrics(true) {
		for _, i := range v.Others() {
			_, measured := v.Settings[i].Values[m.Name]
			if x, ok := v.Settings[i].Versus[m.Name]; ok && measured && x.Note.Kind == "" {
				all = append(all, change{m.Name, i})
			}
		}
	}
	if len(all) > most {
		all = slices.DeleteFunc(all, func(c change) bool {
			is := v.Settings[c.setting].Versus[c.metric].Verdict
			return is != stats.Better && is != stats.Worse
		})
		all = all[:min(len(all), most)]
	}
	return all
}

// alsoShown are the metrics whose values are shown where nothing is compared, after the primary ones.
var alsoShown = []string{
	"p90-sec", "p99.9-sec", "max-sec", "failures", "late-frac", "cpu-frac", "alloc-B/req", "allocs/req", "gc-cycles", "gc-cpu-frac", "stw-max-sec", "heap-live-B", "heap-peak-B", "goroutines",
}

// briefValues are the medians of each setting, where nothing is compared.
func (v view) briefValues() layout.Section {
	metrics := v.Metrics(true)
	for _, name := range alsoShown {
		if i := slices.IndexFunc(v.Rows, func(m compare.Row) bool { return m.Name == name }); i >= 0 && !v.Rows[i].Primary {
			metrics = append(metrics, v.Rows[i].Metric)
		}
	}
	metrics = slices.DeleteFunc(metrics, func(m dyno.Metric) bool {
		return !slices.ContainsFunc(v.Settings, func(s compare.Setting) bool { _, ok := s.Values[m.Name]; return ok })
	})
	var labels []string
	for _, m := range metrics {
		label, _ := layout.UnitOf(m.Name)
		if unit := v.RowScale(m.Name).Unit; unit != "" {
			label += ", " + unit
		}
		labels = append(labels, label)
	}
	if labels == nil {
		return layout.Section{}
	}
	of := " (medians of the trials)"
	if v.Blocks < 2 {
		of = " of one block"
	}
	return layout.Section{Title: "Values" + of, Grids: v.Study(labels, func(i, row int) string {
		x, ok := v.Settings[i].Values[metrics[row].Name]
		if !ok {
			return ""
		}
		return v.RowScale(metrics[row].Name).Format(x.Center)
	})}
}

// causes say for each setting what accounts for the changes of its primary metrics, with the functions
// and lines that it was found in, and what else changed together with them.
func (v view) causes() (lines []string) {
	var none []string
	memory := true // changed alone, in all of these
	for _, i := range v.Others() {
		var causes []compare.Cause
		said := false               // by slow
		of := map[string][]string{} // by metric of a cause, the primary metrics that it explains
		for _, w := range v.Settings[i].Why {
			for _, c := range w.Causes {
				at := slices.IndexFunc(causes, func(o compare.Cause) bool { return o.Metric == c.Metric })
				switch {
				case c.Class == compare.ClassSlow:
					said = true
					continue
				case at < 0:
					causes = append(causes, c)
				case math.IsNaN(float64(causes[at].Share)) && !math.IsNaN(float64(c.Share)):
					causes[at], of[c.Metric] = c, nil
				case !math.IsNaN(float64(causes[at].Share)):
					continue
				}
				of[c.Metric] = append(of[c.Metric], w.Metric)
			}
		}
		known := func(c compare.Cause) bool { return !math.IsNaN(float64(c.Share)) || len(c.Places) > 0 }
		var parts []string
		together := ""
		for _, c := range causes {
			switch {
			case known(c):
				parts = append(parts, words.Cause(c, of[c.Metric]))
			case together == "" && !v.primary(c.Metric): // the table has those
				together = words.Together(c, of[c.Metric])
			}
		}
		parts = parts[:min(len(parts), briefCauses)]
		if together != "" && len(parts) < briefCauses {
			parts = append(parts, together)
		}
		if asked := words.Delayed(v.Settings[0].Setting, v.Settings[i].Setting); asked != "" && len(v.Settings[i].Why) > 0 {
			parts = append([]string{asked}, parts...)
		}
		switch {
		case parts != nil:
			lines = append(lines, fmt.Sprintf("Why, %s: %s.", v.SettingName(i), strings.Join(parts, "; ")))
		case len(v.Settings[i].Why) > 0 && !v.Separate && !said: // of two runs, the time between them may be the cause
			if class, metric, more := v.Likely(i); more > 0 && words.WorthMore(more, v.Blocks) {
				lines = append(lines, words.Likely(v.SettingName(i), class, metric, v.Settings[i].Versus[metric].Ratio, more))
				continue
			}
			none = append(none, v.SettingName(i))
			memory = memory && !slices.ContainsFunc(v.Settings[i].Why, func(w compare.Why) bool { return w.Metric != "rss-peak-B" })
		}
	}
	if none != nil {
		lines = append(lines, words.NoCause(none, v.Profiled, memory))
	}
	return lines
}

func (v view) primary(metric string) bool {
	return slices.ContainsFunc(v.Rows, func(r compare.Row) bool { return r.Name == metric && r.Primary })
}

// lasting says what leaks.
func (v view) lasting() (lines []string) {
	for i := range v.Settings {
		if l := v.Settings[i].Leak; l != nil {
			lines = append(lines, v.Leaks(i, l)...)
		}
	}
	return lines
}

func (v view) briefBenchmarks(r *tables.Report) []passage {
	out := []passage{{lines: v.found(), opening: true}, {keys: true}}
	if len(v.Settings) < 2 {
		if s, ok := v.Medians(); ok {
			out = append(out, passage{name: "medians", section: firstRows(s, briefRows)})
		}
	}
	for _, i := range v.Others() {
		packages, suite := v.Packages(i)
		if s, ok := v.Differences(i); ok {
			rows := briefRows
			if suite {
				rows = min(rows, v.CountChanged(i))
			}
			if rows > 0 {
				out = append(out, passage{name: "changes of " + v.SettingName(i), rank: 4 + i, section: firstRows(s, rows)})
			}
		}
		if suite {
			s := firstRows(packages, briefPackages)
			s.Notes = append(s.Notes, packages.Notes[0])
			out = append(out, passage{name: "packages of " + v.SettingName(i), rank: 4 + len(v.Settings) + i, section: s})
		}
	}
	pitfalls := v.PitfallLines(1)
	for i, p := range pitfalls {
		pitfalls[i], _, _ = strings.Cut(p, ": ")
	}
	failed := v.FailedBenchmarks()
	out = append(out, passage{name: "causes", rank: 2, lines: sentences(v.benchCauses(r))})
	if r.Against != nil {
		for _, e := range v.Excerpts(&tables.Report{Table: r.Table, Against: r.Against}, layout.Options{Width: v.Width}) {
			out = append(out, passage{name: e.Title, rank: 3, raw: "\n" + e.Title + "\n" + e.Text})
		}
	}
	return append(out, v.briefThresholds(),
		passage{name: "Failed benchmarks", rank: 1, failed: failed[:min(len(failed), briefItems)]},
		atMost("Pitfalls", pitfalls, 3),
		atMost("Warnings", v.BenchNotes(), 2))
}

// benchCauses name for each benchmark that changed the function that changed most, by each of its profiles.
func (v view) benchCauses(r *tables.Report) (lines []string) {
	for n := range r.Whys {
		y := &r.Whys[n]
		var parts []string
		for i := range y.Parts {
			d := y.Parts[i].Diff
			if changed := d.Changed(); len(changed) > 0 {
				parts = append(parts, profile.ChangeOf(d, changed[0]))
			} else if len(d.Rows) > 0 && (d.Rows[0].Own.Lo > 0 || d.Rows[0].Own.Hi < 0) { // by so few profiles
				parts = append(parts, "likely "+profile.ChangeOf(d, d.Rows[0]))
			}
		}
		if parts != nil {
			lines = append(lines, "Why "+v.Changed(y, " changed with ", "")+": "+strings.Join(parts, "; ")+".")
		}
	}
	return lines
}
