package knee

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/capacity"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/plot"
	"github.com/dynolab/dyno/internal/report/screen"
	"github.com/dynolab/dyno/internal/report/words"
)

// Text is what dyno capacity prints: a screen, the answer first.
func (r *Report) Text(o layout.Options) string { return r.said(min(o.Columns(), 76)).Text(o) }

// said is the answer as people read it, with a picture of so many columns.
func (r *Report) said(columns int) *screen.Answer {
	answers := r.answers()
	a := &screen.Answer{
		Head: r.head(answers), Notes: slices.Concat(r.Notes, r.doubts(answers)),
		Last: "All windows: dyno report " + r.Dir, By: "capacity " + r.Dyno,
	}
	if len(r.Settings) > 1 {
		a.Parts = append(a.Parts, screen.Part{Section: r.compared(answers)})
	}
	a.Parts = append(a.Parts,
		screen.Part{Draw: func(int) []string { return r.drawn(answers, columns) }},
		screen.Part{Fit: func(lines int) *layout.Section { return r.measured(answers, lines-1) }}) // but for the heading
	return a
}

// head is the answer, what it lacks, and how it was measured.
func (r *Report) head(answers []capacity.Answer) []string {
	lines := []string{r.first(answers)}
	for i := range answers {
		if text := r.why(i, answers[i]); text != "" {
			lines = append(lines, text)
		}
		if restless(r.Searches[i], answers[i]) {
			lines = append(lines, r.of(i)+disturbances(r.Searches[i], answers[i]))
		}
	}
	return append(lines, fmt.Sprintf("open load (%s), a launch and a queue for each window; latency runs from when a request was due", r.Arrival))
}

// first is the answer.
func (r *Report) first(answers []capacity.Answer) string {
	var at []string
	for _, o := range r.Problem.Objectives {
		at = append(at, o.String())
	}
	objectives, of := words.List(at), "capacity"
	if r.Sessions {
		of = "capacity in sessions"
	}
	if len(answers) == 1 {
		text := fmt.Sprintf("%s: %s: %s at %s", r.Name, of, spell(answers[0]), objectives)
		if a := answers[0]; len(at) > 1 && (a.Kind == capacity.Found || a.Kind == capacity.Wide) {
			text += "; binding: " + r.Problem.Objectives[a.Binding].Name
		}
		return text
	}
	var each []string
	for i, a := range answers {
		each = append(each, layout.Label(r.Settings[i].String())+" "+spell(a))
	}
	return fmt.Sprintf("%s: %s at %s: %s", r.Name, of, objectives, strings.Join(each, "; "))
}

// spell is an answer in a few words.
func spell(a capacity.Answer) string {
	switch a.Kind {
	case capacity.AtLeast:
		return "at least " + perSecond(a.Rate)
	case capacity.AtMost:
		return "less than " + perSecond(a.Rate)
	case capacity.Unknown:
		return "unclear"
	}
	return fmt.Sprintf("%s (%s to %s)", perSecond(a.Rate), figure(a.Lo), figure(a.Hi))
}

// of names a setting before a sentence about it, if there are several.
func (r *Report) of(i int) string {
	if len(r.Settings) > 1 {
		return r.Settings[i].String() + ": "
	}
	return ""
}

