package main

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/cmd/dyno/help"
	"github.com/dynolab/dyno/internal/campaign"
	"github.com/dynolab/dyno/internal/plan/flags"
)

func newUpgrade() *cobra.Command {
	var p flags.Set
	var o struct {
		campaign.UpgradeFlags
		campaignFlags
		strict bool
	}
	cmd := &cobra.Command{
		Use:   "upgrade [TARGET] [flags] [-- ARGUMENT...]",
		Short: "Say whether a later Go, or later modules, are safe for a service",
		Long:  help.Upgrade,
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
			if err := alone(cmd, "--%s is for one run, but upgrade decides itself how long each run takes (consider: --total)", ofOneRun...); err != nil {
				return err
			}
			u, err := campaign.NewUpgrade(cmd.Context(), c, r, e, cmp.Or(o.resume, o.dir), o.UpgradeFlags)
			if err != nil {
				return err
			}
			if o.print {
				return u.Print(cmd.OutOrStdout())
			}
			a, dir, err := u.Run(cmd.Context())
			switch {
			case a == nil:
				return err
			case o.form() == "markdown" && err == nil:
				_, err = fmt.Fprint(cmd.OutOrStdout(), a.Markdown())
			default:
				err = printAnswer(cmd, &o.format, dir, a, err)
			}
			if status := a.Status(o.strict); err == nil && status != 0 {
				return &gateError{status, a.First()}
			}
			return err
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringArrayVar(&o.To, "to", nil, "the new `version`: go1.27, MODULE@VERSION (may be repeated), or all (what go list -m -u offers)")
	fs.StringArrayVar(&o.Allow, "allow", nil, "metric and `share` by which it may get worse, such as 'p99 5%'; may be repeated (default p50 5%, p99 10%, cpu_per_req 5%, rss_peak 5%)")
	fs.DurationVar(&o.Total, "total", 5*time.Minute, "most `time` for the comparison of old and new, without builds")
	fs.BoolVar(&o.NoCause, "no-cause", false, "do not search for the default that changed a metric")
	fs.BoolVar(&o.strict, "strict", false, "exit with status 98 if it is not decided, and with 99 if a default allowance fails")
	o.campaignFlags.flags(&p, fs, "upgrade", "the `dir`ectory of the upgrade (default dyno-runs/NAME-upgrade-TIME)", append(ofOneRun, "rev")...)
	o.format.known = append(o.format.known, "markdown")
	fs.Lookup("format").Usage = "format of the result: text, markdown or json"
	return cmd
}
