package tuned

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/screen"
	"github.com/dynolab/dyno/internal/report/words"
	"github.com/dynolab/dyno/internal/stats"
	"github.com/dynolab/dyno/internal/tune"
)

const (
	cpu    = "cpu-sec/req"
	memory = "rss-peak-B"
	tail   = "p99-sec"
)

// Text is what dyno tune prints: a screen, the recommendation first. Where it would be longer, tables are left out that
// tune.json has.
func (r *Report) Text(o layout.Options) string { return r.said().Text(o) }

// said is the recommendation as people read it.
func (r *Report) said() *screen.Answer {
	a := &screen.Answer{
		Head: []string{r.first(), r.second()}, About: r.about(), Notes: r.last(), Rest: "; " + r.Dir + "/tune.json has it.", By: "tune " + r.Dyno,
		Parts: []screen.Part{
			{Section: r.measured()}, {Section: r.foretold(), Rank: 2, Name: "the predictions"},
			{Section: r.ratios(), Rank: 1, Name: "the common shares"}, {Section: r.headroom()},
		},
	}
	if len(r.Rounds) > 0 {
		a.Last = fmt.Sprintf("More: dyno report %s/%s", r.Dir, Dirs[r.Rounds[len(r.Rounds)-1].Stage])
	}
	return a
}

// about is what was asked, and of which load.
func (r *Report) about() []string {
	about := "goal: " + r.goal() + "; a change must gain " + percent(r.Margin)
	if len(r.Limits()) > 0 {
		about += "; subject to " + constraints(r.Limits())
	}
	if r.Reserved > 0 {
		about += fmt.Sprintf(" (95%% of the reserved %s)", dyno.Size(r.Reserved))
	}
	if r.Load != "" {
		return []string{about, r.Load}
	}
	return []string{about}
}

// first is the recommendation.
func (r *Report) first() string {
	if r.Best == nil {
		return fmt.Sprintf("%s: keep today's setting, %s.", r.Name, r.Problem.Today)
	}
	return fmt.Sprintf("%s: set %s.", r.Name, r.change())
}

func (r *Report) change() string {
	return short(Changed(r.Problem.Today, r.Best.Setting))
}

// short spells a setting for people: a profile by its purpose.
func short(s dyno.Setting) string {
	var parts []string
	for _, l := range s {
		if l.Factor == "build" && strings.HasPrefix(l.Value, "-pgo=/") {
			parts = append(parts, "build=-pgo=default.pgo")
			continue
		}
		parts = append(parts, spell(l))
	}
	return strings.Join(parts, " ")
}

// second is the proof, or why nothing is recommended.
func (r *Report) second() string {
	x := r.Best
	if x == nil {
		return r.keep()
	}
	proof := fmt.Sprintf("Against %s, side by side in %s: %s.", r.Problem.Today, layout.Count(x.Blocks, "block"), r.proof(x))
	if r.Why == tune.Allowed {
		proof = fmt.Sprintf("Today's %s breaks %s; this is the best measured setting that keeps all constraints. ", r.Problem.Today, constraints(r.brokenToday())) + proof
	}
	if price := r.dear(); price != "" {
		proof += fmt.Sprintf(" The goal leaves out the price, %s (consider: --subject-to with a limit for that).", price)
	}
	return proof
}

// proof is what an option does to the goal, with the interval that decided, and to the other metrics.
func (r *Report) proof(x *tune.Option) string {
	ratio := func(gain float64) float64 { return 1 - gain }
	if r.Goal.Metric.Better > 0 {
		ratio = func(gain float64) float64 { return 1 + gain }
	}
	lo, hi := ratio(x.Lo), ratio(x.Hi)
	parts := []string{fmt.Sprintf("%s %s %s", r.noun(), layout.Change(ratio(x.Gain)), layout.Interval(min(lo, hi), max(lo, hi)))}
	for _, metric := range []string{cpu, memory, tail, "p50-sec", "req/s"} {
		v, ok := x.Versus(metric)
		beside := metric == "p50-sec" || metric == "req/s" // only where they are worse
		if ok && !(beside && layout.MarkOf(v.Verdict) != layout.Bad) && metric != r.Goal.Metric.Name && !math.IsNaN(v.Ratio) {
			parts = append(parts, fmt.Sprintf("%s %s %s", words.Noun(metric), layout.Change(v.Ratio), layout.Interval(v.Lo, v.Hi)))
		}
	}
	return strings.Join(parts, ", ")
}

