package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/plan/flags"
	"github.com/dynolab/dyno/report"
	"github.com/dynolab/dyno/report/layout"
	"github.com/dynolab/dyno/store"
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
		e.Thresholds, err = parseThresholds(vs)
		return err
	})
	o.strictFlag(fs)
}

const thresholdHelp = "`limit` that must hold, or the exit status is 99: 'p99 < 30ms', 'failures == 0', 'change(p99) < 5%'; may be repeated, replaces the plan's"

func (o *outFlags) strictFlag(fs *pflag.FlagSet) {
	fs.BoolVar(&o.strict, "strict", false, "exit with status 98 if a threshold is unclear or, without any, the verdict on a primary metric")
}

func parseThresholds(texts []string) (ths []dyno.Threshold, err error) {
	for _, text := range texts {
		t, err := dyno.ParseThreshold(text)
		if err != nil {
			return nil, err
		}
		ths = append(ths, t)
	}
	return ths, nil
}

// replaceThresholds judges a run anew. An impossible metric is a mistake.
func replaceThresholds(dir *store.Dir, texts []string) error {
	e := dir.Run.Plan
	if len(texts) == 0 {
		return nil
	}
	ths, err := parseThresholds(texts)
	if err != nil {
		return flags.Mistakef("--threshold: %w", err)
	}
	if e.Bench != nil {
		e.Thresholds = ths
		return nil
	}
	names := e.MetricNames()
	for _, r := range dir.Brief() {
		for _, v := range r.Values {
			if !slices.Contains(names, v.Metric) {
				names = append(names, v.Metric)
			}
		}
	}
	if err := dyno.CheckThresholds(ths, names); err != nil {
		return flags.Mistakef("--threshold: %w", err)
	}
	e.Thresholds = ths
	return nil
}

func (o *outFlags) gate(f *findings.Findings) error {
	r := f.Refuse(compare.Demands{Strict: o.strict, NotWorse: o.failWorse})
	switch {
	case r == nil:
		return nil
	case r.Unclear():
		return &gateError{exitUnclear, report.Refused(f.Table, r)}
	}
	return &gateError{exitThreshold, report.Refused(f.Table, r)}
}

const summaryHelp = `
In a job of GitHub, where GITHUB_STEP_SUMMARY is set, the result is appended to the
step's summary too, as --format markdown has it.`

// mostSummary is what GitHub takes as the summary of a step.
const mostSummary = 1 << 20

// stepSummary appends the report to the summary of a GitHub step. It never fails.
func stepSummary(cmd *cobra.Command, f *findings.Findings) {
	path := os.Getenv("GITHUB_STEP_SUMMARY")
	if path == "" {
		return
	}
	var b bytes.Buffer
	err := report.Write(&b, f, "markdown", layout.Options{})
	if info, e := os.Stat(path); e == nil && info.Size()+int64(b.Len()) > mostSummary {
		err = fmt.Errorf("%s has no room for %d bytes more (consider: a step for each run)", path, b.Len())
	}
	if err == nil {
		err = appendTo(path, append([]byte("\n"), b.Bytes()...))
	}
	if err != nil {
		notef(cmd, "the step summary is not written: %v", err)
	}
}

func appendTo(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
