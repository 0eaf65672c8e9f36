package findings

import (
	"io"
	"strings"

	"golang.org/x/perf/benchfmt"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
)

// BenchTables reads a file of benchmark results. Sub-benchmarks are its settings, and rounds its blocks.
func BenchTables(r io.Reader) (tables []*Table) {
	results := map[string][]*dyno.Result{}
	rounds := map[string]int{}
	var names []string
	for br := benchfmt.NewReader(r, "bench.txt"); br.Scan(); {
		res, ok := br.Result().(*benchfmt.Result)
		if !ok {
			continue
		}
		base, parts := res.Name.Parts()
		var setting dyno.Setting
		for _, p := range parts {
			if key, value, ok := strings.Cut(strings.TrimPrefix(string(p), "/"), "="); ok {
				setting = append(setting, dyno.Level{Factor: key, Value: value})
			}
		}
		name, at := string(base), string(base)+setting.String()
		if results[name] == nil {
			names = append(names, name)
		}
		rounds[at]++
		d := &dyno.Result{Trial: dyno.Trial{N: len(results[name]) + 1, Block: rounds[at], Setting: setting}}
		for _, v := range res.Values {
			d.Values = append(d.Values, dyno.Value{Metric: v.Unit, Value: v.Value})
		}
		results[name] = append(results[name], d)
	}
	for _, name := range names {
		tables = append(tables, compare.Tabulate(results[name], compare.Options{Name: name}))
	}
	return tables
}
