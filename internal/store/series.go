package store

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/dynolab/dyno"
)

// A seriesRow is a point as series.parquet has it.
type seriesRow struct {
	Metric string  `parquet:"metric,dict"`
	At     int64   `parquet:"at_ns,delta"`
	Value  float64 `parquet:"value"`
}

const (
	// seriesPart is how many points of 16 bytes are in memory, to be sorted by metric.
	seriesPart = 1 << 18
	// seriesGroup is the number of rows after which a row group ends with its metric:
	// groups of one metric let a reader leave out the others.
	seriesGroup = 1 << 13
)

var errNoPoints = errors.New("no point")

// addSeries turns the series.csv that was written during the trial, if any, into
// series.parquet. It only removes one without a point.
func (d *Dir) addSeries(n int) error {
	dir := d.attemptDir(n)
	text, err := os.Open(filepath.Join(dir, seriesTextFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	err = Replace(filepath.Join(dir, seriesFile), func(w io.Writer) error { return d.writeSeries(w, n, text) })
	text.Close()
	if err != nil && !errors.Is(err, errNoPoints) {
		return err
	}
	return os.Remove(text.Name())
}

func (d *Dir) writeSeries(w io.Writer, n int, text *os.File) error {
	s := seriesSorter{
		part: map[string][]seriesPoint{},
		rows: make([]seriesRow, requestBatch),
		to:   parquetWriter[seriesRow](d, n, w),
	}
	if err := readPoints(text, s.add); err != nil {
		return err
	}
	if len(s.part) == 0 {
		return errNoPoints
	}
	if err := s.sort(); err != nil {
		return err
	}
	return s.to.Close()
}

// A seriesSorter takes points in the order of time and writes each part of them
// metric by metric.
type seriesSorter struct {
	part  map[string][]seriesPoint // by metric
	n     int                      // points of the part
	to    *parquet.GenericWriter[seriesRow]
	rows  []seriesRow // on their way
	group int         // rows of the row group under way
}

type seriesPoint struct {
	at    time.Duration
	value float64
}

func (s *seriesSorter) add(metric string, at time.Duration, v float64) error {
	points, ok := s.part[metric]
	if !ok {
		metric = strings.Clone(metric)
	}
	s.part[metric] = append(points, seriesPoint{at, v})
	if s.n++; s.n < seriesPart {
		return nil
	}
	return s.sort()
}

func (s *seriesSorter) sort() error {
	for _, metric := range slices.Sorted(maps.Keys(s.part)) {
		points := s.part[metric]
		for batch := range slices.Chunk(points, len(s.rows)) {
			for i, p := range batch {
				s.rows[i] = seriesRow{metric, int64(p.at), p.value}
			}
			if _, err := s.to.Write(s.rows[:len(batch)]); err != nil {
				return err
			}
		}
		if s.group += len(points); s.group >= seriesGroup {
			if err := s.to.Flush(); err != nil {
				return err
			}
			s.group = 0
		}
		s.part[metric] = points[:0]
	}
	s.n = 0
	return nil
}

// readPoints reads lines of a metric, seconds since the window began, and the value.
// It leaves out a last line that a killed dyno or a full disk cut off.
func readPoints(f *os.File, take func(metric string, at time.Duration, v float64) error) error {
	size, err := wholeLines(f)
	if err != nil {
		return err
	}
	in := csv.NewReader(io.NewSectionReader(f, 0, size))
	in.FieldsPerRecord, in.ReuseRecord = 3, true
	for head := true; ; head = false {
		fields, err := in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if head {
			continue
		}
		sec, err := strconv.ParseFloat(fields[1], 64)
		v, errValue := strconv.ParseFloat(fields[2], 64)
		if err := cmp.Or(err, errValue); err != nil {
			line, _ := in.FieldPos(0)
			return fmt.Errorf("line %d: %w", line, err)
		}
		at := time.Duration(math.Round(sec*1e6)) * time.Microsecond
		if err := take(fields[0], at, v); err != nil {
			return err
		}
	}
}

// wholeLines returns the offset after the last newline of a file.
func wholeLines(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	buf := make([]byte, 4096)
	for end := info.Size(); end > 0; {
		b := buf[:min(end, int64(len(buf)))]
		end -= int64(len(b))
		if _, err := f.ReadAt(b, end); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
			return end + int64(i) + 1, nil
		}
	}
	return 0, nil
}

// Series reads the series of trial n, sorted by name: those of the given metrics, or all without
// metrics. It also reads a trial that is under way or was killed. A metric without a point has no
// series. The error is fs.ErrNotExist if there are no series at all.
func (d *Dir) Series(n int, metrics ...string) ([]dyno.Series, error) {
	of := map[string]*dyno.Series{}
	take := func(metric string, at time.Duration, v float64) error {
		if len(metrics) > 0 && !slices.Contains(metrics, metric) {
			return nil
		}
		s, ok := of[metric]
		if !ok {
			metric = strings.Clone(metric)
			s = &dyno.Series{Metric: metric}
			of[metric] = s
		}
		s.At, s.Value = append(s.At, at), append(s.Value, v)
		return nil
	}
	err := d.withParquet(n, seriesFile, func(file *parquet.File) error { return readSeries(file, metrics, take) })
	if errors.Is(err, fs.ErrNotExist) {
		err = d.withFile(n, seriesTextFile, func(f *os.File) error { return readPoints(f, take) })
	}
	if err != nil {
		return nil, err
	}
	var all []dyno.Series
	for _, metric := range slices.Sorted(maps.Keys(of)) {
		all = append(all, *of[metric])
	}
	return all, nil
}

// readSeries reads the row groups that may have any of the metrics, column by column,
// which takes a tenth of the time of reading rows.
func readSeries(file *parquet.File, metrics []string, take func(metric string, at time.Duration, v float64) error) error {
	var names []string
	var at []int64
	var values []float64
	for group, err := range groups(file, "metric", "at_ns", "value") {
		if err != nil {
			return err
		}
		if !holdsAny(group.columns[0], metrics) {
			continue
		}
		var errAt, errValue error
		names, err = readColumn(group.columns[0], names[:0], textsOf)
		at, errAt = readColumn(group.columns[1], at[:0], int64sOf)
		values, errValue = readColumn(group.columns[2], values[:0], float64sOf)
		if err := cmp.Or(err, errAt, errValue); err != nil {
			return err
		}
		if len(at) != len(names) || len(values) != len(names) {
			return fmt.Errorf("%w: columns of different lengths", parquet.ErrCorrupted)
		}
		for i, metric := range names {
			if err := take(metric, time.Duration(at[i]), values[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// holdsAny reports whether a column may have any of the metrics, by its first and last
// name.
func holdsAny(column parquet.ColumnChunk, metrics []string) bool {
	first, last, ok := boundsOf(column)
	return !ok || len(metrics) == 0 || slices.ContainsFunc(metrics, func(m string) bool {
		return string(first.ByteArray()) <= m && m <= string(last.ByteArray())
	})
}
