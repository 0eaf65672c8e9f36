package findings

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/store"
)

// An Origin says where a run comes from, with all that it takes to repeat the run.
type Origin struct {
	Dir     string // the run directory's name
	Dyno    string // version
	Started time.Time
	Command []string    // as typed
	Plan    string      // as a dyno.yaml
	Host    [][2]string // what and value, such as "kernel" and "6.18"
}

// Origin returns where the run comes from. Dir must be set.
func (f *Findings) Origin() Origin {
	run := &f.Dir.Run
	o := Origin{Dyno: run.Dyno, Started: run.Started, Command: run.Command}
	path, err := filepath.Abs(f.Dir.Path)
	if err != nil {
		path = f.Dir.Path
	}
	o.Dir = filepath.Base(path)
	o.Plan, err = PlanText(run.Plan)
	if err != nil {
		o.Plan = "# " + err.Error()
	}
	h := run.Host
	memory := ""
	if h.Memory > 0 {
		memory = fmt.Sprintf("%.1f GiB", float64(h.Memory)/(1<<30))
	}
	for _, x := range [][2]string{
		{"subject", strings.Join(subjects(f.Results), "; ")},
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

// PlanText returns a plan in the form of a dyno.yaml, which dyno run -f reads.
func PlanText(e *dyno.Experiment) (string, error) {
	data, err := json.Marshal(e.Resolved())
	if err != nil {
		return "", err
	}
	text, err := yaml.JSONToYAML(data)
	return string(text), err
}

// Head is what the JSON of a run begins with. It is made when the last trial ended, so that a report that is made again is the same.
func (f *Findings) Head() answer.Head {
	if f.Dir == nil {
		return answer.Head{Plan: store.Redacted(f.Plan)}
	}
	h := answer.Head{Dyno: f.Dir.Run.Dyno, Plan: store.Redacted(f.Plan), Made: f.Dir.Run.Started, Interrupted: f.Table.Trials+len(f.Table.Failed) < f.Table.Planned}
	for _, r := range f.Results {
		if end := r.Start.Add(r.Elapsed); end.After(h.Made) {
			h.Made = end
		}
	}
	h.Made = h.Made.Truncate(time.Millisecond) // the file of results has no finer lengths
	return h
}
