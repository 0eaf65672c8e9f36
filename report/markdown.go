package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MostMarkdown is the most bytes that Markdown writes: GitHub takes no comment of
// more than 65,536 characters, and adds some of its own.
const MostMarkdown = 64_000

const (
	openRows    = 12    // a longer table is folded
	mostLine    = 1_000 // bytes of a line of text; a name or an error may be of any length
	mostField   = 200   // bytes of a cell of a table
	mostItems   = 25    // warnings, and failed trials
	leftOutRoom = 1_500 // bytes for what was left out
)

// A piece is a part of a page that is there as a whole or not at all.
type piece struct {
	title string // what is left out without it
	text  string
	rank  int // those with the least are kept first
}

// page joins what fits of the pieces.
func page(pieces []piece) string {
	room := MostMarkdown - leftOutRoom
	keep := make([]bool, len(pieces))
	order := make([]int, len(pieces))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return pieces[a].rank - pieces[b].rank })
	for _, i := range order {
		if keep[i] = len(pieces[i].text) <= room; keep[i] {
			room -= len(pieces[i].text)
		}
	}
	var b strings.Builder
	var left []string
	for i, k := range keep {
		if k {
			b.WriteString(pieces[i].text)
		} else {
			left = append(left, pieces[i].title)
		}
	}
	if len(left) > 0 {
		names := shorten(escapeMarkdown(strings.Join(left, "; ")), leftOutRoom-200)
		b.WriteString("\nLeft out, as a comment has room for so much only: " + names + ". All of it: `dyno report DIR`, of the run directory.\n")
	}
	return b.String()
}

// pieces are the parts of a section. One of more than open rows is folded; of one
// whose rows are in two groups, the second is a part of its own.
func (s *section) pieces(rank, open int) []piece {
	var parts []piece
	var b strings.Builder
	rows := 0
	for _, g := range s.grids {
		first, rest := g, grid{}
		if s.changes {
			first, rest = g.split()
		}
		b.WriteByte('\n')
		first.markdown(&b)
		rows += len(first.rows)
		if len(rest.rows) > 0 {
			var r strings.Builder
			r.WriteByte('\n')
			rest.markdown(&r)
			parts = append(parts, folded("Other metrics", r.String(), len(rest.rows) > openRows, rank))
		}
	}
	for _, n := range s.notes {
		b.WriteString("\n" + textLine(n) + "\n")
	}
	return append([]piece{folded(s.title, b.String(), rows > open, rank)}, parts...)
}

// folded puts a title over text, behind which it is folded if it is long.
func folded(title, text string, long bool, rank int) piece {
	b := piece{title: title, rank: rank, text: "\n**" + textLine(title) + "**\n" + text}
	if long { // GitHub reads Markdown in it after an empty line only
		b.text = "\n<details><summary>" + textLine(title) + "</summary>\n" + text + "\n</details>\n"
	}
	return b
}

// split returns the rows before the first empty one, and those after it as a grid
// of their own; an empty one if there is none.
func (g grid) split() (first, rest grid) {
	i := slices.IndexFunc(g.rows, func(r row) bool { return r.cells == nil && r.group == "" })
	if i < 0 {
		return g, grid{}
	}
	return grid{cols: g.cols, head: g.head, rows: g.rows[:i]}, grid{cols: g.cols, head: g.head, rows: g.rows[i+1:]}
}

// items is a list under a heading.
func items(title string, lines []string, rank int) piece {
	text := "\n**" + title + "**\n\n"
	for _, line := range lines[:min(len(lines), mostItems)] {
		text += "- " + shorten(textLine(line), mostLine/2) + "\n"
	}
	if more := len(lines) - mostItems; more > 0 {
		text += fmt.Sprintf("- and %d more\n", more)
	}
	return piece{title: title, text: text, rank: rank}
}

// textLine is text that a run may have written, as a line of Markdown.
func textLine(s string) string { return escapeMarkdown(shorten(s, mostLine)) }

// shorten cuts a text to n bytes or so, by whole characters.
func shorten(s string, n int) string {
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
)

// escapeMarkdown keeps text from being read as markup in a line, a table or a
// list; control characters and those that turn the direction are dots.
func escapeMarkdown(s string) string {
	s = markdownEscapes.Replace(s)
	var b strings.Builder
	for i, r := range s {
		switch {
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r):
			r = '·'
		case r == '#' && i+1 < len(s) && s[i+1] >= '0' && s[i+1] <= '9' && !strings.HasSuffix(s[:i], "&"):
			b.WriteString("#&#8203;")
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
