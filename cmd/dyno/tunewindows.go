package main

import (
	"github.com/dynolab/dyno/analysis/gcmodel"
	"github.com/dynolab/dyno/store"
)

// windows are what the model needs of a run.
func windows(dir *store.Dir) []gcmodel.Window { return nil }
