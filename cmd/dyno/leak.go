package main

import (
	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis"
	"github.com/dynolab/dyno/store"
)

// growths holds what grew in each trial.
func growths(cmd *cobra.Command, dir *store.Dir, results []*dyno.Result) map[int]*analysis.Growth {
	return nil
}
