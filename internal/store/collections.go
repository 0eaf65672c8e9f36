package store

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"os"
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

// Collections reads the collections of trial n. The error is fs.ErrNotExist if there
// were none or they were not recorded.
func (d *Dir) Collections(n int) (cs []dyno.Collection, err error) {
	err = d.withFile(n, collectionsFile, func(f *os.File) error {
		most := 0
		if info, err := f.Stat(); err == nil {
			most = int(min(info.Size()/leastCollection, mostRoom))
		}
		cs, err = readCollections(f, most)
		return err
	})
	return cs, err
}

// mostRoom is for how many collections there is room before they are read.
const mostRoom = 1 << 18

// leastCollection is a length in bytes that hardly any line is shorter than.
const leastCollection = 80

// readCollections reads all lines; about is how many are expected. Note: encoding/csv takes twice as long, a
// second for five trials of hours, each time that a part of them is shown.
func readCollections(r io.Reader, about int) (cs []dyno.Collection, err error) {
	in := bufio.NewScanner(r)
	if !in.Scan() {
		return nil, cmp.Or(in.Err(), io.ErrUnexpectedEOF)
	}
	cs = make([]dyno.Collection, 0, about)
	for line := 2; in.Scan(); line++ {
		v, err := numbers(in.Bytes())
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		c := dyno.Collection{N: int(v[0]), Forced: v[13] == 1}
		for i, d := range durations(&c) {
			*d = time.Duration(v[1+i])
		}
		for i, b := range sizes(&c) {
			*b = v[9+i]
		}
		cs = append(cs, c)
	}
	return cs, in.Err()
}

// numbers reads a line. A float64 is exact for the nanoseconds of 100 days.
func numbers(line []byte) (vs [14]float64, err error) {
	for i := range vs {
		field, rest, more := bytes.Cut(line, []byte(","))
		if more == (i == len(vs)-1) {
			return vs, fmt.Errorf("want %d fields", len(vs))
		}
		if vs[i], err = number(field); err != nil {
			return vs, err
		}
		line = rest
	}
	return vs, nil
}

// number has a fast way for the most common numbers: whole and not negative.
func number(text []byte) (float64, error) {
	v := int64(0)
	for _, b := range text {
		if b < '0' || b > '9' || len(text) > 15 {
			return strconv.ParseFloat(string(text), 64)
		}
		v = v*10 + int64(b-'0')
	}
	if len(text) == 0 {
		return 0, strconv.ErrSyntax
	}
	return float64(v), nil
}
