package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/campaign/progress"
	"github.com/dynolab/dyno/internal/lab/otlp"
	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/dynolab/dyno/internal/report"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/tables"
	"github.com/dynolab/dyno/internal/report/words"
)

type outFlags struct {
	dir string
	format
	full      bool        // all tables are printed
	lines     int         // of the text; 0 means a screen
	strict    bool        // what is unclear is an error
	failWorse bool        // and so is what is worse
	steps     bool        // the result goes to the summary of GitHub's step too
	otlp      otlp.Target // where live metrics go
	more      int         // blocks that are added to a run
}

func (o *outFlags) flags(fs *pflag.FlagSet, otherwise string) {
	fs.StringVar(&o.dir, "out", "", "the run `dir`ectory ("+otherwise+")")
	o.formatFlags(fs)
}

func (o *outFlags) formatFlags(fs *pflag.FlagSet) {
	all := report.Formats(compare.OfService)
	usage := strings.Replace(strings.Join(all, ", "), ", hgrm", " or hgrm (latency, for HdrHistogram's plotter)", 1)
	o.format.flags(fs, "format of the result: "+usage, all...)
	fs.BoolVarP(&o.full, "full", "v", false, "print all tables instead of one screen")
}

func (o *outFlags) otlpFlag(fs *pflag.FlagSet) {
	fs.Var(&o.otlp, "otlp", "push live metrics of each trial every 5s to the OpenTelemetry collector at this `URL`, such as http://127.0.0.1:4318")
}

func (o *outFlags) look(w io.Writer) layout.Options {
	look := lookOf(w)
	look.Strict, look.Full, look.Lines = o.strict, o.full, o.lines
	return look
}

func lookOf(w io.Writer) layout.Options {
	width, color := progress.Terminal(w)
	return layout.Options{Width: width, Color: color}
}

// check reports a form that the results cannot have, before they are measured.
func (o *outFlags) check(cmd *cobra.Command, e *dyno.Experiment) error {
	form := o.form()
	if want := report.Formats(compare.OfBenchmarks); e.Bench != nil && !slices.Contains(want, form) {
		return flags.Mistakef("--format %s is not for benchmarks (want %s)", form, strings.Join(want, ", "))
	}
	if err := o.forFile(cmd, "report.html"); err != nil {
		return err
	}
	if n := len(e.Levels()); form == "hgrm" && n > 1 {
		return flags.Mistakef("--format hgrm shows one setting, not %d (consider: --format text, or the latency.hlog of each trial)", n)
	}
	repeats := e.Resolved().Repeats
	if !o.failWorse || e.Bench != nil {
		return nil
	}
	least := compare.FewestGateBlocks()
	if len(e.Levels()) < 2 {
		return flags.Mistakef("--fail-worse needs two settings, but there is one (consider: --vary rev=main,. or --threshold 'p99 < 30ms')")
	}
	if repeats > 0 && repeats < least {
		return flags.Mistakef("--fail-worse cannot fail with %s: an error of %v needs %d (consider: --repeat %d, or no --repeat)",
			layout.Count(repeats, "block"), dyno.Fraction(compare.GateAlpha), least, least)
	}
	return nil
}

// oneRun reports a format that has room for one run only where there may be several.
func (o *outFlags) oneRun(cure string) error {
	if f := o.form(); !slices.Contains([]string{"text", "json", "markdown"}, f) {
		return flags.Mistakef("--format %s shows one run (consider: %s)", f, cure)
	}
	return nil
}

func (o *outFlags) print(cmd *cobra.Command, f *findings.Findings) error {
	w, form := cmd.OutOrStdout(), o.form()
	if form == "hgrm" {
		if f.Table.Trials == 0 {
			return nil // which is an error by itself
		}
		for _, warning := range words.Warnings(f.Table) {
			notef(cmd, "%s", warning)
		}
	}
	if err := report.Write(w, f, form, o.look(w)); err != nil {
		return err
	}
	if form == "text" && len(f.Whys) > 0 {
		fmt.Fprintf(w, "\nMore: %s profile %s --bench '%s' --base '%s'\n", self(), f.Dir.Path, f.Whys[0].Benchmark, f.Whys[0].Parts[0].Diff.Base)
	}
	return nil
}

func (o *outFlags) printTable(cmd *cobra.Command, t *compare.Table) error {
	w, r := cmd.OutOrStdout(), &tables.Report{Table: t, Head: answer.Head{Dyno: version(), Made: time.Now()}}
	switch o.form() {
	case "json":
		return report.JSON(w, r)
	case "markdown":
		return report.Markdown(w, r)
	}
	return report.Text(w, r, o.look(w))
}
