package scenario

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/load/texts"
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
	k := texts.NewNames(nil, ts)
	x, err := texts.Parse("body", "{{.items.sku}} {{.users.name}} {{.users.größe_2}} {{.users._x}}", k)
	if err != nil {
		t.Fatal(err)
	}
	// One position for both tables, each of which begins again by itself.
	v := texts.NewVars(0, 0, ts, nil)
	for _, want := range []string{`a ann a "b" `, "b b\nob 1 {{.n}}", `c ann a "b" `, "a b\nob 1 {{.n}}"} {
		ts.Take(v)
		if got, err := x.Append(nil, v); err != nil || string(got) != want {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	}
	if ts, err := readData(nil); ts != nil || err != nil {
		t.Errorf("no data is %v, %v", ts, err)
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
