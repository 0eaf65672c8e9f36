package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/timeline"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/plan/flags"
	"github.com/dynolab/dyno/report"
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
	err = o.end(cmd, f, nil)
	for _, n := range dir.Missing() {
		if file := dir.TrialFile(n, "series.csv"); errors.Is(err, errNothing) && exists(file) {
			return fmt.Errorf("%w (consider: %s, where the samples of one that was killed, or is under way, are)", err, file)
		}
	}
	return err
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

// A strip is what --strip shows: a trial, and what part of its window.
type strip struct {
	trial    int
	from, to time.Duration // to 0 is its end
}

// parseStrip reads 7 or 7@2s..2.5s.
func parseStrip(text string) (s strip, err error) {
	bad := flags.Mistakef("--strip %s: want the number of a trial, and what part of its window if not all, such as 7@2s..2.5s", text)
	trial, part, parted := strings.Cut(text, "@")
	if s.trial, err = strconv.Atoi(trial); err != nil {
		return s, bad
	}
	if !parted {
		return s, nil
	}
	from, to, ok := strings.Cut(part, "..")
	var errTo error
	s.from, err = time.ParseDuration(from)
	s.to, errTo = time.ParseDuration(to)
	if !ok || err != nil || errTo != nil || s.from < 0 || s.to <= s.from {
		return s, bad
	}
	return s, nil
}

func reportStrip(cmd *cobra.Command, path, text string) error {
	s, err := parseStrip(text)
	if err != nil {
		return err
	}
	if err := alone(cmd, "--strip draws one trial, --%s is of the table", "format", "json"); err != nil {
		return err
	}
	dir, err := store.Read(path)
	if err != nil {
		return err
	}
	for _, r := range dir.Results() {
		if r.Trial.N == s.trial {
			return drawStrip(cmd, dir, r, s)
		}
	}
	return fmt.Errorf("report %s: trial %d has no result", path, s.trial)
}

func drawStrip(cmd *cobra.Command, dir *store.Dir, r *dyno.Result, s strip) error {
	w := cmd.OutOrStdout()
	o := lookOf(w)
	about := fmt.Sprintf("Latency over time: trial %d %s", r.Trial.N, r.Trial.Setting)
	cs, err := findings.Collections(dir, r)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		about += "; its collections are not known"
	case err != nil:
		about += "; " + err.Error()
	}
	h, err := timeline.HeatOf(dir.Times(r.Trial.N, 0, math.MaxInt64), cs, s.from, s.to, report.StripRows, report.StripColumns(o))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("report %s: trial %d has no requests.parquet (consider: a run without --keep-requests none)", dir.Path, r.Trial.N)
	}
	if err != nil {
		return err
	}
	if h == nil {
		return fmt.Errorf("report %s: in that part of trial %d no request that succeeded was due (consider: --strip %[2]d)", dir.Path, r.Trial.N)
	}
	return report.Strip(w, h, about, o)
}
