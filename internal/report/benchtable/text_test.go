package benchtable

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/benchstat"
	"github.com/dynolab/dyno/internal/report/layout"
)

// perfDir is the directory of benchstat in module golang.org/x/perf. The module is
// in the module cache as a whole, since dyno imports other packages of it.
func perfDir(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/perf").Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		t.Fatalf("go list -m golang.org/x/perf: %v", err)
	}
	return filepath.Join(dir, "cmd", "benchstat")
}

// asBenchstat does what benchstat does with its arguments in a directory.
func asBenchstat(t *testing.T, dir string, args []string) *benchstat.Tables {
	t.Helper()
	var o benchstat.Options
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	fs.StringVar(&o.Filter, "filter", "", "")
	fs.StringVar(&o.Table, "table", "", "")
	fs.StringVar(&o.Row, "row", "", "")
	fs.StringVar(&o.Col, "col", "", "")
	fs.StringVar(&o.Ignore, "ignore", "", "")
	fs.Float64Var(&o.Alpha, "alpha", 0, "")
	fs.Float64Var(&o.Confidence, "confidence", 0, "")
	var long []string
	for _, a := range args {
		if strings.HasPrefix(a, "-") {
			a = "-" + a
		}
		long = append(long, a)
	}
	for i, a := range long {
		if a == "" {
			long[i] = " " // no key, and not the default
		}
	}
	if err := fs.Parse(long); err != nil {
		t.Fatal(err)
	}
	var files []benchstat.File
	for _, arg := range fs.Args() {
		name, path, labelled := strings.Cut(arg, "=")
		if !labelled {
			path = name
		}
		data, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, benchstat.File{Name: name, Path: path, Reader: bytes.NewReader(data)})
	}
	tables, err := benchstat.Compare(files, o)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return tables
}

// noteLine matches a note below a table: dyno has words of its own for some.
var noteLine = regexp.MustCompile(`(?m)^([⁰¹²³⁴⁵⁶⁷⁸⁹]+) .*$`)

// sameText reports whether the tables are written as benchstat has written them, but
// for the words of notes.
func sameText(t *testing.T, tables *benchstat.Tables, args []string, want string) {
	t.Helper()
	var b bytes.Buffer
	if err := Text(&b, tables, layout.Options{}); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	if incomparable(tables) { // benchstat's rules are then out of line
		spaces := regexp.MustCompile(` +`)
		got, want = spaces.ReplaceAllString(got, " "), spaces.ReplaceAllString(want, " ")
	}
	if noteLine.ReplaceAllString(got, "$1") != noteLine.ReplaceAllString(want, "$1") {
		t.Errorf("benchstat %q: got\n%s\nwant\n%s", args, got, want)
	}
}

// incomparable reports whether there is a column with nothing to compare.
func incomparable(tables *benchstat.Tables) bool {
	for _, table := range tables.Tables {
		for c := 1; c < len(table.Cols); c++ {
			if !slices.ContainsFunc(table.Rows, func(r benchstat.Row) bool { return r.Cells[c] != nil && r.Cells[c].Versus != nil }) {
				return true
			}
		}
	}
	return false
}

// A statTally counts what was compared.
type statTally struct{ inputs, tables, rows, medians, changes, means int }

