package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/analysis/timeline"
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
	return middle(s, most)
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
	t.Settings = slices.Clone(t.Settings)
	for i := range t.Settings {
		t.Settings[i].Setting = tamedSetting(t.Settings[i].Setting)
	}
	t.Failed = slices.Clone(t.Failed)
	for i, f := range t.Failed {
		t.Failed[i].Setting, t.Failed[i].Err = tamedSetting(f.Setting), tame(f.Err, mostNote)
	}
	copies := map[*compare.Benchmark]*compare.Benchmark{}
	t.Benchmarks = nil
	for _, b := range p.Benchmarks {
		c := *b
		c.Package, c.Name = tame(c.Package, 120), tame(c.Name, 120)
		c.Units, c.Faults = tamedRows(c.Units), slices.Clone(c.Faults)
		for n := range c.Units {
			c.Units[n].Benchmark = &c
		}
		for n := range c.Faults {
			c.Faults[n].Said = tame(c.Faults[n].Said, mostNote)
		}
		copies[b] = &c
		t.Benchmarks = append(t.Benchmarks, &c)
	}
	t.Rows = tamedRows(t.Rows)
	for i := range t.Rows {
		t.Rows[i].Benchmark = copies[t.Rows[i].Benchmark]
	}
	t.Pitfalls = slices.Clone(t.Pitfalls)
	for i := range t.Pitfalls {
		f := &t.Pitfalls[i]
		f.Package, f.Name, f.Call = tame(f.Package, 120), tame(f.Name, 120), tame(f.Call, 120)
	}
	t.Thresholds = slices.Clone(t.Thresholds)
	for i := range t.Thresholds {
		t.Thresholds[i].Benchmark = copies[t.Thresholds[i].Benchmark]
	}
	return &t
}

// tamedRows leaves the rows' keys, by which their cells are found, as they are.
func tamedRows(rows []compare.Row) (out []compare.Row) {
	for _, r := range rows {
		if r.Benchmark != nil {
			r.Name = tame(r.Name, 60)
		}
		out = append(out, r)
	}
	return out
}

func tamedSetting(s dyno.Setting) (out dyno.Setting) {
	for _, l := range s {
		out = append(out, dyno.Level{Factor: tame(l.Factor, 60), Value: tame(l.Value, 120)})
	}
	return out
}

func tamedLinks(files []File) (out []File) {
	for _, f := range files[:min(len(files), mostRows)] {
		out = append(out, File{tame(f.Name, mostCell), f.URL})
	}
	return out
}

func tamedPicture(p *timeline.Picture) *timeline.Picture {
	c := *p
	c.Notes = tameAll(p.Notes, 50, mostNote)
	c.Settings = slices.Clone(p.Settings)
	for i := range c.Settings {
		s := &c.Settings[i]
		s.Setting = tamedSetting(s.Setting)
		s.Slowest = slices.Clone(s.Slowest)
		for n := range s.Slowest {
			s.Slowest[n].Step = tame(s.Slowest[n].Step, 100)
		}
		s.Tracks = slices.Clone(s.Tracks)
		for n := range s.Tracks {
			s.Tracks[n].Metric = tame(s.Tracks[n].Metric, 100)
		}
	}
	return &c
}
