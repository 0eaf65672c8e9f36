package scenario

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"unicode"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/safe"
)

// tables are a load's data: rows that its clients take in turn. nil: no data.
type tables struct {
	all  []table // by name
	next count
}

type table struct {
	name    string
	columns []string
	rows    [][]string // at least one, each as long as columns
}

// readData reads CSV files (RFC 4180) by table name; their first row names the
// columns. No files give nil. A mistake is a [*dyno.PlanError] with file and line.
func readData(files map[string]string) (*tables, error) {
	if len(files) == 0 {
		return nil, nil
	}
	ts := new(tables)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		t := table{name: name}
		var err error
		switch {
		case !isName(name):
			err = errors.New("not a name (want letters, digits and _)")
		case taken(name):
			err = errors.New("the name is taken")
		default:
			var data []byte
			if data, err = readFile(files[name]); err == nil {
				if line, mistake := t.parse(bytes.NewReader(data)); mistake != nil {
					err = fmt.Errorf("%s:%d: %w", files[name], line, mistake)
				}
			}
		}
		if err != nil {
			return nil, &dyno.PlanError{Msg: fmt.Sprintf("data %s: %v", name, err), Key: []string{"load", "data", name}}
		}
		ts.all = append(ts.all, t)
	}
	return ts, nil
}

// take gives a client the next row of every table. Clients share the position, so
// no two get the same row until all rows are taken.
func (ts *tables) take(v *Vars) {
	if ts == nil {
		return
	}
	at := ts.next.next()
	v.rows = v.rows[:0]
	for i := range ts.all {
		rows := ts.all[i].rows
		v.rows = append(v.rows, rows[at%int64(len(rows))])
	}
}

// find returns the indices of a table and its column; column is -1 if there is none.
func (ts *tables) find(name, column string) (i, j int) {
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
			return fmt.Errorf("column %d: %q is not a name (want letters, digits and _; consider: a first row with the names of the columns)", i+1, shorten(name))
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

// readFile reads a file without its byte order mark, which spreadsheets write.
func readFile(file string) ([]byte, error) {
	data, err := safe.Data.ReadFile(file)
	return bytes.TrimPrefix(data, []byte("\ufeff")), err
}