// brokenToday are the constraints that today's setting breaks.
func (r *Report) brokenToday() (ts []dyno.Threshold) {
	for _, x := range r.Rounds {
		for _, j := range x.Table.Thresholds {
			if j.Setting == 0 && tune.Broken(j) && !slices.Contains(ts, j.Threshold) {
				ts = append(ts, j.Threshold)
			}
		}
	}
	return ts
}

func (r *Report) noun() string {
	if r.Goal.Sum() {
		return "the sum of CPU time and memory"
	}
	return words.Noun(r.Goal.Metric.Name)
}

func (r *Report) goal() string {
	if r.Goal.Sum() {
		return fmt.Sprintf("the least sum of CPU time per request and peak memory, where 1%% of memory may cost %g%% of CPU time", r.Goal.Price)
	}
	text := r.Goal.String()
	if stands := r.Goal.Stands(); stands != r.Goal.Metric.Name {
		text += fmt.Sprintf(" (not predicted: candidates were chosen by %s, and measured)", dyno.ThresholdName(stands))
	}
	return text
}

func (r *Report) keep() string {
	switch r.Why {
	case tune.NoneBetter:
		if len(r.Options) == 1 {
			return fmt.Sprintf("%s was measured beside it and surely does not gain %s of %s.", short(Changed(r.Problem.Today, r.Options[0].Setting)), percent(r.Margin), r.noun())
		}
		return fmt.Sprintf("Surely none of the %d other measured settings gains %s of %s.", len(r.Options), percent(r.Margin), r.noun())
	case tune.Constrained:
		var why []string
		for _, x := range r.Options {
			verb := "does not surely keep"
			if x.Fails() {
				verb = "breaks"
			}
			if !x.Vain && !x.Keeps() {
				why = append(why, fmt.Sprintf("%s %s %s", short(Changed(r.Problem.Today, x.Setting)), verb, broken(x)))
			}
		}
		return "No setting that may be better is sure to keep the constraints: " + words.List(why) + "."
	case tune.NoneAllowed:
		return fmt.Sprintf("It breaks %s, and no measured setting surely keeps all constraints (consider: others, or more memory).", constraints(r.brokenToday()))
	case tune.NotMeasured:
		if r.Interrupted {
			return "No other setting was measured, because the tuning was interrupted."
		}
		return "No other setting is expected to be better or to keep the constraints, so none was measured."
	}
	best := (*tune.Option)(nil)
	for _, x := range r.Options {
		if !x.Vain && !x.Fails() && !math.IsNaN(x.Lo) && (best == nil || x.Gain > best.Gain) {
			best = x
		}
	}
	if best == nil || math.IsNaN(best.Gain) {
		most := 0
		for _, x := range r.Options {
			most = max(most, x.Blocks)
		}
		if most < stats.MedianTrials {
			return fmt.Sprintf("The measurements cannot decide: a verdict takes %d blocks, and there are %d (consider: a longer --total).", stats.MedianTrials, most)
		}
		return "The measurements cannot decide (consider: a longer --total)."
	}
	if best.Gain <= r.Margin {
		return fmt.Sprintf("No setting seems to gain %s of %s, but that is not sure: the gain of %s is %s %s.", percent(r.Margin), r.noun(),
			short(Changed(r.Problem.Today, best.Setting)), signed(best.Gain), interval(best.Lo, best.Hi))
	}
	return fmt.Sprintf("No setting is shown to gain %s of %s. %s may: its gain is %s %s (consider: a longer --total).", percent(r.Margin), r.noun(),
		short(Changed(r.Problem.Today, best.Setting)), signed(best.Gain), interval(best.Lo, best.Hi))
}

