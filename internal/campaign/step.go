package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/lab"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/store"
)

// A Step is a run that a question asks for.
type Step struct {
	Name string // of its directory in the campaign's
	Plan *dyno.Experiment

	// Enough says after a block of a run that decides itself how many blocks it takes whether it ends, by the table and the results
	// so far; nil means when its primary verdicts are decided.
	Enough func(*compare.Table, []*dyno.Result) bool
}

// Step measures a run side by side, as dyno run does, unless an earlier session did. The subjects of its plan are built. It returns what
// was found, and how long that took. With an error, the findings are those so far, and nil if there are none.
func (c *Campaign) Step(ctx context.Context, s Step) (f *findings.Findings, took time.Duration, err error) {
	path := filepath.Join(c.record.Dir(), s.Name)
	done, err := c.before(s.Name)
	if err != nil {
		return nil, 0, err
	}
	if done != nil {
		f, err = readStep(path, s.Plan)
		return f, seconds(done.Took), err
	}
	most := ""
	if s.Plan.Within > 0 {
		most = fmt.Sprintf(", at most %v", s.Plan.Within)
	}
	fmt.Fprintf(c.Stderr, "%s: %s%s\n", s.Name, layout.Count(len(s.Plan.Levels()), "setting"), most)
	began := time.Now()
	r := &Run{Plan: s.Plan, Path: path}
	dir, err := c.stepDir(r)
	if err != nil {
		return nil, 0, err
	}
	defer dir.Close()
	if s.Enough != nil {
		r.Enough = func(int) bool {
			rs := dir.Brief()
			return s.Enough(findings.Unwritten(s.Plan, rs).Table, rs)
		}
	}
	err = c.Fill(ctx, r, dir)
	if alike := (*lab.AlikeError)(nil); errors.As(err, &alike) { // its cure, dyno run --resume, does not exist for a step
		err = fmt.Errorf("%s: the first trials failed: %s", s.Name, alike.Err)
	}
	f, unread, unwritten := ReadAndWrite(dir)
	took = time.Since(began)
	if unread != nil {
		return nil, took, errors.Join(err, unread, unwritten)
	}
	if err = errors.Join(err, unwritten); err == nil && f.Table.Trials == 0 {
		err = findings.ErrNothing
	}
	if err == nil {
		err = c.did(s.Name, took, nil)
	}
	return f, took, err
}

// stepDir makes the run directory of a step, or opens the one in which it was cut off.
func (c *Campaign) stepDir(r *Run) (*store.Dir, error) {
	if _, err := os.Stat(r.Path); err != nil {
		return c.Create(r)
	}
	dir, err := store.Resume(r.Path)
	if err != nil {
		return nil, err
	}
	if err = sameSettings(dir, r.Plan); err == nil {
		_, err = dir.Reveal(c.Secrets)
	}
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return dir, nil
}

// readStep reads a step that an earlier session measured.
func readStep(path string, e *dyno.Experiment) (*findings.Findings, error) {
	dir, err := store.Read(path)
	if err == nil {
		err = sameSettings(dir, e)
	}
	if err != nil {
		return nil, err
	}
	return findings.Read(dir, findings.Options{})
}

// sameSettings is an error if an earlier session measured other settings.
func sameSettings(dir *store.Dir, e *dyno.Experiment) error {
	var now []string
	for _, s := range e.Levels() {
		now = append(now, s.String())
	}
	if slices.Equal(now, dir.Run.Settings) {
		return nil
	}
	return fmt.Errorf("%s has measured %s, and would now measure %s: dyno, the plan or the environment has changed (consider: begin anew)",
		dir.Path, strings.Join(dir.Run.Settings, ", "), strings.Join(now, ", "))
}

// keepRecord begins the record of a question in a directory. One that is gone on with has steps.
func (c *Campaign) keepRecord(r *store.Record, dir string) error {
	c.record, c.again, c.known = r, 0, len(r.Steps)
	if r.Dir() != "" {
		return nil
	}
	r.Dyno, r.Started, r.Command = c.Version, time.Now(), os.Args
	return r.Create(dir)
}

// before is the step that an earlier session did at this point, nil if this is the first to do it.
func (c *Campaign) before(name string) (*store.Step, error) {
	if c.again == c.known {
		return nil, nil
	}
	s := &c.record.Steps[c.again]
	if c.again++; s.Name != name {
		return nil, fmt.Errorf("go on in %s: its step %d was %s, and would now be %s: dyno, the plan or the environment has changed (consider: a new dyno %s)",
			c.record.Dir(), c.again, s.Name, name, c.record.Question)
	}
	return s, nil
}

// did keeps a step that is done.
func (c *Campaign) did(name string, took time.Duration, seen any) error {
	s := store.Step{Name: name, Took: took.Seconds()}
	if seen != nil {
		var err error
		if s.Seen, err = json.Marshal(seen); err != nil {
			return err
		}
	}
	return c.record.Add(s)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
