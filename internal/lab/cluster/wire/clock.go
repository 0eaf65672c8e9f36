package wire

import (
	"errors"
	"time"
)

// A Clock is what is known of an agent's wall clock.
type Clock struct {
	Offset time.Duration // what it shows more than this machine's
	Error  time.Duration // bound of its error: half the shortest round trip
}

const pings = 8

// Clock asks for the agent's time and keeps the answer of the shortest round trip (Cristian 1989,
// Probabilistic clock synchronization).
func (c *Conn) Clock() (Clock, error) {
	best := Clock{Error: time.Hour}
	for n := range pings {
		sent := time.Now()
		if err := c.Send(&Message{Ping: &Tick{N: n}}); err != nil {
			return best, err
		}
		m, err := c.Receive()
		if err != nil {
			return best, err
		}
		took := time.Since(sent)
		if m.Pong == nil || m.Pong.N != n {
			return best, errors.New("the agent does not answer a ping")
		}
		if half := took / 2; half < best.Error {
			// Without the monotonic readings: two machines have two.
			best = Clock{Offset: m.Pong.Now.Round(0).Sub(sent.Add(half).Round(0)), Error: half}
		}
	}
	return best, nil
}

// Theirs is a moment of this machine on the agent's clock.
func (c Clock) Theirs(t time.Time) time.Time { return t.Round(0).Add(c.Offset) }

// Local gives a moment of this machine's wall clock its monotonic reading.
func Local(t time.Time) time.Time { return time.Now().Add(time.Until(t.Round(0))) }
