package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/analysis/profiles"
	"github.com/dynolab/dyno/internal/report"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/pprofpage"
	"github.com/dynolab/dyno/internal/report/profile"
	"github.com/dynolab/dyno/internal/store"
)

func (o *profileFlags) tables(cmd *cobra.Command, dir *store.Dir, run *profiles.Run, verb string) error {
	kinds := run.Kinds
	switch {
	case o.kind != "":
		kinds = []string{o.kind}
	case verb == "top" && !o.versus:
		kinds = kinds[:1]
	}
	out := &profile.Profile{Rows: o.rows}
	if verb == "summary" && !o.versus {
		out.About, out.Notes = profile.AboutProfiles(run)
		if !cmd.Flags().Changed("rows") {
			out.Rows = summaryRows
		}
	}
	for _, kind := range kinds {
		p, err := o.load(run, kind)
		if err != nil {
			return err
		}
		if verb == "summary" && !run.PerOp {
			out.Shares = append(out.Shares, slices.DeleteFunc(p.CPUShares(), func(s profiles.CPUShare) bool {
				return o.one && s.Setting != o.setting && !(o.versus && s.Setting == o.base)
			})...)
		}
		for _, s := range run.Settings {
			switch {
			case o.one && s != o.setting, p.Trials(s) == 0:
			case o.versus && s != o.base && p.Trials(o.base) > 0:
				out.Diffs = append(out.Diffs, p.Difference(o.base, s, o.order(), findings.Negligible(dir.Run.Plan)))
			case !o.versus:
				out.Tops = append(out.Tops, p.Top(s, o.order()))
			}
		}
	}
	if o.versus && len(out.Diffs) == 0 {
		return fmt.Errorf("no other setting has profiles to compare with those of %s", layout.Label(o.base))
	}
	w := cmd.OutOrStdout()
	switch o.form() {
	case "json":
		return report.JSON(w, out)
	case "markdown":
		return profile.Markdown(w, out)
	}
	return profile.Text(w, out, lookOf(w))
}

func (o *profileFlags) stacks(cmd *cobra.Command, dir *store.Dir, run *profiles.Run, verb string, match *regexp.Regexp) error {
	kind := cmp.Or(o.kind, run.Kinds[0])
	p, err := o.load(run, kind)
	if err != nil {
		return err
	}
	setting, err := o.choose(run, p)
	if err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	asJSON := o.form() == "json"
	title := func() {
		of := layout.Count(p.Trials(setting), "trial")
		if p.Trials(setting) != 1 {
			of = "mean of " + of
		}
		fmt.Fprintf(w, "%s of %s, %s\n\n", kind, layout.Label(setting), of)
	}
	none := fmt.Errorf("no function in the %s profiles of %s matches %v", kind, layout.Label(setting), match)
	switch verb {
	case "list":
		ls := p.List(match, setting, o.versus, o.base)
		if len(ls) == 0 {
			return none
		}
		if asJSON {
			return report.JSON(w, ls)
		}
		title()
		text, losses := findings.ReadSources(dir, run, ls, kind, setting)
		for _, loss := range losses {
			notef(cmd, "%v", loss)
		}
		return profile.List(w, ls, p.Metric, o.versus, text)
	case "peek":
		sum, err := run.Sum(kind, setting)
		if err != nil {
			return err
		}
		text, err := pprofpage.Peek(kind, sum, match)
		if errors.Is(err, fs.ErrNotExist) {
			return none
		}
		fmt.Fprint(w, text)
		return err
	}
	tree := p.Flame(setting)
	switch {
	case asJSON:
		return report.JSON(w, tree)
	case o.folded:
		return profile.Folded(w, tree, p.Metric)
	}
	title()
	return profile.Flame(w, tree, p.Metric)
}
