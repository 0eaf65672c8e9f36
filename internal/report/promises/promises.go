// Package promises writes what came of receipts: as text for a terminal, and as JSON.
//
// It has the sentences of receipts. Package receipt judges, package findings/receipts reads and keeps.
package promises

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dynolab/dyno/internal/findings/receipts"
	"github.com/dynolab/dyno/internal/receipt"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/screen"
	"github.com/dynolab/dyno/internal/report/words"
)

// A Held is one receipt that was held against what came.
type Held struct {
	*receipts.Kept
	Check receipt.Check
	Late  bool // it was made after what came, so that it does not count
}

// A Checked is all receipts that were held against what came, the newest first.
type Checked struct {
	After *receipt.After
	Held  []Held
	Of    string // whose Rates they are, such as "below dyno-runs"
	Rates Rates
	Left  []error // what could not be read
}

// Rates are the shares of promises that held.
type Rates struct {
	All, Doubted receipt.Rate // without doubts, and with
	Each         []receipt.Rate
}

// RatesOf are those of all checks of receipts. What one run promised counts once, in however many receipts and copies of them.
func RatesOf(kept []*receipts.Kept) (r Rates) {
	var all []receipt.Check
	source := map[string]string{} // by ID, which copies share
	for _, k := range kept {
		if source[k.ID] == "" {
			source[k.ID] = k.Source()
		}
		for _, c := range k.Checks {
			c.Receipt = source[k.ID]
			all = append(all, c)
		}
	}
	r.All, r.Each = receipt.Rates(all, false)
	r.Doubted, _ = receipt.Rates(all, true)
	return r
}

// Told counts the promises without a doubt that could be told, and those of them that did not hold, of receipts that count.
func (c *Checked) Told() (told, missed int) {
	for _, h := range c.Held {
		for _, o := range h.Check.Outcomes {
			if h.Late || o.Doubted || o.Word == receipt.Untold {
				continue
			}
			told++
			if o.Word == receipt.Missed {
				missed++
			}
		}
	}
	return told, missed
}

func count(os []receipt.Outcome, word receipt.Word) (n int) {
	for _, o := range os {
		if o.Word == word {
			n++
		}
	}
	return n
}

// Text is the check as a screen of text, or with o.Full as long as it gets.
func (c *Checked) Text(o layout.Options) string {
	a := &screen.Answer{Head: []string{c.First()}, Rest: " (consider: --full).", Last: c.Rates.sentence(c.Of)}
	if c.After.Assumed != "" {
		a.Notes = append(a.Notes, fmt.Sprintf("dyno did not launch the service and assumes that it ran with %s (consider: --gogc-was and --limit-was).", c.After.Assumed))
	}
	if c.uncounted() {
		a.Notes = append(a.Notes, "Figures of a request need the number of requests in the log (consider: --requests).")
	}
	if c.After.Goals > 0 {
		a.Notes = append(a.Notes, fmt.Sprintf("The goals of its collections look like GOGC=%d, not %d (consider: --gogc-was %[1]d).", c.After.Goals, c.After.NotGoals))
	}
	if c.After.Started.IsZero() && c.After.Ended.IsZero() {
		a.Notes = append(a.Notes, "dyno does not know when it was written, and takes it to be of after the promises.")
	}
	for i := range c.Held {
		h := &c.Held[i]
		a.Parts = append(a.Parts, screen.Part{Section: h.section(), Rank: i, Name: h.Path})
	}
	return a.Text(o)
}

// uncounted reports whether figures of a request are promised, and a log without its number of requests came.
func (c *Checked) uncounted() bool {
	if _, minutes := c.After.Settings[0].Values["gc-cycles/min"]; !minutes || c.After.Name != "" {
		return false
	}
	return slices.ContainsFunc(c.Held, func(h Held) bool {
		return slices.ContainsFunc(h.Check.Outcomes, func(o receipt.Outcome) bool { return strings.HasPrefix(o.Metric, "gc-cycles/req") })
	})
}

// First is what came of the promises, in a sentence.
func (c *Checked) First() string {
	var all []receipt.Outcome
	for _, h := range c.Held {
		all = append(all, h.Check.Outcomes...)
	}
	missed := fmt.Sprintf("%d did not hold", count(all, receipt.Missed))
	if n := count(slices.DeleteFunc(slices.Clone(all), func(o receipt.Outcome) bool { return !o.Doubted }), receipt.Missed); n > 0 {
		missed += fmt.Sprintf(" (%d of them doubtful)", n)
	}
	return fmt.Sprintf("%s: of %s, %d held, %s, and %d cannot be told.", layout.Clean(c.After.Path), layout.Count(len(all), "promise"),
		count(all, receipt.Held), missed, count(all, receipt.Untold))
}

