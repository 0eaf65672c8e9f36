package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/dynolab/dyno/internal/store"
)

// cutSteps leaves the campaign in DIR as if it had been killed after so many steps.
//
//	steps DIR N
func cutSteps(ts *testscript.TestScript, _ bool, args []string) {
	path := filepath.Join(ts.MkAbs(args[0]), store.RecordFile)
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	text, err := os.ReadFile(path)
	ts.Check(err)
	var r map[string]any
	ts.Check(json.Unmarshal(text, &r))
	r["steps"] = r["steps"].([]any)[:n]
	text, err = json.Marshal(r)
	ts.Check(err)
	ts.Check(os.WriteFile(path, text, 0o600))
}
