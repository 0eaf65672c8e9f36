package gobench

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/subject"
)

// A file that -trimpath named is found in the module of the setting's packages, and no other.
func TestLocate(t *testing.T) {
	root := t.TempDir()
	want := filepath.Join(root, "search", "rss.go")
	for _, dir := range []string{"search", "encode"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(want, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	setting := dyno.Setting{{Factor: "GOGC", Value: "100"}}
	w := &Run{sides: []*side{{trial: dyno.Trial{Setting: setting}, packages: []*subject.TestPackage{{ImportPath: "example.org/x/encode", Dir: filepath.Join(root, "encode")}}}}}
	for _, c := range [][3]string{
		{"GOGC=100", "example.org/x/search/rss.go", want},
		{"GOGC=200", "example.org/x/search/rss.go", ""},
		{"GOGC=100", "example.org/x/search/none.go", ""},
		{"GOGC=100", "sort/sort.go", ""},
	} {
		if got := w.Locate(c[0], c[1]); got != c[2] {
			t.Errorf("%s, %s: %q, want %q", c[0], c[1], got, c[2])
		}
	}
}
