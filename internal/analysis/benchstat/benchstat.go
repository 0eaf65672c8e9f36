// Package benchstat compares files in the Go benchmark format as the command benchstat
// does, with the same medians and p-values, and says what they cannot tell.
//
// Runs of dyno bench are package compare's.
package benchstat

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
	"golang.org/x/perf/benchproc"
	"gonum.org/v1/gonum/stat/combin"
)

// A File is text in the Go benchmark format (https://golang.org/design/14313-benchmark-format).
type File struct {
	Name   string // the value of key .file, which heads a column unless columns are made of something else
	Path   string // in messages; "" means Name
	Reader io.Reader
}

// Options say how results are grouped and compared, as benchstat's flags do, in the syntax of
// https://pkg.go.dev/golang.org/x/perf/benchproc/syntax. A space alone is no key.
type Options struct {
	Filter     string  `json:"filter"`           // which results; "" means "*", all
	Table      string  `json:"table"`            // what makes tables; "" means ".config"
	Row        string  `json:"row"`              // what makes rows; "" means ".fullname"
	Col        string  `json:"col"`              // what makes columns; "" means ".file"
	Ignore     string  `json:"ignore,omitempty"` // keys that make no difference
	Confidence float64 `json:"confidence"`       // of the medians' intervals, above 0 and at most 1; 0 means 0.95
	Alpha      float64 `json:"alpha"`            // a change is shown if p is at most this; 0 means 0.05
}

// Resolved returns o with its defaults written out.
func (o Options) Resolved() Options {
	o.Filter = cmp.Or(o.Filter, "*")
	o.Table = cmp.Or(o.Table, ".config")
	o.Row = cmp.Or(o.Row, ".fullname")
	o.Col = cmp.Or(o.Col, ".file")
	o.Confidence = cmp.Or(o.Confidence, 0.95)
	o.Alpha = cmp.Or(o.Alpha, benchmath.DefaultThresholds.CompareAlpha)
	return o
}

// Tables are what benchstat finds: the same medians, intervals, changes and p-values. They
// know nothing of blocks; package compare does.
type Tables struct {
	Options Options  // resolved
	Files   []string // their names, as given
	Columns []string // keys that the columns are made of, such as ".file"
	Results int      // lines of benchmarks that were read and passed the filter
	Tables  []Table
	Notes   []string // lines that cannot be read, results that are left out
}

// A Table is the results of one configuration in one unit.
type Table struct {
	Config  []Key      // in the same order in all tables; the value is "" where the key is not set
	Unit    string     // a base unit: sec/op, B/op
	Better  int        // 1 if more is better, -1 if less is, 0 if unknown
	Exact   bool       // the file says that values have no noise, so that nothing is tested
	Cols    [][]string // of each column the values of Tables.Columns; the first is the baseline
	Rows    []Row
	Geomean []Mean // of each column
}

// A Key is a line of a file's configuration, such as goos: linux.
type Key struct{ Key, Value string }

// A Row is one benchmark.
type Row struct {
	Name  string  `json:"name"`
	Cells []*Cell `json:"cells"` // of each column; nil where there are no results
}

// A Cell is the samples of one benchmark in one column. Lo and Hi are infinite with too few.
type Cell struct {
	benchmath.Summary
	Samples []float64 // ascending
	Notes   []string
	Versus  *Versus // nil in the first column, and where that has no results
}

// A Versus is a cell compared with the first of its row, by the two-sided U test of Mann and
// Whitney. The P of exact units is 0.
type Versus struct {
	benchmath.Comparison
	Ratio float64 // of the centers; NaN where the first is 0 and this is not
	Notes []string
	Mute  bool // no samples of this number could show a change, or all of them are equal
}

// Changed reports whether benchstat shows a change: as unlikely as wanted, and not of nothing.
func (v *Versus) Changed() bool { return v.P <= v.Alpha && v.Ratio != 1 }

// A Mean is the geometric mean of a column. A column without values has NaN.
type Mean struct {
	Center dyno.Number `json:"center"`
	Ratio  dyno.Number `json:"ratio"` // the mean of the ratios of those cells that the first column has too
	Notes  []string    `json:"notes,omitempty"`
}

// Count returns how many comparisons could have shown a change by chance, and how many did.
func (t *Tables) Count() (comparisons, changed int) {
	for i := range t.Tables {
		for _, r := range t.Tables[i].Rows {
			for _, c := range r.Cells {
				if c == nil || c.Versus == nil || c.Versus.Mute || t.Tables[i].Exact {
					continue
				}
				comparisons++
				if c.Versus.Changed() {
					changed++
				}
			}
		}
	}
	return comparisons, changed
}

