package main

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/cmd/dyno/help"
	"github.com/dynolab/dyno/internal/campaign"
	"github.com/dynolab/dyno/internal/plan/flags"
)

func newBisect() *cobra.Command {
	var p flags.Set
	var o struct {
		campaign.BisectFlags
		campaignFlags
	}
	cmd := &cobra.Command{
		Use:   "bisect [TARGET] [flags] [-- ARGUMENT...]",
		Short: "Say which commit, or which release, changed a metric",
		Long:  help.Bisect,
		Args:  oneTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			c := campaignOf(cmd)
			r, e, err := question(cmd, c, o.resume, args, func() (*dyno.Experiment, error) { return planned(cmd, &p, args, false) })
			if err != nil {
				return err
			}
			if e == nil {
				return printKept(cmd, &o.format, r)
			}
			if err := alone(cmd, "--%s is for one run, but bisect decides itself how long each run takes", ofOneRun...); err != nil {
				return err
			}
			b, err := campaign.NewBisection(cmd.Context(), c, r, e, cmp.Or(o.resume, o.dir), o.BisectFlags)
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
			return printAnswer(cmd, &o.format, dir, a, err)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&o.Good, "good", "", "a `revision` without the change")
	fs.StringVar(&o.Bad, "bad", "", "a later `revision` with it (default HEAD)")
	fs.StringVar(&o.Metric, "metric", "", "the `metric` that changed, such as cpu_per_req (default: a primary one that is surely worse)")
	fs.StringVar(&o.Error, "error", "5%", "chance of a wrong answer, a `share`")
	fs.IntVar(&o.Alive, "alive", 4, "`number` of versions that run side by side, 3 to 6")
	o.campaignFlags.flags(&p, fs, "bisection", "the `dir`ectory of the bisection (default dyno-runs/NAME-bisect-TIME)", append(ofOneRun, "rev")...)
	return cmd
}
