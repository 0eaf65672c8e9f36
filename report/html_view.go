package report

import (
	"html/template"
	"math"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/report/doubts"
	"github.com/dynolab/dyno/report/layout"
)

// A paper is a page with all its words, ready for the templates in report/page.
type paper struct {
	*Page
	Title    string
	About    []string
	Verdicts []said
	More     []said // verdicts that are folded away
	Found    []string
	Leaks    []string
	Advice   string
	Doubts   []string
	Parts    []chapter
	Foot     string // how to read the verdicts, at the end

	Head, Tail template.HTML // of the document: policy and styles; data and scripts
}

type said struct{ Name, Rest string }

type chapter struct {
	ID, Title string
	Blocks    []block
}

// A block is one thing of a chapter: the fields that are empty are not shown.
type block struct {
	ID, Title string // a heading
	Figure    *figure
	Lines     []string
	List      []string
	Numbered  bool   // of List
	Folded    string // what List or Tables are folded away under
	Spare     bool   // only for readers without scripts, which say the same
	Tables    []sheet
	Facts     [][2]string
	Pre       string
	Flames    []flameRow
	Links     []File
}

type sheet struct {
	Name string // of what can be scrolled to
	HTML template.HTML
}

type figure struct {
	ID, Kind, Name, Title, Shows string
	Picture                      template.HTML
	Canvas                       bool // scripts draw it
	Tables                       []sheet
	Summary                      string // of the table
	Notes                        []string
}

const mostVerdicts = 12

// A pageView makes a paper.
type pageView struct {
	*view
	page   *Page
	file   string                    // what names of saved pictures begin with
	trials map[string][]*dyno.Result // that are compared, by setting
}

// allIn says where a reader finds what a table was too long for.
const allIn = "results.jsonl and bench.txt of the run directory"

func newPaper(p *Page) *paper {
	if p.Table.Kind == compare.OfBenchmarks {
		return newBenchPaper(p)
	}
	v := newPageView(p)
	t := p.Table
	out := &paper{Page: p, Title: tame(heading(t), mostCell), About: tameAll(t.About, 50, mostNote)}
	out.Foot = "Response times are measured from when a request was due. Verdicts are of the trials of each setting, compared within blocks."
	for i, x := range Verdicts(t) {
		name := x.Setting.Label()
		s := said{Rest: tame(x.Text, mostNote)}
		if rest, ok := strings.CutPrefix(x.Text, name); ok {
			s = said{tame(name, mostCell), tame(rest, mostNote)}
		}
		if i < mostVerdicts {
			out.Verdicts = append(out.Verdicts, s)
		} else {
			out.More = append(out.More, s)
		}
	}
	if out.Verdicts == nil {
		out.Found = tameAll(Sentences(t), 10, mostNote)
	}
	for i := range t.Settings {
		if l := t.Settings[i].Leak; l != nil {
			out.Leaks = append(out.Leaks, tameAll(v.leaks(i, l), 10, mostNote)...)
		}
	}
	out.Advice = tame(Recommendation(t), mostNote)
	out.Doubts = tameAll(doubts.Words(t, t.Doubts), 100, mostNote)
	for _, n := range tameAll(p.Notes, 50, mostNote) {
		out.Doubts = append(out.Doubts, "Not shown: "+n)
	}
	figures := "Change"
	if len(t.Settings) < 2 {
		figures = "Figures"
	}
	for _, x := range []chapter{
		{"thresholds", "Thresholds", v.show(v.thresholds(math.MaxInt, math.MaxInt))},
		{"change", figures, v.change()},
		{"latency", "Latency", v.latency()},
		{"timelines", "Over time", v.timelines()},
		{"why", "Why", v.causes()},
		{"memory", "Memory", v.memories()},
		{"trials", "Trials", v.trialBlocks()},
		{"again", "Where it comes from", v.origin()},
	} {
		out.add(x.ID, x.Title, x.Blocks)
	}
	return out
}

// add adds a chapter if it has blocks.
func (p *paper) add(id, title string, blocks []block) {
	if len(blocks) > 0 {
		p.Parts = append(p.Parts, chapter{id, title, blocks})
	}
}

func newPageView(p *Page) *pageView {
	v := &pageView{view: newView(p.Table, wide), page: p, trials: map[string][]*dyno.Result{}}
	v.keys = nil // cells wrap, so that names may be long
	v.file = fileName(p.Table.Name)
	for _, r := range p.Trials {
		if r.Err == "" && r.Trial.For == "" {
			key := r.Trial.Setting.String()
			v.trials[key] = append(v.trials[key], r)
		}
	}
	return v
}

// wide is a page that every table fits into: what is too wide is scrolled.
const wide = 1 << 30

// fileName makes a name that is fit for a file of any system.
func fileName(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(tame(name, 40)) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	if s := strings.Trim(b.String(), "-"); s != "" {
		return s
	}
	return "dyno"
}

func (v *pageView) show(s layout.Section, ok bool) []block {
	if !ok {
		return nil
	}
	return []block{{Title: tame(s.Title, mostCell), Tables: v.tables(&s), Lines: tameAll(s.Notes, 100, mostNote)}}
}

// tucked folds reference tables away.
func tucked(blocks []block) []block {
	for i := range blocks {
		blocks[i].Folded = "Table"
	}
	return blocks
}

func (v *pageView) tables(s *layout.Section) (out []sheet) {
	for _, g := range s.Grids {
		if g.Signs { // the verdict says it, and a row's heading is its name
			g.Drop(0)
		}
		out = append(out, sheet{tame(s.Title, mostCell), tableHTML(&g, s.Title, allIn)})
	}
	return out
}
