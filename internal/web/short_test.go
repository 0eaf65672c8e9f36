package web

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
)

// One run with endless names takes no more of a list than others, and no text turns
// the direction of what is beside it.
func TestNamesWithoutEnd(t *testing.T) {
	root := t.TempDir()
	long := strings.Repeat("n\u202e", 20_000)
	for i := range 2 {
		made{
			name: long, subject: "/" + long, rev: long, machine: long, started: began.AddDate(0, 0, i),
			settings: []dyno.Setting{gogc(long), gogc(long + "2")},
		}.run(t, filepath.Join(root, fmt.Sprint("a\u202e", i)), false)
	}
	s := site(t, root)
	for _, target := range []string{"/", query("/trend", "name", short(long)), "/compare", query("/", "q", strings.Repeat("a ", 5000))} {
		w := get(t, s, target)
		if body := w.Body.String(); w.Code != 200 || len(body) > 100_000 || strings.Contains(strings.ReplaceAll(body, `value="a`+"\u202e", ""), "\u202e") {
			t.Errorf("%.20s: status %d, %d bytes", target, w.Code, len(body))
		}
	}
	if all, _, err := s.all(); err != nil || len(all) != 2 || all[0].Run.Settings[0] == all[0].Run.Settings[1] {
		t.Errorf("%v; settings that are not the same look so", err)
	}
}

// A folder with many files is listed in part.
func TestManyFiles(t *testing.T) {
	root := t.TempDir()
	made{}.run(t, filepath.Join(root, "x"), false)
	many := filepath.Join(root, "x", "many")
	if err := os.Mkdir(many, 0o777); err != nil {
		t.Fatal(err)
	}
	for i := range mostListed + 10 {
		if err := os.WriteFile(filepath.Join(many, fmt.Sprint(i)), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	w := get(t, site(t, root), "/runs/x/files/many/")
	if want(t, w, 200, "there are more"); strings.Count(w.Body.String(), "<tr>") != mostListed+1 {
		t.Errorf("%d rows", strings.Count(w.Body.String(), "<tr>"))
	}
}
