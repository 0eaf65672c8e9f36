package html

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/chart"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/tables"
	"github.com/dynolab/dyno/internal/report/words"
)

const (
	mostDots  = 250  // values of one strip plot
	mostTable = 4000 // cells of the table of trials: with more it has the primary metrics alone
	mostTip   = 120  // characters
)

func (v *pageView) trialBlocks() (out []block) {
	doubts := numbered(v.page.Trials)
	for _, m := range v.Metrics(true) {
		out = append(out, v.strip(m)...)
	}
	if len(v.page.Trials) > 0 {
		s, rest := v.trialTable(doubts)
		out = append(out, v.show(s, true)...)
		out = append(out, rest...)
	}
	if s, ok := v.causesOfFailures(); ok {
		out = append(out, v.show(s, true)...)
	}
	if len(v.Failed) == 0 {
		return out
	}
	var lines []string
	for _, f := range tables.Failures(v.Table) {
		lines = append(lines, f.What+": "+strings.Join(f.Lines, "\n"))
	}
	return append([]block{{Title: "Failed trials", List: tameAll(lines, 100, mostNote)}}, out...)
}

// numbered are the warnings of trials, each once, with a number from 1.
func numbered(rs []*dyno.Result) map[string]int {
	of := map[string]int{}
	for _, r := range rs {
		for _, w := range r.Warnings.Texts() {
			if of[w] == 0 {
				of[w] = len(of) + 1
			}
		}
	}
	return of
}

// strip is the plot of a metric's values, one a trial.
func (v *pageView) strip(m dyno.Metric) []block {
	var rows []chart.Row
	g := layout.Grid{Cols: layout.Columns(1), Head: [][]string{{"", "trials, by block"}}}
	g.Cols[1].Left = true
	sc := v.RowScale(m.Name)
	dots, left := 0, 0
	for i := range v.Settings {
		x, ok := v.Settings[i].Values[m.Name]
		if !ok {
			continue
		}
		dotted := chart.Row{Name: v.called(i), Center: x.Center}
		var texts []string
		for _, r := range v.compared(i) {
			y, ok := r.Values.Get(m.Name)
			if !ok {
				continue
			}
			tip := fmt.Sprintf("trial %d, block %d: %s", r.Trial.N, r.Trial.Block, sc.With(y))
			if len(r.Warnings) > 0 {
				tip += "; " + tame(r.Warnings[0].Text, mostTip)
			}
			dotted.Values, dotted.Tips, dotted.Odd = append(dotted.Values, y), append(dotted.Tips, tip), append(dotted.Odd, len(r.Warnings) > 0)
			texts = append(texts, sc.Format(y))
		}
		if dotted.Values == nil {
			continue
		}
		if dots += len(dotted.Values); dots > mostDots && rows != nil {
			left++
			continue
		}
		rows = append(rows, dotted)
		g.Rows = append(g.Rows, layout.Row{Cells: layout.Cells(v.SettingName(i), strings.Join(texts, ", "))})
	}
	if rows == nil || dots < 2 {
		return nil
	}
	title := words.MetricNoun(m.Name)
	var notes []string
	if left > 0 {
		notes = []string{fmt.Sprintf("%s more are in %s.", layout.Count(left, "setting"), allIn)}
	}
	return []block{v.svg("trials-"+fileName(m.Name), "Trials: "+tame(title, mostName),
		"Each dot is a trial and the line across its row the median. Trials with warnings have another shape.",
		chart.Strip(rows, axis(m.Name)), &layout.Section{Title: strings.TrimSuffix(title+", "+sc.Unit, ", "), Grids: []layout.Grid{g}}, notes...)}
}