// made says who promised, and when.
func made(k *receipts.Kept) string {
	return fmt.Sprintf("dyno %s of %s, %s", k.From, layout.Clean(k.Name), k.Made.Local().Format("2 Jan 2006 15:04"))
}

// section is one receipt as a table, a row for each promise.
func (h *Held) section() *layout.Section {
	s := &layout.Section{Title: fmt.Sprintf("promised by %s (%s)", made(h.Kept), layout.Clean(h.Path))}
	g := layout.Grid{Cols: layout.Columns(4), Head: [][]string{{"", "promised", "interval", "came", ""}}}
	g.Cols[4].Left = true
	setting := ""
	var corrected, doubted bool
	for i := range h.Check.Outcomes {
		o := &h.Check.Outcomes[i]
		name := o.Name
		if o.Ran != "" {
			name += ", as " + o.Ran
		}
		if name != setting {
			setting = name
			g.Rows = append(g.Rows, layout.Row{Group: cmp.Or(layout.Clean(setting), "(as is)")})
		}
		corrected, doubted = corrected || o.Corrected, doubted || o.Doubted
		g.Rows = append(g.Rows, row(o))
	}
	s.Grids = []layout.Grid{g}
	if text := changed(h.Check.Outcomes); text != "" {
		s.Notes = append(s.Notes, "The load is another one: "+text+".")
	}
	if corrected {
		s.Notes = append(s.Notes, "corrected: the model predicted again, for the load that came, and that is shown as promised.")
	}
	if doubted {
		s.Notes = append(s.Notes, "doubtful: dyno said when it promised that the error can exceed the interval.")
	}
	if h.Late {
		s.Notes = append(s.Notes, "This receipt was made after what it is held against. So it promised nothing, and is not counted.")
	}
	return s
}

// row is a promise with what came of it.
func row(o *receipt.Outcome) layout.Row {
	name, print := figure(o)
	seen := ""
	if !math.IsNaN(float64(o.Seen)) {
		seen = print(o.Seen)
	}
	mark := map[receipt.Word]layout.Mark{receipt.Held: layout.Good, receipt.Missed: layout.Bad, receipt.Untold: layout.Faint}[o.Word]
	said := map[receipt.Word]string{receipt.Held: "held", receipt.Missed: "did not hold", receipt.Untold: "cannot be told: " + whyOf(o)}[o.Word]
	if o.Word == receipt.Missed && o.Reason != "" {
		said += ": " + whyOf(o)
	}
	if o.Corrected {
		said += ", corrected"
	}
	if o.Doubted {
		said += ", doubtful"
	}
	cells := layout.Cells("  "+name, print(o.Judged.Value), interval(o.Judged, print), seen)
	return layout.Row{Cells: append(cells, layout.Cell{Text: said, Mark: mark})}
}

// interval is "1.2 to 1.4 ms", or what there is of it.
func interval(i receipt.Interval, print func(receipt.Number) string) string {
	lo, hi := math.IsNaN(float64(i.Lo)), math.IsNaN(float64(i.Hi))
	switch {
	case lo && hi:
		return ""
	case lo:
		return "below " + print(i.Hi)
	case hi:
		return "above " + print(i.Lo)
	}
	return print(i.Lo) + " to " + print(i.Hi)
}

// figures are names of those that package words does not know.
var figures = map[string]string{
	"gc-cycles/req": "GCs per 1,000 requests", "gc-cycles/min": "GCs per minute", "gc-cpu-idle-sec/req": "GC CPU per request",
	"gc-cpu-idle-sec/min": "GC CPU per minute", "gc-cpu-sec/req": "GC CPU per request", "cpu-sec/min": "CPU time per minute", "heap-peak-B": "peak heap",
	receipt.CapacityMetric: "capacity per second",
}

func noun(metric string) string { return cmp.Or(figures[metric], words.Noun(metric)) }

// figure names what is promised, and prints values of it.
func figure(o *receipt.Outcome) (name string, print func(receipt.Number) string) {
	if name = noun(o.Metric); o.Against != nil {
		return name + " vs " + cmp.Or(layout.Label(o.Against.Name), "before"), func(x receipt.Number) string { return layout.Change(float64(x)) }
	}
	times := 1.0
	if o.Metric == "gc-cycles/req" {
		times = 1000
	}
	x, seen := times*float64(o.Judged.Value), times*known(o.Seen)
	scale := layout.ScaleOf(strings.TrimSuffix(o.Metric, "/s"), x, seen)
	if x = cmp.Or(x, seen); x > 0 { // three digits, as of predictions
		scale.Decimals = min(3, max(0, 2-int(math.Floor(math.Log10(x/scale.Factor)))))
	}
	return name, func(x receipt.Number) string { return scale.With(times * float64(x)) }
}

