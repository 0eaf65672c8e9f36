package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno/cmd/dyno/sheet"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/dynolab/dyno/internal/store"
)

func newReport() *cobra.Command {
	var o outFlags
	var requests, series string
	var thresholds, serves []string
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Report on a run directory again",
		Long: `Report prints the results of a run again, from its directory alone. The run may still
be under way.

    dyno report dyno-runs/sessions-20261121-101500
    dyno report DIR --format html > report.html      one file to share, as every run writes it
    dyno report DIR --format markdown
    dyno report DIR --format hgrm > latency.hgrm
    dyno report DIR --threshold 'p99 < 30ms'         judge by this, not the plan's thresholds
    dyno report DIR --format junit > junit.xml       also csv (a line for each metric), openmetrics
    dyno report DIR --requests csv > requests.csv    every request, for Excel
    dyno report DIR --series csv > series.csv        memory, heap, CPU ... over time`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if typed(cmd, "requests") { // DYNO_REQUESTS is how many a load sends
				return printSheet(cmd, &sheet.Requests, args[0], "requests", requests)
			}
			if typed(cmd, "series") {
				return printSheet(cmd, &sheet.Series, args[0], "series", series)
			}
			return reportRun(cmd, args[0], &o, thresholds, serves)
		},
	}
	o.formatFlags(cmd.Flags())
	o.strictFlag(cmd.Flags())
	cmd.Flags().StringArrayVar(&thresholds, "threshold", nil, thresholdHelp)
	cmd.Flags().BoolVar(&o.failWorse, "fail-worse", false, "exit with status 99 if a benchmark, or a primary metric of a service, is worse, as dyno bench and dyno run do")
	cmd.Flags().StringVar(&series, "series", "", "print the samples over time, in this `form`: csv")
	cmd.Flags().StringSliceVar(&serves, "serves", nil, "in execution traces, count each goroutine of these `function`s (prefixes) as a request, beside those of net/http; see dyno slow")
	cmd.Flags().StringVar(&requests, "requests", "", "print every kept request, in this `form`: csv")
	return cmd
}

func reportRun(cmd *cobra.Command, path string, o *outFlags, thresholds, serves []string) error {
	dir, err := readNoted(cmd, path)
	if err != nil {
		return err
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
	err = o.end(cmd, f, nil)
	for _, n := range dir.Missing() {
		if file := dir.TrialFile(n, "series.csv"); errors.Is(err, findings.ErrNothing) && exists(file) {
			return fmt.Errorf("%w (consider: %s, the samples of a trial that was killed or is under way)", err, file)
		}
	}
	return err
}

func printSheet(cmd *cobra.Command, s *sheet.Sheet, path, flag, form string) error {
	if form != "csv" {
		return flags.Mistakef("unknown form %q of --%s (want csv)", form, flag)
	}
	if err := alone(cmd, "--"+flag+" prints "+s.Noun+" and cannot be combined with --%s", "format", "json", "threshold"); err != nil {
		return err
	}
	dir, err := readNoted(cmd, path)
	if err != nil {
		return err
	}
	return s.Print(cmd.OutOrStdout(), dir, func(format string, args ...any) { notef(cmd, format, args...) })
}

// readNoted says what was wrong with a run directory when it was opened.
func readNoted(cmd *cobra.Command, path string) (*store.Dir, error) {
	dir, err := store.Read(path)
	if err == nil {
		campaignOf(cmd).NoteLosses(dir)
	}
	return dir, err
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
