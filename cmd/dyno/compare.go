package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/analysis/benchstat"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/dynolab/dyno/internal/report"
	"github.com/dynolab/dyno/internal/report/benchtable"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/store"
	"github.com/dynolab/dyno/internal/unwrap"
)

func newCompare() *cobra.Command {
	var o outFlags
	var bench benchstat.Options
	cmd := &cobra.Command{
		Use:   "compare DIR [DIR] | compare FILE...",
		Short: "Compare the settings of a run, two runs, or benchmark files",
		Long: `Compare prints the settings of one run against its baseline, as report does. Of two
runs, it prints each setting of the second against the same setting of the first, in
one table each. Two runs are not side by side: a drift of the machine between them
counts as a change. So nothing is called better or worse, and a change beyond the noise
within the runs is called "differs". One run with both settings is the better experiment.

    dyno compare dyno-runs/a dyno-runs/b

For files that go test -bench wrote, it prints the same medians, changes and p-values
as benchstat, and says what they cannot show. A file is PATH, LABEL=PATH, or - for
standard input. Keys and queries are those of benchstat.

    dyno compare old.txt new.txt
    dyno compare new.txt --col /format --row .name`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			files, err := benchInputs(args)
			if err != nil {
				return err
			}
			if files != nil {
				return compareBenchmarks(cmd, files, bench, &o)
			}
			if err := onlyBenchFiles(cmd); err != nil {
				return err
			}
			if len(args) > 2 {
				return flags.Mistakef("%d run directories (want one or two)", len(args))
			}
			if len(args) == 1 {
				return reportRun(cmd, args[0], &o, nil, nil)
			}
			if err := o.oneRun("dyno report DIR --format " + o.form() + " for each"); err != nil {
				return err
			}
			first, _ := os.Stat(args[0])
			second, _ := os.Stat(args[1])
			if os.SameFile(first, second) {
				return flags.Mistakef("%s and %s are the same run (consider: dyno compare %[1]s, to compare its settings)", args[0], args[1])
			}
			return compareRuns(cmd, args[0], args[1], &o)
		},
	}
	o.formatFlags(cmd.Flags())
	benchstatFlags(cmd.Flags(), &bench)
	return cmd
}

// compareRuns prints a table for each setting that both runs have.
func compareRuns(cmd *cobra.Command, a, b string, o *outFlags) error {
	first, err := store.Read(a)
	if err != nil {
		return err
	}
	second, err := store.Read(b)
	if err != nil {
		return err
	}
	tables, err := findings.Compare(first, second)
	if errors.Is(err, findings.ErrBenchmarks) {
		return flags.Mistakef("%w", err)
	}
	if len(tables) > 1 && o.form() == "text" && !o.full {
		w := cmd.OutOrStdout()
		err = report.Several(w, tables, o.look(w))
		if slices.ContainsFunc(tables, func(t *compare.Table) bool { return t.Trials == 0 }) {
			err = errors.Join(err, findings.ErrNothing)
		}
		return err
	}
	for i, t := range tables {
		if i > 0 && o.form() != "json" {
			fmt.Fprintln(cmd.OutOrStdout())
		}
		err = errors.Join(err, o.printTable(cmd, t))
		if t.Trials == 0 {
			err = errors.Join(err, findings.ErrNothing)
		}
	}
	return err
}

func benchstatFlags(fs *pflag.FlagSet, o *benchstat.Options) {
	d := benchstat.Options{}.Resolved()
	fs.StringVar(&o.Filter, "filter", d.Filter, "benchmark files: only results that match this `query`, as benchstat's -filter")
	fs.StringVar(&o.Table, "table", d.Table, "benchmark files: the `keys` that make tables")
	fs.StringVar(&o.Row, "row", d.Row, "benchmark files: the `keys` that make rows")
	fs.StringVar(&o.Col, "col", d.Col, "benchmark files: the `keys` that make columns, such as /format")
	fs.StringVar(&o.Ignore, "ignore", "", "benchmark files: `keys` to ignore")
	fs.Float64Var(&o.Alpha, "alpha", d.Alpha, "benchmark files: show a change if p is below this `α`")
	fs.Float64Var(&o.Confidence, "confidence", d.Confidence, "benchmark files: confidence `level` of intervals")
}

