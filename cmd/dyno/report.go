package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/benchstat"
	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/analysis/profiles"
	"github.com/dynolab/dyno/store"
)

func newReport() *cobra.Command {
	var o outFlags
	var requests, strip, series string
	var thresholds []string
	var failWorse bool
	cmd := &cobra.Command{
		Use:   "report DIR",
		Short: "Report on a run directory again",
		Long: `Report prints what was found in a run, made anew from its directory alone, also
while the run goes on.

    dyno report dyno-runs/sessions-20261121-101500
    dyno report DIR --format html > report.html      one file to pass on, as every run writes it
    dyno report DIR --format markdown
    dyno report DIR --format hgrm > latency.hgrm
    dyno report DIR --threshold 'p99 < 30ms'         judged anew, instead of the plan's
    dyno report DIR --format junit > junit.xml       also csv (a line for each metric), openmetrics
    dyno report DIR --requests csv > requests.csv    every request, for Excel
    dyno report DIR --series csv > series.csv        memory, heap, CPU ... over time
    dyno report DIR --strip 7@2s..2.5s               latency of trial 7 over half a second`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if typed(cmd, "requests") { // DYNO_REQUESTS is how many a load sends
				return reportRequests(cmd, args[0], requests)
			}
			if typed(cmd, "series") {
				return reportSeries(cmd, args[0], series)
			}
			if typed(cmd, "strip") {
				return reportStrip(cmd, args[0], strip)
			}
			return reportRun(cmd, args[0], &o, thresholds, failWorse)
		},
	}
	o.formatFlags(cmd.Flags())
	o.strictFlag(cmd.Flags())
	cmd.Flags().StringArrayVar(&thresholds, "threshold", nil, thresholdHelp)
	cmd.Flags().BoolVar(&failWorse, "fail-worse", false, "of a run of dyno bench, exit with status 99 if anything is worse")
	cmd.Flags().StringVar(&series, "series", "", "print what was sampled over time, in this `form`: csv")
	cmd.Flags().StringVar(&strip, "strip", "", "draw the latency of a `trial` over time with its collections: its number, and @FROM..TO for a part of it")
	cmd.Flags().StringSliceVar(&o.serves, "serves", nil, "in execution traces, count each goroutine of these `function`s (prefixes) as a request, beside those of net/http")
	cmd.Flags().StringVar(&requests, "requests", "", "print every request that was kept, in this `form`: csv")
	return cmd
}

