package main

import (
	"errors"
	"fmt"
	"path/filepath"
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
var ofSession = []string{"file", "out", "format", "json", "print", "resume", "patch", "help"}

// ofQuestion reports whether a flag is of a question itself, neither of its plan nor of a session.
func ofQuestion(f *pflag.Flag) bool {
	_, planned := f.Value.(*flags.Setter)
	return !planned && !slices.Contains(ofSession, f.Name)
}

// question is what a command asks, and its plan: a new one, or that of an earlier session in a directory. The plan is nil if that session
// has the answer.
func question(cmd *cobra.Command, c *campaign.Campaign, resume string, args []string, plan func() (*dyno.Experiment, error)) (*store.Record, *dyno.Experiment, error) {
	if resume != "" {
		return goOn(cmd, resume, args, c)
	}
	e, err := plan()
	if err != nil {
		return nil, nil, err
	}
	return asked(cmd, e), e, nil
}

// asked is the record of a question: the plan, the flags of the question itself, and which flags were typed.
func asked(cmd *cobra.Command, e *dyno.Experiment) *store.Record {
	as := *e // as it is now: what follows may change e
	r := &store.Record{Question: cmd.Name(), Flags: map[string][]string{}, Typed: []string{}, Plan: &as}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if typed(cmd, f.Name) {
			r.Typed = append(r.Typed, f.Name)
		}
		if s, ok := f.Value.(pflag.SliceValue); ok && ofQuestion(f) {
			r.Flags[f.Name] = s.GetSlice()
		} else if ofQuestion(f) {
			r.Flags[f.Name] = []string{f.Value.String()}
		}
	})
	return r
}

// goOn reads what an earlier session was asked, and sets the flags of the question as it had them.
func goOn(cmd *cobra.Command, path string, args []string, c *campaign.Campaign) (*store.Record, *dyno.Experiment, error) {
	if err := onlyResumed(cmd, path, args, "resume", "format", "json"); err != nil {
		return nil, nil, err
	}
	r, err := store.ReadRecord(path, cmd.Name())
	if err != nil || r.Done {
		return r, nil, err
	}
	if err := setAsked(cmd.Flags(), r); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", filepath.Join(path, store.RecordFile), err)
	}
	if c.Secrets, err = progress.Secrets(r.Hidden()); err != nil {
		return nil, nil, err
	}
	e, err := r.Reveal(c.Secrets)
	return r, e, err
}

// onlyResumed refuses a target and flags, but for some, where the plan is that of a directory.
func onlyResumed(cmd *cobra.Command, path string, args []string, allowed ...string) (err error) {
	if len(args) > 0 {
		return flags.Mistakef("--resume takes the plan from %s (want no target)", path)
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if typed(cmd, f.Name) && !slices.Contains(allowed, f.Name) {
			err = flags.Mistakef("--resume takes the plan from %s; --%s cannot change it", path, f.Name)
		}
	})
	return err
}

// setAsked sets the flags of a question as a record has them, or to their defaults, whatever the environment says now.
func setAsked(fs *pflag.FlagSet, r *store.Record) (err error) {
	for name, values := range r.Flags {
		f := fs.Lookup(name)
		if f == nil {
			return fmt.Errorf("this dyno does not have the flag --%s (consider: the dyno that began it, %s)", name, r.Dyno)
		}
		if _, many := f.Value.(pflag.SliceValue); !ofQuestion(f) || !many && len(values) != 1 {
			return fmt.Errorf("dyno does not write the flag --%s with the values %q", name, values)
		}
	}
	fs.VisitAll(func(f *pflag.Flag) {
		if !ofQuestion(f) {
			return
		}
		values, given := r.Flags[f.Name]
		if s, ok := f.Value.(pflag.SliceValue); ok {
			err = errors.Join(err, s.Replace(values))
		} else if given {
			err = errors.Join(err, f.Value.Set(values[0]))
		} else {
			err = errors.Join(err, f.Value.Set(f.DefValue))
		}
		f.Changed = given
	})
	return err
}
