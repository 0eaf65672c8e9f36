// Package sheet prints requests or readings of all trials of a run, one a line, for a spreadsheet as in study 000. Fields
// are divided by commas, decimals by points.
package sheet

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/report/export"
	"github.com/dynolab/dyno/internal/store"
)

// A Sheet is what is printed of each trial.
type Sheet struct {
	Noun    string // of a line
	none    string // the error if no trial has any
	alone   bool   // a single trial's lines do not say which trial they are of
	heading []string
	// each gives the lines of a trial to add. fs.ErrNotExist says that it has none.
	each func(dir *store.Dir, r *dyno.Result, note Note, add func(fields ...string) error) error
}

// A Note tells the user what the sheet does not say.
type Note func(format string, args ...any)

// The sheets.
var (
	Requests = Sheet{
		"requests", "the run kept no single requests (consider: a run without --keep-requests none)", true,
		[]string{"client", "request", "elapsed_ms", "latency_ms", "step", "status", "failed"}, eachRequest,
	}
	Series = Sheet{"readings", "nothing was sampled", false, []string{"metric", "sec", "value"}, eachReading}
)

// Print prints the sheet of a run.
func (c *Sheet) Print(out io.Writer, dir *store.Dir, note Note) error {
	w := csv.NewWriter(out)
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
		err := c.each(dir, r, note, add)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if r.Err != "" && rows > before {
			note("trial %d failed, and its %s are included: %s", r.Trial.N, c.Noun, r.Err)
		}
	}
	if rows == 1 {
		return fmt.Errorf("report %s: %s", dir.Path, c.none)
	}
	w.Flush()
	return w.Error()
}

func eachRequest(dir *store.Dir, r *dyno.Result, note Note, add func(...string) error) error {
	millis := func(d time.Duration) string { return strconv.FormatFloat(float64(d)/1e6, 'f', -1, 64) }
	kept := int64(0)
	nth := map[int]int{} // requests of each client
	for q, err := range dir.Requests(r.Trial.N) {
		if errors.Is(err, fs.ErrNotExist) {
			note("trial %d has no requests.parquet", r.Trial.N)
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
		note("trial %d kept %d of %d requests, a uniform sample", r.Trial.N, kept, r.Sent.Requests)
	}
	return nil
}

func eachReading(dir *store.Dir, r *dyno.Result, _ Note, add func(...string) error) error {
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