// Apart reports whether nothing is compared though there are several columns, and the keys
// that keep these in different tables; without keys they have no benchmark in common.
func (t *Tables) Apart() (nothing bool, keys []string) {
	columns := map[string]bool{}
	for _, table := range t.Tables {
		for _, c := range table.Cols {
			columns[strings.Join(c, "\x00")] = true
		}
		for _, r := range table.Rows {
			if slices.ContainsFunc(r.Cells, func(c *Cell) bool { return c != nil && c.Versus != nil }) {
				return false, nil
			}
		}
	}
	if len(columns) < 2 {
		return false, nil
	}
	for i, k := range t.Tables[0].Config {
		if slices.ContainsFunc(t.Tables, func(other Table) bool { return other.Config[i] != k }) {
			keys = append(keys, k.Key)
		}
	}
	return true, keys
}

// Compare reads files in order and compares them as benchstat does. Lines that cannot be read
// become notes. The error is one of the options or of reading.
func Compare(files []File, o Options) (*Tables, error) {
	h, err := newPiles(o.Resolved())
	if err != nil {
		return nil, err
	}
	t := &Tables{Options: h.options}
	var r benchfmt.Reader
	for _, f := range files {
		t.Files = append(t.Files, f.Name)
		r.Reset(f.Reader, cmp.Or(f.Path, f.Name), ".file", f.Name)
		for r.Scan() {
			switch rec := r.Result().(type) {
			case *benchfmt.SyntaxError:
				t.Notes = append(t.Notes, rec.Error())
			case *benchfmt.Result:
				kept, why := h.filter.Apply(rec)
				if why != nil {
					t.Notes = append(t.Notes, why.Error())
				}
				if kept {
					t.Results++
					t.Notes = append(t.Notes, h.add(rec)...)
				}
			}
		}
		if err := r.Err(); err != nil {
			return nil, fmt.Errorf("read benchmarks of %s: %w", cmp.Or(f.Path, f.Name), err)
		}
	}
	h.tables(t, r.Units())
	return t, nil
}

type piles struct {
	options         Options
	filter          *benchproc.Filter
	table, row, col *benchproc.Projection
	rest            *benchproc.Projection
	unit            *benchproc.Field
	piles           map[slot]*pile
	rowsOf, colsOf  map[benchproc.Key]map[benchproc.Key]bool // by table
	thresholds      benchmath.Thresholds
}

type slot struct{ table, row, col benchproc.Key }

type pile struct {
	samples []float64
	rest    map[benchproc.Key]bool
}

func newPiles(o Options) (*piles, error) {
	h := &piles{
		options: o, thresholds: benchmath.DefaultThresholds, piles: map[slot]*pile{},
		rowsOf: map[benchproc.Key]map[benchproc.Key]bool{}, colsOf: map[benchproc.Key]map[benchproc.Key]bool{},
	}
	for _, share := range []struct {
		name  string
		value float64
	}{{"alpha", o.Alpha}, {"confidence", o.Confidence}} {
		if !(share.value > 0 && share.value <= 1) {
			return nil, fmt.Errorf("%s is %v (want more than 0 and at most 1)", share.name, share.value)
		}
	}
	h.thresholds.CompareAlpha = o.Alpha
	var err error
	if h.filter, err = benchproc.NewFilter(o.Filter); err != nil {
		return nil, fmt.Errorf("parse filter: %w", err)
	}
	var parser benchproc.ProjectionParser
	var errs [4]error
	h.table, h.unit, errs[0] = parser.ParseWithUnit(o.Table, h.filter)
	h.row, errs[1] = parser.Parse(o.Row, h.filter)
	h.col, errs[2] = parser.Parse(o.Col, h.filter)
	_, errs[3] = parser.Parse(o.Ignore, h.filter)
	for i, name := range []string{"table", "row", "col", "ignore"} {
		if errs[i] != nil {
			return nil, fmt.Errorf("parse %s: %w", name, errs[i])
		}
	}
	h.rest = parser.Residue()
	return h, nil
}

// add puts the values of a line into cells, and returns notes of those that are no numbers:
// they have no rank, and the U test would use up all memory.
func (h *piles) add(r *benchfmt.Result) (notes []string) {
	row, col, rest := h.row.Project(r), h.col.Project(r), h.rest.Project(r)
	for i, table := range h.table.ProjectValues(r) {
		if v := r.Values[i]; math.IsNaN(v.Value) || math.IsInf(v.Value, 0) {
			file, line := r.Pos()
			notes = append(notes, fmt.Sprintf("%s:%d: %v %s is left out", file, line, v.Value, v.Unit))
			continue
		}
		at := slot{table, row, col}
		cell := h.piles[at]
		if cell == nil {
			cell = &pile{rest: map[benchproc.Key]bool{}}
			h.piles[at] = cell
			if h.rowsOf[table] == nil {
				h.rowsOf[table], h.colsOf[table] = map[benchproc.Key]bool{}, map[benchproc.Key]bool{}
			}
			h.rowsOf[table][row], h.colsOf[table][col] = true, true
		}
		cell.samples = append(cell.samples, r.Values[i].Value)
		cell.rest[rest] = true
	}
	return notes
}

func sorted[V any](m map[benchproc.Key]V) []benchproc.Key {
	list := slices.Collect(maps.Keys(m))
	benchproc.SortKeys(list)
	return list
}