// onlyBenchFiles reports a flag that says nothing to run directories.
func onlyBenchFiles(cmd *cobra.Command) error {
	for _, name := range []string{"alpha", "col", "confidence", "filter", "ignore", "row", "table"} {
		if typed(cmd, name) {
			return flags.Mistakef("--%s is for benchmark files, not for run directories (consider: DIR/bench.txt)", name)
		}
	}
	return nil
}

// A benchInput is PATH, LABEL=PATH, or - for standard input.
type benchInput struct {
	label, path string
	labelled    bool
}

// benchInputs returns nil if all arguments may be run directories.
func benchInputs(args []string) ([]benchInput, error) {
	var list []benchInput
	var file, dir string
	times := map[string]int{}
	for _, arg := range args {
		in := benchInput{label: arg, path: arg}
		if label, path, ok := strings.Cut(arg, "="); ok && !exists(arg) {
			in = benchInput{label, path, true}
		}
		info, err := os.Stat(in.path)
		switch {
		case in.path == "-", err == nil && !info.IsDir():
			file = arg
		case err == nil:
			dir = arg
		case in.labelled:
			return nil, flags.Mistakef("%v", err)
		}
		if !in.labelled {
			times[in.path]++
		}
		list = append(list, in)
	}
	switch {
	case file == "":
		return nil, nil
	case dir != "":
		return nil, flags.Mistakef("%s is a file and %s a directory (consider: %[2]s/bench.txt)", file, dir)
	}
	seen := map[string]int{}
	for i := range list {
		if in := &list[i]; !in.labelled && times[in.path] > 1 { // else they would be one column
			in.label = fmt.Sprintf("%s#%d", in.path, seen[in.path])
			seen[in.path]++
		}
	}
	return list, nil
}

func compareBenchmarks(cmd *cobra.Command, inputs []benchInput, bo benchstat.Options, o *outFlags) error {
	if form := o.form(); !slices.Contains([]string{"text", "json", "markdown", "csv"}, form) {
		return flags.Mistakef("--format %s is for run directories (want text, json, markdown or csv for benchmark files)", form)
	}
	for name, share := range map[string]float64{"alpha": bo.Alpha, "confidence": bo.Confidence} {
		if share == 0 { // which would mean the default
			return flags.Mistakef("--%s is 0 (want more than 0 and at most 1)", name)
		}
	}
	for _, keys := range []*string{&bo.Table, &bo.Row, &bo.Col} {
		*keys = cmp.Or(*keys, " ") // none, and not the default
	}
	var files []benchstat.File
	for _, in := range inputs {
		r, err := unwrap.Open(in.path, cmd.InOrStdin())
		if err != nil {
			return err
		}
		defer r.Close()
		files = append(files, benchstat.File{Name: in.label, Path: in.path, Reader: r})
	}
	t, err := benchstat.Compare(files, bo)
	if err != nil {
		return benchMistake(err)
	}
	for _, n := range t.Notes {
		notef(cmd, "%s", layout.Clean(n))
	}
	if t.Results == 0 {
		return fmt.Errorf("no benchmark results in %s, or --filter matches none (want lines such as BenchmarkX 100 12.5 ns/op)", strings.Join(t.Files, ", "))
	}
	return printBenchstat(cmd, t, o)
}

// benchMistake is a usage error if a flag is wrong, and not a file.
func benchMistake(err error) error {
	if path := (*os.PathError)(nil); errors.As(err, &path) || strings.HasPrefix(err.Error(), "read ") {
		return err
	}
	return flags.Mistakef("--%s", strings.TrimPrefix(err.Error(), "parse "))
}

func printBenchstat(cmd *cobra.Command, t *benchstat.Tables, o *outFlags) error {
	w := cmd.OutOrStdout()
	switch o.form() {
	case "json":
		return report.JSON(w, t)
	case "markdown":
		return benchtable.Markdown(w, t)
	case "csv":
		return benchtable.CSV(w, t)
	}
	return errors.Join(benchtable.Text(w, t, o.look(w)), benchtable.Foot(w, t, o.look(w)))
}
