package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/perf/benchfmt"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/examples"
	"github.com/dynolab/dyno/subject"
)

// demoBench runs each benchmark once a round, so that a drift of the machine falls on
// all alike.
func demoBench(cmd *cobra.Command, source, path string, b examples.Benchmark, s *examples.Study, o *outFlags) (err error) {
	if err := os.MkdirAll(path, 0o777); err != nil {
		return err
	}
	program := filepath.Join(path, "benchmark.test")
	defer os.Remove(program)
	fmt.Fprintf(cmd.ErrOrStderr(), "benchmarks %s\n", b.Plan)
	if err := tool(cmd, source, io.Discard, "go", "test", "-c", "-o", program, "."); err != nil {
		return err
	}
	var out bytes.Buffer
	for range cmp.Or(b.Count, dyno.DefaultRepeats) {
		if err := tool(cmd, source, &out, program, "-test.run=^$", "-test.benchmem", "-test.bench="+b.Bench, "-test.benchtime="+cmp.Or(b.Time, "100ms")); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(path, "bench.txt"), out.Bytes(), 0o666); err != nil {
		return err
	}
	var errs []error
	for _, t := range benchTables(&out) {
		errs = append(errs, o.printTable(cmd, t), printStudy(cmd.OutOrStdout(), beside(s, b.Plan+"/"+t.Name, t), o))
	}
	return errors.Join(errs...)
}

// tool runs a program to its end; whatever ends dyno ends it.
func tool(cmd *cobra.Command, dir string, stdout io.Writer, argv ...string) error {
	var stderr bytes.Buffer
	status, err := subject.RunTool(cmd.Context(), argv, nil, dir, stdout, &stderr)
	if err == nil && status != "exit status 0" {
		err = errors.New(status)
	}
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, &stderr)
	}
	return nil
}

// benchTables takes sub-benchmarks for settings and rounds for blocks.
func benchTables(r io.Reader) (tables []*compare.Table) {
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
