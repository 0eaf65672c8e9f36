package texts

import (
	"slices"
	"strings"
	"sync"
	"testing"
)

// All rows are used before any is used again, whoever takes them.
func TestTakeInTurn(t *testing.T) {
	const clients, each = 8, 30
	var rows [][]string
	for i := range clients * each / 2 {
		rows = append(rows, []string{string(rune(i + 1000))})
	}
	ts := &Tables{all: []table{{name: "t", columns: []string{"c"}, rows: rows}}}
	got := make([][]string, clients)
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			v := NewVars(c, 0, ts, nil)
			for range each {
				ts.Take(v)
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
	ts := func() *Tables {
		return &Tables{all: []table{{name: "t", columns: []string{"c"}, rows: [][]string{{"a"}, {"b"}, {"c"}, {"d"}}}}}
	}
	var numbers []int64
	rows := ""
	var all []*Tables
	counters := make([]Count, 3)
	for i := range 3 {
		s := ts()
		s.Share(i, 3)
		counters[i].Share(i, 3)
		all = append(all, s)
	}
	for range 4 {
		for i, s := range all {
			v := NewVars(0, 0, s, &counters[i])
			s.Take(v)
			numbers, rows = append(numbers, counters[i].Next()), rows+v.rows[0][0]
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
