package texts

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode"
)

// Tables are a load's data: rows that its clients take in turn. nil: no data.
type Tables struct {
	all  []table // by name
	next Count
}

type table struct {
	name    string
	columns []string
	rows    [][]string // at least one, each as long as columns
}

// Add reads a table from a CSV file (RFC 4180) whose first row names the columns. If it fails, line is the
// line of the mistake, or 0 if that is not known.
func (ts *Tables) Add(name string, file io.Reader) (line int, err error) {
	switch {
	case !isName(name):
		return 0, errors.New("not a name (want letters, digits and _)")
	case taken(name):
		return 0, errors.New("the name is taken")
	}
	t := table{name: name}
	if line, err = t.parse(file); err == nil {
		ts.all = append(ts.all, t)
	}
	return line, err
}

// Share makes the tables those of one of several generators.
func (ts *Tables) Share(index, of int) {
	if ts != nil {
		ts.next.Share(index, of)
	}
}

// Take gives a client the next row of every table. Clients share the position, so
// no two get the same row until all rows are taken.
func (ts *Tables) Take(v *Vars) {
	if ts == nil {
		return
	}
	at := ts.next.Next()
	v.rows = v.rows[:0]
	for i := range ts.all {
		rows := ts.all[i].rows
		v.rows = append(v.rows, rows[at%int64(len(rows))])
	}
}

// find returns the indices of a table and its column; column is -1 if there is none.
func (ts *Tables) find(name, column string) (i, j int) {
	if ts == nil {
		return -1, -1
	}
	i = slices.IndexFunc(ts.all, func(t table) bool { return t.name == name })
	if i < 0 {
		return -1, -1
	}
	return i, slices.Index(ts.all[i].columns, column)
}

func (t *table) parse(r io.Reader) (line int, err error) {
	c := csv.NewReader(r)
	t.columns, err = c.Read()
	if err == io.EOF {
		return 1, errors.New("no header (want a first row with the names of the columns)")
	}
	if err == nil {
		line, _ = c.FieldPos(0)
		if err := checkColumns(t.columns); err != nil {
			return line, err
		}
		t.rows, err = c.ReadAll()
	}
	var bad *csv.ParseError
	switch {
	case errors.As(err, &bad):
		return bad.Line, bad.Err
	case len(t.rows) == 0:
		return line, errors.New("no rows below the header")
	}
	return 0, nil
}

func checkColumns(names []string) error {
	for i, name := range names {
		if !isName(name) {
			return fmt.Errorf("column %d: %q is not a name (want letters, digits and _; consider: a first row with the names of the columns)", i+1, Shorten(name))
		}
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("column %d: duplicate name %s", i+1, name)
		}
	}
	return nil
}

func isName(s string) bool {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return false
		}
	}
	return s != ""
}
