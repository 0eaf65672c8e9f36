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

// ThisRun heads the columns of the present run in what [Against] returns.
const ThisRun = "this run"

// Against compares a benchmark file of any origin, the first column, with the bench.txt of
// the present run, which has a column for each level of the factors in its benchmarks'
// names, such as "rev" of /rev=HEAD. The name is the baseline's.
//
// Files of different times hardly ever have the same configuration, which benchstat puts
// into tables of their own. So only the package has to be the same, if both say it;
// GOMAXPROCS makes no difference unless the baseline has several; the notes say what
// differs. The options Filter, Ignore, Confidence and Alpha apply; Table and Row apply if
// they are given.
func Against(baseline io.Reader, name string, current io.Reader, factors []string, o Options) (*Tables, error) {
	var texts [2][]byte
	var seen [2]benchConfig
	for i, f := range []File{{name, "", baseline}, {ThisRun, "", current}} {
		var err error
		if texts[i], err = io.ReadAll(f.Reader); err == nil {
			seen[i], err = configOf(texts[i], f.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("read benchmarks of %s: %w", f.Name, err)
		}
	}
	o.Col = ".file"
	for _, f := range factors {
		o.Col += " " + quoted("/"+f)
	}
	if o.Table == "" {
		o.Table = "pkg"
		if len(seen[0]["pkg"]) == 0 || len(seen[1]["pkg"]) == 0 {
			o.Table, o.Ignore = " ", o.Ignore+" pkg"
		}
	}
	if o.Row == "" && len(seen[0][gomaxprocs]) == 1 {
		o.Ignore += " " + gomaxprocs
	}
	t, err := Compare([]File{{name, "", bytes.NewReader(texts[0])}, {ThisRun, "", bytes.NewReader(texts[1])}}, o)
	if err != nil {
		return nil, err
	}
	for _, key := range differ(seen[0], seen[1]) {
		t.Notes = append(t.Notes, fmt.Sprintf("%s is %s in %s, and %s in %s", strings.TrimPrefix(key, "/"), seen[0].say(key), name, seen[1].say(key), ThisRun))
	}
	return t, nil
}

const gomaxprocs = "/gomaxprocs" // benchproc's name of what ends Benchmark…-8

// quoted is a key as projections want it.
func quoted(key string) string {
	if strings.ContainsAny(key, " ():@,\"*") || strings.HasPrefix(key, "-") {
		return fmt.Sprintf("%q", key)
	}
	return key
}

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
		return nil, errors.New("there are none")
	}
	return c, r.Err()
}

// differ returns the keys that a and b have with other values, without pkg.
func differ(a, b benchConfig) (keys []string) {
	for _, key := range slices.Sorted(maps.Keys(a)) {
		if len(b[key]) > 0 && key != "pkg" && !maps.Equal(a[key], b[key]) {
			keys = append(keys, key)
		}
	}
	return keys
}

func (c benchConfig) say(key string) string {
	values := slices.Sorted(maps.Keys(c[key]))
	if more := len(values) - 3; more > 0 {
		values = append(values[:3], fmt.Sprintf("%d more", more))
	}
	return strings.Join(values, ", ")
}
