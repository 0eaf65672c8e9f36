package campaign

import (
	"context"
	"errors"
	"fmt"
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

// Step measures a run side by side, as dyno run does, unless an earlier session did. Call Open before. Step returns the findings, and how
// long all sessions took for them. With an error, the findings are those so far, and nil if there are none.
func (c *Campaign) Step(ctx context.Context, s Step) (f *findings.Findings, took time.Duration, err error) {
	path := filepath.Join(c.record.Dir(), s.Name)
	done, err := c.before(s.Name)
	if err != nil {
		return nil, 0, err
	}
	if done != nil {
		if f, err = c.readStep(path, s.Plan); err == nil {
			c.answered++
		}
		return f, seconds(done.Took), err
	}
	most := ""
	if s.Plan.Within > 0 {
		most = fmt.Sprintf(", at most %v", s.Plan.Within)
	}
	fmt.Fprintf(c.Stderr, "%s: %s%s\n", s.Name, layout.Count(len(s.Plan.Levels()), "setting"), most)
	began := time.Now()
	r := &Run{Plan: s.Plan, Path: path}
	dir, earlier, err := c.stepDir(r)
	if err != nil {
		return nil, 0, err
	}
	defer dir.Close()
	if s.Enough != nil {
		r.Enough = func(int) bool {
			rs := dir.Brief()
			return s.Enough(c.table(s.Plan, rs), rs)
		}
	}
	if s.Plan.Bench == nil {
		err = c.Fill(ctx, r, dir)
	} else {
		err = c.fillBenchmarks(ctx, r, dir)
	}
	if alike := (*lab.AlikeError)(nil); errors.As(err, &alike) { // its cure, dyno run --resume, does not exist for a step
		err = fmt.Errorf("%s: the first trials failed: %s", s.Name, alike.Err)
	}
	f, unread, unwritten := ReadAndWrite(dir)
	took = earlier + time.Since(began)
	if unread != nil {
		return nil, took, errors.Join(err, unread, unwritten)
	}
	if err = errors.Join(err, unwritten); err == nil && f.Table.Trials == 0 && len(f.Table.SameCode) == 0 {
		err = findings.ErrNothing
	}
	if err == nil {
		err = c.did(s.Name, took, nil)
	}
	return f, took, err
}

// table is what is known while a run is under way.
func (c *Campaign) table(e *dyno.Experiment, rs []*dyno.Result) *compare.Table {
	if e.Bench != nil {
		return compare.TabulateBenchmarks(e, rs)
	}
	return findings.Unwritten(e, rs).Table
}

// stepDir makes the run directory of a step, or opens the one in which it was cut off, with what is left of the step's time. earlier is how
// long sessions before took.
func (c *Campaign) stepDir(r *Run) (dir *store.Dir, earlier time.Duration, err error) {
	if begun, err := store.Begun(r.Path); err != nil {
		return nil, 0, err
	} else if !begun {
		dir, err := c.Create(r)
		return dir, 0, err
	}
	if dir, err = store.Resume(r.Path); err != nil {
		return nil, 0, err
	}
	if err = c.sameSettings(dir, r.Plan); err == nil {
		r.Plan, err = c.Resumed(dir)
	}
	if err != nil {
		return nil, 0, errors.Join(err, dir.Close())
	}
	own, around := *r.Plan, aroundTrial+time.Duration(r.Plan.Load.Warmup)
	if earlier = worked(dir.Run.Started, dir.Brief(), around); own.Within > 0 {
		own.Within = max(own.Within-dyno.Duration(earlier), 1)
	}
	r.Plan = &own
	return dir, earlier, nil
}

// aroundTrial is more than a launch and its end take, without the warm-up.
const aroundTrial = 30 * time.Second

// worked is how long sessions took for results, the first of which began at a time. Between two trials of one session there is less than around.
func worked(began time.Time, rs []*dyno.Result, around time.Duration) (took time.Duration) {
	rs = slices.SortedFunc(slices.Values(rs), func(a, b *dyno.Result) int { return a.Start.Compare(b.Start) })
	for _, r := range rs {
		end := r.Start.Add(r.Elapsed)
		if !end.After(began) { // beside another
			continue
		}
		if pause := r.Start.Sub(began); pause > around {
			began = r.Start.Add(-around)
		}
		took, began = took+end.Sub(began), end
	}
	return took
}

// readStep reads a step that an earlier session measured.
func (c *Campaign) readStep(path string, e *dyno.Experiment) (*findings.Findings, error) {
	dir, err := store.Read(path)
	if err == nil {
		err = c.sameSettings(dir, e)
	}
	if err != nil {
		return nil, err
	}
	return findings.Read(dir, findings.Options{})
}

// sameSettings is an error if an earlier session measured other settings. A path in the campaign's directory is the same if that was moved.
func (c *Campaign) sameSettings(dir *store.Dir, e *dyno.Experiment) error {
	var now []string
	for _, s := range e.Levels() {
		now = append(now, s.String())
	}
	if slices.Equal(now, dir.Run.Settings) {
		return nil
	}
	if from, to := formerDir(dir.Run.Settings, now, c.record.Dir()), c.record.Dir(); from != "" {
		return dir.Moved(from, to)
	}
	return c.changed("%s has measured %s, and would now measure %s",
		filepath.Base(dir.Path), strings.Join(dir.Run.Settings, ", "), strings.Join(now, ", "))
}

// formerDir is the path in place of which settings now have dir; "" if that is not their only difference.
func formerDir(before, now []string, dir string) (from string) {
	if len(before) != len(now) {
		return ""
	}
	for i, s := range now {
		if head, tail, ok := strings.Cut(s, dir); ok && strings.HasPrefix(before[i], head+"/") && strings.HasSuffix(before[i], tail) && len(before[i]) > len(head)+len(tail) {
			from = before[i][len(head) : len(before[i])-len(tail)]
		}
	}
	for i, s := range now {
		if from == "" || strings.ReplaceAll(before[i], from, dir) != s {
			return ""
		}
	}
	return from
}
