package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/cmd/dyno/interrupt"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/campaign"
	"github.com/dynolab/dyno/internal/lab"
	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/dynolab/dyno/internal/report/words"
	"github.com/dynolab/dyno/internal/store"
)

// campaignOf is a campaign that tells the user of a command what it does.
func campaignOf(cmd *cobra.Command) *campaign.Campaign {
	return &campaign.Campaign{Stderr: cmd.ErrOrStderr(), Version: version()}
}

func (o *outFlags) runOf(e *dyno.Experiment) *campaign.Run {
	return &campaign.Run{Plan: e, Path: o.dir, Extended: o.more > 0, NotWorse: o.failWorse, OTLP: o.otlp}
}

// measureInto fills a run directory: resumed, or a new one if that is nil.
func measureInto(cmd *cobra.Command, e *dyno.Experiment, o *outFlags, resumed *store.Dir) error {
	if err := o.check(cmd, e); err != nil {
		return err
	}
	c, r := campaignOf(cmd), o.runOf(e)
	r.Look = !cmd.Flags().Changed("warmup")
	dir, err := c.Measure(cmd.Context(), r, resumed)
	if dir == nil {
		return err
	}
	defer dir.Close()
	o.dir = dir.Path
	return o.conclude(cmd, c, dir, err)
}

func measureOnly(cmd *cobra.Command, e *dyno.Experiment, o *outFlags) error {
	if err := o.check(cmd, e); err != nil {
		return err
	}
	if o.form() == "html" {
		return flags.Mistakef("--format html needs a run directory (consider: --out DIR)")
	}
	c := campaignOf(cmd)
	if err := c.Open(cmd.Context(), e); err != nil {
		return err
	}
	results, err := c.MeasureOnly(cmd.Context(), o.runOf(e))
	return o.end(cmd, findings.Unwritten(e, results), err)
}

// conclude writes the reports of a run directory and prints one, also after an interrupt or an error, which is failed.
func (o *outFlags) conclude(cmd *cobra.Command, c *campaign.Campaign, dir *store.Dir, failed error) error {
	f, err := c.Conclude(dir, failed)
	if f == nil {
		return err
	}
	if alike := (*lab.AlikeError)(nil); errors.As(err, &alike) && o.form() == "text" { // and the progress has shown it
		return errors.New(alike.Rest())
	}
	switch {
	case !errors.Is(err, interrupt.Err):
	case f.Plan.Bench != nil:
		fmt.Fprintf(cmd.ErrOrStderr(), "interrupted: the report covers the complete blocks; resume with dyno bench --resume %s\n", dir.Path)
	default:
		fmt.Fprintf(cmd.ErrOrStderr(), "interrupted: the report is partial, with pictures in %s; resume with dyno run --resume %s\n",
			filepath.Join(dir.Path, campaign.PageFile), dir.Path)
	}
	return o.end(cmd, f, errors.Join(err, f.Missed()))
}

func (o *outFlags) end(cmd *cobra.Command, f *findings.Findings, err error) error {
	noteLeftOut(cmd, f)
	err = errors.Join(err, o.print(cmd, f), f.Nothing())
	if o.steps {
		tellGitHub(cmd, f)
	}
	if err != nil {
		return err
	}
	if text := words.Spared(f.Table); o.failWorse && text != "" {
		notef(cmd, "%s", text)
	}
	return o.gate(f)
}

// noteLeftOut leaves out the directory's own notes, which were printed when it was opened.
func noteLeftOut(cmd *cobra.Command, f *findings.Findings) {
	known := func(d compare.Doubt) bool { return d.Kind == dyno.WarnRunDir }
	for _, text := range words.Doubts(nil, slices.DeleteFunc(slices.Clone(f.Notes), known)) {
		notef(cmd, "%s", text)
	}
}
