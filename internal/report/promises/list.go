package promises

import (
	"fmt"
	"strconv"

	"github.com/dynolab/dyno/internal/findings/receipts"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/screen"
)

// A List is all receipts below a directory, the newest first.
type List struct {
	Root string
	Kept []*receipts.Kept
	Left []error // what could not be read
}

// Text is the list as a screen of text, or with o.Full as long as it gets.
func (l *List) Text(o layout.Options) string {
	rates := RatesOf(l.Kept)
	a := &screen.Answer{
		Head: []string{fmt.Sprintf("%s %s.", layout.Count(len(l.Kept), "receipt"), Below(l.Root)), rates.sentence(Below(l.Root))}, Rest: " (consider: --full).",
		Parts: []screen.Part{{Fit: l.table}},
	}
	if len(rates.Each) > 0 {
		a.Parts = append(a.Parts, screen.Part{Section: rates.table(), Rank: 1, Name: "the share of each figure"})
	}
	switch {
	case len(l.Kept) == 0:
		a.Parts, a.Head, a.Last = nil, a.Head[:1], "To keep one of a run: dyno predict DIR --save"
	case rates.All.Told == 0:
		a.Last = "Measure under a promised setting, and then: dyno receipt check DIR"
	}
	return a.Text(o)
}

// table has a row for each receipt, of the newest if there is no room for all.
func (l *List) table(lines int) *layout.Section {
	s := &layout.Section{Title: "receipts"}
	g := layout.Grid{Cols: layout.Columns(5), Head: [][]string{{"made", "by", "of", "promises", "held", "file"}}}
	for _, i := range []int{1, 2, 5} {
		g.Cols[i].Left = true
	}
	for i, k := range l.Kept {
		if i+4 > lines && i > 0 { // beside the heading and the note
			s.Notes = append(s.Notes, fmt.Sprintf("%s are not shown (consider: --full).", layout.Count(len(l.Kept)-i, "older receipt")))
			break
		}
		g.Rows = append(g.Rows, layout.Row{Cells: layout.Cells(
			k.Made.Local().Format("2006-01-02 15:04"), k.From, layout.Clean(k.Name), strconv.Itoa(len(k.Promises)), state(k), layout.Clean(k.Path))})
	}
	s.Grids = []layout.Grid{g}
	return s
}

// state is what came of a receipt so far.
func state(k *receipts.Kept) string {
	r := RatesOf([]*receipts.Kept{k})
	held, told := r.All.Held+r.Doubted.Held, r.All.Told+r.Doubted.Told
	switch {
	case len(k.Checks) == 0:
		return "not checked"
	case told == 0:
		return "cannot be told"
	}
	return of(held, told)
}

// table has a row for each command and figure.
func (r *Rates) table() *layout.Section {
	s := &layout.Section{Title: "share of promises that held, without those that had a doubt"}
	g := layout.Grid{Cols: layout.Columns(6), Head: [][]string{{"by", "figure", "held", "share", "interval", "promised", "not told"}}}
	g.Cols[1].Left = true
	for i := range r.Each {
		x := &r.Each[i]
		name := noun(x.Metric)
		if x.Change {
			name += ", change"
		}
		cells := layout.Cells(x.From, name, of(x.Held, x.Told), "", "", "", strconv.Itoa(x.Untold))
		if x.Told > 0 {
			cells[3].Text = layout.Share(x.Share) + "%"
			cells[4].Text = fmt.Sprintf("%s to %s%%", layout.Share(x.Lo), layout.Share(x.Hi))
			cells[5].Text = layout.Share(x.Level) + "%"
		}
		g.Rows = append(g.Rows, layout.Row{Cells: cells})
	}
	s.Grids = []layout.Grid{g}
	return s
}
