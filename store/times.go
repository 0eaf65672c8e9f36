package store

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/dynolab/dyno"
)

// Kept returns how many requests of trial n were kept. The error is fs.ErrNotExist
// if none were.
func (d *Dir) Kept(n int) (rows int64, err error) {
	err = d.withParquet(n, requestsFile, func(file *parquet.File) error {
		rows = file.NumRows()
		return nil
	})
	return rows, err
}

// Times yields when the requests of trial n were due and done, row group by row
// group. It leaves out groups without a request that was due from one time to
// another, both included. A value is valid until the next. The error, the last of the
// sequence, is fs.ErrNotExist if no requests were kept.
func (d *Dir) Times(n int, from, to time.Duration) iter.Seq2[dyno.Times, error] {
	return func(yield func(dyno.Times, error) bool) {
		err := d.withParquet(n, requestsFile, func(file *parquet.File) error { return readTimes(file, from, to, yield) })
		if err != nil {
			yield(dyno.Times{}, err)
		}
	}
}

// readTimes returns nil when yield wants no more.
func readTimes(file *parquet.File, from, to time.Duration, yield func(dyno.Times, error) bool) error {
	var r timesReader
	next := int64(0)
	for group, err := range groups(file, "due_ns", "done_ns", "failed") {
		if err != nil {
			return err
		}
		r.Row = next
		next += group.NumRows()
		reaches, err := r.read(group, int64(from), int64(to))
		if err != nil {
			return err
		}
		if reaches && !yield(r.Times, nil) {
			return nil
		}
	}
	return nil
}

// A timesReader reads the times of row groups, one after another.
type timesReader struct {
	dyno.Times
	failed []bool // the memory of Failed
}

// read reads a row group, unless none of its requests was due between the two times.
func (r *timesReader) read(group rowGroup, from, to int64) (reaches bool, err error) {
	defer unpanic(&err)
	due, done, failed, rows := group.columns[0], group.columns[1], group.columns[2], group.NumRows()
	if least, greatest, ok := boundsOf(due); ok && (least.Int64() > to || greatest.Int64() < from) {
		return false, nil
	}
	room := int(max(0, min(rows, requestGroup)))
	if r.Due, err = readColumn(due, slices.Grow(r.Due[:0], room), int64sOf); err != nil {
		return false, err
	}
	if r.Done, err = readColumn(done, slices.Grow(r.Done[:0], room), int64sOf); err != nil {
		return false, err
	}
	r.Failed = nil
	if _, any, ok := boundsOf(failed); !ok || any.Boolean() {
		if r.failed, err = readColumn(failed, r.failed[:0], boolsOf); err != nil {
			return false, err
		}
		r.Failed = r.failed
	}
	if int64(len(r.Due)) != rows || int64(len(r.Done)) != rows || r.Failed != nil && int64(len(r.Failed)) != rows {
		return false, fmt.Errorf("%w: a column of another length than its row group", parquet.ErrCorrupted)
	}
	return true, nil
}

// RequestsAt reads the given rows of the requests of trial n, sorted. The error is
// fs.ErrNotExist if none were kept.
func (d *Dir) RequestsAt(n int, rows []int64) (rs []dyno.Request, err error) {
	rows = slices.Sorted(slices.Values(rows))
	err = d.withParquet(n, requestsFile, func(file *parquet.File) error {
		rs, err = requestsAt(file, rows)
		return err
	})
	return rs, err
}

func requestsAt(file *parquet.File, rows []int64) (rs []dyno.Request, err error) {
	first := int64(0)
	for _, group := range file.RowGroups() {
		next := first + group.NumRows()
		n, _ := slices.BinarySearch(rows, next)
		if n > 0 {
			if rs, err = groupAt(group, first, rows[:n], rs); err != nil {
				return nil, err
			}
		}
		first, rows = next, rows[n:]
	}
	if len(rows) > 0 {
		return nil, fmt.Errorf("it has no row %d", rows[0])
	}
	return rs, nil
}

// groupAt appends some rows of a row group, whose first row is number first.
func groupAt(group parquet.RowGroup, first int64, rows []int64, rs []dyno.Request) (_ []dyno.Request, err error) {
	defer unpanic(&err)
	for _, c := range group.ColumnChunks() {
		if _, err := c.OffsetIndex(); err != nil { // with which a page is found without the ones before it
			return nil, err
		}
	}
	pr := parquet.NewGenericRowGroupReader[requestRow](group)
	defer pr.Close()
	one := make([]requestRow, 1)
	for _, row := range rows {
		if err := pr.SeekToRow(row - first); err != nil {
			return nil, err
		}
		if n, err := pr.Read(one); n == 0 {
			return nil, fmt.Errorf("row %d: %w", row, err)
		}
		rs = append(rs, one[0].request(strings.Clone(one[0].Step)))
	}
	return rs, nil
}
