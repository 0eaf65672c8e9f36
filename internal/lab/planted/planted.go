// Package planted runs campaigns: many runs of a service, each of two settings that are equal or differ
// by a change of known size, which dyno plants in the service's requests.
//
// It owns how large what is planted must be, the order of runs, and that nobody who judges one knows
// what it was before the verdicts are written. A run itself is package lab's, its judgement package
// certify's.
package planted

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/certify"
	"github.com/dynolab/dyno/internal/subject"
)

// A Campaign is many runs of one service. Its fields are set before its methods are called; all of
// Hands are needed.
type Campaign struct {
	Hands
	Plan  *dyno.Experiment // of each run, but for its settings; the service is that of the baseline
	Table string           // a file that the campaign writes: what labels stand for; only the service reads it
	Runs  int              // of each change at most, and twice as many of equal settings
	Most  time.Duration    // of a run, as a first guess
	Until time.Time        // no run begins that would not end by then, if it took as long as the longest before; zero means any may

	longest time.Duration // run so far
}

// Hands are the actions of a campaign that others carry out.
type Hands struct {
	// Run does what dyno run does with a plan of two settings and returns the results. The error is
	// the cause of ctx if that has ended.
	Run func(ctx context.Context, e *dyno.Experiment) ([]*dyno.Result, error)
	// Judge finds out what differs. label is that of the second setting of e.
	Judge func(e *dyno.Experiment, results []*dyno.Result, label string) certify.Judged
	Wrote func(certify.Judged)          // told of each verdict, before it is known what was planted
	Keep  func([]certify.Outcome) error // given the runs of a round, or of the part of one that was run
	Say   func(format string, args ...any)
}

// do makes one run of a service with two plants, under new labels.
func (c *Campaign) do(ctx context.Context, base, other subject.Plant) (e *dyno.Experiment, rs []*dyno.Result, err error) {
	e = c.pair()
	table := map[string]subject.Plant{label(e, 0): base, label(e, 1): other}
	if err := subject.WritePlants(c.Table, table); err != nil {
		return nil, nil, err
	}
	rs, err = c.Run(ctx, e)
	return e, rs, err
}

// pair is the plan of one run. Its two settings differ in labels that say nothing.
func (c *Campaign) pair() *dyno.Experiment {
	e, base := *c.Plan, c.Plan.Levels()[0]
	e.Factors, e.Settings, e.Seed = nil, nil, nil // each run has an order of its own, as runs of users do
	e.Draw()
	for range 2 {
		e.Settings = append(e.Settings, append(slices.Clip(base), dyno.Level{Factor: subject.PlantEnv, Value: subject.NewPlantToken()}))
	}
	e.Subject.Env = maps.Clone(e.Subject.Env)
	if e.Subject.Env == nil {
		e.Subject.Env = map[string]string{}
	}
	e.Subject.Env[subject.PlantTableEnv] = c.Table
	return &e
}

// First is the plan of a run, for its subject to be built.
func (c *Campaign) First() *dyno.Experiment { return c.pair() }

func label(e *dyno.Experiment, setting int) string {
	s := e.Settings[setting]
	return s[len(s)-1].Value
}

// Rounds makes runs. Each round has each change once and equal settings twice, in random order, so that a
// campaign that ends early has about as many of each. Rounds returns nil if all runs were made or the time is
// up. If it fails, the runs that were judged before are kept, unless no run of the first round can be judged.
func (c *Campaign) Rounds(ctx context.Context, amounts []certify.Amount) error {
	equal := certify.Amount{Change: certify.Change{Kind: certify.Equal}}
	order := append(slices.Clone(amounts), equal, equal)
	for n := range c.Runs {
		rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		var key certify.Key
		judged, over, err := c.round(ctx, order, &key)
		failed := func(j certify.Judged) bool { return j.Err != "" }
		switch {
		case len(judged) == 0:
			return err
		case n == 0 && err == nil && len(slices.DeleteFunc(slices.Clone(judged), failed)) == 0:
			return fmt.Errorf("none of the first runs could be judged: %s", judged[0].Err)
		}
		err = errors.Join(err, c.Keep(key.Open(judged...)))
		if err != nil || over {
			return err
		}
	}
	return nil
}

// round returns the verdicts of runs in an order, and puts what was planted into the key. It is over
// early if time is up.
func (c *Campaign) round(ctx context.Context, order []certify.Amount, key *certify.Key) (judged []certify.Judged, over bool, err error) {
	for _, a := range order {
		began := time.Now()
		if !c.Until.IsZero() && began.Add(cmp.Or(c.longest, c.Most)).After(c.Until) {
			return judged, true, nil
		}
		j, err := c.one(ctx, a, key)
		if err != nil {
			return judged, false, err
		}
		took := time.Since(began)
		c.longest = max(c.longest, took)
		j.Elapsed = took.Seconds()
		c.Wrote(j)
		judged = append(judged, j)
	}
	return judged, false, nil
}

// one makes a run and has it judged.
func (c *Campaign) one(ctx context.Context, a certify.Amount, key *certify.Key) (certify.Judged, error) {
	e, rs, err := c.do(ctx, subject.Plant{}, plantOf(a))
	if err != nil {
		return certify.Judged{}, err
	}
	key.Put(label(e, 1), a.Change)
	return c.Judge(e, rs, label(e, 1)), nil
}

func plantOf(a certify.Amount) subject.Plant {
	nanoseconds := func(sec float64) time.Duration { return time.Duration(sec * 1e9) }
	return subject.Plant{Spins: a.Spins, Retain: a.Retain, Hold: nanoseconds(a.Hold), Delay: nanoseconds(a.Delay), Share: a.Share, Burn: a.Burn}
}
