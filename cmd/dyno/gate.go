package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/pflag"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/report"
)

// A gateError says that all was done, and that it is not what the user wants.
type gateError struct {
	status int // exitThreshold or exitUnclear
	text   string
}

func (e *gateError) Error() string { return e.text }

// thresholdFlags are those of what must hold. They come last, since which metrics
// there are depends on the load.
func (p *planFlags) thresholdFlags(fs *pflag.FlagSet, o *outFlags) {
	p.list(fs, "threshold", "", "limit", thresholdHelp, func(e *dyno.Experiment, vs []string) (err error) {
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

// replaceThresholds makes those of the command line the plan's, of a run that is
// over. A metric that no trial has and no plan could have is a mistake.
func replaceThresholds(e *dyno.Experiment, texts []string, results []*dyno.Result) error {
	if len(texts) == 0 {
		return nil
	}
	ths, err := parseThresholds(texts)
	if err != nil {
		return usagef("--threshold: %w", err)
	}
	names := e.MetricNames()
	for _, r := range results {
		for _, v := range r.Values {
			if !slices.Contains(names, v.Metric) {
				names = append(names, v.Metric)
			}
		}
	}
	for i, t := range ths {
		if _, _, err := t.Of(names); err != nil {
			return usagef("--threshold: %w", err)
		}
		if slices.Contains(ths[:i], t) {
			return usagef("--threshold: %s is given twice", t)
		}
	}
	e.Thresholds = ths
	return nil
}

// gate is the error of thresholds that do not hold, or of what is unclear if that
// is not to be.
func (o *outFlags) gate(t *compare.Table) error {
	failed, unclear := t.Gate()
	undecided := 0
	if len(t.Thresholds) == 0 { // who has named limits wants these decided, not every comparison
		undecided = t.Undecided()
	}
	switch {
	case failed > 0:
		return &gateError{exitThreshold, report.Gate(t)}
	case !o.strict || unclear+undecided == 0:
		return nil
	case unclear > 0:
		return &gateError{exitUnclear, report.Gate(t) + " (--strict)"}
	case undecided == 1:
		return &gateError{exitUnclear, "1 comparison of primary metrics is unclear (--strict)"}
	}
	return &gateError{exitUnclear, fmt.Sprintf("%d comparisons of primary metrics are unclear (--strict)", undecided)}
}

// summaryHelp is of the commands that measure.
const summaryHelp = `
In a job of GitHub, where GITHUB_STEP_SUMMARY is set, the result is appended to the
step's summary too, as --format markdown has it.`

// mostSummary is what GitHub takes as the summary of a step.
const mostSummary = 1 << 20

// stepSummary appends the table to the summary of GitHub's job, if this is one. That
// it cannot is no failure.
func stepSummary(stderr io.Writer, t *compare.Table) {
	appendSummary(stderr, func(w io.Writer) error { return report.Markdown(w, &report.Report{Table: t}) })
}

// appendSummary is stepSummary of any report.
func appendSummary(stderr io.Writer, write func(io.Writer) error) {
	path := os.Getenv("GITHUB_STEP_SUMMARY")
	if path == "" {
		return
	}
	var b bytes.Buffer
	err := write(&b)
	if info, e := os.Stat(path); e == nil && info.Size()+int64(b.Len()) > mostSummary {
		err = fmt.Errorf("%s has no room for %d bytes more (consider: a step for each run)", path, b.Len())
	}
	if err == nil {
		err = appendTo(path, append([]byte("\n"), b.Bytes()...))
	}
	if err != nil {
		fmt.Fprintf(stderr, "note: the step summary is not written: %v\n", err)
	}
}

func appendTo(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// formats are those of the result of a run.
var formats = append(slices.Clone(report.Formats), "html", "hgrm")

// oneRun reports a format that has room for one run only where there may be several.
func (o *outFlags) oneRun(cure string) error {
	if f := string(o.format); !o.json && !slices.Contains([]string{"text", "json", "markdown"}, f) {
		return usagef("--format %s shows one run (consider: %s)", f, cure)
	}
	return nil
}
