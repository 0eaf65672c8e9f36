package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/examples"
	"github.com/dynolab/dyno/store"
)

// The demo is the example's own plan, made short: these many requests of each
// client, and enough blocks for an interval.
const (
	demoRequests = 4000
	demoWarmup   = dyno.Duration(300 * time.Millisecond)
	demoIdle     = dyno.Duration(0)
	demoDefault  = "sessions"
)

func newDemo() *cobra.Command {
	var o outFlags
	cmd := &cobra.Command{
		Use:   "demo [NAME]",
		Short: "Measure an example, in under 3 minutes",
		Long: `Demo measures an example service that dyno brings along, by a short form of the
example's plan: what GOGC does to its response times and memory. It needs the go
command and nothing else. The service's source and plan are kept in the run
directory, in source/.

Examples: ` + strings.Join(examples.Names(), ", ") + ` (default ` + demoDefault + `).`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := demoDefault
			if len(args) == 1 {
				name = args[0]
			}
			return demo(cmd, name, &o)
		},
	}
	o.flags(cmd.Flags(), "default dyno-runs/NAME-TIME")
	return cmd
}

func demo(cmd *cobra.Command, name string, o *outFlags) (err error) {
	src, err := examples.Plan(name)
	if err != nil {
		return usagef("%v", err)
	}
	// The source is put into the run directory, so that one has to be there.
	if o.dir == "" {
		if o.dir, err = store.NewPath("demo-"+name, time.Now()); err != nil {
			return err
		}
	}
	source, err := filepath.Abs(filepath.Join(o.dir, "source"))
	if err != nil {
		return err
	}
	e, err := dyno.ParsePlan(filepath.Join(source, "dyno.yaml"), src)
	if err != nil {
		return err
	}
	e.Name = "demo-" + name
	e.Repeats = dyno.DefaultRepeats
	e.Load.RequestsPerClient, e.Load.Warmup, e.Load.Idle = demoRequests, demoWarmup, demoIdle
	dir, err := o.create(describe(e, os.Args))
	if err != nil {
		return err
	}
	if err := examples.Extract(source, name); err != nil {
		return errors.Join(err, dir.Close())
	}
	if err := measureInto(cmd, e, o, func() (*store.Dir, error) { return dir, nil }); err != nil {
		return err
	}
	w := cmd.ErrOrStderr()
	fmt.Fprintf(w, `
All of it is in %[1]s: results.jsonl, summary.json, bench.txt, one directory a trial.
Next:
  the same tables for a pull request:
    %[2]s report %[1]s --format markdown
  the whole study, 5 repeats of 12,000 requests:
    %[2]s run -f %[1]s/source/dyno.yaml
  your own service:
    %[2]s run ./cmd/yours --vary GOGC=100,200 --path /
`, o.dir, self())
	return nil
}

// self is how to call this dyno again: go run starts it from a directory that
// is gone afterwards.
func self() string {
	if strings.Contains(os.Args[0], "go-build") {
		return "go run ./cmd/dyno"
	}
	return "dyno"
}
