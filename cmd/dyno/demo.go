package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/examples"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/campaign"
	"github.com/dynolab/dyno/internal/plan"
	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/dynolab/dyno/internal/report"
	"github.com/dynolab/dyno/internal/store"
)

const firstDemo = "sessions"

// demoLines are for the verdict on a plan, above the figures of the study.
const demoLines = 12

func newDemo() *cobra.Command {
	var o outFlags
	cmd := &cobra.Command{
		Use:   "demo [NAME]",
		Short: "Reproduce a published study, in under 3 minutes",
		Long: `Demo measures an example service that comes with dyno, by short plans. It prints the
results beside those of a published study of such a service. It needs the go command
and nothing else.

    dyno demo              what GOGC does to response times and memory
    dyno demo search       what allocations cost, and which line makes them

Examples: ` + strings.Join(examples.Names(), ", ") + ` (default ` + firstDemo + `). The directory of --out gets the
example's source and plans, in source/, and a run directory for each plan.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := firstDemo
			if len(args) == 1 {
				name = args[0]
			}
			return demo(cmd, name, &o)
		},
	}
	o.flags(cmd.Flags(), "default dyno-runs/demo-NAME-TIME")
	return cmd
}

func demo(cmd *cobra.Command, name string, o *outFlags) error {
	if !slices.Contains(examples.Names(), name) {
		return flags.Mistakef("unknown example %q (want %s)", name, strings.Join(examples.Names(), ", "))
	}
	if err := o.oneRun("dyno report on one of the demo's runs"); err != nil {
		return err
	}
	folder, err := demoFolder(o.dir, name)
	if err != nil {
		return err
	}
	source := filepath.Join(folder, "source")
	if err := examples.Extract(source, name); err != nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(source, "study.yaml"))
	if err != nil {
		return err
	}
	s, err := examples.ParseStudy(data)
	if err != nil {
		return err
	}
	plans, err := filepath.Glob(filepath.Join(source, "demo", "*.yaml"))
	if err != nil {
		return err
	}
	if o.form() == "text" {
		fmt.Fprintf(cmd.OutOrStdout(), "Study: %s.\n", s.Source)
	}
	for i, file := range plans {
		if err := demoPlan(cmd, file, folder, fmt.Sprintf("%d of %d", i+1, len(plans)), s, o); err != nil {
			return err
		}
	}
	for _, b := range s.Benchmarks {
		if err := demoBench(cmd, source, filepath.Join(folder, b.Plan), b, s, o); err != nil {
			return err
		}
	}
	fmt.Fprintf(cmd.ErrOrStderr(), `All tables, causes and pictures of these runs: %[2]s view %[1]s
The whole study: %[2]s run -f %[1]s/source/dyno.yaml
Your own service: %[2]s run ./cmd/yours --vary GOGC=100,200 --path /
`, folder, self())
	return nil
}

// demoFolder returns an absolute path: a new one below dyno-runs if path is "".
func demoFolder(path, name string) (string, error) {
	if path == "" {
		var err error
		if path, err = store.NewPath("demo-"+name, time.Now()); err != nil {
			return "", err
		}
	}
	if err := store.Free(path, ""); err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

func demoPlan(cmd *cobra.Command, file, folder, which string, s *examples.Study, o *outFlags) error {
	src, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	e, err := plan.Parse(file, src)
	if err != nil {
		return err
	}
	e.Draw()
	plan := strings.TrimSuffix(filepath.Base(file), ".yaml")
	if program := s.Needs[plan]; program != "" {
		if _, err := exec.LookPath(program); err != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "plan %s (%s) is left out: it needs %s\n", plan, which, program)
			return nil
		}
	}
	out := *o
	out.dir, out.lines = filepath.Join(folder, plan), demoLines
	if err := measureInto(cmd, e, &out, nil); err != nil {
		return err
	}
	dir, err := store.Read(out.dir)
	if err != nil {
		return err
	}
	err = printStudy(cmd.OutOrStdout(), s, plan, findings.Unwritten(e, dir.Results()).Table, o)
	for _, l := range s.Listings {
		if l.Plan == plan && err == nil && o.form() == "text" {
			fmt.Fprintf(cmd.OutOrStdout(), "$ dyno profile %s list '%s' --type %s --setting '%s'\n\n", out.dir, l.Func, l.Type, l.Setting)
			list := profileFlags{kind: l.Type, setting: l.Setting, format: format{name: "text"}}
			err = list.run(cmd, []string{out.dir, "list", l.Func})
		}
	}
	return err
}

// demoBench runs each benchmark once a round, so that a drift of the machine falls on
// all alike.
func demoBench(cmd *cobra.Command, source, path string, b examples.Benchmark, s *examples.Study, o *outFlags) error {
	if err := os.MkdirAll(path, 0o777); err != nil {
		return err
	}
	program := filepath.Join(path, "benchmark.test")
	defer os.Remove(program)
	fmt.Fprintf(cmd.ErrOrStderr(), "benchmarks %s\n", b.Plan)
	if _, err := campaign.Tool(cmd.Context(), source, "go", "test", "-c", "-o", program, "."); err != nil {
		return err
	}
	var results strings.Builder
	for range cmp.Or(b.Count, dyno.DefaultRepeats) {
		text, err := campaign.Tool(cmd.Context(), source, program, "-test.run=^$", "-test.benchmem", "-test.bench="+b.Bench, "-test.benchtime="+cmp.Or(b.Time, "100ms"))
		if err != nil {
			return err
		}
		fmt.Fprintln(&results, text)
	}
	if err := os.WriteFile(filepath.Join(path, "bench.txt"), []byte(results.String()), 0o666); err != nil {
		return err
	}
	var errs []error
	for _, t := range findings.BenchTables(strings.NewReader(results.String())) {
		errs = append(errs, o.printTable(cmd, t), printStudy(cmd.OutOrStdout(), s, b.Plan+"/"+t.Name, t, o))
	}
	return errors.Join(errs...)
}

// printStudy prints the published tables of a plan beside what t found, unless a program
// is to read the output.
func printStudy(w io.Writer, s *examples.Study, plan string, t *compare.Table, o *outFlags) error {
	var err error
	printed := false
	for _, table := range s.Tables {
		if table.Plan != plan || o.form() == "json" {
			continue
		}
		printed = true
		fmt.Fprintln(w)
		if p := beside(s, table, t); o.form() == "markdown" {
			err = errors.Join(err, p.Markdown(w))
		} else {
			err = errors.Join(err, p.Text(w, o.look(w)))
		}
	}
	if printed {
		fmt.Fprintln(w)
	}
	return err
}

// beside returns a published table with what t found.
func beside(s *examples.Study, table examples.StudyTable, t *compare.Table) *report.Published {
	p := &report.Published{Title: table.Title, Source: s.Source, Note: table.Note, Trials: "one trial"}
	if t.Blocks != 1 {
		p.Trials = fmt.Sprintf("medians of %d trials", t.Blocks)
	}
	for _, c := range table.Columns {
		p.Columns = append(p.Columns, c.Name)
	}
	none := math.NaN()
	for _, r := range table.Rows {
		row := report.PublishedRow{Label: r.Label, Unit: r.Unit}
		if slices.ContainsFunc(r.Study, func(x *float64) bool { return x != nil }) {
			for _, x := range r.Study {
				row.Study = append(row.Study, *cmp.Or(x, &none))
			}
		}
		for _, c := range table.Columns {
			if r.Metric != "" {
				row.Here = append(row.Here, findings.Median(t, c.Setting, r.Metric)*cmp.Or(r.Scale, 1))
			}
		}
		p.Rows = append(p.Rows, row)
	}
	return p
}

// self is how a user can start this program again, for hints.
func self() string {
	if strings.Contains(os.Args[0], "go-build") {
		return "go run ./cmd/dyno"
	}
	return "dyno"
}
