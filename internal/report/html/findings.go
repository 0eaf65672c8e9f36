package html

import (
	"io"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/analysis/profiles"
	"github.com/dynolab/dyno/internal/report/pprofpage"
	"github.com/dynolab/dyno/internal/report/profile"
	"github.com/dynolab/dyno/internal/report/tables"
	"github.com/dynolab/dyno/internal/report/words"
)

// pageRows is the number of functions of each setting in a page.
const pageRows = 5

// NewPage is the page of a run of a service. Its picture is not read, and its flame
// graphs are named and not drawn: who serves the page is asked for them.
func NewPage(f *findings.Findings) *Page {
	page, _ := newPage(f)
	return page
}

// newPage also returns the run's profiles; nil if absent.
func newPage(f *findings.Findings) (*Page, *profiles.Run) {
	page := &Page{Report: *tables.ReportOf(f), Trials: f.Results, Origin: f.Origin(), Notes: words.Doubts(nil, f.Notes)}
	run, err := findings.ReadProfiles(f.Dir, f.Results)
	if err != nil || len(f.Table.Settings) == 0 {
		return page, nil // there are none, or the table says what is amiss
	}
	base := f.Table.Settings[0].Setting.String()
	page.Profile = &profile.Profile{Rows: pageRows}
	for _, kind := range run.Kinds {
		p, err := run.Profiles(kind, nil)
		if err != nil {
			continue // the table says so
		}
		for _, s := range run.Settings {
			if p.Trials(s) == 0 {
				continue
			}
			page.Flames = append(page.Flames, Flame{Kind: kind, Setting: s})
			if s != base && p.Trials(base) > 0 {
				page.Profile.Diffs = append(page.Profile.Diffs, p.Difference(base, s, profiles.ByOwn, findings.Negligible(f.Plan)))
				page.Flames = append(page.Flames, Flame{Kind: kind, Setting: s, Base: base})
			}
		}
		if len(page.Profile.Diffs) == 0 {
			page.Profile.Tops = append(page.Profile.Tops, p.Top(base, profiles.ByOwn))
		}
	}
	return page, run
}

// PageFile writes the page of a run of a service as one file, which says what was left
// out.
func PageFile(w io.Writer, f *findings.Findings) error {
	if f.Table.Kind == compare.OfBenchmarks {
		return HTML(w, &Page{Report: *tables.ReportOf(f), Trials: []*dyno.Result{{Subject: f.Ran()}}, Origin: f.Origin()})
	}
	page, run := newPage(f)
	picture, notes := f.Picture()
	page.Picture, page.Notes = picture, append(page.Notes, words.Doubts(nil, notes)...)
	named := page.Flames
	page.Flames = nil
	for _, flame := range named {
		var err error
		if flame.HTML, err = drawFlame(run, &flame); err != nil {
			page.Notes = append(page.Notes, err.Error())
			continue
		}
		page.Flames = append(page.Flames, flame)
	}
	return HTML(w, page)
}

func drawFlame(run *profiles.Run, f *Flame) ([]byte, error) {
	of, err := run.Sum(f.Kind, f.Setting)
	if err != nil {
		return nil, err
	}
	if f.Base == "" {
		return pprofpage.Flame(f.Kind, of, nil)
	}
	base, err := run.Sum(f.Kind, f.Base)
	if err != nil {
		return nil, err
	}
	return pprofpage.Flame(f.Kind, of, &base)
}
