package main

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/cmd/dyno/github"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/plan/check"
	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/dynolab/dyno/internal/report/tables"
	"github.com/dynolab/dyno/internal/store"
)

// A gateError is of a run that was done, and is not what the user wants.
type gateError struct {
	status int // exitThreshold or exitUnclear
	text   string
}

func (e *gateError) Error() string { return e.text }

// reported reports whether a run came to its end, whatever was judged of it.
func reported(err error) bool {
	gate := (*gateError)(nil)
	return err == nil || errors.As(err, &gate)
}

// thresholdFlags come last, since the load decides which metrics there are.
func thresholdFlags(p *flags.Set, fs *pflag.FlagSet, o *outFlags) {
	p.List(fs, "threshold", "", "limit", thresholdHelp, func(e *dyno.Experiment, vs []string) (err error) {
		e.Thresholds, err = flags.Thresholds(vs)
		return err
	})
	o.strictFlag(fs)
}

const thresholdHelp = "`limit` that must hold, or the exit status is 99: 'p99 < 30ms', 'failures == 0', 'change(p99) < 5%'; may be repeated, replaces the plan's"

func (o *outFlags) strictFlag(fs *pflag.FlagSet) {
	fs.BoolVar(&o.strict, "strict", false, "exit with status 98 if a threshold is unclear or, without thresholds, the verdict on a primary metric is")
}

// replaceThresholds judges a run anew. An impossible metric is a mistake.
func replaceThresholds(dir *store.Dir, texts []string) error {
	e := dir.Run.Plan
	if len(texts) == 0 {
		return nil
	}
	ths, err := flags.Thresholds(texts)
	if err != nil {
		return flags.Mistakef("--threshold: %w", err)
	}
	names := e.MetricNames()
	for _, r := range dir.Brief() {
		for _, v := range r.Values {
			names = append(names, v.Metric)
		}
	}
	if err := check.Thresholds(ths, names); err != nil {
		return flags.Mistakef("--threshold: %w", err)
	}
	e.Thresholds = ths
	return nil
}

func (o *outFlags) gate(f *findings.Findings) error {
	r := f.Refuse(compare.Demands{Strict: o.strict, NotWorse: o.failWorse})
	if r == nil {
		return nil
	}
	status := exitThreshold
	if r.Unclear() {
		status = exitUnclear
	}
	return &gateError{status, tables.Refused(f.Table, r)}
}

const summaryHelp = `
In a GitHub job, where GITHUB_STEP_SUMMARY is set, dyno also appends the result to the
step summary, as --format markdown prints it.`

// tellGitHub puts the result into the summary of a step, and warnings to lines. It never fails.
func tellGitHub(cmd *cobra.Command, f *findings.Findings) {
	if err := errors.Join(github.Summary(f), github.Annotate(cmd.ErrOrStderr(), f.Table)); err != nil {
		notef(cmd, "GitHub does not get the result: %v", err)
	}
}