func reportRun(cmd *cobra.Command, path string, o *outFlags, thresholds []string, failWorse bool) error {
	dir, err := store.Read(path)
	if err != nil {
		return err
	}
	for _, note := range dir.Notes() {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: %s\n", note)
	}
	if dir.Run.Plan.Bench != nil {
		return reportBench(cmd, dir, o, thresholds, failWorse)
	}
	if failWorse {
		return usagef("--fail-worse is for a run of dyno bench (consider: --threshold 'change(p99) < 5%%')")
	}
	if err := o.check(cmd, dir.Run.Plan); err != nil {
		return err
	}
	results := dir.Results()
	if err := replaceThresholds(dir.Run.Plan, thresholds, results); err != nil {
		return err
	}
	o.at = dir
	table := tabulate(cmd, dir, o, results)
	err = errors.Join(o.printResults(cmd, dir.Run.Plan, table, results), nothing(table))
	for _, n := range dir.Missing() {
		if file := dir.TrialFile(n, "series.csv"); errors.Is(err, errNothing) && exists(file) {
			return fmt.Errorf("%w (consider: %s, where the samples of one that was killed, or is under way, are)", err, file)
		}
	}
	return o.end(cmd, table, err)
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

func newCompare() *cobra.Command {
	var o outFlags
	var bench benchstat.Options
	cmd := &cobra.Command{
		Use:   "compare DIR [DIR] | compare FILE...",
		Short: "Compare the settings of a run, two runs, or benchmark files",
		Long: `Compare prints the settings of one run against its baseline, as report does, or
each setting of a second run against the same of a first, a table each. Two runs
were not made side by side: a drift of the machine between them counts as a
change, and the report says so. One run that varies what differs is the better experiment.

    dyno compare dyno-runs/a dyno-runs/b

Of files that go test -bench has written it prints what benchstat prints of them,
the same medians, changes and p-values, and what they cannot tell. A file is PATH,
LABEL=PATH, or - for standard input; keys and queries are those of benchstat.

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
				return usagef("%d run directories (want one or two)", len(args))
			}
			if len(args) == 1 {
				return reportRun(cmd, args[0], &o, nil, false)
			}
			if o.format == "hgrm" && !o.json {
				return usagef("--format hgrm shows one run (consider: dyno report DIR --format hgrm for each; the plotter takes several files)")
			}
			if err := o.oneRun("dyno report DIR --format " + string(o.format) + " for each"); err != nil {
				return err
			}
			if sameFile(args[0], args[1]) {
				return usagef("%s and %s are one run (consider: dyno compare %[1]s, for its settings)", args[0], args[1])
			}
			tables, err := compareRuns(args[0], args[1])
			if err != nil {
				return err
			}
			for i, t := range tables {
				if i > 0 && !o.json && o.format != "json" {
					fmt.Fprintln(cmd.OutOrStdout())
				}
				err = errors.Join(err, o.print(cmd, t), nothing(t))
			}
			return err
		},
	}
	o.formatFlags(cmd.Flags())
	benchstatFlags(cmd.Flags(), &bench)
	return cmd
}

func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// compareRuns makes one table for each setting that both runs have, with the
// first run as the baseline.
func compareRuns(a, b string) ([]*compare.Table, error) {
	first, err := store.Read(a)
	if err != nil {
		return nil, err
	}
	second, err := store.Read(b)
	if err != nil {
		return nil, err
	}
	if first.Run.Plan.Bench != nil || second.Run.Plan.Bench != nil {
		return nil, usagef("benchmarks of two runs were not measured side by side (consider: dyno bench --vary rev=a,b, or dyno compare %s %s)", filepath.Join(a, "bench.txt"), filepath.Join(b, "bench.txt"))
	}
	names := runNames(a, b)
	runs := []*store.Dir{first, second}
	results := [][]*dyno.Result{first.Results(), second.Results()}
	e := first.Run.Plan
	var tables []*compare.Table
	for _, s := range e.Levels() {
		has := func(t dyno.Setting) bool { return t.String() == s.String() }
		if !slices.ContainsFunc(second.Run.Plan.Levels(), has) {
			continue
		}
		opt := compare.Options{Name: e.Name, Negligible: e.Negligible, Separate: true}
		var both []*dyno.Result
		profiles := map[string][]profiles.Profiled{}
		for i, name := range names {
			labelled := append(dyno.Setting{{Factor: "run", Value: name}}, s...)
			opt.Settings = append(opt.Settings, labelled)
			rs := slices.DeleteFunc(slices.Clone(results[i]), func(r *dyno.Result) bool { return !has(r.Trial.Setting) })
			both = append(both, compare.Label(rs, name)...)
			for kind, ps := range taken(&opt, runs[i], rs) {
				for _, p := range ps {
					p.Setting = labelled.String()
					profiles[kind] = append(profiles[kind], p)
				}
			}
		}
		tell(&opt, profiles, opt.Settings[0].String())
		t := compare.Tabulate(both, opt)
		t.Warnings.AddTexts(dyno.WarnRunsDiffer, differences(first, second)...)
		t.Warnings.AddTexts(dyno.WarnRunDir, append(first.Notes(), second.Notes()...)...)
		tables = append(tables, t)
	}
	if len(tables) == 0 {
		return nil, fmt.Errorf("%s and %s have no setting in common: %q and %q", a, b, first.Run.Settings, second.Run.Settings)
	}
	return tables, nil
}

// differences says in what two runs are not the same experiment, apart from
// what they vary.
func differences(a, b *store.Dir) (ws []string) {
	for _, part := range []struct {
		name string
		a, b any
	}{
		{"subject", a.Run.Plan.Subject, b.Run.Plan.Subject},
		{"load", a.Run.Plan.Load, b.Run.Plan.Load},
		{"host", a.Run.Host, b.Run.Host},
	} {
		x, y := keys(part.a), keys(part.b)
		for _, k := range slices.Sorted(maps.Keys(x)) {
			if x[k] != y[k] {
				ws = append(ws, fmt.Sprintf("the runs differ in %s.%s: %s and %s", part.name, k, cmp.Or(x[k], "nothing"), cmp.Or(y[k], "nothing")))
			}
		}
		for _, k := range slices.Sorted(maps.Keys(y)) {
			if _, ok := x[k]; !ok {
				ws = append(ws, fmt.Sprintf("the runs differ in %s.%s: nothing and %s", part.name, k, y[k]))
			}
		}
	}
	return ws
}

// keys are the JSON values of v's fields.
func keys(v any) map[string]string {
	data, err := json.Marshal(v)
	var raw map[string]json.RawMessage
	if err == nil {
		err = json.Unmarshal(data, &raw)
	}
	if err != nil {
		panic(err) // it came from such JSON
	}
	text := map[string]string{}
	for k, r := range raw {
		text[k] = string(r)
	}
	return text
}

// runNames are the last elements of the paths, or the paths where these are
// the same.
func runNames(a, b string) []string {
	names := []string{filepath.Base(filepath.Clean(a)), filepath.Base(filepath.Clean(b))}
	if names[0] == names[1] {
		return []string{a, b}
	}
	return names
}
