package screen

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/dynolab/dyno/internal/report/layout"
)

func rows(title string, n int) *layout.Section {
	g := layout.Grid{Cols: layout.Columns(1), Head: [][]string{{"", title + "!"}}}
	for i := range n {
		g.Rows = append(g.Rows, layout.Row{Cells: layout.Cells(fmt.Sprint(title, i), "1")})
	}
	return &layout.Section{Title: title, Grids: []layout.Grid{g}}
}

// The answer comes first, and what to do next last; lines that go on are indented.
func TestText(t *testing.T) {
	a := Answer{
		Head: []string{"shop: keep it.", strings.Repeat("word ", 20)}, About: []string{"goal: less"}, Parts: []Part{{Section: rows("", 1)}, {}, {Section: rows("hidden", 1), Only: true}},
		Notes: []string{"a  " + strings.Repeat("doubt ", 15)}, Last: "More: dyno report x",
	}
	want := "shop: keep it.\n" + strings.TrimSpace(strings.Repeat("word ", 16)) + "\n  word word word word\n\ngoal: less\n\n   !\n0  1\n\n" +
		"a  doubt" + strings.Repeat(" doubt", 12) + "\n   doubt doubt\nMore: dyno report x\n"
	if got := a.Text(layout.Options{Width: 80}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if !a.Fits(layout.Options{}) {
		t.Error("it does not fit")
	}
}

// What has the highest rank is left out first, and named; what takes the room that there is gets the rest of the screen.
func TestRoom(t *testing.T) {
	room, drawn := 0, 0
	a := Answer{
		Head: []string{"x"}, Rest: "; the file has it.",
		Parts: []Part{
			{Section: rows("kept", 20)}, {Section: rows("second", 5), Rank: 1, Name: "the second"}, {Section: rows("third", 20), Rank: 2, Name: "the third"},
			{Fit: func(lines int) *layout.Section { room = lines; return rows("fit", lines-1) }},
			{Draw: func(lines int) []string { drawn = lines; return nil }},
		},
	}
	text := a.Text(layout.Options{})
	if n := strings.Count(text, "\n"); n != Lines || drawn != -1 || room < 5 {
		t.Errorf("%d lines, of which %d were to be filled, and %d to be drawn in:\n%s", n, room, drawn, text)
	}
	if !strings.Contains(text, "second4") || strings.Contains(text, "third1") || !strings.HasSuffix(text, "\nLeft out for lack of space: the third; the file has it.\n") {
		t.Errorf("left out is not the third alone:\n%s", text)
	}
	a.Parts[3].Fit = func(lines int) *layout.Section { room = lines; return nil }
	if a.Text(layout.Options{Full: true}); room < 1e6 {
		t.Errorf("in full, a part has %d lines", room)
	}
}

// The page has all parts, and a table without a title is of settings.
func TestHTML(t *testing.T) {
	a := Answer{Head: []string{"shop: keep it.", "proof"}, Parts: []Part{
		{Section: rows("", 1)}, {Section: rows("hidden", 1), Only: true}, {Fit: func(lines int) *layout.Section { return rows("fit", min(lines, 60)) }},
	}, Notes: []string{"a note"}, Last: "More: x", By: "tune v1"}
	var b bytes.Buffer
	if err := a.HTML(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<h1>shop: keep it.</h1>", "proof", "Settings", "hidden0", "fit59", "a note", "Made by dyno tune v1. More: x"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page has no %s", want)
		}
	}
}
