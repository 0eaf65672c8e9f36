package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/benchtable"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/profile"
	"github.com/dynolab/dyno/internal/report/tables"
	"github.com/dynolab/dyno/internal/report/words"
)

// A view is the tables of a report, which it puts in the order of a text or a comment.
type view struct{ *tables.View }

// A passage is one statement of a report in any format. The first three fields say how it is shown; one of
// the others has the statement.
type passage struct {
	name string // the heading of items; else what a comment calls it that has no room for it
	rank int    // of parts that a comment has no room for, the highest go first
	open int    // rows of a section that a comment shows; a longer one is folded

	lines   []words.Said
	opening bool // the lines are at the beginning of a text, or a paragraph of a comment
	keys    bool // of settings
	section layout.Section
	items   []string
	failed  []tables.Failed
	raw     string // in the format
}

const mostJudged = 50 // thresholds of benchmarks that failed, and as many that are unclear

const mostFound = 12 // settings of which a text says what was found

// found returns what was found, for as many settings as a reader takes in. The findings of benchmarks are
// never cut: they end with what the blocks cannot tell.
func (v view) found() []words.Said {
	found := v.Found()
	if more := len(found) - mostFound; more > 1 && v.Kind == compare.OfService {
		found = append(found[:mostFound:mostFound], words.Said{Rest: fmt.Sprintf("%d more settings are in the tables.", more)})
	}
	return found
}

// sentences are lines without emphasis.
func sentences(texts []string) (out []words.Said) {
	for _, s := range texts {
		out = append(out, words.Said{Rest: s})
	}
	return out
}

// parts returns the passages of a text, or of a comment, in order.
func (v view) parts(r *tables.Report, o layout.Options, comment bool) []passage {
	if v.Kind == compare.OfBenchmarks {
		return v.benchParts(r, o, comment)
	}
	found := passage{name: "the findings", rank: 1, lines: v.found(), opening: comment}
	advice := passage{name: "the recommendation", rank: 1}
	if text := words.Advice(v.Table); text != "" {
		advice.lines = sentences([]string{text})
	}
	thresholds := passage{rank: 2, open: math.MaxInt}
	if comment {
		thresholds.section, _ = v.ThresholdTable(layout.OpenRows*5, layout.OpenRows*2)
	} else {
		thresholds.section, _ = v.ThresholdTable(math.MaxInt, math.MaxInt)
	}
	var comparisons []passage
	for i, s := range v.Sections() {
		p := passage{rank: 6 + i, open: layout.OpenRows, section: s}
		if s.Changes { // what most readers came for
			p.open *= 3
		}
		comparisons = append(comparisons, p)
	}
	warnings := passage{name: "Warnings", rank: 4, items: words.Warnings(v.Table)}
	broken := passage{name: "Failed trials", rank: 5, failed: tables.Failures(v.Table)}
	about := passage{name: "the subject and the load", rank: 3, lines: sentences(v.About)}
	if comment {
		return append(append([]passage{found, advice, thresholds, about}, comparisons...), warnings, broken)
	}
	about.opening = true
	about.lines = append(sentences([]string{tables.Heading(v.Table)}), about.lines...)
	return append(append([]passage{about, {keys: true}}, comparisons...), warnings, broken, thresholds, found, advice)
}

// benchParts are the parts of a report on benchmarks: the verdict in words, thresholds,
// the comparisons unit by unit as benchstat has them with dyno's verdict beside each, what
// is doubtful about the benchmarks, what failed, how it was measured, and why. A comment
// begins with what changed or is unclear.
func (v view) benchParts(r *tables.Report, o layout.Options, comment bool) (out []passage) {
	out = []passage{{name: "the verdict", rank: 1, lines: v.found(), opening: !comment}, {keys: true}}
	thresholds, _ := v.ThresholdTable(mostJudged, mostJudged)
	out = append(out, passage{rank: 2, open: mostJudged, section: thresholds})
	last := 3 + len(v.Settings)
	sections, notes := v.benchSections(comment)
	var comparisons []passage
	for n, s := range sections {
		if comment {
			s.Title = "All benchmarks: " + s.Title
		} else if n == len(sections)-1 {
			s.Notes = notes
		}
		comparisons = append(comparisons, passage{rank: last + 4 + n, section: s})
	}
	how := passage{name: "the method", rank: last + 3, lines: sentences(v.Measured())}
	if comment {
		for n, i := range v.Others() {
			if s, ok := v.Packages(i); ok {
				out = append(out, passage{rank: 3 + n, open: 3 * layout.OpenRows, section: s})
			}
			s, _ := v.Differences(i)
			out = append(out, passage{rank: 3 + n, open: 3 * layout.OpenRows, section: s})
		}
		how.lines = sentences(append(notes, v.Measured()...))
	} else {
		plot, _ := v.Plotted()
		out = append(append(out, comparisons...), passage{section: plot})
	}
	out = append(out, passage{name: "Pitfalls", rank: last, items: v.PitfallLines(tables.MostPitfall)},
		passage{name: "Failed benchmarks", rank: last + 1, failed: v.FailedBenchmarks()},
		passage{name: "Warnings", rank: last + 2, items: v.BenchNotes()})
	if comment {
		out = append(out, comparisons...)
	}
	return append(append(out, how), v.whys(r, o, comment, last)...)
}

