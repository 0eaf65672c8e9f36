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
	// So many points of series.csv are in memory at once, to be sorted by their
	// metric; a point takes 16 bytes.
	seriesPart = 1 << 18
	// A row group ends with its metric once it has so many rows, so that in a long
	// file each is of one metric, and reading that leaves out the others.
	seriesGroup = 1 << 13
)

// errNoPoints is why there is no series.parquet.
var errNoPoints = errors.New("no point")

// addSeries makes series.parquet of the series.csv that was written during the
// trial, if there is one; one without a point is removed.
func (d *Dir) addSeries(n int) error {
	text, err := os.Open(d.TrialFile(n, seriesTextFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	err = replace(d.TrialFile(n, seriesFile), func(w io.Writer) error { return d.writeSeries(w, n, text) })
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
		to: parquet.NewGenericWriter[seriesRow](w,
			parquet.Compression(&parquet.Snappy),
			parquet.MaxRowsPerRowGroup(requestGroup),
			parquet.PageBufferSize(requestPage),
			parquet.CreatedBy("dyno", d.Run.Dyno, ""),
			parquet.KeyValueMetadata("dyno.version", d.Run.Dyno),
			parquet.KeyValueMetadata("dyno.trial", strconv.Itoa(n)),
		),
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

// A seriesSorter takes points in order of time and writes them metric by metric,
// part by part.
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

// sort writes the part.
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

// readPoints reads a series.csv: the metric, seconds since the window began, and
// the value. A last line that a killed dyno, or a full disk, cut off is left out.
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

// wholeLines is where the last newline of a file ends.
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

// Series reads series of trial n, those of the metrics or, if none is named, all,
// in the order of their names; a metric without a point has no series. It also
// reads those of a trial that is under way, or was killed. The error is
// fs.ErrNotExist if there are none at all.
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
	f, err := os.Open(d.TrialFile(n, seriesFile))
	if err == nil {
		err = readSeries(f, metrics, take)
	} else if errors.Is(err, fs.ErrNotExist) {
		if f, err = os.Open(d.TrialFile(n, seriesTextFile)); err == nil {
			err = readPoints(f, take)
		}
	}
	if f == nil {
		return nil, err
	}
	defer f.Close()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	var all []dyno.Series
	for _, metric := range slices.Sorted(maps.Keys(of)) {
		all = append(all, *of[metric])
	}
	return all, nil
}

// readSeries reads the row groups of series.parquet that may have any of the
// metrics.
func readSeries(f *os.File, metrics []string, take func(metric string, at time.Duration, v float64) error) error {
	file, err := openParquet(f, parquet.ReadBufferSize(timesBuffer))
	if err != nil {
		return err
	}
	columns, err := columnsOf(file, "metric", "at_ns", "value")
	if err != nil {
		return err
	}
	var r pointsReader
	for _, group := range file.RowGroups() {
		if !holdsAny(group, metrics) {
			continue
		}
		chunks := group.ColumnChunks()
		if err := r.read(chunks[columns[0]], chunks[columns[1]], chunks[columns[2]]); err != nil {
			return err
		}
		for i, metric := range r.metric {
			if err := take(metric, time.Duration(r.at[i]), r.value[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// A pointsReader reads the points of row groups, column by column, which takes a
// tenth of the time of reading rows.
type pointsReader struct {
	metric []string
	at     []int64
	value  []float64
}

func (r *pointsReader) read(metric, at, value parquet.ColumnChunk) (err error) {
	if r.metric, err = readColumn(metric, r.metric[:0], textsOf); err != nil {
		return err
	}
	if r.at, err = readColumn(at, r.at[:0], int64sOf); err != nil {
		return err
	}
	if r.value, err = readColumn(value, r.value[:0], float64sOf); err != nil {
		return err
	}
	if len(r.at) != len(r.metric) || len(r.value) != len(r.metric) {
		return fmt.Errorf("%w: columns of different lengths", parquet.ErrCorrupted)
	}
	return nil
}

// holdsAny reports whether a row group may have any of the metrics, by the first
// and last name in it.
func holdsAny(group parquet.RowGroup, metrics []string) bool {
	first, last, ok := boundsOf(group.ColumnChunks()[0])
	return !ok || len(metrics) == 0 || slices.ContainsFunc(metrics, func(m string) bool {
		return string(first.ByteArray()) <= m && m <= string(last.ByteArray())
	})
}
