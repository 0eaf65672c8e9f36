package store

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/dynolab/dyno"
)

// timesBuffer is how many bytes of a column are read at once: some two pages.
const timesBuffer = 64 << 10

// Kept is how many requests of trial n were kept. The error is fs.ErrNotExist if
// none were.
func (d *Dir) Kept(n int) (rows int64, err error) {
	err = d.withRequests(n, func(file *parquet.File) error {
		rows = file.NumRows()
		return nil
	})
	return rows, err
}

// Times reads when the requests of trial n were due and done, row group by row
// group: of those groups that may hold requests which were due from one time to
// another, both included. Each has others too. What is yielded is valid until the
// next. The error, the last of the sequence, is fs.ErrNotExist if none were kept.
func (d *Dir) Times(n int, from, to time.Duration) iter.Seq2[dyno.Times, error] {
	return func(yield func(dyno.Times, error) bool) {
		err := d.withRequests(n, func(file *parquet.File) error { return readTimes(file, from, to, yield) })
		if err != nil {
			yield(dyno.Times{}, err)
		}
	}
}

// withRequests opens the requests of a trial.
func (d *Dir) withRequests(n int, read func(*parquet.File) error) error {
	f, err := os.Open(d.TrialFile(n, requestsFile))
	if err != nil {
		return err
	}
	defer f.Close()
	file, err := openParquet(f, parquet.ReadBufferSize(timesBuffer))
	if err == nil {
		err = read(file)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", f.Name(), err)
	}
	return nil
}

func openParquet(f *os.File, options ...parquet.FileOption) (file *parquet.File, err error) {
	defer unpanic(&err)
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return parquet.OpenFile(f, info.Size(), append(options, parquet.SkipBloomFilters(true), parquet.SkipPageIndex(true))...)
}

// unpanic makes an error of what package parquet does with some broken files.
func unpanic(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v", parquet.ErrCorrupted, p)
	}
}

// readTimes returns nil when yield wants no more.
func readTimes(file *parquet.File, from, to time.Duration, yield func(dyno.Times, error) bool) error {
	columns, err := columnsOf(file, "due_ns", "done_ns", "failed")
	if err != nil {
		return err
	}
	var r timesReader
	next := int64(0)
	for _, group := range file.RowGroups() {
		r.Row = next
		next += group.NumRows()
		chunks := group.ColumnChunks()
		reaches, err := r.read(group.NumRows(), chunks[columns[0]], chunks[columns[1]], chunks[columns[2]], int64(from), int64(to))
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

// read reads so many rows, unless none was due from one time to another.
func (r *timesReader) read(rows int64, due, done, failed parquet.ColumnChunk, from, to int64) (reaches bool, err error) {
	defer unpanic(&err)
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

// columnsOf finds columns by their names.
func columnsOf(file *parquet.File, names ...string) (at []int, err error) {
	for _, name := range names {
		leaf, ok := file.Schema().Lookup(name)
		if !ok || !leaf.Node.Required() {
			return nil, fmt.Errorf("it has no column %s as dyno writes it", name)
		}
		at = append(at, leaf.ColumnIndex)
	}
	return at, nil
}

// boundsOf are the least and the greatest value of a column of a row group, if they
// are known.
func boundsOf(column parquet.ColumnChunk) (least, greatest parquet.Value, ok bool) {
	c, ok := column.(*parquet.FileColumnChunk)
	if !ok {
		return least, greatest, false
	}
	return c.Bounds()
}

// readColumn appends the values of a column of a row group; values are those of a
// page, nil if they are not of the type.
func readColumn[T any](column parquet.ColumnChunk, to []T, values func(parquet.Page) func([]T) (int, error)) (_ []T, err error) {
	defer unpanic(&err)
	pages := column.Pages()
	defer pages.Close()
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return to, nil
		}
		if err != nil {
			return to, err
		}
		read := values(page)
		if read == nil {
			return to, fmt.Errorf("column %d is not of the type that dyno writes", column.Column())
		}
		n := int(page.NumValues())
		to = slices.Grow(to, n)
		n, err = read(to[len(to) : len(to)+n])
		to = to[:len(to)+n]
		parquet.Release(page)
		if err != nil && !errors.Is(err, io.EOF) {
			return to, err
		}
	}
}

func int64sOf(page parquet.Page) func([]int64) (int, error) {
	if r, ok := page.Values().(parquet.Int64Reader); ok {
		return r.ReadInt64s
	}
	return nil
}

func float64sOf(page parquet.Page) func([]float64) (int, error) {
	if r, ok := page.Values().(parquet.DoubleReader); ok {
		return r.ReadDoubles
	}
	return nil
}

func boolsOf(page parquet.Page) func([]bool) (int, error) {
	if r, ok := page.Values().(parquet.BooleanReader); ok {
		return r.ReadBooleans
	}
	return nil
}

// textsOf makes one string of those that follow each other and are the same.
func textsOf(page parquet.Page) func([]string) (int, error) {
	if page.Type().Kind() != parquet.ByteArray {
		return nil
	}
	return func(to []string) (n int, err error) {
		last, values, in := "", make([]parquet.Value, requestBatch), page.Values()
		for n < len(to) && err == nil {
			var got int
			got, err = in.ReadValues(values[:min(len(values), len(to)-n)])
			if got == 0 {
				break
			}
			for _, v := range values[:got] {
				if text := v.ByteArray(); string(text) != last {
					last = string(text)
				}
				to[n] = last
				n++
			}
		}
		return n, err
	}
}

// RequestsAt reads the requests in the given rows of trial n, in the order of
// rows. The error is fs.ErrNotExist if none were kept.
func (d *Dir) RequestsAt(n int, rows []int64) (rs []dyno.Request, err error) {
	rows = slices.Sorted(slices.Values(rows))
	err = d.withRequests(n, func(file *parquet.File) error {
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

// groupAt appends the requests in some rows of a row group, of which first is the
// first.
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
