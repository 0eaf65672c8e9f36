package load

import (
	"context"
	"net/url"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/load/engine"
	"github.com/dynolab/dyno/internal/load/http1"
	"github.com/dynolab/dyno/internal/load/pace"
)

// A service answers a request in memory, in the fake time of synctest.
type service func(ctx context.Context, r *http1.Request) (status int, err error)

// runFake runs a load on a service in a bubble of fake time.
func runFake(ctx context.Context, l dyno.Load, o Options, s service) (*Record, error) {
	return run(ctx, "http://service", l, nil, o, func(_ context.Context, _ *url.URL, l *dyno.Load, _ int) hands {
		return hands{fakeEngine{s, time.Duration(l.Timeout)}, 0, func(context.Context) pace.Pacer { return pace.Timer{} }}
	})
}

type fakeEngine struct {
	s     service
	limit time.Duration
}

func (fakeEngine) Name() string           { return "fake" }
func (e fakeEngine) Link(int) engine.Link { return e }
func (fakeEngine) Resent() int64          { return 0 }
func (fakeEngine) Close()                 {}

func (e fakeEngine) Exchange(ctx context.Context, r *http1.Request, a *http1.Answer) (err error) {
	ctx, cancel := context.WithTimeout(ctx, e.limit)
	defer cancel()
	*a = http1.Answer{Bytes: 7}
	a.Status, err = e.s(ctx, r)
	return err
}

// after answers 200 when d has passed.
func after(d time.Duration) service {
	return func(ctx context.Context, r *http1.Request) (int, error) {
		select {
		case <-time.After(d):
			return 200, nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

func seconds(n float64) dyno.Duration { return dyno.Duration(n * float64(time.Second)) }
