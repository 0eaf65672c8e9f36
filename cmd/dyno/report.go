package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno/analysis/benchstat"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/plan/flags"
	"github.com/dynolab/dyno/store"
)

func newReport() *cobra.Command {
	var o outFlags
	var requests, strip, series string
	var thresholds, serves []string
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Report on a run directory again",
		Long: `Report prints what was found in a run, made anew from its directory alone, also
while the run goes on.

    dyno report dyno-runs/sessions-20261121-101500
    dyno report DIR --format html > report.html      one file to pass on, as every run writes it
    dyno report DIR --format markdown
    dyno report DIR --format hgrm > latency.hgrm
    dyno report DIR --threshold 'p99 < 30ms'         judged anew, instead of the plan's
    dyno report DIR --format junit > junit.xml       also csv (a line for each metric), openmetrics
    dyno report DIR --requests csv > requests.csv    every request, for Excel
    dyno report DIR --series csv > series.csv        memory, heap, CPU ... over time
    dyno report DIR --strip 7@2s..2.5s               latency of trial 7 over half a second`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if typed(cmd, "requests") { // DYNO_REQUESTS is how many a load sends
				return requestsCSV.report(cmd, args[0], requests)
			}
			if typed(cmd, "series") {
				return seriesCSV.report(cmd, args[0], series)
			}
			if typed(cmd, "strip") {
				return reportStrip(cmd, args[0], strip)
			}
			return reportRun(cmd, args[0], &o, thresholds, serves)
		},
	}
	o.formatFlags(cmd.Flags())
	o.strictFlag(cmd.Flags())
	cmd.Flags().StringArrayVar(&thresholds, "threshold", nil, thresholdHelp)
	cmd.Flags().BoolVar(&o.failWorse, "fail-worse", false, "of a run of dyno bench, exit with status 99 if anything is worse")
	cmd.Flags().StringVar(&series, "series", "", "print what was sampled over time, in this `form`: csv")
	cmd.Flags().StringVar(&strip, "strip", "", "draw the latency of a `trial` over time with its collections: its number, and @FROM..TO for a part of it")
	cmd.Flags().StringSliceVar(&serves, "serves", nil, "in execution traces, count each goroutine of these `function`s (prefixes) as a request, beside those of net/http")
	cmd.Flags().StringVar(&requests, "requests", "", "print every request that was kept, in this `form`: csv")
	return cmd
}

func reportRun(cmd *cobra.Command, path string, o *outFlags, thresholds, serves []string) error {
	dir, err := readNoted(cmd, path)
	if err != nil {
		return err
	}
	if o.failWorse && dir.Run.Plan.Bench == nil {
		return flags.Mistakef("--fail-worse is for a run of dyno bench (consider: --threshold 'change(p99) < 5%%')")
	}
	if err := o.check(cmd, dir.Run.Plan); err != nil {
		return err
	}
	if err := replaceThresholds(dir, thresholds); err != nil {
		return err
	}
	f, err := findings.Read(dir, findings.Options{Serves: serves})
	if err != nil {
		return err
	}
	return o.end(cmd, f, nil)
}

func readNoted(cmd *cobra.Command, path string) (*store.Dir, error) {
	dir, err := store.Read(path)
	if err == nil {
		noteLosses(cmd, dir)
	}
	return dir, err
}

// noteLosses says what was wrong with a run directory when it was opened.
func noteLosses(cmd *cobra.Command, dir *store.Dir) {
	for _, text := range dir.Notes() {
		notef(cmd, "%s", text)
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

func newCompare() *cobra.Command {
	var o outFlags
	var bench benchstat.Options
	cmd := &cobra.Command{
		Use:   "compare DIR [DIR] | compare FILE...",
		Short: "Compare the settings of a run, two runs, or benchmark files",
		Long: `Compare prints the settings of one run against its baseline, as report does, or
each setting of a second run against the same of a first, a table each. Two runs
were not made side by side: a drift of the machine between them counts as a
change, and the report says so. One run that varies what differs is the better experiment.

    dyno compare dyno-runs/a dyno-runs/b

Of files that go test -bench has written it prints what benchstat prints of them,
the same medians, changes and p-values, and what they cannot tell. A file is PATH,
LABEL=PATH, or - for standard input; keys and queries are those of benchstat.

    dyno compare old.txt new.txt
    dyno compare new.txt --col /format --row .name`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			files, err := benchInputs(args)
			if err != nil {
				return err
			}
			if files != nil {
				return compareBenchmarks(cmd, files, bench, &o)
			}
			if err := onlyBenchFiles(cmd); err != nil {
				return err
			}
			if len(args) > 2 {
				return flags.Mistakef("%d run directories (want one or two)", len(args))
			}
			if len(args) == 1 {
				return reportRun(cmd, args[0], &o, nil, nil)
			}
			if err := o.oneRun("dyno report DIR --format " + o.form() + " for each"); err != nil {
				return err
			}
			first, _ := os.Stat(args[0])
			second, _ := os.Stat(args[1])
			if os.SameFile(first, second) {
				return flags.Mistakef("%s and %s are one run (consider: dyno compare %[1]s, for its settings)", args[0], args[1])
			}
			return compareRuns(cmd, args[0], args[1], &o)
		},
	}
	o.formatFlags(cmd.Flags())
	benchstatFlags(cmd.Flags(), &bench)
	return cmd
}

// compareRuns prints a table for each setting that both runs have.
func compareRuns(cmd *cobra.Command, a, b string, o *outFlags) error {
	first, err := store.Read(a)
	if err != nil {
		return err
	}
	second, err := store.Read(b)
	if err != nil {
		return err
	}
	tables, err := findings.Compare(first, second)
	if errors.Is(err, findings.ErrBenchmarks) {
		return flags.Mistakef("%w", err)
	}
	for i, t := range tables {
		if i > 0 && o.form() != "json" {
			fmt.Fprintln(cmd.OutOrStdout())
		}
		err = errors.Join(err, o.printTable(cmd, t))
		if t.Trials == 0 {
			err = errors.Join(err, errNothing)
		}
	}
	return err
}
