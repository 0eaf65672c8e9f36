package main

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/campaign"
	"github.com/dynolab/dyno/internal/campaign/progress"
	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/dynolab/dyno/internal/store"
)

// ofSession are flags that say nothing of a question, but of one session with it.
var ofSession = []string{"file", "out", "format", "json", "print", "resume", "patch"}

// question is what a command asks: with a new plan, or as in the directory that an earlier session began.
func question(cmd *cobra.Command, c *campaign.Campaign, resume string, args []string, plan func() (*dyno.Experiment, error)) (*store.Record, error) {
	if resume != "" {
		return goOn(cmd, resume, args, c)
	}
	e, err := plan()
	if err != nil {
		return nil, err
	}
	return asked(cmd, e), nil
}

// asked is the record of a question: the plan, and the flags of the question itself.
func asked(cmd *cobra.Command, e *dyno.Experiment) *store.Record {
	own := map[string][]string{}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if _, planned := f.Value.(*flags.Setter); planned || slices.Contains(ofSession, f.Name) {
			return
		}
		if s, ok := f.Value.(pflag.SliceValue); ok {
			own[f.Name] = s.GetSlice()
		} else {
			own[f.Name] = []string{f.Value.String()}
		}
	})
	as := *e // as it is now: what follows may change e
	return &store.Record{Question: cmd.Name(), Flags: own, Plan: &as}
}

// goOn reads what an earlier session was asked, and sets the flags of the question as it had them.
func goOn(cmd *cobra.Command, path string, args []string, c *campaign.Campaign) (*store.Record, error) {
	if len(args) > 0 {
		return nil, flags.Mistakef("--resume takes the plan from %s (want no target)", path)
	}
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if _, env := f.Annotations[byEnvironment]; !env && !slices.Contains([]string{"resume", "format", "json"}, f.Name) {
			err = flags.Mistakef("--resume takes the plan from %s; --%s cannot change it", path, f.Name)
		}
	})
	if err != nil {
		return nil, err
	}
	r, err := store.ReadRecord(path, cmd.Name())
	if err != nil {
		return nil, err
	}
	for name, values := range r.Flags {
		f := cmd.Flags().Lookup(name)
		if f == nil {
			return nil, flags.Mistakef("%s has the flag --%s, which this dyno does not have (consider: the dyno that began it, %s)", path, name, r.Dyno)
		}
		if s, ok := f.Value.(pflag.SliceValue); ok {
			err = s.Replace(values)
		} else {
			err = f.Value.Set(values[0])
		}
		if err != nil {
			return nil, err
		}
		f.Changed = true
	}
	if c.Secrets, err = progress.Secrets(r.Hidden()); err != nil {
		return nil, err
	}
	return r, r.Reveal(c.Secrets)
}
