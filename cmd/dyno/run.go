package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/campaign"
	"github.com/dynolab/dyno/internal/campaign/progress"
	"github.com/dynolab/dyno/internal/plan/check"
	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/dynolab/dyno/internal/report"
	"github.com/dynolab/dyno/internal/store"
	"github.com/dynolab/dyno/internal/subject/guard"
)

func newRun() *cobra.Command {
	var p flags.Set
	o := outFlags{steps: true}
	var print, overhead bool
	var resume string
	cmd := &cobra.Command{
		Use:   "run [TARGET] [flags] [-- ARGUMENT...]",
		Short: "Measure a service under every setting",
		Long: `Run builds a service, launches it anew for every trial, loads it, watches it,
and compares the settings. TARGET is one of

    ./cmd/server                  a main package: directory or import path
    example.org/x/cmd/y@v1.2.0    a main package of a published module
    ./server                      an executable file

or comes from the plan (-f dyno.yaml). Arguments after -- go to the service. In them,
{{.Addr}}, {{.Host}} and {{.Port}} stand for a free loopback address. The environment
variable PORT has the port, too. {{.Dir}} is an empty directory of this launch, which
dyno deletes afterwards. Values of environment variables, in --vary too, may use the
same templates.

    dyno run ./cmd/server --vary GOGC=100,50,200 --path /search -- -addr '{{.Addr}}'
    dyno run ./cmd/server --vary rev=main,HEAD -c 8 -n 20000 --repeat 10
    dyno run -f dyno.yaml --vary go=1.25.5,1.26.8
    dyno run example.org/x/cmd/y --vary version=v1.2.0,latest
    dyno run ./cmd/server --vary dep:github.com/jackc/pgx/v5=.,v5.8.0
    dyno run ./cmd/server --limit memory=64MiB --vary GOMEMLIMIT=off,56MiB
    dyno run ./cmd/server --vary GOGC=100,200 --slice 4s
    dyno run -f dyno.yaml --overhead
    dyno run --resume dyno-runs/server-20261121-101500
    dyno run --resume dyno-runs/server-20261121-101500 --more 4
    dyno run ./cmd/server --vary rev=main,HEAD --threshold 'change(p99) < 5%' --threshold 'failures == 0'
    dyno run ./cmd/server --vary rev=main,. --fail-worse    in CI

KEY of --vary is an environment variable (GOGC, GOMEMLIMIT, GODEBUG ...), arg.NAME,
go, rev, version (of a published module), dep:MODULE (the version of a dependency; "." is
that of go.mod), build, limit.cpu, limit.memory, load.rate, load.speed or
load.concurrency. The build sees GOEXPERIMENT, GOAMD64, GOFLAGS, CGO_ENABLED and the like,
too. Quote a level that has a comma or spaces: --vary 'build="-tags=a,b",-pgo=off'.
Limits, such as --vary limit.cpu=none,10%, need Linux, and root or a control group of your
own.
` + summaryHelp,
		Args: oneTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			if resume != "" {
				return resumeRun(cmd, resume, args, &o)
			}
			if typed(cmd, "more") {
				return flags.Mistakef("--more adds blocks to a run (consider: --resume DIR --more %d)", o.more)
			}
			e, err := planned(cmd, &p, args, overhead)
			if err != nil {
				return err
			}
			if o.failWorse && check.GatedBuild(e) {
				e.Relink = new(true)
			}
			if print {
				if !cmd.Flags().Changed("warmup") {
					campaignOf(cmd).NoteLook(e)
				}
				return report.Plan(cmd.OutOrStdout(), e)
			}
			return newRunDir(cmd, e, &o)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	p.LoadFlags(fs)
	p.SubjectFlags(fs)
	p.LookFlags(fs)
	thresholdFlags(&p, fs, &o)
	fs.BoolVar(&o.failWorse, "fail-worse", false, "exit with status 99 if a primary metric is worse, with an error of 0.1% for each comparison")
	o.flags(fs, "default dyno-runs/NAME-TIME")
	o.otlpFlag(fs)
	fs.BoolVar(&overhead, "overhead", false, "measure the cost of the probes: the baseline without and with them, in turns in one process")
	fs.BoolVar(&print, "print", false, "show the resolved plan and the order of trials, run nothing")
	fs.StringVar(&resume, "resume", "", "resume the run in this `dir`ectory")
	fs.IntVar(&o.more, "more", 0, "with --resume: add a `number` of blocks, within the same error rate")
	return cmd
}

func newRunDir(cmd *cobra.Command, e *dyno.Experiment, o *outFlags) error {
	c := campaignOf(cmd)
	if err := c.CheckRepeats(e); err != nil {
		return err
	}
	c.NoteDirty(cmd.Context(), e)
	err := measureInto(cmd, e, o, nil)
	if !reported(err) {
		return err
	}
	next := ""
	if len(e.Profile) > 0 {
		next = "profile " + o.dir
		if levels := e.Levels(); len(levels) > 1 {
			next += " --base '" + levels[0].String() + "'"
		}
	}
	sayWhere(cmd, o.dir, next)
	return err
}

// sayWhere says where the results are. The command that reads them is named by the text itself; next is another.
func sayWhere(cmd *cobra.Command, dir, next string) {
	if next != "" {
		next = fmt.Sprintf(" (consider: %s %s)", self(), next)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "results are in %s, with pictures in %s%s\n", dir, filepath.Join(dir, campaign.PageFile), next)
}

func resumeRun(cmd *cobra.Command, path string, args []string, o *outFlags) error {
	if err := onlyResumed(cmd, path, args, "resume", "more", "format", "json", "full", "strict", "fail-worse", "otlp"); err != nil {
		return err
	}
	if _, resume := store.CampaignOf(path); resume != "" {
		return flags.Mistakef("%s is of a campaign, which chooses its own runs (consider: dyno %s)", path, resume)
	}
	dir, err := store.Resume(path)
	if err != nil {
		return err
	}
	if dir.Run.Plan.Bench != nil {
		return errors.Join(flags.Mistakef("%s is a run of benchmarks (consider: dyno bench --resume %[1]s)", path), dir.Close())
	}
	if s := &dir.Run.Plan.Subject; !s.Launched() && (dir.Run.Plan.Load.None || s.PID != 0 || s.Process != "") {
		return errors.Join(flags.Mistakef("a watch cannot be resumed, as the process went on without it (consider: a new dyno watch)"), dir.Close())
	}
	if typed(cmd, "more") {
		if err := dir.Extend(o.more); err != nil {
			return errors.Join(flags.Mistakef("--more %d: %v", o.more, err), dir.Close())
		}
	}
	if len(dir.Missing()) == 0 {
		defer dir.Close()
		guard.Collect() // as a start that measures does
		notef(cmd, "nothing is left to do")
		return o.conclude(cmd, campaignOf(cmd), dir, nil)
	}
	if dir.Run.Plan.Slice > 0 {
		notef(cmd, "all slices are measured again, as those of two processes cannot be compared")
	}
	c, e := campaignOf(cmd), dir.Run.Plan
	if c.Secrets, err = progress.Secrets(dir.Hidden()); err == nil {
		e, err = c.Resumed(dir)
	}
	if err != nil {
		return errors.Join(err, dir.Close())
	}
	return measureInto(cmd, e, o, dir)
}
