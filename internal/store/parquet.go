package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"github.com/dynolab/dyno/internal/safe"
)

// readBuffer is how many bytes of a column are read at once: some two pages.
const readBuffer = 64 << 10

// parquetWriter writes rows of a file of trial n.
func parquetWriter[T any](d *Dir, n int, w io.Writer) *parquet.GenericWriter[T] {
	return parquet.NewGenericWriter[T](w,
		parquet.Compression(&parquet.Snappy),
		parquet.MaxRowsPerRowGroup(requestGroup),
		parquet.PageBufferSize(requestPage),
		parquet.CreatedBy("dyno", d.Run.Dyno, ""),
		parquet.KeyValueMetadata("dyno.version", d.Run.Dyno),
		parquet.KeyValueMetadata("dyno.trial", strconv.Itoa(n)),
	)
}

// withFile opens a file of trial n. An error of read names the file.
func (d *Dir) withFile(n int, name string, read func(*os.File) error) error {
	path := d.TrialFile(n, name)
	f, err := safe.Of(path).Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil {
		defer f.Close()
		err = read(f)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// withParquet opens a parquet file of trial n.
func (d *Dir) withParquet(n int, name string, read func(*parquet.File) error) error {
	return d.withFile(n, name, func(f *os.File) error {
		file, err := openParquet(f)
		if err != nil {
			return err
		}
		return read(file)
	})
}

func openParquet(f *os.File) (file *parquet.File, err error) {
	defer unpanic(&err)
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return parquet.OpenFile(f, info.Size(), parquet.ReadBufferSize(readBuffer), parquet.SkipBloomFilters(true), parquet.SkipPageIndex(true))
}

// unpanic makes an error of a panic of package parquet, as some broken files cause.
func unpanic(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v", parquet.ErrCorrupted, p)
	}
}

// A rowGroup is a row group with the columns that are wanted.
type rowGroup struct {
	parquet.RowGroup
	columns []parquet.ColumnChunk
}

// groups yields the row groups of a file with its columns of the given names, or an
// error if it lacks one.
func groups(file *parquet.File, names ...string) iter.Seq2[rowGroup, error] {
	return func(yield func(rowGroup, error) bool) {
		var at []int
		for _, name := range names {
			leaf, ok := file.Schema().Lookup(name)
			if !ok || !leaf.Node.Required() {
				yield(rowGroup{}, fmt.Errorf("it has no column %s of the kind that dyno writes", name))
				return
			}
			at = append(at, leaf.ColumnIndex)
		}
		for _, group := range file.RowGroups() {
			chunks := group.ColumnChunks()
			g := rowGroup{RowGroup: group}
			for _, i := range at {
				g.columns = append(g.columns, chunks[i])
			}
			if !yield(g, nil) {
				return
			}
		}
	}
}

// boundsOf returns the least and the greatest value of a column, if they are known.
func boundsOf(column parquet.ColumnChunk) (least, greatest parquet.Value, ok bool) {
	c, ok := column.(*parquet.FileColumnChunk)
	if !ok {
		return least, greatest, false
	}
	return c.Bounds()
}

// readColumn appends the values of a column. values returns the reader of a page, nil
// if the page has another type.
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

// textsOf shares the memory of equal values that follow each other.
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
