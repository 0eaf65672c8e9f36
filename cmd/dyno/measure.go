package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/lab"
	"github.com/dynolab/dyno/plan/flags"
	"github.com/dynolab/dyno/store"
)

// measureInto makes a run directory after the subjects are built, unless it goes on with
// one.
func measureInto(cmd *cobra.Command, e *dyno.Experiment, o *outFlags, dir *store.Dir) error {
	if err := o.check(cmd, e); err != nil {
		return err
	}
	hands, release, err := openLab(cmd, e)
	if err != nil {
		return err
	}
	if dir == nil {
		if dir, err = o.create(e); err != nil {
			return errors.Join(err, release())
		}
	}
	defer dir.Close()
	noteLosses(cmd, dir)
	hands.Dir, hands.Skip, hands.Keep = dir.TrialDir, dir.Done, dir.WriteRequests
	err = conduct(cmd, hands, e, o, e.Planned()-len(dir.Missing()), dir.Add)
	return o.conclude(cmd, dir, errors.Join(err, release()))
}

func measureOnly(cmd *cobra.Command, e *dyno.Experiment, o *outFlags) error {
	if err := o.check(cmd, e); err != nil {
		return err
	}
	if o.form() == "html" {
		return flags.Mistakef("--format html shows a run directory (consider: --out DIR)")
	}
	hands, release, err := openLab(cmd, e)
	if err != nil {
		return err
	}
	hands.Dir = func(int) (string, error) { return "", nil }
	var results []*dyno.Result
	// An interrupted trial is shown, as it cannot be gone on with.
	hands.Interrupted = func(r *dyno.Result) {
		if r.Latency != nil && r.Latency.Count() > 0 {
			r.Err = ""
			r.Warnings.Add(dyno.WarnInterrupted, "the trial was interrupted: it is shown as far as it came")
			results = append(results, r)
		}
	}
	err = conduct(cmd, hands, e, o, 0, func(r *dyno.Result) error {
		results = append(results, r)
		return nil
	})
	return o.end(cmd, findings.Unwritten(e, results), errors.Join(err, release()))
}

// openLab builds the subjects of a plan. The caller releases the lab.
func openLab(cmd *cobra.Command, e *dyno.Experiment) (hands *lab.Lab, release func() error, err error) {
	hands, release, err = lab.Open()
	if err != nil {
		return nil, nil, err
	}
	if e.Subject.Source() {
		fmt.Fprintf(cmd.ErrOrStderr(), "building %s\n", e.Subject.String())
	}
	if err := hands.PrepareAll(cmd.Context(), e); err != nil {
		return nil, nil, errors.Join(err, release())
	}
	return hands, release, nil
}

// conduct runs the trials, of which so many are done already.
func conduct(cmd *cobra.Command, hands *lab.Lab, e *dyno.Experiment, o *outFlags, known int, sink func(*dyno.Result) error) error {
	p := &progress{total: e.Planned(), known: known}
	if e.Slice > 0 { // one launch, and results when it is over
		p.total, p.known = 1, 0
	}
	p.open(cmd.ErrOrStderr(), 0, p.line)
	defer p.close()
	hands.Watch = p.begin
	defer o.otlp.Follow(hands, e, version(), p.note)()
	return hands.Run(cmd.Context(), e, func(r *dyno.Result) error {
		if e.Slice == 0 {
			p.end(r)
		}
		return sink(r)
	})
}

func describe(e *dyno.Experiment) store.Run {
	all := e.Resolved()
	run := store.Run{
		Dyno: version(), Started: time.Now(), Command: os.Args, Plan: &all,
		Host: store.Host{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()},
	}
	run.Host.Name, _ = os.Hostname()
	for _, s := range e.Levels() {
		run.Settings = append(run.Settings, s.String())
	}
	if e.Subject.Source() || e.Bench != nil {
		run.Host.Go = goVersion(context.Background(), e.Subject.Dir)
	}
	run.Host.Kernel, run.Host.CPU, run.Host.Memory = lab.Describe()
	return run
}
