package published

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/dynolab/dyno/internal/probe"
)

// The pages are of a program that allocated 300 times 64 KiB and collected once
// between them.
func TestParseVars(t *testing.T) {
	for _, version := range []string{"go1.22.12", "go1.27.4"} {
		var pages []string
		for _, n := range []string{"-1.json", "-2.json"} {
			page, err := os.ReadFile(filepath.Join("testdata", "expvar", version+n))
			if err != nil {
				t.Fatal(err)
			}
			pages = append(pages, string(page))
		}
		r, err := watchSite(t, &site{pages: pages}, Expvar{}, probe.Target{})
		if err != nil {
			t.Fatal(version, err)
		}
		if v, _ := r.Values.Get("alloc-B"); v < 300<<16 || v > 310<<16 {
			t.Errorf("%s: alloc-B %v", version, v)
		}
		if v, _ := r.Values.Get("allocs"); v < 300 || v > 1200 {
			t.Errorf("%s: allocs %v", version, v)
		}
		if v, _ := r.Values.Get("stw-total-sec"); v <= 0 || v > 0.1 {
			t.Errorf("%s: stw-total-sec %v", version, v)
		}
		for _, metric := range []string{"heap-alloc-B", "sys-B", "total-alloc-B", "gc-total", "gc-cycles"} {
			if v, ok := r.Values.Get(metric); !ok || v < 1 {
				t.Errorf("%s: %s = %v", version, metric, v)
			}
		}
		for _, metric := range []string{"heap-B", "sys-B", "heap-idle-B", "heap-inuse-B", "heap-released-B", "heap-goal-B", "expvar/load"} {
			if s := seriesIn(t, r, metric); len(s.At) < 2 {
				t.Errorf("%s: %s has %d samples", version, metric, len(s.At))
			}
		}
		if s := seriesIn(t, r, "expvar/orders"); s.Value[0] != 300 || s.Value[len(s.Value)-1] != 600 {
			t.Errorf("%s: orders %v", version, s.Value)
		}
		if len(r.Own) != 0 || len(r.Warnings) != 0 {
			t.Errorf("%s: own %v, warnings %q", version, r.Own, r.Warnings)
		}
	}
}

// What a service publishes of its own is followed within bounds. A number that JSON
// does not have is left out.
func TestParseVarsOwn(t *testing.T) {
	many := ""
	for i := range 2 * ownMost {
		many += fmt.Sprintf(`"n%d": 7, `, i)
	}
	page := `{"hits": NaN, "memstats": {"Alloc": 1, "NextGC": 18446744073709551615}, ` + many + `"x": NaN}`
	numbers, err := parseVars([]byte(page))
	if err != nil || len(numbers) != 1+ownMost {
		t.Errorf("%d numbers, %v", len(numbers), err)
	}
}

func FuzzParseVars(f *testing.F) {
	files, _ := filepath.Glob("testdata/expvar/*")
	for _, file := range files {
		page, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(page)
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		numbers, err := parseVars(page)
		if err != nil && len(numbers) > 0 {
			t.Error("numbers and an error")
		}
		var p published
		p.sample(0, numbers)
		p.sample(1, numbers)
		p.reading(true)
	})
}
