package report

import (
	"math"
	"strings"

	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/report/doubts"
	"github.com/dynolab/dyno/report/layout"
)

// A passage is one thing that a report says, whatever the format. Of the fields below the
// first three, one is set.
type passage struct {
	name string // the heading of items; else what a comment calls it that has no room for it
	rank int    // of parts that a comment has no room for, the highest go first
	open int    // rows of a section that a comment shows; a longer one is folded

	lines   []said
	opening bool // the lines are at the beginning of a text, or a paragraph of a comment
	keys    bool // of settings
	section layout.Section
	items   []string
	failed  []failed
	raw     string // in the format
}

// A failed is what failed of one error: trials of a setting, or benchmarks.
type failed struct {
	what  string   // such as "trials 2, 7 GOGC=50"
	lines []string // of the error, which may hold the last words of the subject
}

const mostJudged = 50 // thresholds of benchmarks that failed, and as many that are unclear

// sentences are lines without emphasis.
func sentences(texts []string) (out []said) {
	for _, s := range texts {
		out = append(out, said{Rest: s})
	}
	return out
}

// parts are those of a text, or of a comment, in order.
func (v *view) parts(r *Report, o layout.Options, comment bool) []passage {
	if v.Kind == compare.OfBenchmarks {
		return v.benchParts(r, o, comment)
	}
	found := passage{name: "what was found", rank: 1, lines: sentences(Sentences(v.Table)), opening: comment}
	advice := passage{name: "the recommendation", rank: 1}
	if text, news := recommendation(v.Table); news {
		advice.lines = sentences([]string{text})
	}
	thresholds := passage{rank: 2, open: math.MaxInt}
	if comment {
		thresholds.section, _ = v.thresholds(layout.OpenRows*5, layout.OpenRows*2)
	} else {
		thresholds.section, _ = v.thresholds(math.MaxInt, math.MaxInt)
	}
	var tables []passage
	for i, s := range v.sections() {
		p := passage{rank: 6 + i, open: layout.OpenRows, section: s}
		if s.Changes { // what most readers came for
			p.open *= 3
		}
		tables = append(tables, p)
	}
	warnings := passage{name: "Warnings", rank: 4, items: doubts.Words(v.Table, v.Table.Doubts)}
	broken := passage{name: "Failed trials", rank: 5, failed: failures(v.Table)}
	about := passage{name: "what was measured", rank: 3, lines: sentences(v.About)}
	if comment {
		return append(append([]passage{found, advice, thresholds, about}, tables...), warnings, broken)
	}
	about.opening = true
	about.lines = append(sentences([]string{heading(v.Table)}), about.lines...)
	return append(append([]passage{about, {keys: true}}, tables...), warnings, broken, thresholds, found, advice)
}

// benchParts are the parts of a report on benchmarks: the verdict in words, thresholds,
// the comparisons unit by unit as benchstat has them with dyno's verdict beside each, what
// is doubtful about the benchmarks, what failed, how it was measured, and why. A comment
// begins with what changed or is unclear.
func (v *view) benchParts(r *Report, o layout.Options, comment bool) (out []passage) {
	out = []passage{{name: "the verdict", rank: 1, lines: v.verdicts(), opening: !comment}, {keys: true}}
	thresholds, _ := v.thresholds(mostJudged, mostJudged)
	out = append(out, passage{rank: 2, open: mostJudged, section: thresholds})
	last := 3 + len(v.Settings)
	sections, notes := v.benchSections(comment)
	var tables []passage
	for n, s := range sections {
		if comment {
			s.Title = "All benchmarks: " + s.Title
		} else if n == len(sections)-1 {
			s.Notes = notes
		}
		tables = append(tables, passage{rank: last + 4 + n, section: s})
	}
	how := passage{name: "how it was measured", rank: last + 3, lines: sentences(v.measured())}
	if comment {
		for n, i := range v.others() {
			s, _ := v.differences(i)
			out = append(out, passage{rank: 3 + n, open: 3 * layout.OpenRows, section: s})
		}
		how.lines = sentences(append(notes, v.measured()...))
	} else {
		plot, _ := v.plotted()
		out = append(append(out, tables...), passage{section: plot})
	}
	out = append(out, passage{name: "Pitfalls", rank: last, items: v.pitfallLines(mostPitfall)},
		passage{name: "Failed benchmarks", rank: last + 1, failed: v.failed()},
		passage{name: "Warnings", rank: last + 2, items: v.notes()})
	if comment {
		out = append(out, tables...)
	}
	return append(append(out, how), v.whys(r, o, comment, last)...)
}

// benchSections are the tables of benchmarks, and what is to be said of all of them.
func (v *view) benchSections(whole bool) (out []layout.Section, notes []string) {
	if len(v.Settings) < 2 {
		if s, ok := v.medians(); ok {
			out = append(out, s)
		}
		return out, nil
	}
	units, folded := v.units(whole)
	for _, u := range units {
		out = append(out, u.Section)
	}
	if out == nil {
		return nil, nil
	}
	return out, append(folded, v.benchLegend())
}

// text writes the parts for a terminal.
func (v *view) text(b *strings.Builder, parts []passage, color bool) {
	listed := func(heading string) { b.WriteString("\n" + heading + "\n") }
	for _, p := range parts {
		switch {
		case p.keys:
			for i, key := range v.keys {
				name := v.labels[i]
				if i == 0 && len(v.Settings) > 1 {
					name += " (baseline)"
				}
				b.WriteString(layout.Fold(name, "  "+key+" ", "      ", v.width))
			}
		case p.lines != nil:
			rest := "  "
			if !p.opening {
				b.WriteByte('\n')
				rest = ""
			}
			for _, s := range p.lines {
				b.WriteString(layout.Fold(s.Name+s.Rest, "", rest, v.width))
			}
		case p.section.Title != "":
			p.section.Text(b, v.width, color)
		case p.items != nil:
			listed(p.name)
			for _, s := range p.items {
				b.WriteString(layout.Fold(s, "  ! ", "    ", v.width))
			}
		case p.failed != nil:
			listed(p.name)
			for _, f := range p.failed {
				b.WriteString(layout.Fold(f.what+": "+f.lines[0], "  ", "    ", v.width))
				for _, l := range f.lines[1:] {
					b.WriteString("    " + l + "\n")
				}
			}
		default:
			b.WriteString(p.raw)
		}
	}
}

// pieces are the parts for a comment.
func (v *view) pieces(parts []passage) (out []layout.Piece) {
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
				lines = append(lines, f.what+": "+strings.Join(f.lines, " "))
			}
			out = append(out, layout.Items(p.name, lines, p.rank))
		default:
			out = append(out, layout.Piece{Title: p.name, Text: p.raw, Rank: p.rank})
		}
	}
	return out
}
