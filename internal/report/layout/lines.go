package layout

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Fold breaks text into lines of at most width characters, the first after
// first and the others after rest. A word longer than a line stays whole, and what a
// subject may have written does nothing to the terminal.
func Fold(text, first, rest string, width int) string {
	var b strings.Builder
	line, indent := "", first
	for _, word := range strings.Fields(text) {
		word = Clean(word)
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(indent)+utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			b.WriteString(indent + line + "\n")
			line, indent = word, rest
		default:
			line += " " + word
		}
	}
	b.WriteString(indent + line + "\n")
	return b.String()
}

// Middle shortens a name to most characters by leaving out its middle.
func Middle(name string, most int) string {
	r := []rune(name)
	if len(r) <= most {
		return name
	}
	head := most / 3
	return string(r[:head]) + "…" + string(r[len(r)-(most-head-1):])
}

// Tamed returns the character that is shown for one that a subject or a file may have written. Characters
// that act on a terminal, or on the order of letters, become dots.
func Tamed(r rune) rune {
	switch {
	case r == '\n' || r == '\t':
		return r
	case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\u2028', r == '\u2029', r == '\ufeff':
		return '·'
	}
	return r
}

// Clean makes one line of a text, [Tamed].
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' {
			return '·'
		}
		return Tamed(r)
	}, s)
}

// CleanLines returns the tamed lines of a text.
func CleanLines(text string) []string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for n := range lines {
		lines[n] = Clean(lines[n])
	}
	return lines
}

// Count prints "1 trial", "2 trials".
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// CountIs is Count with the verb: "1 commit is", "2 commits are".
func CountIs(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " is"
	}
	return Count(n, noun) + " are"
}

// Digits writes a number with commas: 15,312.
func Digits(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Label is the name of a setting in a report; that of the plain one is "(as is)".
func Label(setting string) string {
	return cmp.Or(setting, "(as is)")
}