// known is a number, 0 if it is not known.
func known(n receipt.Number) float64 {
	if math.IsNaN(float64(n)) {
		return 0
	}
	return float64(n)
}

// whyOf is why, with what is known of the promise.
func whyOf(o *receipt.Outcome) string {
	if o.Reason == receipt.LoadChanged && o.Change == nil {
		return "other requests are sent"
	}
	return why(o.Reason)
}

// why says why a promise cannot be told, or which failure broke it.
func why(r receipt.Reason) string {
	switch r {
	case receipt.LoadChanged:
		return "the load changed"
	case receipt.MachineChanged:
		return "another machine"
	case receipt.MachineUnknown:
		return "the machine is not known (--same-machine)"
	case receipt.NoSuchMetric:
		return "not measured"
	case receipt.NoBaseline:
		return "only one of both was measured"
	case receipt.FewBlocks:
		return "too few blocks"
	case receipt.FewCollections:
		return "too few collections"
	case receipt.BetweenRates:
		return "the rate lies in the interval"
	case receipt.ClosedLoad:
		return "a closed load gives way"
	case receipt.LaunchFailed:
		return "a launch failed"
	case receipt.RateTooFar:
		return "the rate is too far from it"
	case receipt.OpenSearch:
		return "the search found only a bound"
	case receipt.NoInterval:
		return "the promise has no interval"
	case receipt.RequestsFailed:
		return "requests failed"
	}
	return string(r)
}

// changed says how the load changed, of the first outcome that knows.
func changed(os []receipt.Outcome) string {
	for _, o := range os {
		if o.Change == nil {
			continue
		}
		var parts []string
		for _, x := range []struct {
			name string
			by   receipt.Number
		}{{"requests per second", o.Change.Rate}, {"bytes allocated per second", o.Change.Alloc}, {"live heap", o.Change.Live}, {"bytes allocated per request", o.Change.Each}} {
			if by := float64(x.by); !math.IsNaN(by) {
				parts = append(parts, fmt.Sprintf("%s %s", x.name, layout.Change(by)))
			}
		}
		return words.List(parts)
	}
	return ""
}

// sentence is the hit rate, and what was promised. of says whose promises they are.
func (r *Rates) sentence(of string) string {
	text := fmt.Sprintf("No promise %s could be told so far", of)
	if r.All.Told > 0 {
		text = fmt.Sprintf("Of all promises %s, %s held; %s%% was promised", of, share(&r.All), layout.Share(r.All.Level))
	}
	if r.All.Untold > 0 {
		text += fmt.Sprintf("; %d could not be told: %s", r.All.Untold, words.List(reasons(&r.All)))
	}
	if r.Doubted.Told > 0 {
		text += fmt.Sprintf(". Of those with a doubt, %s", share(&r.Doubted))
	}
	return text + "."
}

// reasons are "3 not measured", the most frequent first.
func reasons(r *receipt.Rate) (texts []string) {
	sorted := slices.SortedFunc(maps.Keys(r.Reasons), func(a, b receipt.Reason) int {
		return cmp.Or(r.Reasons[b]-r.Reasons[a], cmp.Compare(a, b))
	})
	for _, x := range sorted {
		texts = append(texts, fmt.Sprintf("%d %s", r.Reasons[x], why(x)))
	}
	return texts
}

// share is "27 of 30, 90% [74, 97]".
func share(r *receipt.Rate) string {
	return fmt.Sprintf("%s, %s%% [%s, %s]", of(r.Held, r.Told), layout.Share(r.Share), layout.Share(r.Lo), layout.Share(r.Hi))
}

// of is "27 of 30", or "26.5 of 30" if one promise held in part.
func of(held float64, told int) string {
	return fmt.Sprintf("%s of %d", strconv.FormatFloat(math.Round(10*held)/10, 'f', -1, 64), told)
}

// Below names a place for a sentence, in which a full stop may follow.
func Below(root string) string {
	if abs, err := filepath.Abs(root); err == nil && strings.HasSuffix(root, ".") {
		root = abs
	}
	return "below " + layout.Clean(root)
}
