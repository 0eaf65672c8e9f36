package lab

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/lab/rests"
)

// A course is one execution of an experiment.
type course struct {
	lab    *Lab
	e      *dyno.Experiment
	sink   func(*dyno.Result) error
	began  time.Time
	since  time.Time      // when the first block began of those that count
	first  []*dyno.Result // of the first block that was run
	blocks int            // that were run
	beside bool           // they run side by side
	noSame bool           // the baseline does not get ready

	// What was learnt of blocks side by side:
	proved  bool            // all settings that are not broken were up together, so that an error is its setting's own
	broken  map[string]bool // settings that fail alone, too
	patient bool            // some setting takes much longer than others to get ready
	known   rests.Known
	quieted bool         // a block had its quiet moment
	turned  bool         // some results are of trials side by side, or may be
	kept    map[int]bool // trials that were measured alone, and count whatever becomes of the others
	restart bool         // all blocks are measured anew, one trial after the other
}

// itsOwn reports whether an error of a trial beside others is its setting's own.
func (c *course) itsOwn(t *dyno.Trial) bool { return c.proved || c.broken[t.Setting.String()] }

// block runs the trials of one block.
func (c *course) block(ctx context.Context, trials []dyno.Trial) error {
	if trials[0].For == "" {
		if c.blocks++; c.blocks == 1 {
			if c.since.IsZero() {
				c.began = time.Now()
			}
			c.since = time.Now()
		}
	}
	if !c.beside || trials[0].For != "" && trials[0].For != dyno.ForSame {
		return c.inTurn(ctx, c.left(trials), c.sink)
	}
	// All of it, even if some was measured before: what is compared meets the same machine.
	var rs []*dyno.Result
	var err error
	for tries := 0; ; tries++ {
		rs, err = c.lab.runBlock(ctx, c, trials)
		if err != nil || !c.again(tries, rs...) {
			break
		}
	}
	if not := new(notBeside); errors.As(err, &not) {
		return c.tryAlone(ctx, trials, not)
	}
	if ctx.Err() != nil {
		return c.interrupted(ctx, rs...)
	}
	up := func(r *dyno.Result) bool { _, ok := r.Values.Get("ready-sec"); return ok }
	same := trials[0].For == dyno.ForSame
	if (same || c.blocks == 1) && alike(rs) && !slices.ContainsFunc(rs, up) { // nobody was beside another
		c.noSame = same
		return c.sinkAll(rs)
	}
	c.turned = c.turned || trials[0].For == ""                                // so also if some are void, as the others count
	if slices.ContainsFunc(rs, func(r *dyno.Result) bool { return r.Void }) { // it says nothing of them
		rs, dropped := c.settled(rs)
		c.lab.clear(dropped)
		return c.sinkAll(rs)
	}
	if failed := slices.IndexFunc(rs, func(r *dyno.Result) bool { return r.Err != "" && !c.itsOwn(&r.Trial) }); failed >= 0 {
		return c.tryAlone(ctx, trials, failedBeside(rs[failed]))
	}
	if why := c.known.TooMuch(); why != "" {
		c.lab.clear(trials)
		c.beside, c.restart, c.turned = false, true, false
		c.lab.alone(why)
		return nil
	}
	c.proved = c.proved || trials[0].For == ""
	rs, dropped := c.settled(rs)
	c.lab.clear(dropped)
	return c.sinkAll(rs)
}

// mostAgain is how often a void trial is measured again.
const mostAgain = 2

// again reports whether trials that were measured together are measured again, as one of them is void.
func (c *course) again(tries int, rs ...*dyno.Result) bool {
	again := false
	for _, r := range rs {
		if !r.Void {
			continue
		}
		if again = tries < mostAgain; c.lab.Void != nil {
			c.lab.Void(r, again)
		}
	}
	return again
}

// sinkAll hands over the results of a block, also those after one that cannot be stored, and returns the first error.
func (c *course) sinkAll(rs []*dyno.Result) (first error) {
	for _, r := range rs {
		if err := c.sink(r); first == nil {
			first = err
		}
	}
	return first
}

// settled returns the results of a block that count. If some of its trials were done before and one fails
// now, the earlier results stay. Then only failures of trials that were not done count, and dropped has all
// other trials.
func (c *course) settled(rs []*dyno.Result) (count []*dyno.Result, dropped []dyno.Trial) {
	done := func(r *dyno.Result) bool { return c.lab.Skip != nil && c.lab.Skip(r.Trial.N) }
	failed := func(r *dyno.Result) bool { return r.Err != "" }
	if !slices.ContainsFunc(rs, done) || !slices.ContainsFunc(rs, failed) {
		return rs, nil
	}
	for _, r := range rs {
		if failed(r) && !done(r) {
			count = append(count, r)
		} else {
			dropped = append(dropped, r.Trial)
		}
	}
	return count, dropped
}

// tryAlone runs the trials of a block that did not run side by side, also those that were
// done before: what is compared is measured in one way. If the one that failed fails alone,
// too, its setting is the reason, and if it took longer to get ready than it had, its time
// was; coming blocks are tried side by side again.
func (c *course) tryAlone(ctx context.Context, trials []dyno.Trial, not *notBeside) error {
	c.lab.clear(trials)
	again := false
	err := c.inTurn(ctx, trials, func(r *dyno.Result) error {
		switch ready, _ := r.Values.Get("ready-sec"); {
		case r.Err != "" && !r.Void:
			c.broken[r.Trial.Setting.String()] = true
			again = again || r.Trial.N == not.trial
		case r.Trial.N == not.trial && not.waited > 0 && ready > not.waited.Seconds():
			c.patient, again = true, true
		}
		c.kept[r.Trial.N] = true
		return c.sink(r)
	})
	if err != nil || again {
		return err
	}
	c.beside, c.restart = false, c.turned
	c.lab.alone(not.why)
	return nil
}

// clear leaves nothing of an attempt at trials: who follows a run by its files would take them for
// under way.
func (l *Lab) clear(trials []dyno.Trial) {
	for _, t := range trials {
		if dir, err := l.Dir(t.N); err == nil && dir != "" {
			os.Remove(dir)
		}
	}
}

// inTurn runs trials one after the other.
func (c *course) inTurn(ctx context.Context, trials []dyno.Trial, sink func(*dyno.Result) error) error {
	for _, t := range trials {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		r := c.lab.Trial(ctx, t)
		for tries := 0; ctx.Err() == nil && c.again(tries, r); tries++ {
			r = c.lab.Trial(ctx, t)
		}
		if ctx.Err() != nil {
			return c.interrupted(ctx, r)
		}
		if err := sink(r); err != nil {
			return err
		}
	}
	return nil
}

func (c *course) interrupted(ctx context.Context, rs ...*dyno.Result) error {
	for _, r := range rs {
		if c.lab.Interrupted != nil {
			c.lab.Interrupted(r)
		}
	}
	return context.Cause(ctx)
}

// ended says why no more blocks are compared; "" if they are.
func (c *course) ended(block int) dyno.Ended {
	if len(c.e.More) > 0 { // so many were asked for
		return ""
	}
	if c.e.Sequential() && c.lab.Enough != nil && c.lab.Enough(block) {
		return dyno.EndedDecided
	}
	within, least := time.Duration(c.e.Within), 0
	if within == 0 && c.e.Sequential() {
		within, least = time.Duration(dyno.DefaultWithin), c.lab.Least
	}
	if next := time.Since(c.began) + time.Since(c.since)/time.Duration(c.blocks); within > 0 && block >= least && next > within {
		return dyno.EndedTime
	}
	return ""
}