// broken lists the constraints that an option does not surely keep.
func broken(x *tune.Option) string {
	var ts []dyno.Threshold
	for _, j := range x.Judgements {
		if j.Outcome != compare.Passed {
			ts = append(ts, j.Threshold)
		}
	}
	return constraints(ts)
}

func constraints(ts []dyno.Threshold) string {
	var parts []string
	for _, t := range ts {
		parts = append(parts, t.String())
	}
	return words.List(parts)
}

func percent(x float64) string { return dyno.Fraction(x).String() }

func signed(gain float64) string { return layout.Change(1 + gain) }

// interval is one of gains. A loss of more than all of today's is said as such: so few blocks tell nothing.
func interval(lo, hi float64) string {
	if lo < -1 {
		return "[<-100%, " + layout.Change(1+min(hi, 1)) + "]"
	}
	return layout.Interval(1+lo, 1+hi)
}

// last says where it turns bad, what to do, and what is left out.
func (r *Report) last() (lines []string) {
	if text := r.cliff(); text != "" {
		lines = append(lines, text)
	}
	if r.Best != nil {
		lines = append(lines, fmt.Sprintf("The change: %s; %s/patch has it for env, docker, kubernetes and systemd.", r.change(), r.Dir))
		if text := explained(r.Best.Axis); text != "" {
			lines = append(lines, text)
		}
	}
	if doubts := r.doubts(); doubts != "" {
		lines = append(lines, doubts)
	}
	if untried := r.untried(); untried != "" {
		lines = append(lines, untried)
	}
	if r.Interrupted {
		lines = append(lines, "The tuning was interrupted: this covers what was measured until then.")
	}
	for _, note := range r.Notes {
		lines = append(lines, "Note: "+note)
	}
	return lines
}

// dear is the price of the recommended setting, if dyno run would not offer it.
func (r *Report) dear() string {
	for n := range r.Rounds {
		if x := &r.Rounds[n]; r.Best != nil && r.Why != tune.Allowed && x.Stage == r.Best.Stage {
			for i := 1; i < len(x.Table.Settings); i++ {
				if x.Table.Settings[i].Setting.String() == r.Best.Setting.String() {
					return words.Dear(x.Table, i)
				}
			}
		}
	}
	return ""
}

