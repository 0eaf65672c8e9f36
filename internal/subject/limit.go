package subject

import (
	"debug/buildinfo"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/cgroup"
	"github.com/dynolab/dyno/internal/subject/guard"
)

func confine(l dyno.Limits) *guard.Confinement {
	systemd, _ := exec.LookPath("systemd-run") // "" if there is none
	return &guard.Confinement{Limits: cgroup.Limits{CPU: float64(l.CPU), Memory: int64(l.Memory)}, Name: l.String(), Proc: "/proc", Systemd: systemd}
}

// CheckLimits makes a control group with the limits and removes it. The error says what was tried
// and what helps.
func CheckLimits(l dyno.Limits) error {
	t, err := guard.Start(guard.Job{Confine: confine(l), Dir: "/", Env: os.Environ()}, guard.IO{})
	if err == nil {
		t.Stop(0)
	}
	return err
}

// killedForMemory says how the kernel killed a program or its child for want of memory; "" if it
// did not.
func killedForMemory(m cgroup.MemoryEnd, status string, env []string) string {
	if m.Kills == 0 {
		return ""
	}
	text := "the kernel killed the subject for lack of memory: "
	if status != statusKilled {
		text = "subject ended: " + status + ", after the kernel killed a process of its control group for lack of memory: "
	}
	cure := "fewer other processes, a lower GOMEMLIMIT"
	if m.Reached {
		text += fmt.Sprintf("the control group reached its limit of %v MiB", math.Round(float64(m.Limit)/(1<<20)*10)/10)
		cure = "a lower GOMEMLIMIT, which does not cover all memory of the process, or a higher limit"
		below := m.Limit * 9 / 10 >> 20
		if soft, err := dyno.ParseSize(variable(env, "GOMEMLIMIT")); err != nil || int64(soft)>>20 > below {
			cure = fmt.Sprintf("GOMEMLIMIT=%dMiB, a higher limit", below)
		}
	} else {
		text += "the machine, or a control group above the subject's, had no more"
	}
	if m.Peak > 0 {
		text += fmt.Sprintf(" (most: %.1f MiB)", float64(m.Peak)/(1<<20))
	}
	set := func(name string) string {
		if v := variable(env, name); v != "" {
			return name + "=" + v
		}
		return name + " is not set"
	}
	return text + "; " + set("GOMEMLIMIT") + ", " + set("GOGC") + " (consider: " + cure + ")"
}

// statusKilled is the text of os/exec for a process that was killed by SIGKILL.
const statusKilled = "signal: killed"

func variable(env []string, name string) string {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// limitDoubts are warnings about a CPU limit that has no effect, or that the executable's
// GOMAXPROCS does not follow.
//
// Since Go 1.25 GOMAXPROCS is at most the limit, rounded up, but at least 2 (adjustCgroupGOMAXPROCS
// in runtime/cgroup_linux.go), unless GODEBUG has containermaxprocs=0: the default where go.mod
// names an older version (internal/godebugs/table.go).
func limitDoubts(limit dyno.CPUs, path string, env []string, cpus int) (ws dyno.Warnings) {
	procs := int(math.Ceil(float64(limit)))
	switch {
	case limit == 0:
		return nil
	case float64(limit) > float64(cpus):
		ws.AddOf(dyno.WarnLimit, "CPUs", "the CPU limit of %v has no effect on the %d CPUs of this machine", limit, cpus)
		return ws
	case procs >= cpus || variable(env, "GOMAXPROCS") != "":
		return nil
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil { // no Go executable
		return nil
	}
	why, cures := unaware(info, variable(env, "GODEBUG"))
	if why == "" {
		return nil
	}
	if max(2, procs) >= cpus {
		cures = "" // the runtime would not go so low by itself
	}
	ws.Add(dyno.WarnLimit, "GOMAXPROCS does not follow the CPU limit: %s (consider: %sGOMAXPROCS=%d)", why, cures, procs)
	return ws
}

// unaware says why an executable ignores a CPU limit, and what helps; "" if it obeys.
func unaware(info *buildinfo.BuildInfo, env string) (why, cures string) {
	last := func(godebug string) string {
		settings := strings.Split(godebug, ",")
		slices.Reverse(settings)
		return variable(settings, "containermaxprocs")
	}
	switch own := last(env); {
	case older(info.GoVersion, "go1.25"):
		return "the subject was built by " + info.GoVersion + ", but Go does so only from 1.25 on", "Go 1.25, "
	case own == "0":
		return "GODEBUG has containermaxprocs=0", "GODEBUG=containermaxprocs=1, or "
	case own == "" && last(settingOf(info, "DefaultGODEBUG")) == "0":
		return "the executable has containermaxprocs=0 in its DefaultGODEBUG, for example because go.mod says go 1.24 or older", "go 1.25 in go.mod, GODEBUG=containermaxprocs=1, or "
	}
	return "", ""
}