// why says what an answer lacks.
func (r *Report) why(i int, a capacity.Answer) string {
	s, of := r.Searches[i], r.of(i)
	lo, hi := s.Bracket()
	longer := "a longer --within"
	if l := r.Problem.Longer; l > 0 { // which --within would cut
		longer = fmt.Sprintf("--within %v", dyno.Duration((2*l).Round(time.Minute)*time.Duration(len(r.Searches))))
	}
	over := fmt.Sprintf("the time was up after %s (consider: %s)", spent(s), longer)
	if r.Interrupted {
		over = fmt.Sprintf("the search was interrupted after %s", spent(s))
	}
	switch {
	case a.Flat:
		return of + "too many requests are beyond the limit at low rates, too, so a queue alone does not explain it: the service may be slow at any rate, or something else uses the machine (consider: another limit, or a quiet machine)."
	case a.Kind == capacity.Wide && math.Log(a.Hi/a.Lo)/2 > s.Precision:
		return fmt.Sprintf("%sthe interval is ±%s, not ±%s as asked for: %s.", of, percent(math.Log(a.Hi/a.Lo)/2), percent(r.Problem.Precision), over)
	case a.Highest:
		return of + "no higher rate was to be tried (--most)."
	case a.Limited:
		return of + "higher rates could not be tried: the generator was late (consider: more CPU for dyno, or --on other machines)."
	case a.Kind == capacity.AtLeast:
		return fmt.Sprintf("%sall rates that were tried held, then %s.", of, over)
	case a.Kind == capacity.AtMost && lo > 0:
		return fmt.Sprintf("%swindows up to %s held, but they are too few for the lower end of an interval: %s.", of, perSecond(lo), over)
	case a.Kind == capacity.AtMost:
		return of + "even the lowest rate that was tried did not hold."
	case a.Kind == capacity.Unknown && lo > 0 && math.IsInf(hi, 1):
		if slices.ContainsFunc(s.Windows, func(w capacity.Window) bool { return w.Limited && w.Rate > lo }) {
			over = "higher rates could not be tried: the generator was late (consider: more CPU for dyno, or --on other machines)"
		}
		return fmt.Sprintf("%sall rates that were tried held, up to %s, but the windows are too few to show it: %s.", of, perSecond(lo), over)
	case a.Kind == capacity.Unknown && lo > 0 && hi > 0:
		return fmt.Sprintf("%swindows up to %s held and those from %s on did not, but they are too few for an interval: %s.", of, perSecond(lo), perSecond(hi), over)
	case a.Kind == capacity.Unknown && len(s.Windows) > 0 && !restless(s, a):
		return of + "no window says anything of the service: the generator was late in all of them (consider: more CPU for dyno)."
	}
	return ""
}

// restless reports whether an answer is what it is because the machine was disturbed.
func restless(s *capacity.Search, a capacity.Answer) bool {
	counts := func(w capacity.Window) bool { return !s.LeftOut(w) }
	return s.Restless() || a.Kind == capacity.Unknown && len(s.Windows) > 0 && !slices.ContainsFunc(s.Windows, counts)
}

// disturbances says what disturbed the machine in most windows.
func disturbances(s *capacity.Search, a capacity.Answer) string {
	n := 0
	var steal, others []float64
	for _, w := range s.Windows {
		if w.Disturbed {
			n++
		}
		if !math.IsNaN(w.Steal) {
			steal, others = append(steal, w.Steal), append(others, w.Others)
		}
	}
	then := "so they count: the answer is of this machine as it was."
	if a.Kind == capacity.Unknown {
		then = "so it does not show what the service can take (consider: a quiet machine)."
	}
	return fmt.Sprintf("the machine was disturbed in %d of %d windows (median: %s of the CPU time withheld by the hypervisor, %s used by other processes), %s",
		n, len(s.Windows), percent(median(steal)), percent(median(others)), then)
}

func median(xs []float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	slices.Sort(xs)
	return xs[len(xs)/2]
}

func spent(s *capacity.Search) string { return dyno.Duration(s.Spent.Round(time.Second)).String() }

func percent(x float64) string {
	if x > 0.99 { // of which two digits would be 1e+02
		return fmt.Sprintf("%.3g%%", 100*x)
	}
	return fmt.Sprintf("%.2g%%", 100*x)
}

// figure is a rate with three or four digits.
func figure(rate float64) string {
	if rate >= 1000 {
		return fmt.Sprintf("%.0f", rate)
	}
	return fmt.Sprintf("%.*f", max(0, 2-int(math.Floor(math.Log10(max(rate, 0.1))))), rate)
}

func perSecond(rate float64) string { return figure(rate) + "/s" }

// compared is the table of settings.
func (r *Report) compared(answers []capacity.Answer) *layout.Section {
	g := layout.Grid{Cols: layout.Columns(5), Head: [][]string{{"", "capacity/s", "95% interval", "change", "95% interval", "verdict"}}}
	for i, x := range capacity.Against(answers, r.Negligible) {
		a := answers[i]
		cells := layout.Cells(layout.Label(r.Settings[i].String()), "unclear", "", "", "", "")
		if a.Kind == capacity.Found || a.Kind == capacity.Wide {
			cells[1].Text, cells[2].Text = figure(a.Rate), fmt.Sprintf("[%s, %s]", figure(a.Lo), figure(a.Hi))
		} else if a.Rate > 0 {
			cells[1].Text = spell(a)
		}
		if i > 0 {
			cells[5] = layout.Cell{Text: string(x.Verdict), Mark: layout.MarkOf(x.Verdict)}
			if !math.IsNaN(x.Ratio) {
				cells[3].Text, cells[4].Text = layout.Change(x.Ratio), layout.Interval(x.Lo, x.Hi)
			}
		}
		g.Rows = append(g.Rows, layout.Row{Cells: cells})
	}
	return &layout.Section{Grids: []layout.Grid{g}}
}

