package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/benchstat"
	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/report"
	"github.com/dynolab/dyno/store"
)

// A benchFound is a report of benchmarks, made from a run directory.
type benchFound struct {
	report.Report
	results []*dyno.Result
}

// findBench reads a run directory. Its bench.txt is written already.
func findBench(dir *store.Dir) (*benchFound, error) {
	f := &benchFound{results: dir.Results()}
	f.Table = compare.TabulateBenchmarks(dir.Run.Plan, f.results)
	f.Table.Warnings = append(f.Table.Warnings, dir.Notes()...)
	var notes []string
	f.Whys, notes = whys(dir, f.Table, f.results)
	f.Table.Warnings = append(f.Table.Warnings, notes...)
	var err error
	if f.Against, err = against(dir); err != nil {
		return nil, fmt.Errorf("compare with the baseline: %w", err)
	}
	return f, nil
}

// unmeasured is an error if nothing was measured, which is never a pass.
func (f *benchFound) unmeasured() error {
	if f.Table.Blocks == 0 {
		return errors.New("no block was finished")
	}
	return nil
}

// finishBench writes the files that are made from results, and reports: also after an
// interrupt or an error, whatever was measured by then.
func finishBench(cmd *cobra.Command, dir *store.Dir, o *benchFlags, err error) error {
	err = errors.Join(err, dir.WriteFile("bench.txt", func(w io.Writer) error {
		h := dir.Run.Host
		fmt.Fprintf(w, "goos: %s\ngoarch: %s\ncpu: %s\n", h.OS, h.Arch, cmp.Or(h.CPU, "unknown"))
		return report.Bench(w, baselineFirst(dir.Run.Plan, dir.Results()), dir.Run.Plan.Name)
	}))
	if o.cache != "" && err == nil {
		err = fillCache(o.cache, dir)
	}
	f, e := findBench(dir)
	if e != nil {
		return errors.Join(err, e)
	}
	err = errors.Join(err, concludeBench(dir, f), f.print(cmd, dir, &o.out), f.unmeasured())
	if o.out.steps {
		appendSummary(cmd.ErrOrStderr(), func(w io.Writer) error { return report.Markdown(w, &f.Report) })
	}
	if err != nil {
		return err
	}
	return f.gate(dir.Run.Plan, o.failWorse, o.out.strict)
}

// concludeBench writes the files of a run directory that are made from its results.
func concludeBench(dir *store.Dir, f *benchFound) error {
	err := dir.WriteFile(pageFile, func(w io.Writer) error { return f.html(w, dir) })
	if errors.Is(err, syscall.ENOSPC) {
		err = fmt.Errorf("%w; what was measured is whole (consider: dyno report %s --format html > FILE, on another disk)", err, dir.Path)
	}
	return errors.Join(dir.WriteFile("summary.json", func(w io.Writer) error { return report.JSON(w, &f.Report) }), err)
}

// reportBench reports on a run directory of benchmarks again.
func reportBench(cmd *cobra.Command, dir *store.Dir, o *outFlags, thresholds []string, failWorse bool) error {
	if err := benchFormat(o); err != nil {
		return err
	}
	if err := o.check(cmd, dir.Run.Plan); err != nil {
		return err
	}
	if len(thresholds) > 0 {
		ths, err := parseThresholds(thresholds)
		if err != nil {
			return usagef("--threshold: %w", err)
		}
		dir.Run.Plan.Thresholds = ths
	}
	f, err := findBench(dir)
	if err != nil {
		return err
	}
	if err := errors.Join(f.print(cmd, dir, o), f.unmeasured()); err != nil {
		return err
	}
	return f.gate(dir.Run.Plan, failWorse, o.strict)
}

// print writes the report to standard output.
func (f *benchFound) print(cmd *cobra.Command, dir *store.Dir, o *outFlags) error {
	w := cmd.OutOrStdout()
	if o.format == "html" {
		return f.html(w, dir)
	}
	if err := o.write(w, &f.Report); err != nil || o.format != "text" || o.json {
		return err
	}
	if len(f.Whys) > 0 {
		fmt.Fprintf(w, "\nMore: %s profile %s --bench '%s' --base '%s'\n", self(), dir.Path, f.Whys[0].Benchmark, f.Whys[0].Parts[0].Diff.Base)
	}
	return nil
}

// html writes the report as one file.
func (f *benchFound) html(w io.Writer, dir *store.Dir) error {
	return report.HTML(w, &report.Page{Report: f.Report, Trials: f.results, Origin: originOf(dir, f.results)})
}

// gate is the error of what is not as the user wants it: thresholds that do not hold,
// what is worse with --fail-worse, what is unclear with --strict.
func (f *benchFound) gate(e *dyno.Experiment, failWorse, strict bool) error {
	count := func(o compare.Outcome) (n int, first string) {
		for _, j := range f.Table.Thresholds {
			if j.Outcome != o {
				continue
			}
			if n++; n > 1 {
				continue
			}
			first = j.Threshold.String()
			if j.Benchmark != nil {
				first = j.Benchmark.Full() + ", " + first
			}
		}
		return n, first
	}
	failed, first := count(compare.Failed)
	worse := f.Table.Worse() + worseThan(f.Against)
	broken := f.Table.Broken()
	unclear, doubt := count(compare.Unclear)
	switch undecided := f.Table.Undecided(); {
	case failed == 1:
		return &gateError{exitThreshold, "a threshold failed: " + first}
	case failed > 1:
		return &gateError{exitThreshold, fmt.Sprintf("%d thresholds failed, the first: %s", failed, first)}
	case failWorse && worse == 1:
		return &gateError{exitThreshold, "1 comparison is worse (--fail-worse)"}
	case failWorse && worse > 1:
		return &gateError{exitThreshold, fmt.Sprintf("%d comparisons are worse (--fail-worse)", worse)}
	case failWorse && broken != nil:
		return &gateError{exitThreshold, nameOf(broken.Package, broken.Name) + " fails, and not in the baseline (--fail-worse)"}
	case !strict:
	case unclear > 0:
		return &gateError{exitUnclear, fmt.Sprintf("%d thresholds are unclear, the first: %s (--strict)", unclear, doubt)}
	case len(e.Thresholds) == 0 && undecided > 0: // who has named limits wants these decided
		return &gateError{exitUnclear, fmt.Sprintf("%d comparisons are unclear (--strict)", undecided)}
	}
	return nil
}

// worseThan counts what is worse than in a baseline file, which may be nil.
func worseThan(t *benchstat.Tables) (n int) {
	if t == nil {
		return 0
	}
	for _, table := range t.Tables {
		for _, row := range table.Rows {
			for _, c := range row.Cells {
				if c != nil && c.Versus != nil && c.Versus.Changed() && float64(table.Better)*(c.Versus.Ratio-1) < 0 {
					n++
				}
			}
		}
	}
	return n
}
