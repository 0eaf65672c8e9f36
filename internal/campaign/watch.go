package campaign

import (
	"context"
	"errors"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/campaign/progress"
	"github.com/dynolab/dyno/internal/lab"
	"github.com/dynolab/dyno/internal/store"
)

// Watch makes a run directory of one trial of what runs already. The end of ctx ends the trial's window, not the trial. The directory
// is nil if nothing was watched; else the caller closes it.
func (c *Campaign) Watch(ctx context.Context, r *Run, w lab.Watching) (dir *store.Dir, err error) {
	hands, release, err := lab.Open("")
	if err != nil {
		return nil, err
	}
	if dir, err = c.Create(r); err != nil {
		return nil, errors.Join(err, release())
	}
	live := progress.NewWatch(c.Stderr, time.Duration(r.Plan.Probes.Every.Or(dyno.DefaultEvery)))
	w.End = ctx.Done()
	hands = hands.Watching(w)
	hands.Dir, hands.Watch, hands.Live = dir.TrialDir, live.Begin, live.Sample
	defer r.OTLP.Follow(hands, r.Plan, c.Version, live.Note)()
	if !r.Plan.Load.None {
		hands.Keep = dir.WriteRequests
	}
	err = hands.Run(context.WithoutCancel(ctx), r.Plan, dir.Add)
	live.Close()
	return dir, errors.Join(err, release())
}
