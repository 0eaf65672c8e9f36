package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/analysis/pitfall"
	"github.com/dynolab/dyno/analysis/timeline"
	"github.com/dynolab/dyno/report/layout"
)

const (
	mostRows = 500 // of one table in a page; more are cut, and the table says so
	mostCell = 300 // characters of one cell
	mostNote = 2000
	mostText = 64 << 10 // of a plan or an error
)

// tame makes text from a run fit for a page: control and direction characters become dots,
// and text beyond most characters loses its middle.
func tame(s string, most int) string {
	if len(s) > most*utf8.UTFMax { // before it is looked at rune by rune
		half := most * utf8.UTFMax / 2
		s = s[:half] + s[len(s)-half:]
	}
	s = strings.ToValidUTF8(s, "�")
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\u2028', r == '\u2029', r == '\ufeff':
			return '·'
		}
		return r
	}, s)
	return layout.Middle(s, most)
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

// tamed copies a page and limits the length of names and errors.
func tamed(p *Page) *Page {
	c := *p
	c.Table = tamedTable(p.Table)
	c.Origin.Dyno = tame(c.Origin.Dyno, 100)
	if p.Site != nil {
		site := *p.Site
		site.Files, site.Others = tamedLinks(site.Files), tamedLinks(site.Others)
		c.Site = &site
	}
	c.Trials = nil
	for _, r := range p.Trials {
		r := *r
		r.Trial.Setting = tamedSetting(r.Trial.Setting)
		c.Trials = append(c.Trials, &r)
	}
	if p.Picture != nil {
		c.Picture = tamedPicture(p.Picture)
	}
	return &c
}

func tamedTable(p *compare.Table) *compare.Table {
	t := *p
	t.Name = tame(t.Name, 100)
	t.Settings = edited(t.Settings, func(s *compare.Setting) { s.Setting = tamedSetting(s.Setting) })
	t.Failed = edited(t.Failed, func(f *compare.Failure) { f.Setting, f.Err = tamedSetting(f.Setting), tame(f.Err, mostNote) })
	copies := map[*compare.Benchmark]*compare.Benchmark{}
	t.Benchmarks = edited(t.Benchmarks, func(at **compare.Benchmark) {
		c := **at
		c.Package, c.Name = tame(c.Package, 120), tame(c.Name, 120)
		c.Units = tamedRows(c.Units)
		for n := range c.Units {
			c.Units[n].Benchmark = &c
		}
		c.Faults = edited(c.Faults, func(f *compare.Fault) { f.Said = tame(f.Said, mostNote) })
		copies[*at] = &c
		*at = &c
	})
	t.Rows = edited(tamedRows(t.Rows), func(r *compare.Row) { r.Benchmark = copies[r.Benchmark] })
	t.Pitfalls = edited(t.Pitfalls, func(f *pitfall.Found) {
		f.Package, f.Name, f.Call = tame(f.Package, 120), tame(f.Name, 120), tame(f.Call, 120)
	})
	t.Thresholds = edited(t.Thresholds, func(x *compare.Judgement) { x.Benchmark = copies[x.Benchmark] })
	return &t
}

// edited is a copy of a list with every item changed.
func edited[S ~[]T, T any](list S, edit func(*T)) S {
	list = slices.Clone(list)
	for i := range list {
		edit(&list[i])
	}
	return list
}

// tamedRows leaves the rows' keys, by which their cells are found, as they are.
func tamedRows(rows []compare.Row) []compare.Row {
	return edited(rows, func(r *compare.Row) {
		if r.Benchmark != nil {
			r.Name = tame(r.Name, 60)
		}
	})
}

func tamedSetting(s dyno.Setting) dyno.Setting {
	return edited(s, func(l *dyno.Level) { l.Factor, l.Value = tame(l.Factor, 60), tame(l.Value, 120) })
}

func tamedLinks(files []File) []File {
	return edited(files[:min(len(files), mostRows)], func(f *File) { f.Name = tame(f.Name, mostCell) })
}

func tamedPicture(p *timeline.Picture) *timeline.Picture {
	c := *p
	c.Settings = edited(p.Settings, func(s *timeline.PictureOf) {
		s.Setting = tamedSetting(s.Setting)
		s.Slowest = edited(s.Slowest, func(x *timeline.Slow) { x.Step = tame(x.Step, 100) })
		s.Tracks = edited(s.Tracks, func(t *timeline.Track) { t.Metric = tame(t.Metric, 100) })
	})
	return &c
}
