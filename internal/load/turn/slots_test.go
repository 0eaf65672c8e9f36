package turn

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// Own time and the clock are each other's inverse within slots; between them own time stands still.
func TestSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := New()
		turn.Open()
		time.Sleep(300 * time.Millisecond)
		turn.Shut(t.Context())
		time.Sleep(time.Second)
		start := time.Now()
		turn.follow(50*time.Millisecond, func(n int) time.Time { // of two in turns: 0, 165, 220, 385 ms
			return start.Add(time.Duration((n*2+n%2)*55) * time.Millisecond)
		})
		for _, c := range []struct{ at, own, wait time.Duration }{ // ms since the start
			{0, 0, 0}, {49, 49, 0}, {50, 50, 115}, {164, 50, 1}, {165, 50, 0}, {200, 85, 0}, {219, 100, 1}, {220, 100, 0}, {270, 150, 115},
		} {
			at := start.Sub(turn.Zero) + c.at*time.Millisecond
			if own := turn.OwnAt(at) - 300*time.Millisecond; own != c.own*time.Millisecond {
				t.Errorf("own time at %dms is %v, want %dms", c.at, own, c.own)
			}
			if wait := turn.slots.wait(at); wait != c.wait*time.Millisecond {
				t.Errorf("at %dms a slot is %v away, want %dms", c.at, wait, c.wait)
			}
			if c.wait == 0 {
				if back := turn.slots.at(turn.OwnAt(at)); back != at {
					t.Errorf("own time of %v comes at %v", at, back)
				}
			}
		}
		time.Sleep(60 * time.Millisecond)
		if began := time.Now(); !turn.Begin(t.Context()) || time.Since(began) != 105*time.Millisecond {
			t.Errorf("a step waited %v for the turn, want 105ms", time.Since(began))
		}
		turn.End()
		ctx, cancel := context.WithTimeout(t.Context(), 51*time.Millisecond)
		defer cancel()
		time.Sleep(50 * time.Millisecond)
		if turn.Begin(ctx) {
			t.Error("a step begins between slots")
		}
		own := turn.Own()
		turn.Open() // own time goes on from there
		time.Sleep(time.Second)
		if got := turn.Own(); got != own+time.Second {
			t.Errorf("own time is %v, want %v", got, own+time.Second)
		}
	})
}