// untried names the settings for which there was no time.
func (r *Report) untried() string {
	var names []string
	for _, c := range r.Untried {
		if !slices.ContainsFunc(r.Options, func(x *tune.Option) bool { return x.Setting.String() == c.Setting.String() }) {
			names = append(names, short(Changed(r.Problem.Today, c.Setting)))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("There was no time for another round with %s, although the model expects a greater gain (consider: a longer --total).", words.List(names))
}

func (r *Report) cliff() string {
	var limits []string
	for _, c := range r.Cliffs {
		if math.IsNaN(c.Limit) {
			return ""
		}
		limits = append(limits, layout.ScaleOf(memory, c.Limit).With(c.Limit))
	}
	if len(limits) < 3 {
		return ""
	}
	text := fmt.Sprintf("Collections run back to back with a GOMEMLIMIT below %s; with a live heap 25%% or 50%% larger, below %s or %s.", limits[0], limits[1], limits[2])
	if r.Best != nil && r.Best.Collector.Limit > 0 {
		text += fmt.Sprintf(" A limit of %s gets there when the live heap is about %.1f times today's.", dyno.Size(r.Best.Collector.Limit), r.Best.Collector.Limit/r.Cliffs[0].Limit)
	}
	if grown := r.Cliffs[1].RSS.Value; r.Reserved > 0 && grown > r.Reserved {
		text += fmt.Sprintf(" With 25%% more live heap, the setting takes about %s, more than the reserved %s.", layout.ScaleOf(memory, grown).With(grown), dyno.Size(r.Reserved))
	}
	return text
}

// explained says what an axis beside the collector does.
func explained(axis string) string {
	switch axis {
	case "GOMAXPROCS":
		return "GOMAXPROCS limits the threads that run Go code, and so the CPUs that collection can use at a time."
	case "pgo":
		return "PGO builds with a CPU profile of today's setting: copy default.pgo into the main package's directory, where go build finds it."
	case "go":
		return "Another Go version builds the service: compiler, runtime and standard library change together."
	case "GOEXPERIMENT":
		return "GOEXPERIMENT switches a part of the runtime or compiler when the service is built."
	}
	return ""
}

// Doubts names why all predictions may be wrong.
func (r *Report) doubts() string {
	if r.Model == nil && r.Interrupted {
		return ""
	}
	if r.Model == nil {
		return "Nothing could be predicted, because no collections are known; the measured settings are guesses."
	}
	var parts []string
	for _, d := range r.Today.Doubts {
		parts = append(parts, words.PredictionDoubt(d))
	}
	if len(parts) == 0 {
		return ""
	}
	return "Predictions may be wrong, because " + words.List(parts) + "."
}

// Reason is why the recommended setting is, in one line for the head of a patch.
func Reason(r *Report) string {
	return fmt.Sprintf("dyno tune of %s, %s: %s; %s", r.Name, r.Made.Format(time.DateOnly), r.change(), r.proof(r.Best))
}

// Chosen says what is to be measured and what is expected of it, before it is.
func Chosen(r *Report, s tune.Stage, path string, columns int) string {
	var b strings.Builder
	g := layout.Grid{Cols: make([]layout.Column, 4), Head: [][]string{{"", "cpu/req", "rss-peak", "gain"}}}
	g.Cols[0].Left = true
	cs, today := r.Candidates, r.Today
	if s == tune.StageMore {
		cs, today = r.Refitted, r.Again
	}
	for _, c := range cs {
		p := c.Prediction
		if c.Chosen != s || p == nil || math.IsNaN(c.Gain.Value) {
			continue
		}
		g.Rows = append(g.Rows, layout.Row{Cells: layout.Cells(short(Changed(r.Problem.Today, c.Setting)), layout.Change(p.CPU.Value/today.CPU.Value),
			layout.Change(p.RSSPeak.Value/today.RSSPeak.Value), signed(c.Gain.Value)+" "+interval(c.Gain.Lo, c.Gain.Hi))})
	}
	for _, x := range r.Try {
		if s == tune.StageCandidates {
			g.Rows = append(g.Rows, layout.Row{Cells: layout.Cells(short(x.Levels), "?", "?", "not predicted")})
		}
	}
	head := fmt.Sprintf("Predictions of %s were written to %s at %s. To be measured:", layout.Count(len(r.Candidates), "setting"), path, r.Made.Format("15:04:05"))
	if r.Model == nil {
		head = "No collection was measured, so nothing is predicted. Some values of GOGC are measured:"
	}
	b.WriteString(layout.Fold(head, "", "  ", columns))
	if len(g.Rows) > 0 {
		g.Text(&b, false)
	}
	return b.String()
}

// Planned says what is looked for, for --print.
func Planned(p tune.Problem) string {
	r := Report{Outcome: &tune.Outcome{Problem: p}}
	var b strings.Builder
	fmt.Fprintf(&b, "today's setting: %s\ngoal: %s\n", p.Today, r.goal())
	if len(p.Limits()) > 0 {
		fmt.Fprintf(&b, "subject to: %s\n", constraints(p.Limits()))
	}
	fmt.Fprintf(&b, "a change must gain %s\n", percent(p.Margin))
	tried := "GOGC from 15 to 1600"
	if p.Reserved > 0 {
		tried += fmt.Sprintf("; limits of 50 to 95%% of the reserved %s, also with GOGC=off", dyno.Size(p.Reserved))
	}
	fmt.Fprintf(&b, "predicted: %s\n", tried)
	for _, x := range p.Try {
		fmt.Fprintf(&b, "also tried: %s\n", short(x.Levels))
	}
	b.WriteByte('\n')
	return b.String()
}
