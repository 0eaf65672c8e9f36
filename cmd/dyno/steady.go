package main

import (
	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis"
	"github.com/dynolab/dyno/store"
)

// steadiness tells of each trial whether its response times stayed as they were.
func steadiness(cmd *cobra.Command, dir *store.Dir, results []*dyno.Result) map[int]*analysis.Steadiness {
	return nil
}
