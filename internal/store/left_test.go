//go:build unix

package store

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// What a killed dyno was writing is removed by the next that writes the same file; what
// another is writing is not, nor what has another name.
func TestReplaceRemovesWhatWasLeft(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "report.html")
	old := time.Now().Add(-time.Minute)
	for _, name := range []string{".report.html.1", ".report.html.2", "report.html.3", ".report.htm"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	held, err := os.Open(filepath.Join(dir, ".report.html.2"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := lock(held); err != nil {
		t.Fatal(err)
	}
	err = Replace(path, func(w io.Writer) error { _, err := io.WriteString(w, "whole"); return err })
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{".report.htm", ".report.html.2", "report.html", "report.html.3"}; !slices.Equal(names, want) {
		t.Errorf("%q are there, not %q", names, want)
	}
}
