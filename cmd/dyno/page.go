package main

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/analysis/profiles"
	"github.com/dynolab/dyno/report"
	"github.com/dynolab/dyno/report/pprofpage"
	"github.com/dynolab/dyno/store"
)

// writePage writes the HTML report of a run, one file, which says what was left out.
func writePage(w io.Writer, dir *store.Dir, t *compare.Table, results []*dyno.Result, left []string) error {
	page, run := pageOf(dir, t, results)
	page.Notes = slices.Clone(left)
	p, notes, err := picture(dir, results, 0, 0, pictureColumns)
	if err != nil {
		notes = append(notes, err.Error())
	}
	page.Picture, page.Notes = p, append(page.Notes, notes...)
	for i := range page.Flames {
		f := &page.Flames[i]
		if f.HTML, err = flamePage(run, f); err != nil {
			page.Notes = append(page.Notes, err.Error())
		}
	}
	page.Flames = slices.DeleteFunc(page.Flames, func(f report.Flame) bool { return f.HTML == nil })
	return report.HTML(w, page)
}

// viewPage is a run as dyno view shows it, against another baseline if base is not "".
// Its picture is asked for by the page, and so are its flame graphs.
func viewPage(dir *store.Dir, base string) (*report.Page, error) {
	cmd, _ := noting(io.Discard)
	o, results := &outFlags{base: base}, dir.Results()
	page, _ := pageOf(dir, tabulate(cmd, dir, o, results), results)
	page.Notes = o.notes
	return page, nil
}

// pageOf is the HTML report of a run, but for what is read from the files of its
// compared trials; flame graphs are named and not drawn. run is nil if it has no
// profiles.
func pageOf(dir *store.Dir, t *compare.Table, results []*dyno.Result) (*report.Page, *profiles.Run) {
	page := &report.Page{Report: report.Report{Table: t}, Trials: results, Origin: originOf(dir, results)}
	run, err := readProfiles(dir, results)
	if err != nil || len(t.Settings) == 0 {
		return page, nil // there are none, or the table says what is amiss
	}
	base := t.Settings[0].Setting.String()
	page.Profile = &report.Profile{Rows: summaryRows}
	for _, kind := range run.Kinds {
		p, err := run.Profiles(kind, nil)
		if err != nil {
			continue // the table says so
		}
		for _, s := range run.Settings {
			if p.Trials(s) == 0 {
				continue
			}
			page.Flames = append(page.Flames, report.Flame{Kind: kind, Setting: s})
			if s != base && p.Trials(base) > 0 {
				page.Profile.Diffs = append(page.Profile.Diffs, p.Difference(base, s, profiles.ByOwn, negligible(dir.Run.Plan)))
				page.Flames = append(page.Flames, report.Flame{Kind: kind, Setting: s, Base: base})
			}
		}
		if len(page.Profile.Diffs) == 0 {
			page.Profile.Tops = append(page.Profile.Tops, p.Top(base, profiles.ByOwn))
		}
	}
	return page, run
}

// flamePage draws a flame graph of a run.
func flamePage(run *profiles.Run, f *report.Flame) ([]byte, error) {
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

// originOf says where a run comes from.
func originOf(dir *store.Dir, results []*dyno.Result) report.Origin {
	run := &dir.Run
	o := report.Origin{Dyno: run.Dyno, Started: run.Started, Command: run.Command}
	path, err := filepath.Abs(dir.Path)
	if err != nil {
		path = dir.Path
	}
	o.Dir = filepath.Base(path)
	o.Plan, err = planText(run.Plan)
	if err != nil {
		o.Plan = "# " + err.Error()
	}
	var subjects []string
	for _, r := range results {
		if r.Subject != "" && !slices.Contains(subjects, r.Subject) {
			subjects = append(subjects, r.Subject)
		}
	}
	h := run.Host
	memory := ""
	if h.Memory > 0 {
		memory = fmt.Sprintf("%.1f GiB", float64(h.Memory)/(1<<30))
	}
	for _, x := range [][2]string{
		{"subject", strings.Join(subjects, "; ")},
		{"host", h.Name},
		{"system", strings.TrimSpace(h.OS + "/" + h.Arch + " " + h.Kernel)},
		{"CPU", fmt.Sprintf("%d × %s", h.CPUs, strings.TrimSpace(h.CPU))},
		{"memory", memory},
		{"go command", h.Go},
	} {
		if x[1] != "" {
			o.Host = append(o.Host, x)
		}
	}
	return o
}

// planText is a plan in the form of a dyno.yaml, which run -f reads.
func planText(e *dyno.Experiment) (string, error) {
	data, err := json.Marshal(e.Resolved())
	if err != nil {
		return "", err
	}
	text, err := yaml.JSONToYAML(data)
	return string(text), err
}

// noting is a command whose notes go to w and are collected, for a page to show.
func noting(w io.Writer) (cmd *cobra.Command, notes func() []string) {
	var b strings.Builder
	cmd = new(cobra.Command)
	cmd.SetErr(io.MultiWriter(w, &b))
	return cmd, func() (lines []string) {
		for line := range strings.Lines(b.String()) {
			lines = append(lines, strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "note: "))
		}
		return lines
	}
}
