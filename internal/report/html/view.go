package html

import (
	"html/template"
	"math"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/chart"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/tables"
	"github.com/dynolab/dyno/internal/report/words"
)

// A paper is a page with all its words, ready for the templates in report/html/page.
type paper struct {
	*Page
	Title    string
	About    []string
	Verdicts []words.Said
	More     []words.Said // verdicts that are folded away
	Leaks    []string
	Advice   string
	Doubts   []string
	Parts    []chapter
	Foot     string // how to read the verdicts, at the end

	Head, Tail template.HTML // of the document: policy and styles; data and scripts
}

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

// A figure is a picture with its table, which says the same without a picture.
type figure struct {
	ID, Kind, Name, Title, Shows string
	Picture                      template.HTML
	Canvas                       bool // scripts draw it
	Tables                       []sheet
	Summary                      string // of the table
	Notes                        []string
}

// svg is a picture of a run as a block.
func (v *pageView) svg(id, title, shows string, picture chart.SVG, table *layout.Section, notes ...string) block {
	return block{Figure: &figure{
		ID: "fig-" + id, Kind: "svg", Name: v.file + "-" + id, Title: title, Shows: shows, Picture: template.HTML(picture),
		Tables: v.tables(table), Summary: "Table", Notes: tameAll(notes, 50, mostNote),
	}}
}

const mostVerdicts = 12

// A pageView makes a paper.
type pageView struct {
	*tables.View
	page   *Page
	file   string                    // what names of saved pictures begin with
	trials map[string][]*dyno.Result // that are compared, by setting
}

// allIn says where a reader finds what a table was too long for.
const allIn = "results.jsonl and bench.txt of the run directory"

// newPaper makes a paper of a page that is [tamed].
func newPaper(p *Page) *paper {
	v := newPageView(p)
	out := &paper{Page: p, Title: tame(p.Title(), mostCell)}
	for _, s := range v.Found() {
		out.Verdicts = append(out.Verdicts, words.Said{Name: tame(s.Name, mostCell), Rest: tame(s.Rest, 2*mostNote)})
	}
	if len(out.Verdicts) > mostVerdicts {
		out.Verdicts, out.More = out.Verdicts[:mostVerdicts], out.Verdicts[mostVerdicts:]
	}
	if v.Kind == compare.OfBenchmarks {
		v.benchmarks(out)
	} else {
		v.service(out)
	}
	out.add("again", "Origin", v.origin())
	return out
}

// service adds the blocks of a page of a service.
func (v *pageView) service(out *paper) {
	t := v.Table
	out.About = tameAll(t.About, 50, mostNote)
	out.Foot = "Response times count from when a request was due. Verdicts compare the trials of each setting within blocks."
	for i := range t.Settings {
		if l := t.Settings[i].Leak; l != nil {
			out.Leaks = append(out.Leaks, tameAll(v.Leaks(i, l), 10, mostNote)...)
		}
	}
	out.Advice = tame(words.Advice(t), mostNote)
	out.Doubts = tameAll(words.Warnings(t), 100, mostNote)
	for _, n := range tameAll(v.page.Notes, 50, mostNote) {
		out.Doubts = append(out.Doubts, "Not shown: "+n)
	}
	figures := "Change"
	if len(t.Settings) < 2 {
		figures = "Figures"
	}
	out.add("thresholds", "Thresholds", v.show(v.ThresholdTable(math.MaxInt, math.MaxInt)))
	out.add("change", figures, v.change())
	out.add("latency", "Latency", v.latency())
	out.add("timelines", "Over time", v.timelines())
	out.add("why", "Why", v.causes())
	out.add("machines", "Machines", v.machines())
	out.add("memory", "Memory", v.memories())
	out.add("trials", "Trials", v.trialBlocks())
}

// add adds a chapter if it has blocks.
func (p *paper) add(id, title string, blocks []block) {
	if len(blocks) > 0 {
		p.Parts = append(p.Parts, chapter{id, title, blocks})
	}
}

func newPageView(p *Page) *pageView {
	v := &pageView{View: p.View(wide), page: p, trials: map[string][]*dyno.Result{}}
	v.Keys = nil // cells wrap, so that names may be long
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
