package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/cmd/dyno/help"
	"github.com/dynolab/dyno/internal/campaign/bisecting"
	"github.com/dynolab/dyno/internal/plan/check"
	"github.com/dynolab/dyno/internal/plan/flags"
)

func newBisect() *cobra.Command {
	var p flags.Set
	var o struct {
		bisecting.Flags
		campaignFlags
	}
	var strict bool
	cmd := &cobra.Command{
		Use:   "bisect [TARGET] [flags] [-- ARGUMENT...]",
		Short: "Say which commit, or which release, changed a metric",
		Long:  help.Bisect,
		Args:  oneTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			c := campaignOf(cmd)
			r, e, err := question(cmd, c, o.resume, args, func() (*dyno.Experiment, error) { return bisected(cmd, &p, args) })
			if err != nil {
				return err
			}
			if e == nil {
				return printKept(cmd, &o.format, r)
			}
			if err := alone(cmd, "--%s is for one run, but bisect decides itself how long each run takes", ofOneRun...); err != nil {
				return err
			}
			b, err := bisecting.New(cmd.Context(), c, r, e, cmp.Or(o.resume, o.dir), o.Flags)
			if err != nil {
				return err
			}
			if o.print {
				return b.Print(cmd.OutOrStdout())
			}
			a, dir, err := b.Run(cmd.Context())
			if a == nil {
				return err
			}
			if err := printAnswer(cmd, &o.format, dir, a, err); err != nil || !strict || !b.Undecided() {
				return err
			}
			return &gateError{exitUnclear, "no version is shown to have changed the metric (--strict)"}
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&o.Good, "good", "", "a `revision` without the change")
	fs.StringVar(&o.Bad, "bad", "", "a later `revision` with it (default HEAD)")
	fs.StringVar(&o.Metric, "metric", "", "the `metric` that changed, such as cpu_per_req (default: a primary one that is surely worse)")
	p.Bench = true
	p.Key(fs, "bench", "", "regexp", "bench.match", "benchmarks, as for go test -bench, instead of a service: TARGET is packages, such as ./...")
	fs.StringVar(&o.Error, "error", "5%", "chance of a wrong answer, a `share`")
	fs.IntVar(&o.Alive, "alive", 4, "`number` of versions that run side by side, 3 to 6")
	fs.BoolVar(&o.All, "all", false, "look for further changes before and after the one that was found")
	fs.BoolVar(&o.Open, "all-parents", false, "if a merge is the answer, look for the commit among those that it merges")
	fs.BoolVar(&strict, "strict", false, "exit with status 98 if the ends differ and no version is shown to have changed the metric")
	o.campaignFlags.flags(&p, fs, "bisection", "the `dir`ectory of the bisection (default dyno-runs/NAME-bisect-TIME)", append(ofOneRun, "rev")...)
	return cmd
}

// bisected is the plan of a service, or of benchmarks.
func bisected(cmd *cobra.Command, p *flags.Set, args []string) (*dyno.Experiment, error) {
	e, err := p.Experiment()
	if err != nil || e.Bench == nil {
		return planned(cmd, p, args, false)
	}
	if err := benchmarksOf(cmd, e, args); err != nil {
		return nil, err
	}
	return e, p.Check(e, check.Experiment)
}