// sameNumbers compares tables with benchstat's CSV: medians and geometric means in
// full precision; intervals, changes, p and n as printed.
func (n *statTally) sameNumbers(t *testing.T, tables *benchstat.Tables, args []string, text []byte) {
	t.Helper()
	r := csv.NewReader(bytes.NewReader(text))
	r.FieldsPerRecord = -1
	records, err := r.ReadAll()
	if err != nil {
		t.Fatalf("%q: %v\n%s", args, err, text)
	}
	at := 0
	next := func() []string {
		if at == len(records) {
			t.Fatalf("benchstat %q has fewer lines:\n%s", args, text)
		}
		at++
		return records[at-1]
	}
	check := func(what string, record []string, column int, want string) {
		t.Helper()
		got := ""
		if column < len(record) {
			got = record[column]
		}
		if got != want {
			t.Errorf("benchstat %q: %s %s: benchstat has %q, dyno %q", args, record[0], what, got, want)
		}
	}
	n.inputs++
	for i := range tables.Tables {
		table := &tables.Tables[i]
		n.tables++
		for at < len(records) && len(records[at]) == 1 { // configuration, and the line between tables
			at++
		}
		for range tables.Columns {
			next()
		}
		units := next()
		for c := range table.Cols {
			check("unit", units, statColumn(c), table.Unit)
		}
		for _, row := range table.Rows {
			record := next()
			n.rows++
			check("name", record, 0, row.Name)
			for c, cell := range row.Cells {
				if cell == nil {
					check("median", record, statColumn(c), "")
					continue
				}
				n.medians++
				check("median", record, statColumn(c), fmt.Sprint(cell.Center))
				check("interval", record, statColumn(c)+1, cell.PctRangeString())
				if cell.Versus == nil {
					continue
				}
				n.changes++
				check("change", record, statColumn(c)+2, cell.Versus.FormatDelta(row.Cells[0].Center, cell.Center))
				check("p", record, statColumn(c)+3, cell.Versus.Comparison.String())
				sameVerdict(t, args, row.Name, cell.Versus, record[statColumn(c)+2])
			}
		}
		record := next()
		check("geomean", record, 0, "geomean")
		for c, m := range table.Geomean {
			n.means++
			if !math.IsNaN(float64(m.Center)) {
				check("geomean", record, statColumn(c), fmt.Sprint(m.Center))
			}
			if c > 0 {
				check("geomean's change", record, statColumn(c)+2, statMean(m))
			}
		}
	}
	if at != len(records) {
		t.Errorf("benchstat %q has more lines: %q", args, records[at:])
	}
}

// sameVerdict: what other forms are made of is what benchstat shows.
func sameVerdict(t *testing.T, args []string, name string, v *benchstat.Versus, shown string) {
	t.Helper()
	if ratio := statMean(benchstat.Mean{Ratio: dyno.Number(v.Ratio)}); strings.HasSuffix(shown, "%") && strings.Trim(shown, "+-") != strings.Trim(ratio, "+-") {
		t.Errorf("benchstat %q: %s: ratio %v, %s", args, name, v.Ratio, shown)
	}
	if changed := shown != "~" && shown != "0.00%"; changed != v.Changed() {
		t.Errorf("benchstat %q: %s: %s, and changed is %v", args, name, shown, !changed)
	}
}

// statColumn is where a column begins in benchstat's CSV.
func statColumn(c int) int {
	if c == 0 {
		return 1
	}
	return 3 + (c-1)*4
}

// perfGoldens are the arguments of benchstat's own tests, by the name of what it wants.
var perfGoldens = map[string][]string{
	"csvOldNew":     {"old.txt", "new.txt"},
	"csvErrors":     {"-row", ".name", "new.txt"},
	"crcOldNew":     {"crc-old.txt", "crc-new.txt"},
	"crcIgnore":     {"-ignore", "note", "crc-old.txt", "crc-new.txt"},
	"crcSizeVsPoly": {"-filter", "/align:0", "-row", "/size", "-col", "/poly", "crc-new.txt"},
	"units":         {"-col", "note", "units.txt"},
	"zero":          {"-col", "note", "zero.txt"},
	"smallSample":   {"-col", "note", "smallSample.txt"},
	"issue19565":    {"-col", "note", "issue19565.txt"},
	"issue19634":    {"-col", "note", "issue19634.txt"},
}

