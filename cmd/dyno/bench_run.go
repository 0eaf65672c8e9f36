package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/cmd/dyno/interrupt"
	"github.com/dynolab/dyno/internal/campaign"
	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/dynolab/dyno/internal/store"
)

// benchInto makes the run directory with the first result.
func benchInto(cmd *cobra.Command, e *dyno.Experiment, o *benchFlags) error {
	if err := o.out.check(cmd, e); err != nil {
		return err
	}
	if err := store.Free(o.out.dir, ""); err != nil { // found before an hour of measuring
		return err
	}
	if e.Bench.Blocks == 0 && len(e.Levels()) == 1 {
		e.Bench.Blocks = aloneBlocks
	}
	campaignOf(cmd).NoteDirty(cmd.Context(), e)
	c := campaignOf(cmd)
	dir, err := c.Benchmarks(cmd.Context(), o.out.runOf(e), o.baseline, nil)
	if dir == nil {
		return err
	}
	defer dir.Close()
	return o.concludeBench(cmd, c, dir, err)
}

// resumeBench goes on with a run of benchmarks.
func resumeBench(cmd *cobra.Command, args []string, o *benchFlags) error {
	if err := onlyResumed(cmd, o.resume, args, "resume", "more", "format", "json", "full", "strict", "fail-worse"); err != nil {
		return err
	}
	dir, err := store.Resume(o.resume)
	if err != nil {
		return err
	}
	defer dir.Close()
	if dir.Run.Plan.Bench == nil {
		return flags.Mistakef("%s is not a run of dyno bench (consider: dyno run --resume %[1]s)", o.resume)
	}
	if err := o.out.check(cmd, dir.Run.Plan); err != nil {
		return err
	}
	c := campaignOf(cmd)
	left, err := c.ResumeBenchmarks(cmd.Context(), o.out.runOf(nil), dir, o.out.more)
	if !left && err == nil {
		notef(cmd, "nothing is left to do (consider: --more, for more blocks)")
	} else if !left {
		return err
	}
	return o.concludeBench(cmd, c, dir, err)
}

// concludeBench keeps and prints what was found.
func (o *benchFlags) concludeBench(cmd *cobra.Command, c *campaign.Campaign, dir *store.Dir, err error) error {
	if o.cache != "" && err == nil {
		err = campaign.FillCache(o.cache, dir)
	}
	err = o.out.conclude(cmd, c, dir, err)
	if !reported(err) && !errors.Is(err, interrupt.Err) {
		return err
	}
	sayWhere(cmd, dir.Path, "")
	return err
}

// aloneBlocks are the samples that benchstat asks for, of one setting beside a file.
const aloneBlocks = 10
