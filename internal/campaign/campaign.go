// Package campaign measures what takes one run or several: it builds the subjects, makes run directories and fills them, shows how
// far it is, and writes their reports.
//
// It owns the order in which that happens, what a user is told meanwhile, and what is left after an interrupt. It defines no flag and
// no sentence of a report, and it does not think: what is measured next, and whether it is enough, say packages tune, capacity and
// analysis/certify.
package campaign

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/campaign/progress"
	"github.com/dynolab/dyno/internal/lab"
	"github.com/dynolab/dyno/internal/lab/gobench"
	"github.com/dynolab/dyno/internal/plan/how"
	"github.com/dynolab/dyno/internal/report/words"
	"github.com/dynolab/dyno/internal/store"
	"github.com/dynolab/dyno/internal/subject/awake"
)

// A Campaign measures one run or several with the same lab. Open comes first, and Close last.
type Campaign struct {
	Stderr  io.Writer         // for notes and progress; a terminal is drawn upon
	Version string            // of dyno, as run.json has it
	Secrets map[string]string // of the plan of a run or campaign that is resumed, by the names of their placeholders

	hands   *lab.Lab
	release func() error
	benches *BenchHands   // of a question about benchmarks; nil of any other
	record  *store.Record // of a question; nil of a single run

	// Steps of earlier sessions: that there are, that were asked for again, and that could be used.
	known, asked, answered int
}

// Note tells the user what a report does not say.
func (c *Campaign) Note(format string, args ...any) {
	fmt.Fprintf(c.Stderr, "note: "+format+"\n", args...)
}

// Open builds the subjects of a plan.
func (c *Campaign) Open(ctx context.Context, e *dyno.Experiment) error {
	if e.Bench != nil {
		var err error
		if c.benches, err = OpenBench(); err == nil {
			c.release = c.benches.Close
		}
		return err
	}
	hands, remove, err := place(ctx, e, c.Version)
	if err != nil {
		return err
	}
	if err := c.prepare(ctx, hands, e); err != nil {
		return errors.Join(err, remove())
	}
	hands.Awake = func(since string) { c.Note("%s", how.KeptAwake(since)) }
	if hands.Keeper, err = awake.For(e); err != nil {
		return errors.Join(err, remove())
	}
	c.hands, c.release = hands, func() error {
		if hands.Keeper.Stop() && hands.Awake != nil {
			hands.Awake(strings.TrimPrefix(hands.Keeper.Since()+"; they ended before the run did", "; "))
		}
		return remove()
	}
	return nil
}

// Bencher compiles and runs benchmarks of a question about these, once it is open.
func (c *Campaign) Bencher() *gobench.Bencher { return c.benches.Bencher }

// Close removes what Open made. Only the first call does anything.
func (c *Campaign) Close() error {
	if c.release == nil {
		return nil
	}
	release := c.release
	c.release = nil
	return release()
}

// prepare builds the subjects of a plan that are not yet built.
func (c *Campaign) prepare(ctx context.Context, hands *lab.Lab, e *dyno.Experiment) (err error) {
	if e.Subject.Source() {
		of := e.Subject.String()
		if all := e.Levels(); len(all) == 1 && len(all[0]) > 0 {
			of += ", " + all[0].String()
		}
		b := progress.NewBuild(c.Stderr, of)
		hands.Building = b.Step
		err = hands.PrepareAll(ctx, e)
		b.Close()
	} else {
		err = hands.PrepareAll(ctx, e)
	}
	if err != nil {
		return err
	}
	base := e.Levels()[0].String()
	for _, s := range hands.OneProgram(ctx, e) {
		c.Note("%s", words.OneProgram(base, s.String()))
	}
	for _, name := range hands.Unnamed(ctx, e) {
		c.Note("%s", words.Unnamed(name))
	}
	return nil
}

// Program builds a setting of a plan, and returns the sum of its executable, "" if that is not known. Call Open before.
func (c *Campaign) Program(ctx context.Context, plan *dyno.Experiment, s dyno.Setting) (sum string, err error) {
	e := *plan
	e.Settings = []dyno.Setting{s}
	t, mistake := e.Written(s)
	if mistake != nil {
		return "", mistake
	}
	if err := c.prepare(ctx, c.hands, &e); err != nil || c.hands.Sum == nil {
		return "", err
	}
	return c.hands.Sum(ctx, t.Subject)
}