func (h *piles) tables(t *Tables, units benchfmt.UnitMetadataMap) {
	for _, f := range h.col.FlattenedFields() {
		t.Columns = append(t.Columns, f.Name)
	}
	for _, key := range sorted(h.rowsOf) {
		unit := key.Get(h.unit)
		assume := units.GetAssumption(unit)
		table := Table{Unit: unit, Better: units.GetBetter(unit), Exact: assume == benchmath.Assumption(benchmath.AssumeExact)}
		for _, f := range h.table.FlattenedFields() {
			if f != h.unit {
				table.Config = append(table.Config, Key{f.Name, key.Get(f)})
			}
		}
		cols := sorted(h.colsOf[key])
		for _, c := range cols {
			var values []string
			for _, f := range h.col.FlattenedFields() {
				values = append(values, c.Get(f))
			}
			table.Cols = append(table.Cols, values)
		}
		for _, row := range sorted(h.rowsOf[key]) {
			r := Row{Name: row.StringValues()}
			var base *benchmath.Sample
			for i, col := range cols {
				cell, sample := h.cell(slot{key, row, col}, assume)
				if i == 0 {
					base = sample
				} else if cell != nil && base != nil {
					cell.Versus = versus(assume, base, sample, r.Cells[0].Center, cell.Center)
				}
				r.Cells = append(r.Cells, cell)
			}
			table.Rows = append(table.Rows, r)
		}
		table.Geomean = means(&table)
		t.Tables = append(t.Tables, table)
	}
}

func (h *piles) cell(at slot, assume benchmath.Assumption) (*Cell, *benchmath.Sample) {
	p := h.piles[at]
	if p == nil {
		return nil, nil
	}
	sample := benchmath.NewSample(p.samples, &h.thresholds)
	c := &Cell{Summary: assume.Summary(sample, h.options.Confidence), Samples: sample.Values}
	var mixed []string
	for _, f := range benchproc.NonSingularFields(sorted(p.rest)) {
		mixed = append(mixed, f.Name)
	}
	if len(mixed) > 0 {
		c.Notes = append(c.Notes, "samples that differ in "+strings.Join(mixed, ", ")+" are pooled")
	}
	c.Notes = append(c.Notes, texts(c.Warnings)...)
	return c, sample
}

func texts(errs []error) (list []string) {
	for _, err := range errs {
		list = append(list, err.Error())
	}
	return list
}

func versus(assume benchmath.Assumption, base, sample *benchmath.Sample, was, is float64) *Versus {
	v := &Versus{Comparison: assume.Compare(base, sample), Ratio: ratio(was, is)}
	v.Notes = texts(v.Warnings)
	// The least p is that of samples which do not overlap: 2 of all the ways to
	// deal n1+n2 values into n1 and n2.
	all := combin.LogGeneralizedBinomial(float64(v.N1+v.N2), float64(v.N1))
	low, high := min(base.Values[0], sample.Values[0]), max(base.Values[v.N1-1], sample.Values[v.N2-1])
	v.Mute = math.Log(2)-all > math.Log(v.Alpha)+1e-9 || low == high
	return v
}

// ratio is that of two centers; of two zeros it is 1.
func ratio(was, is float64) float64 {
	switch {
	case was == is:
		return 1
	case was == 0:
		return math.NaN()
	}
	return is / was
}

// means are the geometric means of the columns; of ratios, where both columns have one.
func means(t *Table) []Mean {
	list := make([]Mean, len(t.Cols))
	common := 0 // benchmarks of the first column
	for i := range list {
		var centers, ratios []float64
		undefined := false
		for _, r := range t.Rows {
			c := r.Cells[i]
			if c == nil {
				continue
			}
			centers = append(centers, c.Center)
			if c.Versus != nil {
				ratios = append(ratios, c.Versus.Ratio)
				undefined = undefined || math.IsNaN(c.Versus.Ratio) && r.Cells[0].Center == 0
			}
		}
		m := Mean{Center: geomean(centers), Ratio: dyno.Number(math.NaN())}
		if i == 0 {
			common = len(centers)
		} else if len(ratios) != common {
			m.Notes = append(m.Notes, "benchmark set differs from the first column: the means are not comparable")
		}
		if math.IsNaN(float64(m.Center)) {
			m.Notes = append(m.Notes, "no geometric mean, because not every value is above 0")
		}
		if i > 0 && !undefined {
			if m.Ratio = geomean(ratios); math.IsNaN(float64(m.Ratio)) {
				m.Notes = append(m.Notes, "no geometric mean of changes, because not every ratio is above 0")
			}
		}
		list[i] = m
	}
	return list
}

// geomean is NaN of nothing, and where a number is not above 0.
func geomean(xs []float64) dyno.Number {
	if len(xs) == 0 {
		return dyno.Number(math.NaN())
	}
	mean := 0.0 // of logarithms, updated by each in turn
	for i, x := range xs {
		if !(x > 0) {
			return dyno.Number(math.NaN())
		}
		mean += (math.Log(x) - mean) / float64(i+1)
	}
	return dyno.Number(math.Exp(mean))
}