func (v *pageView) trialTable(doubts map[string]int) (layout.Section, []block) {
	rs := slices.Clone(v.page.Trials)
	slices.SortStableFunc(rs, func(a, b *dyno.Result) int {
		return cmp.Or(cmp.Compare(a.Trial.N, b.Trial.N), cmp.Compare(a.Trial.Block, b.Trial.Block))
	})
	ms := append(v.Metrics(true), v.Metrics(false)...)
	var notes []string
	if len(rs)*len(ms) > mostTable && len(v.Metrics(true)) > 0 {
		ms = v.Metrics(true)
		notes = []string{"The other metrics are in " + allIn + "."}
	}
	g := layout.Grid{Cols: []layout.Column{{}, {}, {Left: true}, {Left: true, Keep: 1}, {Left: true, Keep: 1}}, Head: [][]string{{"trial", "block", "setting", "for", "warnings"}}}
	var scales []layout.Scale
	for _, m := range ms {
		sc := v.RowScale(m.Name)
		label, _ := layout.UnitOf(m.Name)
		if sc.Unit != "" {
			label += ", " + sc.Unit
		}
		scales = append(scales, sc)
		g.Cols = append(g.Cols, layout.Column{})
		g.Head[0] = append(g.Head[0], label)
	}
	for _, r := range rs {
		var refs []string
		for _, w := range r.Warnings {
			refs = append(refs, strconv.Itoa(doubts[w.Text]))
		}
		doubt := layout.Cell{Text: strings.Join(refs, ", ")}
		if r.Err != "" {
			doubt = layout.Cell{Text: "failed", Mark: layout.Bad}
		}
		cs := append(layout.Cells(strconv.Itoa(r.Trial.N), strconv.Itoa(r.Trial.Block), r.Trial.Setting.Label(), r.Trial.For), doubt)
		for i, m := range ms {
			c := layout.Cell{}
			if x, ok := r.Values.Get(m.Name); ok && !math.IsNaN(x) {
				c.Text = scales[i].Format(x)
			}
			cs = append(cs, c)
		}
		g.Rows = append(g.Rows, layout.Row{Cells: cs})
	}
	s := layout.Section{Title: "Every trial", Grids: []layout.Grid{g}, Notes: notes}
	if len(doubts) == 0 {
		return s, nil
	}
	texts := make([]string, len(doubts))
	for w, n := range doubts {
		texts[n-1] = w
	}
	return s, []block{{
		Title: "Warnings of trials", List: tameAll(texts, 200, mostCell), Numbered: true,
		Folded: layout.Count(len(texts), "warning") + ", numbered as in the table",
	}}
}

func (v *pageView) causesOfFailures() (layout.Section, bool) {
	sum := map[string]int{}
	for _, r := range v.page.Trials {
		if r.Trial.For == "" {
			for cause, n := range r.Failures {
				sum[cause] += n
			}
		}
	}
	if len(sum) == 0 {
		return layout.Section{}, false
	}
	g := layout.Grid{Cols: []layout.Column{{Left: true}, {}}, Head: [][]string{{"cause", "requests"}}}
	for _, cause := range slices.SortedFunc(maps.Keys(sum), func(a, b string) int { return cmp.Or(cmp.Compare(sum[b], sum[a]), cmp.Compare(a, b)) }) {
		g.Rows = append(g.Rows, layout.Row{Cells: layout.Cells(cause, strconv.Itoa(sum[cause]))})
	}
	return layout.Section{Title: "Failed requests of all trials", Grids: []layout.Grid{g}}, true
}

func (v *pageView) origin() []block {
	var ran []string
	for _, r := range v.page.Trials {
		if r.Subject != "" && !slices.Contains(ran, r.Subject) && len(ran) < 20 {
			ran = append(ran, r.Subject)
		}
	}
	if v.Kind == compare.OfBenchmarks {
		return v.page.whence(strings.Join(ran, "; "), "As in run.json.",
			"results.jsonl has one line per setting and block, bench.txt the same for benchstat, trials/ the profiles.")
	}
	return v.page.whence(strings.Join(ran, "; "), "As a dyno.yaml: dyno run -f dyno.yaml repeats it.",
		"results.jsonl has one line per trial, bench.txt the same for benchstat, trials/ the series, requests, logs and profiles. To look closer: dyno view %[1]s.")
}

// whence says where a page comes from. files describes the run directory, with a verb for its name.
func (p *Page) whence(ran, plan, files string) (out []block) {
	o := &p.Origin
	var facts [][2]string
	add := func(what, value string) {
		if value != "" {
			facts = append(facts, [2]string{tame(what, mostCell), tame(value, mostNote)})
		}
	}
	if !o.Started.IsZero() {
		add("started", o.Started.Format("2006-01-02 15:04:05 -07:00"))
	}
	add("subject", ran)
	add("dyno", o.Dyno)
	for i, h := range o.Host {
		if i < 50 {
			add(h[0], h[1])
		}
	}
	add("run directory", o.Dir)
	if facts != nil {
		out = append(out, block{Facts: facts})
	}
	if len(o.Command) > 0 {
		out = append(out, block{Title: "The command to repeat it", Pre: tame(shell(o.Command), mostText)})
	}
	if o.Plan != "" {
		out = append(out, block{Title: "The plan", Lines: []string{plan}, Pre: tame(o.Plan, mostText)})
	}
	if s := p.Site; s != nil && len(s.Files) > 0 {
		out = append(out, block{Title: "Files", Links: s.Files})
	} else if o.Dir != "" {
		dir := tame(o.Dir, mostCell)
		out = append(out, block{Title: "Files", Lines: []string{fmt.Sprintf(
			"All data is in the run directory %[1]s: "+files+" To make this page again: dyno report %[1]s --format html.", dir)}})
	}
	return out
}

// shell writes a command so that a shell reads it as it was.
func shell(args []string) string {
	var out []string
	for _, a := range args {
		safe := a != "" && !strings.ContainsFunc(a, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=:,%+@", r))
		})
		if !safe {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		out = append(out, a)
	}
	return strings.Join(out, " ")
}