// signs are of settings, in their order.
var signs = []rune("123456789abcdefghijklmnopqrstuvwxyz")

// shown is the objective that pictures are about, and its limit.
func (r *Report) shown(answers []capacity.Answer) (o capacity.Objective, limit float64) {
	o = r.Problem.Objectives[answers[0].Binding]
	return o, cmp.Or(o.Limit.Seconds(), o.Share)
}

// near visits the windows of each setting that are near its capacity, with what the objective of pictures is about, within bounds that
// a picture has room for.
func (r *Report) near(answers []capacity.Answer, visit func(i int, w *capacity.Window, y float64)) {
	_, limit := r.shown(answers)
	for i, s := range r.Searches {
		for n := range s.Windows {
			w := &s.Windows[n]
			y := w.Seen[answers[0].Binding]
			if a := answers[i]; !math.IsNaN(y) && (a.Rate <= 0 || w.Rate <= 2*a.Rate && w.Rate >= a.Rate/8) {
				visit(i, w, min(max(y, limit/1000), 30*limit))
			}
		}
	}
}

// drawn is the knee: what the objective is about against the rate.
func (r *Report) drawn(answers []capacity.Answer, width int) []string {
	o, limit := r.shown(answers)
	var points []plot.Point
	least, most := math.Inf(1), 0.0
	r.near(answers, func(i int, w *capacity.Window, y float64) {
		sign := '●'
		switch {
		case len(r.Searches) > 1:
			sign = signs[i%len(signs)]
		case w.Limited:
			sign = '?'
		case !r.Searches[i].Held(w):
			sign = '○'
		}
		points = append(points, plot.Point{X: w.Rate, Y: y, Sign: sign})
		least, most = min(least, w.Rate), max(most, w.Rate)
	})
	var line []plot.Point
	for n := range width {
		line = append(line, plot.Point{X: least * math.Pow(most/least, float64(n)/float64(width-1)), Y: limit, Sign: '─'})
	}
	y := func(x float64) string { return layout.Duration(time.Duration(x * 1e9)) }
	if o.Limit == 0 {
		y = percent
	}
	lines := plot.Scatter(append(line, points...), width, 12, perSecond, y)
	if lines == nil || len(points) < 3 {
		return nil
	}
	legend := "● held, ○ not held"
	if len(r.Searches) > 1 {
		var names []string
		for i, s := range r.Settings {
			names = append(names, fmt.Sprintf("%c %s", signs[i%len(signs)], layout.Label(s.String())))
		}
		legend = strings.Join(names, ", ")
	} else if slices.ContainsFunc(r.Searches[0].Windows, func(w capacity.Window) bool { return w.Limited }) {
		legend += ", ? generator late"
	}
	title := layout.Fold(fmt.Sprintf("%s (up) against the rate (right): %s, ─ %s", o.Name, legend, o.Threshold), "", "  ", width)
	return append([]string{strings.TrimSuffix(title, "\n")}, lines...)
}