// TestBenchstatGoldens: what benchstat's own tests want, and what its documentation
// shows, is what dyno prints.
func TestBenchstatGoldens(t *testing.T) {
	dir := perfDir(t)
	data := filepath.Join(dir, "testdata")
	files, err := filepath.Glob(filepath.Join(data, "*.stdout"))
	if err != nil || len(files) != len(perfGoldens) {
		t.Fatalf("%d golden files in %s, want %d, %v", len(files), data, len(perfGoldens), err)
	}
	var n statTally
	for name, args := range perfGoldens {
		want, err := os.ReadFile(filepath.Join(data, name+".stdout"))
		if err != nil {
			t.Fatal(err)
		}
		tables := asBenchstat(t, data, args)
		if strings.HasPrefix(name, "csv") {
			n.sameNumbers(t, tables, args, want)
		} else {
			sameText(t, tables, args, string(want))
		}
	}
	source, err := os.ReadFile(filepath.Join(dir, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile(`(?m)^//\t\$ benchstat (.*)\n((?://\t.*\n)+)`).FindAllStringSubmatch(string(source), -1)
	if len(examples) < 8 {
		t.Fatalf("%d examples in benchstat's documentation", len(examples))
	}
	for _, x := range examples {
		var args []string
		for _, m := range regexp.MustCompile(`"([^"]*)"|(\S+)`).FindAllStringSubmatch(x[1], -1) {
			args = append(args, m[1]+m[2])
		}
		sameText(t, asBenchstat(t, data, args), args, regexp.MustCompile(`(?m)^//\t`).ReplaceAllString(x[2], ""))
	}
	t.Logf("%d golden files and %d examples", len(files), len(examples))
}

// TestBenchstatProgram runs benchstat itself, built from the module cache, on all its
// testdata in several ways and on files made up at random.
func TestBenchstatProgram(t *testing.T) {
	dir := filepath.Join(perfDir(t), "testdata")
	program := filepath.Join(t.TempDir(), "benchstat")
	if out, err := exec.Command("go", "build", "-o", program, "golang.org/x/perf/cmd/benchstat").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	same := func(n *statTally, dir string, args []string) {
		t.Helper()
		tables := asBenchstat(t, dir, args)
		for _, format := range []string{"text", "csv"} {
			cmd := exec.Command(program, append([]string{"-format", format}, args...)...)
			cmd.Dir = dir
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("benchstat %q: %v", args, err)
			}
			if format == "csv" {
				n.sameNumbers(t, tables, args, out)
			} else {
				sameText(t, tables, args, string(out))
			}
		}
	}
	inputs, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil || len(inputs) != 9 {
		t.Fatalf("%d files in %s, want 9, %v", len(inputs), dir, err)
	}
	var known, random statTally
	for _, args := range perfGoldens {
		same(&known, dir, args)
	}
	for i, path := range inputs {
		name := filepath.Base(path)
		same(&known, dir, []string{name})
		same(&known, dir, []string{"-table", "", "-col", ".config", "-alpha", "0.2", "-confidence", "0.8", name})
		same(&known, dir, []string{"-ignore", "note pkg goos goarch", name, filepath.Base(inputs[(i+1)%len(inputs)])})
	}
	t.Logf("benchstat's testdata, %d files: %+v", len(inputs), known)
	rng := rand.New(rand.NewPCG(7, 4))
	made := t.TempDir()
	for range 60 {
		for _, name := range []string{"a.txt", "b.txt", "c.txt"} {
			if err := os.WriteFile(filepath.Join(made, name), []byte(madeUp(rng)), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		same(&random, made, [][]string{
			{"a.txt", "b.txt"},
			{"a.txt", "b.txt", "the-third=c.txt"},
			{"-ignore", "cpu", "a.txt", "b.txt"},
			{"-ignore", "cpu", "-col", ".file /n", "a.txt", "b.txt"},
			{"-row", ".name", "-col", "/n@num", "-table", "cpu", "a.txt"},
			{"-filter", "/n:(1 OR 100) -.unit:B/op", "-ignore", "cpu", "a.txt", "b.txt"},
		}[rng.IntN(6)])
	}
	t.Logf("files made up: %+v", random)
}

// madeUp is a benchmark file with what is seldom: ties, zeros, values below zero, few
// samples, exact units, benchmarks that others have not.
func madeUp(rng *rand.Rand) string {
	var b strings.Builder
	b.WriteString("Unit text-bytes assume=exact\npkg: x/y\n")
	if rng.IntN(3) == 0 {
		fmt.Fprintf(&b, "cpu: model %d\n", rng.IntN(2))
	}
	for _, name := range []string{"A", "LongerName", "Été"} {
		for _, n := range []string{"1", "20", "100"} {
			if rng.IntN(4) == 0 {
				continue
			}
			level, zero := math.Exp(rng.Float64()*30-5), rng.IntN(12) == 0
			for range []int{1, 3, 5, 6, 10, 12}[rng.IntN(6)] {
				ns := level * (1 + 0.1*rng.NormFloat64())
				switch rng.IntN(8) {
				case 0:
					ns = math.Round(level)
				case 1:
					ns = -ns / 100
				}
				if zero {
					ns = 0
				}
				fmt.Fprintf(&b, "Benchmark%s/n=%s-4 100 %v ns/op %d B/op %d text-bytes %v own/thing\n", name, n, ns, rng.IntN(5), 1000+rng.IntN(2), level*1e-20)
			}
		}
	}
	return b.String()
}
