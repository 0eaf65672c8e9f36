package store

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/dynolab/dyno"
)

// collectionsHead names the columns of gc.csv.
var collectionsHead = []string{
	"n", "start_ns", "end_ns", "uncertainty_ns", "sweep_term_ns", "mark_term_ns", "assist_ns", "background_ns", "idle_ns",
	"heap_start_B", "heap_end_B", "live_B", "goal_B", "forced",
}

// writeCollections writes one collection a line.
func writeCollections(w io.Writer, cs []dyno.Collection) error {
	out := csv.NewWriter(w)
	out.Write(collectionsHead) // Error says what went wrong
	fields := make([]string, len(collectionsHead))
	for i := range cs {
		c := &cs[i]
		fields[0] = strconv.Itoa(c.N)
		for k, d := range durations(c) {
			fields[1+k] = strconv.FormatInt(int64(*d), 10)
		}
		for k, b := range sizes(c) {
			fields[9+k] = strconv.FormatFloat(*b, 'f', -1, 64)
		}
		fields[13] = "0"
		if c.Forced {
			fields[13] = "1"
		}
		out.Write(fields)
	}
	out.Flush()
	return out.Error()
}

func durations(c *dyno.Collection) [8]*time.Duration {
	return [...]*time.Duration{&c.Start, &c.End, &c.Uncertainty, &c.SweepTerm, &c.MarkTerm, &c.Assist, &c.Background, &c.Idle}
}

func sizes(c *dyno.Collection) [4]*float64 {
	return [...]*float64{&c.HeapStart, &c.HeapEnd, &c.Live, &c.Goal}
}

// Collections reads the collections of trial n. The error is fs.ErrNotExist if
// there was none, or nobody watched for them.
func (d *Dir) Collections(n int) ([]dyno.Collection, error) {
	f, err := os.Open(filepath.Join(d.trialDir(n), collectionsFile))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	cs, err := readCollections(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	return cs, nil
}

func readCollections(r io.Reader) (cs []dyno.Collection, err error) {
	in := csv.NewReader(r)
	in.FieldsPerRecord, in.ReuseRecord = len(collectionsHead), true
	if _, err := in.Read(); err != nil {
		return nil, err
	}
	for {
		fields, err := in.Read()
		if errors.Is(err, io.EOF) {
			return cs, nil
		}
		if err != nil {
			return nil, err
		}
		var c dyno.Collection
		var errs [13]error
		c.N, errs[0] = strconv.Atoi(fields[0])
		for k, d := range durations(&c) {
			var ns int64
			ns, errs[1+k] = strconv.ParseInt(fields[1+k], 10, 64)
			*d = time.Duration(ns)
		}
		for k, b := range sizes(&c) {
			*b, errs[9+k] = strconv.ParseFloat(fields[9+k], 64)
		}
		c.Forced = fields[13] == "1"
		if err := errors.Join(errs[:]...); err != nil {
			line, _ := in.FieldPos(0)
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		cs = append(cs, c)
	}
}
