package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis"
	"github.com/dynolab/dyno/report"
	"github.com/dynolab/dyno/store"
)

// pageOf is the HTML report of a run, but for what is read from the files of
// its trials.
func pageOf(dir *store.Dir, t *analysis.Table, results []*dyno.Result) *report.Page {
	return &report.Page{Table: t, Trials: results, Origin: originOf(dir, results)}
}

// originOf says where a run comes from.
func originOf(dir *store.Dir, results []*dyno.Result) report.Origin {
	run := &dir.Run
	o := report.Origin{Dyno: run.Dyno, Started: run.Started, Command: run.Command}
	path, err := filepath.Abs(dir.Path)
	if err != nil {
		path = dir.Path
	}
	o.Dir = filepath.Base(path)
	o.Plan, err = planText(run.Plan)
	if err != nil {
		o.Plan = "# " + err.Error()
	}
	var subjects []string
	for _, r := range results {
		if r.Subject != "" && !slices.Contains(subjects, r.Subject) {
			subjects = append(subjects, r.Subject)
		}
	}
	h := run.Host
	memory := ""
	if h.Memory > 0 {
		memory = fmt.Sprintf("%.1f GiB", float64(h.Memory)/(1<<30))
	}
	for _, x := range [][2]string{
		{"subject", strings.Join(subjects, "; ")},
		{"host", h.Name},
		{"system", strings.TrimSpace(h.OS + "/" + h.Arch + " " + h.Kernel)},
		{"CPU", fmt.Sprintf("%d × %s", h.CPUs, strings.TrimSpace(h.CPU))},
		{"memory", memory},
		{"go command", h.Go},
	} {
		if x[1] != "" {
			o.Host = append(o.Host, x)
		}
	}
	return o
}

// planText is a plan in the form of a dyno.yaml, which run -f reads.
func planText(e *dyno.Experiment) (string, error) {
	data, err := json.Marshal(e.Resolved())
	if err != nil {
		return "", err
	}
	text, err := yaml.JSONToYAML(data)
	return string(text), err
}
