package store

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/dynolab/dyno"
)

// A requestRow is a request as requests.parquet has it.
//
// Measured with 64 clients and random latencies, bytes a row and million rows
// a second: plain 40 and 10, plain with snappy 17 and 3, with zstd 10 and 1; as
// here 9.5 and 6, with zstd instead of snappy the same size and slower. Writing
// 50 million rows takes 23 MB of memory in all.
type requestRow struct {
	Client int32  `parquet:"client,dict"`
	Step   string `parquet:"step,dict"`
	Due    int64  `parquet:"due_ns,delta"`
	Sent   int64  `parquet:"sent_ns,delta"`
	Done   int64  `parquet:"done_ns,delta"`
	Status int32  `parquet:"status,dict"`
	Bytes  int64  `parquet:"bytes,delta"`
	Failed bool   `parquet:"failed"`
}

func (r *requestRow) request(step string) dyno.Request {
	return dyno.Request{
		Client: int(r.Client), Step: step,
		Due: time.Duration(r.Due), Sent: time.Duration(r.Sent), Done: time.Duration(r.Done),
		Status: int(r.Status), Bytes: r.Bytes, Failed: r.Failed,
	}
}

const (
	requestBatch = 1024
	requestGroup = 128 << 10 // rows of a row group, which is in memory until it is whole
	requestPage  = 64 << 10  // bytes of a page
)

// WriteRequests writes the requests of trial n. It must come before Add, which lists
// the trial's files. If seq has an error, it is returned and no file is left.
func (d *Dir) WriteRequests(n int, seq iter.Seq2[dyno.Request, error]) error {
	dir := d.attemptDir(n)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("store the requests of trial %d: %w", n, err)
	}
	err := Replace(filepath.Join(dir, requestsFile), func(w io.Writer) error { return d.writeRequests(w, n, seq) })
	if err != nil {
		return fmt.Errorf("store the requests of trial %d: %w (consider: --keep-requests none)", n, err)
	}
	return nil
}

func (d *Dir) writeRequests(w io.Writer, n int, seq iter.Seq2[dyno.Request, error]) error {
	pw := parquetWriter[requestRow](d, n, w)
	rows := make([]requestRow, 0, requestBatch)
	names := map[string]string{} // of steps, without secrets
	for r, err := range seq {
		if err != nil {
			return err
		}
		step, ok := names[r.Step]
		if !ok {
			if step = r.Step; d.hidden != nil {
				step = d.hidden.Replace(step)
			}
			names[r.Step] = step
		}
		rows = append(rows, requestRow{
			Client: int32(r.Client), Step: step,
			Due: int64(r.Due), Sent: int64(r.Sent), Done: int64(r.Done),
			Status: int32(r.Status), Bytes: r.Bytes, Failed: r.Failed,
		})
		if len(rows) < requestBatch {
			continue
		}
		if _, err := pw.Write(rows); err != nil {
			return err
		}
		rows = rows[:0]
	}
	if _, err := pw.Write(rows); err != nil {
		return err
	}
	return pw.Close()
}

// Requests yields the requests of trial n. The error, the last of the sequence, is fs.ErrNotExist
// if the trial kept no requests.
func (d *Dir) Requests(n int) iter.Seq2[dyno.Request, error] {
	return func(yield func(dyno.Request, error) bool) {
		if err := d.withParquet(n, requestsFile, func(file *parquet.File) error { return readRequests(file, yield) }); err != nil {
			yield(dyno.Request{}, err)
		}
	}
}

// readRequests returns nil when yield wants no more.
func readRequests(file *parquet.File, yield func(dyno.Request, error) bool) error {
	pr := parquet.NewGenericReader[requestRow](file)
	defer pr.Close()
	steps := map[string]string{} // a step's name once, and not in a page's memory
	rows := make([]requestRow, requestBatch)
	for {
		n, err := pr.Read(rows)
		for _, r := range rows[:n] {
			step, ok := steps[r.Step]
			if !ok {
				step = strings.Clone(r.Step)
				steps[step] = step
			}
			if !yield(r.request(step), nil) {
				return nil
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
