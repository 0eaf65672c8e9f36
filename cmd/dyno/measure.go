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

// measureInto opens the run directory after the subjects are built.
func measureInto(cmd *cobra.Command, e *dyno.Experiment, o *outFlags, open func() (*store.Dir, error)) error {
	if err := o.check(cmd, e); err != nil {
		return err
	}
	hands, release, err := openLab(cmd, e)
	if err != nil {
		return err
	}
	dir, err := open()
	if err != nil {
		return errors.Join(err, release())
	}
	defer dir.Close()
	for _, note := range dir.Notes() {
		notef(cmd, "%s", note)
	}
	hands.Dir, hands.Skip, hands.Keep = dir.TrialDir, dir.Done, dir.WriteRequests
	err = conduct(cmd, hands, e, o, dir.Add)
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
	err = conduct(cmd, hands, e, o, func(r *dyno.Result) error {
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

func conduct(cmd *cobra.Command, hands *lab.Lab, e *dyno.Experiment, o *outFlags, sink func(*dyno.Result) error) error {
	total, done := e.Planned(), 0
	for n := 1; hands.Skip != nil && n <= total; n++ {
		if hands.Skip(n) {
			done++
		}
	}
	if e.Slice > 0 { // one launch, and results when it is over
		total, done = 1, 0
	}
	p := newProgress(cmd.ErrOrStderr(), total, done)
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

func describe(e *dyno.Experiment, command []string) store.Run {
	all := e.Resolved()
	run := store.Run{
		Dyno: version(), Started: time.Now(), Command: command, Plan: &all,
		Host: store.Host{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()},
	}
	run.Host.Name, _ = os.Hostname()
	for _, s := range e.Levels() {
		run.Settings = append(run.Settings, s.String())
	}
	if e.Subject.Source() {
		run.Host.Go = goVersion(context.Background(), "")
	}
	run.Host.Kernel, run.Host.CPU, run.Host.Memory = lab.Describe()
	return run
}
