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
	"github.com/dynolab/dyno/analysis/timeline"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/plan/flags"
	"github.com/dynolab/dyno/report"
	"github.com/dynolab/dyno/store"
)

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
