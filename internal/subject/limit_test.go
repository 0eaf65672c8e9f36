//go:build linux

package subject

import (
	"runtime/debug"
	"strings"
	"testing"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/cgroup"
)

func TestKilledForMemory(t *testing.T) {
	full := cgroup.MemoryEnd{Kills: 1, Reached: true, Limit: 64 << 20, Peak: 64 << 20}
	for _, c := range []struct {
		m      cgroup.MemoryEnd
		status string
		env    string
		want   string
	}{
		{cgroup.MemoryEnd{}, statusKilled, "", ""},
		{full, statusKilled, "GOGC=400", "the kernel killed the subject for lack of memory: the control group reached its limit of 64 MiB (most: 64.0 MiB); GOMEMLIMIT is not set, GOGC=400 (consider: GOMEMLIMIT=57MiB, a higher limit)"},
		{full, statusKilled, "GOMEMLIMIT=1GiB", "GOMEMLIMIT=1GiB, GOGC is not set (consider: GOMEMLIMIT=57MiB, a higher limit)"},
		{full, statusKilled, "GOMEMLIMIT=50MiB", "(consider: a lower GOMEMLIMIT"},
		{full, "exit status 1", "", "subject ended: exit status 1, after the kernel killed a process of its control group for lack of memory"},
		{cgroup.MemoryEnd{Kills: 1, Limit: 64 << 20, Peak: 3 << 20}, statusKilled, "", "the machine, or a control group above the subject's, had no more (most: 3.0 MiB)"},
	} {
		if got := killedForMemory(c.m, c.status, strings.Fields(c.env)); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%+v, %s: %s", c.m, c.env, got)
		}
	}
}

func TestLimitDoubts(t *testing.T) {
	b, _ := service(t, "") // go 1.22 in its go.mod
	for _, c := range []struct {
		limit dyno.CPUs
		env   string
		cpus  int
		want  string
	}{
		{0, "", 8, ""},
		{16, "", 8, "the CPU limit of 16 has no effect on the 8 CPUs"},
		{2.5, "", 8, "GOMAXPROCS does not follow the CPU limit: the executable has containermaxprocs=0 in its DefaultGODEBUG, for example because go.mod says go 1.24 or older (consider: go 1.25 in go.mod, GODEBUG=containermaxprocs=1, or GOMAXPROCS=3)"},
		{0.5, "", 2, "(consider: GOMAXPROCS=1)"},
		{7.5, "", 8, ""},
		{2.5, "GODEBUG=containermaxprocs=1", 8, ""},
		{2.5, "GODEBUG=containermaxprocs=0", 8, "GODEBUG has containermaxprocs=0"},
		{2.5, "GOMAXPROCS=3", 8, ""},
	} {
		got := strings.Join(limitDoubts(c.limit, b.Path, strings.Fields(c.env), c.cpus).Texts(), "|")
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%v %s: %q, want %q", c.limit, c.env, got, c.want)
		}
	}
	if why, cures := unaware(&debug.BuildInfo{GoVersion: "go1.24.11"}, "containermaxprocs=1"); !strings.Contains(why, "built by go1.24.11") || cures != "Go 1.25, " {
		t.Errorf("%q %q", why, cures)
	}
	if why, _ := unaware(&debug.BuildInfo{GoVersion: "go1.26.0"}, ""); why != "" {
		t.Error(why)
	}
}
