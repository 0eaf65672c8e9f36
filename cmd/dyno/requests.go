package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/plan/flags"
	"github.com/dynolab/dyno/store"
)

// excelRows is how many rows Excel opens of a file, the heading included.
const excelRows = 1 << 20

// typed reports whether a flag was given on the command line itself.
func typed(cmd *cobra.Command, name string) bool {
	f := cmd.Flags().Lookup(name)
	_, env := f.Annotations[byEnvironment]
	return f.Changed && !env
}

// alone reports a flag that is typed beside one that goes without it.
func alone(cmd *cobra.Command, text string, others ...string) error {
	for _, other := range others {
		if typed(cmd, other) {
			return flags.Mistakef(text+": only one of them can be had", other)
		}
	}
	return nil
}

func reportRequests(cmd *cobra.Command, path, form string) error {
	if form != "csv" {
		return flags.Mistakef("unknown form %q of requests (want csv)", form)
	}
	if err := alone(cmd, "--requests prints requests, --%s a table", "format", "json"); err != nil {
		return err
	}
	dir, err := readNoted(cmd, path)
	if err != nil {
		return err
	}
	c := &requestsCSV{w: bufio.NewWriterSize(cmd.OutOrStdout(), 64<<10), trials: dir.Run.Plan.Planned() > 1}
	if c.trials {
		io.WriteString(c.w, "trial,setting,") // its error comes with the first line's
	}
	io.WriteString(c.w, "client,request,elapsed_ms,latency_ms,step,status,failed\n")
	found := false
	for _, r := range dir.Results() {
		before := c.rows
		err := c.trial(r, dir)
		if errors.Is(err, fs.ErrNotExist) {
			notef(cmd, "trial %d has no requests.parquet", r.Trial.N)
			continue
		}
		if err != nil {
			return err
		}
		found = true
		if r.Err != "" {
			notef(cmd, "trial %d failed, its requests are among these: %s", r.Trial.N, r.Err)
		}
		if n := c.rows - before; n < r.Sent.Requests {
			notef(cmd, "of trial %d these are %d of %d requests, a uniform sample", r.Trial.N, n, r.Sent.Requests)
		}
	}
	if !found {
		return fmt.Errorf("report %s: no single request was kept (consider: a run without --keep-requests none)", path)
	}
	if c.rows >= excelRows {
		notef(cmd, "these are %d requests, of which Excel opens %d", c.rows, excelRows-1)
	}
	return c.w.Flush()
}

// A requestsCSV is for Excel, as study 000 did it: commas divide, points are decimal.
type requestsCSV struct {
	w      *bufio.Writer
	trials bool // the run has several, so each line says which it is of
	rows   int64
	line   []byte
}

func (c *requestsCSV) trial(r *dyno.Result, dir *store.Dir) error {
	lead := ""
	if c.trials {
		lead = strconv.Itoa(r.Trial.N) + "," + csvField(r.Trial.Setting.String()) + ","
	}
	nth := map[int]int64{} // requests of each client
	for q, err := range dir.Requests(r.Trial.N) {
		if err != nil {
			return err
		}
		c.rows++
		nth[q.Client]++
		b := append(c.line[:0], lead...)
		b = append(strconv.AppendInt(b, int64(q.Client), 10), ',')
		b = append(strconv.AppendInt(b, nth[q.Client], 10), ',')
		b = append(appendMillis(b, q.Done), ',')
		b = append(appendMillis(b, q.Done-q.Due), ',')
		b = append(append(b, csvField(q.Step)...), ',')
		b = append(strconv.AppendInt(b, int64(q.Status), 10), ',', '0', '\n')
		if q.Failed {
			b[len(b)-2] = '1'
		}
		c.line = b
		if _, err := c.w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

func appendMillis(b []byte, d time.Duration) []byte {
	return strconv.AppendFloat(b, float64(d)/1e6, 'f', -1, 64)
}

// csvField quotes a field where it must be (RFC 4180).
func csvField(s string) string {
	if !strings.ContainsAny(s, ",\"\r\n") {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}
