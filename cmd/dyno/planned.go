package main

import (
	"errors"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/lab"
	"github.com/dynolab/dyno/internal/plan/flags"
)

func oneTarget(cmd *cobra.Command, args []string) error {
	if n := cmd.ArgsLenAtDash(); n > 1 || n < 0 && len(args) > 1 {
		return errors.New("more than one target (consider: -- before the service's arguments)")
	}
	return nil
}

func planned(cmd *cobra.Command, p *flags.Set, args []string, overhead bool) (*dyno.Experiment, error) {
	e, err := written(cmd, p, args)
	if err != nil {
		return nil, err
	}
	if overhead {
		if !cmd.Flags().Changed("repeat") {
			e.Repeats = 0 // a plan's is of launches
		}
		costs, err := e.Overhead()
		if err != nil {
			return nil, err
		}
		e = &costs
	}
	robust := slices.Equal(e.Primary, []string{"robust"})
	if robust {
		e.Primary = nil
	}
	if err = p.Check(e, lab.Check); err == nil && robust {
		campaignOf(cmd).Robust(e)
	}
	return e, err
}

// written is the plan of file, flags and target before it is checked.
func written(cmd *cobra.Command, p *flags.Set, args []string) (*dyno.Experiment, error) {
	e, err := p.Experiment()
	if err != nil {
		return nil, err
	}
	if n := cmd.ArgsLenAtDash(); n >= 0 {
		e.Subject.Args = args[n:]
		args = args[:n]
	}
	if len(args) == 1 {
		if err := flags.Target(e, args[0]); err != nil {
			return nil, err
		}
	}
	if s := &e.Subject; s.PID != 0 || s.Process != "" {
		return nil, flags.Mistakef("the subject runs already (consider: dyno watch)")
	}
	if e.Subject.Dir == "" {
		if e.Subject.Dir, err = os.Getwd(); err != nil {
			return nil, err
		}
	}
	return e, nil
}
