// Package github reports results to a GitHub job: in the summary of its step, and as annotations of the
// lines that caused a change (docs.github.com, "Workflow commands for GitHub Actions").
package github

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/words"
	"github.com/dynolab/dyno/internal/stats"
)

// mostSummary is what GitHub takes as the summary of a step.
const mostSummary = 1 << 20

// mostNotes is the number of annotations of one kind that GitHub shows of a step.
const mostNotes = 10

// Summary appends the report to the summary of the step, if this is one.
func Summary(f *findings.Findings) error {
	path := os.Getenv("GITHUB_STEP_SUMMARY")
	if path == "" {
		return nil
	}
	b := bytes.NewBufferString("\n")
	if err := report.Write(b, f, "markdown", layout.Options{}); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	if info, e := file.Stat(); e == nil && info.Size()+int64(b.Len()) > mostSummary {
		err = fmt.Errorf("%s has no room for %d more bytes (consider: a step for each run)", path, b.Len())
	} else {
		_, err = b.WriteTo(file)
	}
	return errors.Join(err, file.Close())
}

// Annotate writes a warning for each line of the repository that made a primary metric worse, if this is a step
// of a job. The error is w's.
func Annotate(w io.Writer, t *compare.Table) error {
	if os.Getenv("GITHUB_ACTIONS") != "true" {
		return nil
	}
	seen := map[string]bool{}
	for i := range t.Settings {
		s := &t.Settings[i]
		for _, why := range s.Why {
			if s.Versus[why.Metric].Verdict != stats.Worse {
				continue
			}
			for _, c := range why.Causes {
				for _, p := range c.Places {
					file := inRepository(p.File)
					at := fmt.Sprintf("%s:%d", file, p.Line)
					if file == "" || p.Change <= 0 || seen[at] || len(seen) == mostNotes {
						continue
					}
					seen[at] = true
					text := fmt.Sprintf("%s: %s is worse; %s", s.Setting.Label(), words.MetricNoun(why.Metric), words.Cause(c, []string{why.Metric}))
					if _, err := fmt.Fprintf(w, "::warning file=%s,line=%d,title=dyno::%s\n", property(file), p.Line, data(text)); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// inRepository is a file as the repository calls it, "" if it has none of that name. A revision is built in a
// folder of its own, so the longest end of the path counts that names a file here.
func inRepository(path string) string {
	root := os.Getenv("GITHUB_WORKSPACE")
	if root == "" || path == "" {
		return ""
	}
	parts := strings.Split(filepath.ToSlash(path), "/")
	for i := range parts {
		end := strings.Join(parts[i:], "/")
		if info, err := os.Stat(filepath.Join(root, end)); end != "" && filepath.IsLocal(end) && err == nil && info.Mode().IsRegular() {
			return end
		}
	}
	return ""
}

var escapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")

// data escapes the text of a workflow command.
func data(s string) string { return escapes.Replace(layout.Clean(s)) }

// property escapes one of its properties.
func property(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(data(s))
}
