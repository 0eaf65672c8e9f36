package store

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
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
	most := 0
	if info, err := f.Stat(); err == nil {
		most = int(info.Size() / leastCollection)
	}
	cs, err := readCollections(f, most)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	return cs, nil
}

// leastCollection is how many bytes a line hardly ever has less than.
const leastCollection = 80

// readCollections reads lines of numbers, about so many. Note: encoding/csv takes twice as
// long, which is a second for five trials of hours, each time that a part of them is
// looked at.
func readCollections(r io.Reader, about int) (cs []dyno.Collection, err error) {
	in := bufio.NewScanner(r)
	if !in.Scan() {
		return nil, cmp.Or(in.Err(), io.ErrUnexpectedEOF)
	}
	cs = make([]dyno.Collection, 0, about)
	for line := 2; in.Scan(); line++ {
		f := fields{rest: in.Bytes()}
		var c dyno.Collection
		c.N = int(f.whole())
		for _, d := range durations(&c) {
			*d = time.Duration(f.whole())
		}
		for _, b := range sizes(&c) {
			*b = f.number()
		}
		c.Forced = f.whole() == 1
		if f.err == nil && (f.n != len(collectionsHead) || f.rest != nil) {
			f.err = fmt.Errorf("want %d fields", len(collectionsHead))
		}
		if f.err != nil {
			return nil, fmt.Errorf("line %d: %w", line, f.err)
		}
		cs = append(cs, c)
	}
	return cs, in.Err()
}

// fields are the numbers of a line, with commas between them.
type fields struct {
	rest []byte
	n    int   // that were read
	err  error // the first
}

func (f *fields) next() (field []byte) {
	f.n++
	if i := bytes.IndexByte(f.rest, ','); i >= 0 {
		field, f.rest = f.rest[:i], f.rest[i+1:]
		return field
	}
	field, f.rest = f.rest, nil
	return field
}

func (f *fields) whole() int64 {
	text := f.next()
	if v, ok := digits(text); ok {
		return v
	}
	v, err := strconv.ParseInt(string(text), 10, 64)
	f.err = cmp.Or(f.err, err)
	return v
}

func (f *fields) number() float64 {
	text := f.next()
	if v, ok := digits(text); ok {
		return float64(v)
	}
	v, err := strconv.ParseFloat(string(text), 64)
	f.err = cmp.Or(f.err, err)
	return v
}

// digits reads the most common of numbers: whole and not below 0.
func digits(text []byte) (v int64, ok bool) {
	for _, b := range text {
		if b < '0' || b > '9' {
			return 0, false
		}
		v = v*10 + int64(b-'0')
	}
	return v, len(text) > 0 && len(text) < 16
}
