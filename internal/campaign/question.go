package campaign

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/report"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/store"
)

// AnswerFile is the page with the answer, in the directory of a campaign.
const AnswerFile = "answer.html"

// A Question takes several runs. It thinks: what to measure next, when it is enough, what the answer is.
type Question interface {
	// Subjects is a plan with all settings that need a build.
	Subjects() *dyno.Experiment
	// Ask measures until the question is answered. Each run has a name of its own, and measure is as [Campaign.Step]: what an
	// earlier session measured, it answers at once. So Ask must take the same way again.
	Ask(ctx context.Context, measure Measure) error
}

// Measure measures a plan side by side in the run directory of a name. enough may be nil. It is an alias, as questions do not import this
// package.
type Measure = func(ctx context.Context, name string, plan *dyno.Experiment, enough func(*compare.Table, []*dyno.Result) bool) (*compare.Table, []*dyno.Result, error)

// An Answer is what is said of a question, so far.
type Answer interface {
	First() string // in a sentence
	Text(layout.Options) string
	HTML(io.Writer) error
	Document() any // what JSON has
}

// Ask asks a question in a directory, "" for a new one below dyno-runs. answer is asked for once Ask ends: what is said then of what was
// found, and whether it is cut off. It returns the directory, and nil if nothing was measured.
func (c *Campaign) Ask(ctx context.Context, q Question, r *store.Record, dir string, answer func(dir string, cut bool) Answer) (a Answer, path string, err error) {
	if path, err = placeFor(r, dir); err != nil {
		return nil, "", err
	}
	if err := c.Open(ctx, q.Subjects()); err != nil {
		os.Remove(path) // if it is empty
		return nil, "", err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if err := c.keepRecord(r, path); err != nil {
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
	if !measured {
		return nil, "", cut
	}
	a = answer(fromHere(path), cut != nil)
	file := filepath.Join(path, r.Question+".json")
	kept := store.Replace(file, func(w io.Writer) error { return report.JSON(w, a.Document()) })
	return a, fromHere(path), errors.Join(cut, kept, c.conclude(a, cut))
}

// conclude writes the page of an answer, and keeps the answer in a sentence. failed is why the campaign did not come to its end.
func (c *Campaign) conclude(a Answer, failed error) error {
	return errors.Join(store.Replace(filepath.Join(c.record.Dir(), AnswerFile), a.HTML), c.record.Conclude(a.First(), failed == nil))
}

// placeFor is the directory of a campaign: that of a record that is gone on with, dir if that is free, or a new one.
func placeFor(r *store.Record, dir string) (path string, err error) {
	switch {
	case r.Dir() != "":
		dir = r.Dir()
	case dir == "":
		if dir, err = store.NewPath(r.Plan.Name+"-"+r.Question, time.Now()); err != nil {
			return "", err
		}
	default:
		if err := store.Free(dir); err != nil {
			return "", err
		}
	}
	return filepath.Abs(dir)
}

// fromHere is a path relative to the working directory, if it lies below that.
func fromHere(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(here, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}
