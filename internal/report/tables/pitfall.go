package tables

import (
	"fmt"
	"strings"

	"github.com/dynolab/dyno/internal/analysis/pitfall"
	"github.com/dynolab/dyno/internal/report/words"
)

const (
	MostPitfall  = 4  // benchmarks that a pitfall names in a text
	MostPitfalls = 50 // that it names elsewhere
	mostSeen     = 6  // different figures of one kind of pitfall
	mostAlike    = 4  // benchmarks that are named before the same figures
)

// A pitfallNote is one kind of pitfall, with all benchmarks that have it.
type pitfallNote struct {
	Kind       pitfall.Kind `json:"kind"`
	Benchmarks []string     `json:"benchmarks"` // Package.Name
	Text       string       `json:"text"`       // what was seen, why it matters and the cure
}

// PitfallNotes returns the pitfalls of the table, each kind once. If several benchmarks have the same
// pitfall, one note names them; if all have it, the note has no names.
func (v *View) PitfallNotes() (notes []pitfallNote) {
	for _, kind := range pitfall.Kinds {
		n := pitfallNote{Kind: kind}
		var seen []string
		alike := map[string][]string{} // names by what was seen
		for i := range v.Pitfalls {
			f := &v.Pitfalls[i]
			if f.Kind != kind {
				continue
			}
			full := f.Package + "." + f.Name
			n.Benchmarks = append(n.Benchmarks, full)
			text := words.Seen(f)
			if f.Setting >= 0 {
				text += " in " + v.Labels[f.Setting]
			}
			if alike[text] == nil {
				seen = append(seen, text)
			}
			alike[text] = append(alike[text], v.calledBy(full))
		}
		if seen == nil {
			continue
		}
		var texts []string
		for i, text := range seen {
			if i == mostSeen {
				texts = append(texts, fmt.Sprintf("and %d more", len(seen)-mostSeen))
				break
			}
			if len(seen) > 1 {
				text = strings.Join(first(alike[text], mostAlike), ", ") + ": " + text
			}
			texts = append(texts, text)
		}
		why := words.Pitfalls[kind]
		n.Text = fmt.Sprintf("%s. %s (consider: %s).", strings.Join(texts, "; "), why[0], why[1])
		notes = append(notes, n)
	}
	return notes
}

// PitfallLines returns the notes as lines. Each line names at most that many benchmarks.
func (v *View) PitfallLines(most int) (lines []string) {
	for _, n := range v.PitfallNotes() {
		var names []string
		for _, full := range n.Benchmarks {
			names = append(names, v.calledBy(full))
		}
		lines = append(lines, fmt.Sprintf("%s (%s): %s", n.Kind, strings.Join(first(names, most), ", "), n.Text))
	}
	return lines
}

// calledBy returns the report's name for the benchmark Package.Name.
func (v *View) calledBy(full string) string {
	for _, b := range v.Benchmarks {
		if b.Full() == full {
			return v.Called(b)
		}
	}
	return full
}

// first are the first names, and how many more there are.
func first(names []string, most int) []string {
	if more := len(names) - most; more > 1 {
		return append(names[:most:most], fmt.Sprintf("%d more", more))
	}
	return names
}