// measured is the table of windows, those nearest to the capacity if there are more than so many.
func (r *Report) measured(answers []capacity.Answer, most int) *layout.Section {
	head := []string{"rate", "window", "requests"}
	for _, o := range r.Problem.Objectives {
		head = append(head, o.Name, "allowed")
	}
	type row struct {
		far   float64
		rate  float64
		cells []layout.Cell
	}
	var rows []row
	for i, s := range r.Searches {
		for n := range s.Windows {
			w := &s.Windows[n]
			cells := layout.Cells(perSecond(w.Rate), layout.Duration(w.Length), layout.Digits(int64(w.Whole[0].N)))
			for j, o := range r.Problem.Objectives {
				cells = append(cells, layout.Cells(seen(o, w.Seen[j]), times(w.Whole[j], o.Share))...)
			}
			cells = append(cells, layout.Cell{Text: held(s, w)})
			if len(r.Settings) > 1 {
				cells = append(cells, layout.Cell{Text: layout.Label(r.Settings[i].String())})
			}
			rows = append(rows, row{math.Abs(math.Log(w.Rate / max(answers[i].Rate, 1e-9))), w.Rate, cells})
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.far, b.far) })
	title := fmt.Sprintf("%s, by rate", layout.Count(len(rows), "window"))
	if most = max(most, 5); len(rows) > most {
		title = fmt.Sprintf("%d of %d windows, those nearest to the capacity", most, len(rows))
		rows = rows[:most]
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.rate, b.rate) })
	head = append(head, "objective")
	if len(r.Settings) > 1 {
		head = append(head, "setting")
	}
	g := layout.Grid{Cols: layout.Columns(len(head) - 1), Head: [][]string{head}}
	g.Cols[1].Keep, g.Cols[2].Keep = 2, 1 // are left out first
	for _, x := range rows {
		g.Rows = append(g.Rows, layout.Row{Cells: x.cells})
	}
	return &layout.Section{Title: title, Grids: []layout.Grid{g}}
}

// waits is from which multiple of the capacity on it is no wonder that requests wait for a connection.
const waits = 1.1

// doubts are those of windows, each kind once.
func (r *Report) doubts(answers []capacity.Answer) (texts []string) {
	all := 0
	for _, s := range r.Searches {
		all += len(s.Windows)
	}
	for _, kind := range []dyno.WarningKind{dyno.WarnWaited, dyno.WarnOthers, dyno.WarnSteal, dyno.WarnOwnLimit, dyno.WarnOtherFailures, dyno.WarnRedirects, dyno.WarnOOM, dyno.WarnLimit} {
		n, text := 0, ""
		for i, s := range r.Searches {
			for _, win := range s.Windows {
				for _, w := range win.Warnings {
					if w.Kind == kind && (kind != dyno.WarnWaited || win.Rate < waits*answers[i].Rate) {
						n, text = n+1, w.Text
					}
				}
			}
		}
		if n > 0 {
			texts = append(texts, fmt.Sprintf("doubt: %d of %d windows: %s", n, all, text))
		}
	}
	return texts
}

func seen(o capacity.Objective, x float64) string {
	switch {
	case math.IsNaN(x):
		return "-"
	case o.Limit > 0:
		return layout.Duration(time.Duration(x * 1e9))
	}
	return percent(x)
}

// times is a share of requests beyond a limit, as a multiple of the allowed one.
func times(c capacity.Count, allowed float64) string {
	x := c.Beyond / max(c.N, 1) / allowed
	if x >= 10 || x < 0.01 {
		return fmt.Sprintf("%.0f×", x)
	}
	return fmt.Sprintf("%.2g×", x)
}

func held(s *capacity.Search, w *capacity.Window) string {
	switch {
	case s.LeftOut(*w):
		return "left out: disturbed"
	case w.Died:
		return "service died"
	case w.Limited:
		return "generator late"
	case w.Behind:
		return "behind the rate"
	case s.Held(w):
		return "held"
	}
	return "not held"
}

// Progress is one line about a window that is over.
func Progress(objectives []capacity.Objective, setting string, w *capacity.Window, failures map[string]int) string {
	var parts []string
	for j, o := range objectives {
		beyond := ""
		if o.Limit > 0 {
			beyond = " beyond " + o.Literal
		}
		parts = append(parts, o.Name+" "+seen(o, w.Seen[j])+", "+times(w.Whole[j], o.Share)+" of what is allowed"+beyond)
	}
	switch {
	case w.Died:
		parts = append(parts, "the service died")
	case w.Limited:
		parts = append(parts, "the generator was late")
	case w.Behind:
		parts = append(parts, "the service took less")
	}
	if w.Disturbed {
		parts = append(parts, "the machine was disturbed")
	}
	most, cause := 0, ""
	for text, n := range failures {
		if n > most {
			most, cause = n, text
		}
	}
	if most > 0 {
		parts = append(parts, fmt.Sprintf("failed most often: %s (%d)", cause, most))
	}
	if setting != "" {
		setting += ": "
	}
	return fmt.Sprintf("%s%s for %s: %s", setting, perSecond(w.Rate), layout.Duration(w.Length), strings.Join(parts, "; "))
}
