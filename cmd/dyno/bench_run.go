package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/cmd/dyno/interrupt"
	"github.com/dynolab/dyno/internal/campaign"
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
	dir, err := c.Benchmarks(cmd.Context(), o.out.runOf(e), o.baseline)
	if dir == nil {
		return err
	}
	defer dir.Close()
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
