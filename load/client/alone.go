package client

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/dynolab/dyno/load/internal/frames"
)

// alone sends one request to the URL that is the last argument, and prints what became of it: so a load
// can be tried without a measurement.
func alone(open Opener) error {
	u, err := url.Parse(os.Args[len(os.Args)-1])
	if len(os.Args) < 2 || err != nil || u.Host == "" {
		return errors.New("this program is a load for dyno (consider: dyno load --load-program ./dir URL, or its path with a URL, which sends one request)")
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
	ph := p.newPhase(frames.Phase{})
	ph.ctx = ctx
	c.do(ph, -1)
	for ph.pending.Load() > 0 {
		time.Sleep(time.Millisecond)
		c.expire(p.now())
	}
	name := func(in map[string]uint16, number uint16) string {
		for text, n := range in {
			if n == number {
				return text
			}
		}
		return ""
	}
	for _, m := range records {
		outcome := "ok"
		switch m.Kind {
		case 0:
		case frames.NoTime:
			outcome = "timeout"
		default:
			outcome = name(p.names.kinds, m.Kind)
		}
		fmt.Printf("%-20s %12v  %s\n", name(p.names.steps, m.Step), m.Done-m.Due, outcome)
	}
	return c.client.Close()
}
