package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/dynolab/dyno/internal/load/cause"
	"github.com/dynolab/dyno/internal/load/frames"
)

// alone sends one request to the URL that is the last argument, and prints what became of it: so a load
// can be tried without a measurement.
func alone(open Opener) error {
	last := os.Args[len(os.Args)-1]
	u, err := url.Parse(last)
	if len(os.Args) < 2 {
		return errors.New("this program is a load for dyno (consider: dyno load --load-program ./dir URL, or its path with a URL, which sends one request)")
	}
	if err != nil || u.Host == "" {
		return fmt.Errorf("the last argument, %q, is no URL (want for example http://127.0.0.1:8080)", last)
	}
	p := &program{open: open, host: u.Host, zero: time.Now()}
	p.hello = frames.Hello{Base: u.Scheme + "://" + u.Host, Timeout: 30 * time.Second}
	var records []frames.Record
	p.sink = func(_ *player, m *frames.Record) { records = append(records, *m) }
	c := p.newPlayer(0)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := c.connect(ctx); err != nil {
		return fmt.Errorf("open a client: %w", err)
	}
	ph := p.newPhase(frames.Phase{Open: true}) // which has no gate
	ph.ctx = ctx
	failed := c.do(ph, -1)
	for ph.pending.Load() > 0 {
		time.Sleep(time.Millisecond)
		c.expire(p.now())
	}
	for _, m := range records {
		what := nameOf(p.names.steps, m.Step)
		if m.Flags&frames.Mark != 0 {
			what = "  mark " + what
		}
		fmt.Printf("%-20s %12v  %s\n", what, (m.Done - m.Due).Round(time.Microsecond), cmp.Or(nameOf(p.names.kinds, m.Kind), "ok"))
		failed = failed || m.Kind != 0
	}
	if failed {
		return fmt.Errorf("the request failed: %w", cmp.Or(p.last, context.DeadlineExceeded))
	}
	if c.client == nil {
		return nil
	}
	return c.client.Close()
}

func nameOf(names map[string]uint16, number uint16) string {
	if number == frames.NoTime {
		return cause.Timeout
	}
	for text, n := range names {
		if n == number {
			return text
		}
	}
	return ""
}
