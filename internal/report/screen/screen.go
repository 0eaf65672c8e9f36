// Package screen is an answer as people read it: a screen of text, or a page of HTML.
//
// It owns what comes in which order, and what is left out where there is no room. The sentences and tables are those of the packages
// that answer.
package screen

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dynolab/dyno/internal/report/chart"
	"github.com/dynolab/dyno/internal/report/html"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/words"
)

// Lines is a screen.
const Lines = 45

// An Answer is what is said of a question.
type Answer struct {
	Head  []string // the answer in a sentence, and its proof or what was measured
	About []string // in the text after an empty line
	Parts []Part
	Notes []string // what a reader has to know, and what was left out. "a  text" explains the mark a
	Last  string   // what to do next

	Spared []string // that had no room
	Rest   string   // where that is, the end of a sentence

	// Only of the page:
	Figure  string // title of the picture
	Shows   string // what it shows
	Picture chart.SVG
	By      string // the command that made it, and its version
}

// A Part is a table, or a picture in characters. Fit makes a table of so many lines, and Draw a picture, which only the text has.
type Part struct {
	Section *layout.Section
	Fit     func(lines int) *layout.Section
	Draw    func(lines int) []string
	Only    bool   // the page has it, and not the text
	Name    string // for what had no room
	Rank    int    // what is left out first has the highest; 0 stays
}

// Text is the answer as a screen of text, or with o.Full as long as it gets.
func (a *Answer) Text(o layout.Options) string {
	parts := slices.DeleteFunc(slices.Clone(a.Parts), func(p Part) bool { return p.Only || p.Section == nil && p.Fit == nil && p.Draw == nil })
	spared := slices.Clone(a.Spared)
	for !o.Full {
		last := -1
		for i, p := range parts {
			if p.Rank > 0 && (last < 0 || p.Rank > parts[last].Rank) {
				last = i
			}
		}
		if last < 0 || height(a.texts(parts, spared, o)...) <= Lines {
			break
		}
		spared = append(spared, parts[last].Name)
		parts = slices.Delete(parts, last, last+1)
	}
	texts := a.texts(parts, spared, o)
	for i, p := range parts {
		room := Lines - height(texts...)
		if o.Full {
			room = math.MaxInt
		}
		switch {
		case p.Fit != nil:
			texts[i+1] = table(p.Fit(room-3), o) // an empty line, its title, and another
		case p.Draw != nil:
			if lines := p.Draw(room - 1); lines != nil {
				texts[i+1] = "\n" + strings.Join(lines, "\n") + "\n"
			}
		}
	}
	return strings.Join(texts, "")
}

// Fits reports whether the text is a screen, without the parts that take what room there is.
func (a *Answer) Fits(o layout.Options) bool {
	return height(a.texts(a.Parts, a.Spared, o)...) <= Lines
}

func height(texts ...string) (n int) {
	for _, text := range texts {
		n += strings.Count(text, "\n")
	}
	return n
}

// texts are what is above the parts, each part, "" of one whose room is yet to be known, and what is below.
func (a *Answer) texts(parts []Part, spared []string, o layout.Options) []string {
	above := fold(a.Head, o)
	if len(a.About) > 0 {
		above += "\n" + fold(a.About, o)
	}
	texts := []string{above}
	for _, p := range parts {
		texts = append(texts, table(p.Section, o))
	}
	below := slices.Clone(a.Notes)
	if len(spared) > 0 {
		below = append(below, "Left out for lack of space: "+words.List(spared)+a.Rest)
	}
	if a.Last != "" {
		below = append(below, a.Last)
	}
	if len(below) == 0 {
		return append(texts, "")
	}
	return append(texts, "\n"+fold(below, o))
}

func fold(lines []string, o layout.Options) (text string) {
	for _, line := range lines {
		mark, rest, ok := strings.Cut(line, "  ")
		if ok && utf8.RuneCountInString(mark) == 1 {
			text += layout.Fold(rest, mark+"  ", "   ", o.Columns())
		} else {
			text += layout.Fold(line, "", "  ", o.Columns())
		}
	}
	return text
}

// table is a section as text, "" of none.
func table(s *layout.Section, o layout.Options) string {
	if s == nil {
		return ""
	}
	var b strings.Builder
	for n := range s.Grids {
		s.Grids[n].Narrow(o.Columns())
	}
	if s.Title != "" {
		s.Text(&b, o.Columns(), o.Color)
		return b.String()
	}
	for n := range s.Grids {
		b.WriteByte('\n')
		s.Grids[n].Text(&b, o.Color)
	}
	return b.String()
}

// HTML writes the answer as one self-contained page. The error is w's.
func (a *Answer) HTML(w io.Writer) error {
	p := html.Simple{
		Title: a.Head[0], About: slices.Concat(a.Head[1:], a.About), Pictures: []html.Picture{{Title: a.Figure, Shows: a.Shows, SVG: a.Picture}}, Notes: a.Notes,
		Foot: strings.TrimSpace(fmt.Sprintf("Made by dyno %s. %s", a.By, a.Last)),
	}
	for _, part := range a.Parts {
		s := part.Section
		if part.Fit != nil {
			s = part.Fit(math.MaxInt)
		}
		if s == nil {
			continue
		}
		t := *s
		t.Title = cmp.Or(t.Title, "Settings")
		p.Tables = append(p.Tables, t)
	}
	return html.WriteSimple(w, p)
}
