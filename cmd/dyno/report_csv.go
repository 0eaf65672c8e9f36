package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/dynolab/dyno/internal/report/export"
	"github.com/dynolab/dyno/internal/store"
)

// A csvOfTrials prints requests or readings of all trials, one a line, for a spreadsheet as in
// study 000. Fields are divided by commas, decimals by points.
type csvOfTrials struct {
	flag, noun string
	none       string // the error if no trial has any
	alone      bool   // a single trial's lines do not say which trial they are of
	heading    []string
	// each gives the lines of a trial to add. fs.ErrNotExist says that it has none.
	each func(cmd *cobra.Command, dir *store.Dir, r *dyno.Result, add func(fields ...string) error) error
}

var (
	requestsCSV = csvOfTrials{
		"requests", "requests", "the run kept no single requests (consider: a run without --keep-requests none)", true,
		[]string{"client", "request", "elapsed_ms", "latency_ms", "step", "status", "failed"}, eachRequest,
	}
	seriesCSV = csvOfTrials{"series", "readings", "nothing was sampled", false, []string{"metric", "sec", "value"}, eachReading}
)

func (c *csvOfTrials) report(cmd *cobra.Command, path, form string) error {
	if form != "csv" {
		return flags.Mistakef("unknown form %q of --%s (want csv)", form, c.flag)
	}
	if err := alone(cmd, "--"+c.flag+" prints "+c.noun+" and cannot be combined with --%s", "format", "json", "threshold"); err != nil {
		return err
	}
	dir, err := readNoted(cmd, path)
	if err != nil {
		return err
	}
	w := csv.NewWriter(cmd.OutOrStdout())
	lead := []string{"trial", "setting"}
	leads := !c.alone || dir.Run.Plan.Planned() > 1
	rows := 0
	add := func(fields ...string) error {
		if leads {
			fields = append(slices.Clip(lead), fields...)
		}
		rows++
		return w.Write(fields)
	}
	add(c.heading...) // its error comes with the first line's
	for _, r := range dir.Results() {
		before := rows
		lead = []string{strconv.Itoa(r.Trial.N), export.Harmless(r.Trial.Setting.String())}
		err := c.each(cmd, dir, r, add)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if r.Err != "" && rows > before {
			notef(cmd, "trial %d failed, and its %s are included: %s", r.Trial.N, c.noun, r.Err)
		}
	}
	if rows == 1 {
		return fmt.Errorf("report %s: %s", path, c.none)
	}
	w.Flush()
	return w.Error()
}

func eachRequest(cmd *cobra.Command, dir *store.Dir, r *dyno.Result, add func(...string) error) error {
	millis := func(d time.Duration) string { return strconv.FormatFloat(float64(d)/1e6, 'f', -1, 64) }
	kept := int64(0)
	nth := map[int]int{} // requests of each client
	for q, err := range dir.Requests(r.Trial.N) {
		if errors.Is(err, fs.ErrNotExist) {
			notef(cmd, "trial %d has no requests.parquet", r.Trial.N)
		}
		if err != nil {
			return err
		}
		kept++
		nth[q.Client]++
		failed := "0"
		if q.Failed {
			failed = "1"
		}
		if err := add(strconv.Itoa(q.Client), strconv.Itoa(nth[q.Client]), millis(q.Done), millis(q.Done-q.Due), q.Step, strconv.Itoa(q.Status), failed); err != nil {
			return err
		}
	}
	if kept < r.Sent.Requests {
		notef(cmd, "trial %d kept %d of %d requests, a uniform sample", r.Trial.N, kept, r.Sent.Requests)
	}
	return nil
}

func eachReading(_ *cobra.Command, dir *store.Dir, r *dyno.Result, add func(...string) error) error {
	all, err := dir.Series(r.Trial.N)
	for _, s := range all {
		for i, at := range s.At {
			sec, value := strconv.FormatFloat(at.Seconds(), 'f', -1, 64), strconv.FormatFloat(s.Value[i], 'g', -1, 64)
			if err := add(export.Harmless(s.Metric), sec, value); err != nil {
				return err
			}
		}
	}
	return err
}
