package planted

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/certify"
	"github.com/dynolab/dyno/internal/subject"
)

const (
	firstSpins = 20_000  // rounds of the loop, some 40 µs
	mostSpins  = 1 << 30 // some 2 s
	briefly    = dyno.Duration(2 * time.Second)
	exactly    = 3 // blocks
)

// Calibrate measures what the service costs, and what a round of the planted loop does. If nothing can be
// planted, the error is a *subject.PlantError: most often the loop costs nothing, as the service
// answers its requests elsewhere.
func (c *Campaign) Calibrate(ctx context.Context) (*certify.Base, error) {
	cannot := func(why string) error { return &subject.PlantError{Subject: c.Plan.Subject.String(), Why: why} }
	for spins := uint64(firstSpins); spins <= mostSpins; spins *= 8 {
		c.Say("measuring what a request costs, with a loop of %d rounds in it", spins)
		base, more, _, _, err := c.cost(ctx, spins, 1)
		switch {
		case err != nil:
			return nil, err
		case math.IsNaN(more):
			return nil, cannot("dyno cannot measure the CPU time of a request here")
		case more < base: // a tenth of it would be lost in what else differs
			continue
		}
		_, more, e, rs, err := c.cost(ctx, spins, exactly)
		if err != nil || !(more > 0) {
			return nil, cmp.Or(err, errors.New("the cost of the planted loop could not be measured (consider: a longer --duration)"))
		}
		return certify.BaseOf(rs, e.Settings[0], more/float64(spins)), nil
	}
	return nil, cannot("a loop in net/http's server costs its requests nothing, so another server answers them")
}

// cost returns the CPU time of a request, and by how much a loop lengthens it.
func (c *Campaign) cost(ctx context.Context, spins uint64, blocks int) (base, more float64, e *dyno.Experiment, rs []*dyno.Result, err error) {
	given := c.Plan
	defer func() { c.Plan = given }()
	brief := *given
	brief.Repeats, brief.Within = blocks, 0
	if l := &brief.Load; blocks == 1 && l.Duration > 0 && l.Rate.Length() == 0 {
		l.Duration = min(l.Duration, briefly)
	}
	c.Plan = &brief
	e, rs, err = c.do(ctx, subject.Plant{}, subject.Plant{Spins: spins})
	if err != nil {
		return 0, 0, nil, nil, err
	}
	for _, r := range rs {
		if r.Err != "" {
			return 0, 0, nil, nil, fmt.Errorf("measure the service before anything is planted: %s", r.Err)
		}
	}
	base = certify.CostOf(rs, e.Settings[0])
	return base, certify.CostOf(rs, e.Settings[1]) - base, e, rs, nil
}