// benchSections are the tables of benchmarks, and what is to be said of all of them.
func (v view) benchSections(whole bool) (out []layout.Section, notes []string) {
	if len(v.Settings) < 2 {
		if s, ok := v.Medians(); ok {
			out = append(out, s)
		}
		return out, nil
	}
	for _, i := range v.Others() {
		if s, ok := v.Packages(i); ok && !whole {
			out = append(out, s)
		}
	}
	units, folded := v.Units(whole)
	for _, u := range units {
		out = append(out, u.Section)
	}
	if out == nil {
		return nil, nil
	}
	return out, append(folded, v.BenchLegend())
}

// text writes the parts for a terminal.
func (v view) text(b *strings.Builder, parts []passage, color bool) {
	listed := func(heading string) { b.WriteString("\n" + heading + "\n") }
	for _, p := range parts {
		switch {
		case p.keys:
			for i, key := range v.Keys {
				name := v.Labels[i]
				if i == 0 && len(v.Settings) > 1 {
					name += " (baseline)"
				}
				b.WriteString(layout.Fold(name, "  "+key+" ", "      ", v.Width))
			}
		case p.lines != nil:
			rest := "  "
			if !p.opening {
				b.WriteByte('\n')
				rest = ""
			}
			for _, s := range p.lines {
				b.WriteString(layout.Fold(s.Name+s.Rest, "", rest, v.Width))
			}
		case p.section.Title != "":
			p.section.Text(b, v.Width, color)
		case p.items != nil:
			listed(p.name)
			for _, s := range p.items {
				b.WriteString(layout.Fold(s, "  ! ", "    ", v.Width))
			}
		case p.failed != nil:
			listed(p.name)
			for _, f := range p.failed {
				b.WriteString(layout.Fold(f.What+": "+f.Lines[0], "  ", "    ", v.Width))
				for _, l := range f.Lines[1:] {
					b.WriteString("    " + l + "\n")
				}
			}
		default:
			b.WriteString(p.raw)
		}
	}
}

// pieces are the parts for a comment.
func (v view) pieces(parts []passage) (out []layout.Piece) {
	for _, p := range parts {
		switch {
		case p.lines != nil:
			text := ""
			for n, s := range p.lines {
				if n == 0 || !p.opening {
					text += "\n"
				}
				if s.Name != "" {
					text += "**" + layout.TextLine(s.Name) + "**"
				}
				text += layout.TextLine(s.Rest) + "\n"
			}
			out = append(out, layout.Piece{Title: p.name, Text: text, Rank: p.rank})
		case p.section.Title != "":
			out = append(out, p.section.Pieces(p.rank, p.open)...)
		case p.items != nil:
			out = append(out, layout.Items(p.name, p.items, p.rank))
		case p.failed != nil:
			var lines []string
			for _, f := range p.failed {
				lines = append(lines, f.What+": "+strings.Join(f.Lines, " "))
			}
			out = append(out, layout.Items(p.name, lines, p.rank))
		default:
			out = append(out, layout.Piece{Title: p.name, Text: p.raw, Rank: p.rank})
		}
	}
	return out
}

// whys are the excerpts as parts of a text, or what they tell as parts of a comment.
func (v view) whys(r *tables.Report, o layout.Options, comment bool, rank int) (out []passage) {
	if !comment {
		for _, e := range v.Excerpts(r, o) {
			out = append(out, passage{raw: "\n" + layout.Fold(e.Title, "", "  ", v.Width) + "\n" + e.Text})
		}
		return out
	}
	for n := range r.Whys {
		y := &r.Whys[n]
		var b strings.Builder
		for i := range y.Parts {
			_ = profile.Markdown(&b, v.Profile(&y.Parts[i]))
		}
		p := layout.Folded("Why "+v.Changed(y, ", ", " changed"), b.String(), true, rank)
		out = append(out, passage{name: p.Title, raw: p.Text, rank: rank})
	}
	if r.Against == nil {
		return out
	}
	text := "\n**" + tables.BaselineTitle + "**\n"
	for _, s := range append(benchtable.Sentences(r.Against), tables.BaselineDoubts(r.Against)...) {
		text += "\n" + layout.TextLine(s) + "\n"
	}
	out = append(out, passage{name: "the baseline file", raw: text, rank: rank})
	for i := range r.Against.Tables {
		table := benchtable.TableMarkdown(&r.Against.Tables[i])
		out = append(out, passage{name: table.Title + " against the baseline file", raw: table.Text, rank: rank})
	}
	return out
}

// firstRows returns a section cut to its first rows.
func firstRows(s layout.Section, most int) layout.Section {
	s.Grids = slices.Clone(s.Grids[:min(len(s.Grids), 1)])
	s.Notes = nil
	for i := range s.Grids {
		g := &s.Grids[i]
		if more := len(g.Rows) - most; more > 0 {
			g.Rows = g.Rows[:most:most]
			s.Notes = []string{fmt.Sprintf("%d more rows are in the tables.", more)}
		}
	}
	return s
}
