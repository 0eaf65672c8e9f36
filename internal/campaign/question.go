package campaign

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/store"
)

// A Question takes several runs. It thinks: what to measure next, when it is enough, what the answer is.
type Question interface {
	// Subjects is a plan with all settings that need a build.
	Subjects() *dyno.Experiment
	// Ask measures until the question is answered. Each run has a name of its own. What an earlier session measured, measure
	// answers at once, as [Campaign.Step] does. So Ask has to ask for the same runs again, in the same order.
	Ask(ctx context.Context, measure Measure) error
}

// Measure measures a plan side by side in the run directory of a name. enough may be nil. Measure is an alias, since questions do not import
// this package.
type Measure = func(ctx context.Context, name string, plan *dyno.Experiment, enough func(*compare.Table, []*dyno.Result) bool) (*compare.Table, []*dyno.Result, error)

// An Answer is what is said of a question, so far.
type Answer interface {
	First() string // in a sentence
	Text(layout.Options) string
	HTML(io.Writer) error
	Document() any // what JSON has
}

// Ask asks a question in a directory, "" for a new one below dyno-runs. answer says what was found there; cut says that the question was not
// asked to its end. Ask returns the answer and the directory; the answer is nil if nothing was measured, or less than in an earlier session.
func (c *Campaign) Ask(ctx context.Context, q Question, r *store.Record, dir string, answer func(dir string, cut bool) Answer) (a Answer, path string, err error) {
	path, leave, err := c.enter(r, dir)
	if err != nil {
		return nil, "", err
	}
	defer leave()
	if err := c.open(ctx, q.Subjects()); err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if err := c.keepRecord(ctx, path, q.Subjects()); err != nil {
		return nil, "", err
	}
	measured := false
	cut := q.Ask(ctx, func(ctx context.Context, name string, plan *dyno.Experiment, enough func(*compare.Table, []*dyno.Result) bool) (*compare.Table, []*dyno.Result, error) {
		f, _, err := c.Step(ctx, Step{Name: name, Plan: plan, Enough: enough})
		if f == nil {
			return nil, nil, err
		}
		measured = measured || f.Table.Trials > 0
		return f.Table, f.Results, err
	})
	if lacks := c.lacks(cut); lacks != nil || !measured && cut != nil { // some questions need no run
		return nil, "", cmp.Or(lacks, cut)
	}
	a = answer(fromHere(path), cut != nil)
	return a, fromHere(path), c.conclude(a, cut)
}
