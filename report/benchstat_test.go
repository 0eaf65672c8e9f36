package report

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dynolab/dyno/analysis"
)

// perfDir is the directory of module golang.org/x/perf, whose package benchstat has
// the testdata. It is in the module cache, as dyno imports other packages of it.
func perfDir(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/perf").Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		t.Fatalf("go list: %v", err)
	}
	return filepath.Join(dir, "cmd", "benchstat")
}

func ours(t *testing.T, dir string, args ...string) (*analysis.BenchstatTables, string) {
	t.Helper()
	var o analysis.BenchstatOptions
	var files []analysis.BenchFile
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "-filter":
			i++
			o.Filter = args[i]
		case "-table":
			i++
			o.Table = args[i]
		case "-row":
			i++
			o.Row = args[i]
		case "-col":
			i++
			o.Col = args[i]
		case "-ignore":
			i++
			o.Ignore = args[i]
		default:
			name, path, ok := strings.Cut(args[i], "=")
			if !ok {
				path = name
			}
			data, err := os.ReadFile(filepath.Join(dir, path))
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, analysis.BenchFile{Name: name, Path: path, Reader: bytes.NewReader(data)})
		}
	}
	tables, err := analysis.Benchstat(files, o)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Benchstat(&b, tables, Options{}); err != nil {
		t.Fatal(err)
	}
	return tables, b.String()
}

func TestBenchstatTmp(t *testing.T) {
	dir := filepath.Join(perfDir(t), "testdata")
	for _, args := range [][]string{
		{"crcOldNew", "crc-old.txt", "crc-new.txt"},
		{"crcIgnore", "-ignore", "note", "crc-old.txt", "crc-new.txt"},
		{"crcSizeVsPoly", "-filter", "/align:0", "-row", "/size", "-col", "/poly", "crc-new.txt"},
		{"units", "-col", "note", "units.txt"},
		{"zero", "-col", "note", "zero.txt"},
		{"smallSample", "-col", "note", "smallSample.txt"},
		{"issue19565", "-col", "note", "issue19565.txt"},
		{"issue19634", "-col", "note", "issue19634.txt"},
	} {
		_, got := ours(t, dir, args[1:]...)
		want, err := os.ReadFile(filepath.Join(dir, args[0]+".stdout"))
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s:\n%s\nwant\n%s", args[0], got, want)
		}
	}
}
