package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno/examples"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/plan"
	"github.com/dynolab/dyno/plan/flags"
	"github.com/dynolab/dyno/report"
	"github.com/dynolab/dyno/store"
)

const firstDemo = "sessions"

func newDemo() *cobra.Command {
	var o outFlags
	cmd := &cobra.Command{
		Use:   "demo [NAME]",
		Short: "Make a published study again, in under 3 minutes",
		Long: `Demo measures an example service that dyno brings along, by the short plans of the
example, and prints what a published study of such a service found beside what
was found here. It needs the go command and nothing else.

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
	if err := o.oneRun("dyno report, of one of the demo's runs"); err != nil {
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
	var reports strings.Builder
	for _, file := range plans {
		page := filepath.Join(folder, strings.TrimSuffix(filepath.Base(file), ".yaml"), pageFile)
		if exists(page) {
			fmt.Fprintf(&reports, "  %s\n", page)
		}
	}
	fmt.Fprintf(cmd.ErrOrStderr(), `
All of it is in %[1]s: a run directory for each plan, with results.jsonl,
summary.json and one directory a trial.
Next:
  the whole study:
    %[3]s run -f %[1]s/source/dyno.yaml
  your own service:
    %[3]s run ./cmd/yours --vary GOGC=100,200 --path /
  all runs in a browser, also while they go on:
    %[3]s view %[1]s
Reports with pictures, for any browser:
%[2]s`, folder, reports.String(), self())
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
	if !empty(path) {
		return "", fmt.Errorf("directory %s is not empty (consider: another --out)", path)
	}
	return filepath.Abs(path)
}

func empty(dir string) bool {
	entries, _ := os.ReadDir(dir)
	return len(entries) == 0
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
	plan := strings.TrimSuffix(filepath.Base(file), ".yaml")
	if program := s.Needs[plan]; program != "" {
		if _, err := exec.LookPath(program); err != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "plan %s (%s) is left out: it needs %s\n", plan, which, program)
			return nil
		}
	}
	path := filepath.Join(folder, plan)
	fmt.Fprintf(cmd.ErrOrStderr(), "plan %s (%s)\n", plan, which)
	open := func() (*store.Dir, error) { return store.Create(path, describe(e, os.Args)) }
	if err := measureInto(cmd, e, o, open); err != nil {
		return err
	}
	dir, err := store.Read(path)
	if err != nil {
		return err
	}
	err = printStudy(cmd.OutOrStdout(), beside(s, plan, findings.Unwritten(e, dir.Results()).Table), o)
	for _, l := range s.Listings {
		if l.Plan == plan && err == nil && o.form() == "text" {
			fmt.Fprintf(cmd.OutOrStdout(), "$ dyno profile %s list '%s' --type %s --setting '%s'\n\n", path, l.Func, l.Type, l.Setting)
			list := profileFlags{kind: l.Type, setting: l.Setting, format: "text"}
			err = list.run(cmd, []string{path, "list", l.Func})
		}
	}
	return err
}

// printStudy prints published tables, unless a program is to read the output.
func printStudy(w io.Writer, tables []*report.Published, o *outFlags) error {
	var errs []error
	for _, p := range tables {
		switch o.form() {
		case "json":
		case "markdown":
			fmt.Fprintln(w)
			errs = append(errs, p.Markdown(w))
		default:
			fmt.Fprintln(w)
			errs = append(errs, p.Text(w, o.look(w)))
		}
	}
	if len(tables) > 0 {
		fmt.Fprintln(w)
	}
	return errors.Join(errs...)
}

// self is how a user can start this program again, for hints.
func self() string {
	if strings.Contains(os.Args[0], "go-build") {
		return "go run ./cmd/dyno"
	}
	return "dyno"
}
