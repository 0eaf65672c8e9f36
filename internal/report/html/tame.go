package html

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/timeline"
	"github.com/dynolab/dyno/internal/report/layout"
)

const (
	mostRows = 500 // of one table in a page; more are cut, and the table says so
	mostCell = 300 // characters of one cell
	mostNote = 2000
	mostText = 64 << 10 // of a plan or an error
)

// Tame is for the pages of other packages.
func Tame(s string, most int) string { return tame(s, most) }

// tame makes text from a run fit for a page: control and direction characters become dots,
// and text beyond most characters loses its middle.
func tame(s string, most int) string {
	if len(s) > most*utf8.UTFMax { // before it is looked at rune by rune
		half := most * utf8.UTFMax / 2
		s = s[:half] + s[len(s)-half:]
	}
	return layout.Middle(strings.Map(layout.Tamed, strings.ToValidUTF8(s, "�")), most)
}

func tameAll(lines []string, most, each int) []string {
	var out []string
	for i, l := range lines {
		if i == most {
			out = append(out, fmt.Sprintf("… and %d more.", len(lines)-most))
			break
		}
		out = append(out, tame(l, each))
	}
	return out
}

// tamed copies a page and limits the length of the names in it, which stand in many places. Other
// texts are tamed where they are shown.
func tamed(p *Page) *Page {
	c := *p
	table := *p.Table
	table.Name = tame(table.Name, 100)
	table.Settings = edited(table.Settings, func(s *compare.Setting) { s.Setting = tamedSetting(s.Setting) })
	c.Table = &table
	c.Origin.Dyno = tame(c.Origin.Dyno, 100)
	if p.Site != nil {
		site := *p.Site
		for _, links := range []*[]File{&site.Files, &site.Others} {
			*links = edited((*links)[:min(len(*links), mostRows)], func(f *File) { f.Name = tame(f.Name, mostCell) })
		}
		c.Site = &site
	}
	if p.Picture != nil {
		picture := *p.Picture
		picture.Settings = edited(picture.Settings, func(s *timeline.PictureOf) {
			s.Setting = tamedSetting(s.Setting)
			s.Slowest = edited(s.Slowest, func(x *timeline.Slow) { x.Step = tame(x.Step, 100) })
			s.Tracks = edited(s.Tracks, func(t *timeline.Track) { t.Metric = tame(t.Metric, 100) })
		})
		c.Picture = &picture
	}
	return &c
}

// edited is a copy of a list with every item changed.
func edited[S ~[]T, T any](list S, edit func(*T)) S {
	list = slices.Clone(list)
	for i := range list {
		edit(&list[i])
	}
	return list
}

func tamedSetting(s dyno.Setting) dyno.Setting {
	return edited(s, func(l *dyno.Level) { l.Factor, l.Value = tame(l.Factor, 60), tame(l.Value, 120) })
}
