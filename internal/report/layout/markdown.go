package layout

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MostMarkdown is the most bytes that Markdown writes: GitHub takes no comment of
// more than 65,536 characters, and adds some of its own.
const MostMarkdown = 64_000

const (
	OpenRows    = 12    // a longer table is folded
	mostLine    = 1_000 // bytes of a line of text; a name or an error may be of any length
	mostField   = 200   // bytes of a cell of a table
	MostItems   = 25    // warnings, and failed trials
	LeftOutRoom = 1_500 // bytes for what was left out
)

// A Piece is a part of a page that is there as a whole or not at all.
type Piece struct {
	Title string // what is left out without it
	Text  string
	Rank  int // those with the least are kept first
}

// Page joins what fits of the pieces; rest says where all of them are, after those left out.
func Page(pieces []Piece, rest string) string {
	room := MostMarkdown - LeftOutRoom
	keep := make([]bool, len(pieces))
	order := make([]int, len(pieces))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return pieces[a].Rank - pieces[b].Rank })
	for _, i := range order {
		if keep[i] = len(pieces[i].Text) <= room; keep[i] {
			room -= len(pieces[i].Text)
		}
	}
	var b strings.Builder
	var left []string
	for i, k := range keep {
		if k {
			b.WriteString(pieces[i].Text)
		} else {
			left = append(left, pieces[i].Title)
		}
	}
	if len(left) > 0 {
		names := Shorten(EscapeMarkdown(strings.Join(left, "; ")), LeftOutRoom-200)
		b.WriteString("\nLeft out because a comment has limited space: " + names + "." + rest + "\n")
	}
	return b.String()
}

// Pieces returns the parts of a section. A section of more than open rows is folded. If the rows are in two
// groups, the second group is a part of its own.
func (s *Section) Pieces(rank, open int) []Piece {
	var parts []Piece
	var b strings.Builder
	rows := 0
	for _, g := range s.Grids {
		first, rest := g, Grid{}
		if s.Changes {
			first, rest = g.split()
		}
		b.WriteByte('\n')
		first.Markdown(&b)
		rows += len(first.Rows)
		if len(rest.Rows) > 0 {
			var r strings.Builder
			r.WriteByte('\n')
			rest.Markdown(&r)
			parts = append(parts, Folded("Other metrics", r.String(), len(rest.Rows) > OpenRows, rank))
		}
	}
	for _, n := range s.Notes {
		b.WriteString("\n" + TextLine(n) + "\n")
	}
	return append([]Piece{Folded(s.Title, b.String(), rows > open, rank)}, parts...)
}

// Markdown writes the section unfolded.
func (s *Section) Markdown(b *strings.Builder) {
	for _, p := range s.Pieces(0, math.MaxInt) {
		b.WriteString(strings.TrimPrefix(p.Text, "\n"))
	}
}

// Folded puts a title over text, behind which it is folded if it is long.
func Folded(title, text string, long bool, rank int) Piece {
	b := Piece{Title: title, Rank: rank, Text: "\n**" + TextLine(title) + "**\n" + text}
	if long { // GitHub reads Markdown in it after an empty line only
		b.Text = "\n<details><summary>" + TextLine(title) + "</summary>\n" + text + "\n</details>\n"
	}
	return b
}

// split returns the rows before the first empty one, and those after it as a grid
// of their own; without an empty row rest has no rows.
func (g Grid) split() (first, rest Grid) {
	i := slices.IndexFunc(g.Rows, func(r Row) bool { return r.Cells == nil && r.Group == "" })
	if i < 0 {
		return g, Grid{}
	}
	return Grid{Cols: g.Cols, Head: g.Head, Rows: g.Rows[:i]}, Grid{Cols: g.Cols, Head: g.Head, Rows: g.Rows[i+1:]}
}

// Items is a list under a heading.
func Items(title string, lines []string, rank int) Piece {
	text := "\n**" + title + "**\n\n"
	for _, line := range lines[:min(len(lines), MostItems)] {
		text += "- " + Shorten(TextLine(line), mostLine/2) + "\n"
	}
	if more := len(lines) - MostItems; more > 0 {
		text += fmt.Sprintf("- and %d more\n", more)
	}
	return Piece{Title: title, Text: text, Rank: rank}
}

// TextLine is text that a run may have written, as a line of Markdown.
func TextLine(s string) string { return EscapeMarkdown(Shorten(s, mostLine)) }

// Shorten cuts a text to n bytes or so, by whole characters.
func Shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.TrimRight(s[:n], `\&`) + "…"
}

// markdownEscapes keep text from being read as markup. A zero-width space keeps
// GitHub from telling somebody that he was mentioned, or an issue that it was.
var markdownEscapes = strings.NewReplacer(
	`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "~", `\~`, "$", `\$`,
	"&", "&amp;", "<", "&lt;", "](", `\](`, "][", `\][`, "]:", `\]:`,
	"@", "@&#8203;", "\r\n", " ", "\n", " ", "\r", " ", "\t", " ",
	"#0", "#&#8203;0", "#1", "#&#8203;1", "#2", "#&#8203;2", "#3", "#&#8203;3", "#4", "#&#8203;4",
	"#5", "#&#8203;5", "#6", "#&#8203;6", "#7", "#&#8203;7", "#8", "#&#8203;8", "#9", "#&#8203;9",
)

// EscapeMarkdown keeps text from being read as markup in a line, a table or a
// list; control characters and those that turn the direction are dots.
func EscapeMarkdown(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return '·'
		}
		return r
	}, markdownEscapes.Replace(s))
}
