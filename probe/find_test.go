package probe

import (
	"testing"
	"time"
)

// A control group of its own is one that dyno is not in, and not the root of all.
func TestGrouped(t *testing.T) {
	for _, c := range []struct {
		name, of, dyno string
		want           bool
	}{
		{"the same, v2", "0::/user.slice\n", "0::/user.slice\n", false},
		{"a container, v2", "0::/system.slice/docker-1.scope\n", "0::/user.slice\n", true},
		{"the root", "0::/\n", "0::/user.slice\n", false},
		{"a container, v1", "5:pids:/x\n4:memory:/docker/1\n2:cpu,cpuacct:/docker/1\n0::/\n", "5:pids:/\n4:memory:/\n2:cpu,cpuacct:/\n0::/\n", true},
		{"only of pids", "5:pids:/x\n4:memory:/\n", "5:pids:/\n4:memory:/\n", false},
		{"a path with colons", "0::/a:b\n", "0::/a:b\n", false},
		{"none", "", "0::/user.slice\n", false},
	} {
		if got := grouped(c.of, c.dyno); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

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
