package probe

import (
	"testing"
	"time"
)

// The probes of a gentle watch read together, whenever each began.
func TestFirstTick(t *testing.T) {
	target := Target{Every: 100 * time.Millisecond, Gentle: true}
	for ms := range 250 {
		now := time.UnixMilli(1_000_000 + int64(ms)).Add(123 * time.Microsecond)
		first := target.firstTick(now)
		if first < 50*time.Millisecond || first > 150*time.Millisecond || now.Add(first).UnixNano()%1e8 != 0 {
			t.Fatalf("%v later, at %v", first, now.Add(first))
		}
	}
	target.Gentle = false
	if first := target.firstTick(time.UnixMilli(7)); first != target.Every {
		t.Errorf("%v", first)
	}
}
