package scenario

import (
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/dynolab/dyno"
)

// writeFile puts a file in the test's directory, which is the current one.
func writeFile(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestReadData(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "users.csv", "\ufeffname,größe_2,_x\r\nann,\"a \"\"b\"\"\",\r\n\r\n\"b\nob\",1,{{.n}}\r\n")
	writeFile(t, "items.csv", "sku\na\nb\nc") // no newline at the end
	ts, err := readData(map[string]string{"users": "users.csv", "items": "items.csv"})
	if err != nil {
		t.Fatal(err)
	}
	k := newNames(nil, ts)
	x, err := parseText("body", "{{.items.sku}} {{.users.name}} {{.users.größe_2}} {{.users._x}}", k)
	if err != nil {
		t.Fatal(err)
	}
	// One position for both tables, each of which begins again by itself.
	v := newVars(0, 0, ts, nil)
	for _, want := range []string{`a ann a "b" `, "b b\nob 1 {{.n}}", `c ann a "b" `, "a b\nob 1 {{.n}}"} {
		ts.take(v)
		if got, err := x.append(nil, v); err != nil || string(got) != want {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	}
	if ts, err := readData(nil); ts != nil || err != nil {
		t.Errorf("no data is %v, %v", ts, err)
	}
}

// All rows are used before any is used again, whoever takes them.
func TestTakeInTurn(t *testing.T) {
	const clients, each = 8, 30
	var rows [][]string
	for i := range clients * each / 2 {
		rows = append(rows, []string{string(rune(i + 1000))})
	}
	ts := &tables{all: []table{{name: "t", columns: []string{"c"}, rows: rows}}}
	got := make([][]string, clients)
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			v := newVars(c, 0, ts, nil)
			for range each {
				ts.take(v)
				got[c] = append(got[c], v.rows[0][0])
			}
		})
	}
	all.Wait()
	times := map[string]int{}
	for _, s := range slices.Concat(got...) {
		times[s]++
	}
	for s, n := range times {
		if n != 2 {
			t.Errorf("row %s was taken %d times, want 2", s, n)
		}
	}
	if len(times) != len(rows) {
		t.Errorf("%d of %d rows were taken", len(times), len(rows))
	}
}

// Three generators take the numbers and the rows of one load in turn.
func TestShare(t *testing.T) {
	ts := func() *tables {
		return &tables{all: []table{{name: "t", columns: []string{"c"}, rows: [][]string{{"a"}, {"b"}, {"c"}, {"d"}}}}}
	}
	var numbers []int64
	rows := ""
	var all []*Scenario
	for i := range 3 {
		s := &Scenario{tables: ts()}
		s.Share(i, 3)
		all = append(all, s)
	}
	for range 4 {
		for _, s := range all {
			v := newVars(0, 0, s.tables, &s.counter)
			s.tables.take(v)
			numbers, rows = append(numbers, s.counter.next()), rows+v.rows[0][0]
		}
	}
	for i, n := range numbers {
		if n != int64(i) {
			t.Fatalf("numbers %v", numbers)
		}
	}
	if rows != "abcdabcdabcd" {
		t.Errorf("rows %s", rows)
	}
}

func TestDataMistakes(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, tt := range []struct{ content, want string }{
		{"", "x.csv:1: no header (want a first row with the names of the columns)"},
		{"\ufeff", "x.csv:1: no header (want a first row with the names of the columns)"},
		{"a,b\n", "x.csv:1: no rows below the header"},
		{"a,b\n1,2\n\n1\n", "x.csv:4: wrong number of fields"},
		{"a,b\n1,2,3\n", "x.csv:2: wrong number of fields"},
		{"a,b\n\"1\n2\",3\n4,\"5\n", `x.csv:4: extraneous or missing " in quoted-field`},
		{"a,b,a\n1,2,3\n", "x.csv:1: column 3: duplicate name a"},
		{"\n1,ann\n2,bob\n", `x.csv:2: column 1: "1" is not a name (want letters, digits and _; consider: a first row with the names of the columns)`},
		{"id, name\n1,ann\n", `x.csv:1: column 2: " name" is not a name (want letters, digits and _; consider: a first row with the names of the columns)`},
		{"id,\n1,ann\n", `x.csv:1: column 2: "" is not a name (want letters, digits and _; consider: a first row with the names of the columns)`},
	} {
		writeFile(t, "x.csv", tt.content)
		_, err := readData(map[string]string{"x": "x.csv"})
		var mistake *dyno.PlanError
		if !errors.As(err, &mistake) || mistake.Msg != "data x: "+tt.want || !slices.Equal(mistake.Key, []string{"load", "data", "x"}) {
			t.Errorf("%q:\ngot  %v\nwant data x: %s", tt.content, err, tt.want)
		}
	}
	writeFile(t, "x.csv", "a\n1\n")
	for name, want := range map[string]string{"n": "the name is taken", "x-y": "not a name", "": "not a name"} {
		if _, err := readData(map[string]string{name: "x.csv"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a table called %q: %v", name, err)
		}
	}
	if _, err := readData(map[string]string{"x": "none.csv"}); err == nil || err.Error() != "data x: open none.csv: no such file or directory" {
		t.Errorf("no file: %v", err)
	}
}

// FuzzData: every row that is read has every column, and a mistake has a line.
func FuzzData(f *testing.F) {
	for _, s := range []string{"a,b\n1,2\n", "\xef\xbb\xbfa\n\"x\ny\"\n", "a,a\n", "a\n\"\n", "\n\n1\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var d table
		line, err := d.parse(strings.NewReader(s))
		if err != nil {
			if line < 1 || line > strings.Count(s, "\n")+1 {
				t.Errorf("line %d: %v", line, err)
			}
			return
		}
		if len(d.rows) == 0 {
			t.Error("neither rows nor an error")
		}
		for _, row := range d.rows {
			if len(row) != len(d.columns) {
				t.Errorf("row %q of columns %q", row, d.columns)
			}
		}
	})
}
