package tables

import (
	"slices"

	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/layout"
)

// A figureRow is a row with a column for each setting; text is "" where a setting lacks the figure.
type figureRow struct {
	label string
	text  func(s *compare.Setting) string
}

// figures is the table of the settings that have what it is about. A row that no setting
// has takes no room.
func (v *View) figures(title string, has func(s *compare.Setting) bool, rows []figureRow) layout.Section {
	text := func(s *compare.Setting, r figureRow) string {
		if !has(s) {
			return ""
		}
		return r.text(s)
	}
	var labels []string
	rows = slices.DeleteFunc(rows, func(r figureRow) bool {
		return !slices.ContainsFunc(v.Settings, func(s compare.Setting) bool { return text(&s, r) != "" })
	})
	for _, r := range rows {
		labels = append(labels, r.label)
	}
	return layout.Section{Title: title, Grids: v.Study(labels, func(i, row int) string { return text(&v.Settings[i], rows[row]) })}
}

// lead begins a sentence on setting i: with its name if there are several.
func (v *View) lead(i int) string {
	if len(v.Settings) > 1 {
		return v.SettingName(i) + ": "
	}
	return ""
}
