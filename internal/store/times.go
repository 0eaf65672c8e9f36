package store

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/dynolab/dyno"
)

// Kept returns how many requests trial n kept. The error is fs.ErrNotExist if it kept none.
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
	var t dyno.Times
	next := int64(0)
	for group, err := range groups(file, "due_ns", "done_ns", "failed") {
		if err != nil {
			return err
		}
		t.Row = next
		next += group.NumRows()
		reaches, err := readGroup(&t, group, int64(from), int64(to))
		if err != nil {
			return err
		}
		if reaches && !yield(t, nil) {
			return nil
		}
	}
	return nil
}

// readGroup reads a row group into t, unless none of its requests was due between the two
// times.
func readGroup(t *dyno.Times, group rowGroup, from, to int64) (reaches bool, err error) {
	defer unpanic(&err)
	due, done, failed, rows := group.columns[0], group.columns[1], group.columns[2], group.NumRows()
	if least, greatest, ok := boundsOf(due); ok && (least.Int64() > to || greatest.Int64() < from) {
		return false, nil
	}
	room := int(max(0, min(rows, requestGroup)))
	var errDone, errFailed error
	t.Due, err = readColumn(due, slices.Grow(t.Due[:0], room), int64sOf)
	t.Done, errDone = readColumn(done, slices.Grow(t.Done[:0], room), int64sOf)
	t.Failed = nil
	if _, any, ok := boundsOf(failed); !ok || any.Boolean() {
		t.Failed, errFailed = readColumn(failed, nil, boolsOf)
	}
	if err := cmp.Or(err, errDone, errFailed); err != nil {
		return false, err
	}
	if int64(len(t.Due)) != rows || int64(len(t.Done)) != rows || t.Failed != nil && int64(len(t.Failed)) != rows {
		return false, fmt.Errorf("%w: a column differs in length from its row group", parquet.ErrCorrupted)
	}
	return true, nil
}

// RequestsAt reads the given rows of the requests of trial n, sorted. The error is fs.ErrNotExist
// if the trial kept none.
func (d *Dir) RequestsAt(n int, rows []int64) (rs []dyno.Request, err error) {
	err = d.withParquet(n, requestsFile, func(file *parquet.File) (err error) {
		defer unpanic(&err)
		for _, group := range file.RowGroups() {
			for _, c := range group.ColumnChunks() {
				if _, err := c.OffsetIndex(); err != nil { // with which a page is found without the ones before it
					return err
				}
			}
		}
		pr := parquet.NewGenericReader[requestRow](file)
		defer pr.Close()
		one := make([]requestRow, 1)
		for _, row := range slices.Sorted(slices.Values(rows)) {
			if err := pr.SeekToRow(row); err != nil {
				return err
			}
			if n, err := pr.Read(one); n == 0 {
				return fmt.Errorf("row %d: %w", row, err)
			}
			rs = append(rs, one[0].request(strings.Clone(one[0].Step)))
		}
		return nil
	})
	return rs, err
}
