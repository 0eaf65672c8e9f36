package benchstat

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// The names of the two columns of [Against].
const (
	baseline = "baseline"
	ThisRun  = "this run"
)

// Against compares a benchmark file of any origin, the first column, with the bench.txt of
// the present run; a change is shown if p is at most alpha.
//
// Files of different times hardly ever have the same configuration, which benchstat puts
// into tables of their own. So only the package has to be the same, if both say it;
// GOMAXPROCS makes no difference unless the baseline has several; the notes say what
// differs.
func Against(old, current io.Reader, alpha float64) (*Tables, error) {
	files := []File{{baseline, "", old}, {ThisRun, "", current}}
	var seen [2]benchConfig
	for i := range files {
		f := &files[i]
		text, err := io.ReadAll(f.Reader)
		if err == nil {
			seen[i], err = configOf(text, f.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("read benchmarks of %s: %w", f.Name, err)
		}
		f.Reader = bytes.NewReader(text)
	}
	o := Options{Table: "pkg", Alpha: alpha}
	if len(seen[0]["pkg"]) == 0 || len(seen[1]["pkg"]) == 0 {
		o.Table, o.Ignore = " ", " pkg"
	}
	if len(seen[0][gomaxprocs]) == 1 {
		o.Ignore += " " + gomaxprocs
	}
	t, err := Compare(files, o)
	if err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(seen[0])) {
		was, is := seen[0][key], seen[1][key]
		if key != "pkg" && len(is) > 0 && !maps.Equal(was, is) {
			t.Notes = append(t.Notes, fmt.Sprintf("%s is %s in %s, and %s in %s", strings.TrimPrefix(key, "/"), say(was), baseline, say(is), ThisRun))
		}
	}
	return t, nil
}

const gomaxprocs = "/gomaxprocs" // benchproc's name of what ends Benchmark…-8

// A benchConfig is what a file says of how it was made: keys and their values.
type benchConfig map[string]map[string]bool

func configOf(text []byte, name string) (benchConfig, error) {
	c := benchConfig{}
	put := func(key, value string) {
		if c[key] == nil {
			c[key] = map[string]bool{}
		}
		c[key][value] = true
	}
	r := benchfmt.NewReader(bytes.NewReader(text), name)
	results := 0
	for r.Scan() {
		rec, ok := r.Result().(*benchfmt.Result)
		if !ok {
			continue
		}
		results++
		for _, kv := range rec.Config {
			put(kv.Key, string(kv.Value))
		}
		procs := "1" // go test does not say it
		if _, parts := rec.Name.Parts(); len(parts) > 0 {
			if last, ok := strings.CutPrefix(string(parts[len(parts)-1]), "-"); ok {
				procs = last
			}
		}
		put(gomaxprocs, procs)
	}
	if r.Err() == nil && results == 0 {
		return nil, errors.New("no benchmarks")
	}
	return c, r.Err()
}

func say(set map[string]bool) string {
	values := slices.Sorted(maps.Keys(set))
	if more := len(values) - 3; more > 0 {
		values = append(values[:3], fmt.Sprintf("%d more", more))
	}
	return strings.Join(values, ", ")
}
