package benchtable

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/dynolab/dyno/internal/analysis/benchstat"
	"github.com/dynolab/dyno/internal/report/layout"
)

// statFile has ten samples of each name, about as many nanoseconds as given.
func statFile(head string, names ...string) string {
	var b strings.Builder
	b.WriteString(head)
	for i, name := range names {
		for n := range 10 {
			fmt.Fprintf(&b, "Benchmark%s 100 %d ns/op\n", name, 100*(i+1)+n)
		}
	}
	return b.String()
}

func statTables(t *testing.T, texts ...string) *benchstat.Tables {
	t.Helper()
	var files []benchstat.File
	for i, s := range texts {
		files = append(files, benchstat.File{Name: []string{"old.txt", "new.txt"}[i], Reader: strings.NewReader(s)})
	}
	tables, err := benchstat.Compare(files, benchstat.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tables
}

func TestBenchstatSentences(t *testing.T) {
	a := statFile("cpu: P\n", "X", "Y")
	for _, c := range []struct {
		a, b string
		want []string
	}{
		{a, a, []string{"2 comparisons at p < 0.05: none shows a change; without any change, chance gives up to 0.1.", "dyno bench"}},
		{statFile("", "X"), statFile("", "Y", "X"), []string{"1 comparison at p < 0.05: 1 shows a change; without any change, chance gives up to 0.05.", "dyno bench"}},
		{a, strings.Replace(a, "P", "Q", 1), []string{"Nothing is compared because the columns also differ in cpu (consider: --ignore cpu)."}},
		{statFile("", "X"), statFile("", "X-8"), []string{"Nothing is compared because the columns share no benchmark name"}},
		{a, "", nil},
	} {
		got := Sentences(statTables(t, c.a, c.b))
		if len(got) != len(c.want) {
			t.Errorf("got %q, want %q", got, c.want)
			continue
		}
		for i := range got {
			if !strings.Contains(got[i], c.want[i]) {
				t.Errorf("got %q, want %q", got[i], c.want[i])
			}
		}
	}
	against, err := benchstat.Against(strings.NewReader(a), strings.NewReader(a), 0.05)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(Sentences(against), " "); !strings.Contains(got, "--vary rev=OLD,NEW") || strings.Contains(got, "dyno bench") {
		t.Errorf("against a baseline: %q", got)
	}
}

// TestBenchstatColor: only what changed is marked, by what is better.
func TestBenchstatColor(t *testing.T) {
	var b bytes.Buffer
	tables := statTables(t, statFile("", "X", "Y", "Z"), statFile("", "Z", "Y", "X"))
	if err := Text(&b, tables, layout.Options{Color: true}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\x1b[31m+191.39%\x1b[0m (p=0.000 n=10)", "\x1b[32m-65.68%\x1b[0m (", " ~ (p=1.000 n=10)"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// TestBenchstatForms: what a file may say to a terminal, a page or a spreadsheet does
// nothing there, and what is too much for a comment is named.
func TestBenchstatForms(t *testing.T) {
	evil := statFile("pkg: <b>\x1b[2J|\n", "=1+2|`<i>\x1b[31m", "Y")
	tables := statTables(t, evil, evil)
	for name, write := range map[string]func(*bytes.Buffer) error{
		"text":     func(b *bytes.Buffer) error { return Text(b, tables, layout.Options{}) },
		"foot":     func(b *bytes.Buffer) error { return Foot(b, tables, layout.Options{}) },
		"markdown": func(b *bytes.Buffer) error { return Markdown(b, tables) },
		"json":     func(b *bytes.Buffer) error { return json.NewEncoder(b).Encode(tables) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil || b.Len() == 0 || strings.Contains(b.String(), "\x1b") {
			t.Errorf("%s: %v\n%q", name, err, b.String())
		}
		if name == "markdown" && (strings.Contains(b.String(), "<i>") || !strings.Contains(b.String(), `| =1+2\|\`)) {
			t.Errorf("markdown: %s", b.String())
		}
	}
	var b bytes.Buffer
	if err := CSV(&b, tables); err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(records) != 5 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	want := "pkg,.file,benchmark,unit,n,center,lo,hi,change_frac,p,changed,notes"
	if got := strings.Join(records[0], ","); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := records[2][2]; !strings.HasPrefix(got, "'=1+2") {
		t.Errorf("a formula: %q", got)
	}
	if got, want := strings.Join(records[3][3:], ","), "sec/op,10,2.045e-07,2.01e-07,2.08e-07,,,,"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}

	var many []string
	for i := range 1500 {
		many = append(many, fmt.Sprintf("A_name_that_is_long_enough_to_fill_a_comment%d", i))
	}
	b.Reset()
	if err := Markdown(&b, statTables(t, statFile("", many...))); err != nil || b.Len() > layout.MostMarkdown || !strings.Contains(b.String(), "Left out because a comment has limited space: sec/op.") {
		t.Errorf("%d bytes, %v", b.Len(), err)
	}
}
