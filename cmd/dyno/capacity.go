package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/campaign"
	"github.com/dynolab/dyno/internal/lab"
	"github.com/dynolab/dyno/internal/plan/flags"
)

type capacityFlags struct {
	campaign.SearchFlags
	campaignFlags
}

func newCapacity() *cobra.Command {
	var p flags.Set
	var o capacityFlags
	cmd := &cobra.Command{
		Use:   "capacity [TARGET] [flags] [-- ARGUMENT...]",
		Short: "Find the highest rate that holds an objective",
		Long: `Capacity searches the highest rate of requests at which a service still holds an
objective, such as a p99 below 30 ms, and says how exactly it knows that rate. It measures
windows at one rate each, every one with a launch and a queue of its own, and chooses the
rate of the next window by what it has learnt. TARGET is as for dyno run, or the URL of a
service that runs already.

    dyno capacity ./cmd/server --slo 'p99 < 30ms' --slo 'failures < 0.1%'
    dyno capacity ./cmd/server --slo 'p99 < 30ms' --vary GOGC=100,400 --path /search
    dyno capacity http://127.0.0.1:8080/search --slo 'p99 < 30ms'
    dyno capacity -f dyno.yaml --slo 'p50 < 5ms' --precision 5% --within 2m

An objective is a percentile of latency, or failures with a share of the requests. A request
that fails, or was never sent, is slower than any limit. Without --slo, the thresholds of the
plan that are objectives hold. Requests arrive at random (arrival: poisson), unless the plan
or --arrival says constant. The search ends when the interval is ±3% (--precision), or after
3 minutes for each setting, 5 while the interval is wider than ±10%. --within sets the time
for all settings together.

Several settings (--vary) are searched at the same time, one window of each in turn. If the
generator cannot send more, capacity says "at least". Ctrl-C keeps the windows so far, and
--resume DIR goes on with them, as after a crash.

The rate of a load with several steps is that of sessions; the objective is about the
requests of all its steps.`,
		Args: oneTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			c := campaignOf(cmd)
			r, err := question(cmd, c, o.resume, args, func() (*dyno.Experiment, error) { return loaded(cmd, &p, args) })
			if err != nil {
				return err
			}
			if err := alone(cmd, "--%s is for one run, but capacity decides itself at which rates it measures, and how long (consider: --from, --within)", ofOneRate...); err != nil {
				return err
			}
			if err := alone(cmd, "--%s is for dyno run: each window of capacity has a launch of its own, and nothing beside it", ofBeside...); err != nil {
				return err
			}
			o.Typed = func(name string) bool { return typed(cmd, name) }
			s, err := campaign.NewSearch(c, r, cmp.Or(o.resume, o.dir), o.SearchFlags)
			if err != nil {
				return err
			}
			if err := p.Check(s.Plan, lab.Check); err != nil {
				return err
			}
			if o.print {
				return o.printPlan(cmd, s)
			}
			found, err := s.Run(cmd.Context())
			if found == nil {
				return err
			}
			return printAnswer(cmd, &o.format, found.Dir, found, err)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringArrayVar(&o.SLO, "slo", nil, "`objective` that must hold, such as 'p99 < 30ms' or 'failures < 0.1%'; may be repeated, replaces the plan's thresholds")
	fs.StringVar(&o.Precision, "precision", "3%", "half the width of the interval at which the search ends, a `share` of the capacity")
	fs.StringVar(&o.From, "from", "", "`rate` of the first window (default the plan's rate, or "+campaign.DefaultFrom+")")
	fs.StringVar(&o.Most, "most", "", "highest `rate` to try (default: any)")
	o.flags(&p, fs, "search", "the run `dir`ectory (default dyno-runs/NAME-capacity-TIME)", slices.Concat(ofOneRate, ofBeside)...)
	fs.Lookup("within").Usage = "most `time` for the search of all settings together (default 3m for each, 5m while its interval is wider than ±10%)"
	return cmd
}

// ofOneRate are flags that capacity has only to say that it decides what they say.
var ofOneRate = []string{"rate", "duration", "requests", "repeat"}

// ofBeside are those of blocks, which windows are not.
var ofBeside = []string{"alone", "turn", "relink"}

// loaded is the plan as written, without what a service that runs already cannot have.
func loaded(cmd *cobra.Command, p *flags.Set, args []string) (*dyno.Experiment, error) {
	e, err := written(cmd, p, args)
	if err != nil || e.Subject.URL == "" {
		return e, err
	}
	if err := onlyLoads(cmd); err != nil {
		return nil, err
	}
	loadOnly(cmd, e)
	return e, nil
}

// printPlan says what would be measured.
func (o *capacityFlags) printPlan(cmd *cobra.Command, s *campaign.Search) error {
	text, err := findings.PlanText(s.Plan)
	if err != nil {
		return err
	}
	w, p := cmd.OutOrStdout(), &s.Problem
	for _, o := range p.Objectives {
		fmt.Fprintf(w, "objective: %s, so %s of the requests may be beyond\n", o, dyno.Fraction(o.Share))
	}
	fmt.Fprintf(w, "first rate: %g/s; then by what was measured, until the interval is ±%s\n", p.From, dyno.Fraction(p.Precision))
	fmt.Fprintf(w, "settings: %d, at most %v for each\n", len(s.Settings), dyno.Duration(p.Within))
	_, err = fmt.Fprintf(w, "\nthe plan of a window, but for its rate and length:\n\n%s", text)
	return err
}
