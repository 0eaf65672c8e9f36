package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/tail"
	"github.com/dynolab/dyno/analysis/timeline"
	"github.com/dynolab/dyno/report"
	"github.com/dynolab/dyno/store"
)

// mostTail is of how many requests that were kept a report looks at the tail:
// they are read twice, which takes some seconds for each hundred million.
const mostTail = 100_000_000

// tails holds the slowest requests of each trial against its collections, where
// both are known.
func tails(cmd *cobra.Command, dir *store.Dir, results []*dyno.Result) map[int]*tail.Trial {
	note := func(format string, args ...any) { fmt.Fprintf(cmd.ErrOrStderr(), "note: "+format+"\n", args...) }
	most := int64(dyno.DefaultMaxRequestsKept)
	if n := dir.Run.Plan.Load.MaxRequestsKept; n > 0 {
		most = int64(n)
	}
	kept := int64(0)
	for _, r := range results {
		if r.Trial.For == "" && r.Err == "" {
			kept += min(r.Sent.Requests, most)
		}
	}
	if kept > mostTail {
		note("the tail is left out: %d requests would have to be read (consider: --max-requests-kept)", kept)
		return nil
	}
	of := map[int]*tail.Trial{}
	for _, r := range results {
		if r.Trial.For != "" || r.Err != "" || !dyno.Counts(r, "p99-sec") {
			continue
		}
		cs, err := collections(dir, r)
		if err == nil {
			of[r.Trial.N], err = tail.New(dir.Times(r.Trial.N, 0, math.MaxInt64), cs)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			note("the tail of trial %d is left out: %v", r.Trial.N, err)
		}
	}
	return of
}

// lostCollections is the share of a trial's collections without which it is not
// known which requests met none.
const lostCollections = 0.02

// collections are those of a trial. The error is fs.ErrNotExist if nobody knows
// them.
func collections(dir *store.Dir, r *dyno.Result) ([]dyno.Collection, error) {
	cycles, counted := r.Values.Get("gc-cycles")
	cs, err := dir.Collections(r.Trial.N)
	switch {
	case errors.Is(err, fs.ErrNotExist) && counted && cycles == 0:
		return nil, nil
	case err == nil && counted && float64(len(cs)) < cycles*(1-lostCollections)-2:
		return nil, fmt.Errorf("gc.csv has %d of %.0f collections", len(cs), cycles)
	}
	return cs, err
}

// A strip is what --strip shows: a trial, and what part of its window.
type strip struct {
	trial    int
	from, to time.Duration // to 0 is its end
}

// parseStrip reads 7 or 7@2s..2.5s.
func parseStrip(text string) (s strip, err error) {
	bad := usagef("--strip %s: want the number of a trial, and what part of its window if not all, such as 7@2s..2.5s", text)
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

// reportStrip draws the latency of one trial over time.
func reportStrip(cmd *cobra.Command, path, text string) error {
	s, err := parseStrip(text)
	if err != nil {
		return err
	}
	for _, other := range []string{"format", "json"} {
		if typed(cmd, other) {
			return usagef("--strip draws one trial, --%s is of the table: only one of them can be had", other)
		}
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
	width, color := terminal(w)
	o := report.Options{Width: width, Color: color}
	about := fmt.Sprintf("Latency over time: trial %d %s", r.Trial.N, r.Trial.Setting)
	cs, err := collections(dir, r)
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
