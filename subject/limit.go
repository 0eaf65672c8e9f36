package subject

import (
	"debug/buildinfo"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/dynolab/dyno"
)

// A confinement asks a supervisor for a control group of its program's own.
type confinement struct {
	Limits  dyno.Limits
	Proc    string // says where control groups are: "/proc"; tests have others
	Systemd string // path of systemd-run; "" if there is none
}

func confine(l dyno.Limits) *confinement {
	path, err := exec.LookPath("systemd-run")
	if err != nil {
		path = ""
	}
	return &confinement{l, "/proc", path}
}

// A memoryEnd is what became of the memory of a control group.
type memoryEnd struct {
	Kills   int64     // processes that the kernel killed for want of memory
	Reached bool      // the group has been at its limit
	Limit   dyno.Size // 0 if it has none
	Peak    dyno.Size // most that it had; 0 if unknown
}

// CheckLimits returns why no subject could be started with the limits here, or
// nil: it makes a control group and removes it. The error names what was tried
// and the cure.
func CheckLimits(l dyno.Limits) error {
	g, err := launch(job{Confine: confine(l), Dir: "/", Env: os.Environ()})
	if err != nil {
		return err
	}
	g.stop(0)
	return nil
}

// killed says how the kernel killed a program, or one that it started, for want
// of memory, and what helps; "" if it did not. env is the program's.
func (m memoryEnd) killed(status string, env []string) string {
	if m.Kills == 0 {
		return ""
	}
	text := "the subject was killed by the kernel for want of memory: "
	if status != statusKilled {
		text = "subject ended: " + status + ", after the kernel killed a process of its control group for want of memory: "
	}
	most := ""
	if m.Peak > 0 {
		most = fmt.Sprintf(" (most: %.1f MiB)", float64(m.Peak)/(1<<20))
	}
	if m.Limit > 0 && m.Reached {
		text += "the control group reached its limit of " + mebibytes(m.Limit) + most
	} else {
		text += "the machine, or a control group above the subject's, had no more" + most
	}
	soft := variable(env, "GOMEMLIMIT")
	for _, name := range []string{"GOMEMLIMIT", "GOGC"} {
		if v := variable(env, name); v != "" {
			text += fmt.Sprintf("%s %s=%s", separator(name), name, v)
		} else {
			text += fmt.Sprintf("%s %s is not set", separator(name), name)
		}
	}
	cure := "a higher limit"
	if m.Limit == 0 || !m.Reached {
		cure = "fewer other processes, a lower GOMEMLIMIT"
	} else if below := int64(m.Limit) * 9 / 10 >> 20; below > 0 {
		advised, err := dyno.ParseSize(soft)
		if err != nil || int64(advised)>>20 > below {
			cure = fmt.Sprintf("GOMEMLIMIT=%dMiB, a higher limit", below)
		} else {
			cure = "a lower GOMEMLIMIT, as it does not count all memory of the process, or a higher limit"
		}
	}
	return text + " (consider: " + cure + ")"
}

// statusKilled is how os/exec says that a process was killed by SIGKILL.
const statusKilled = "signal: killed"

func separator(name string) string {
	if name == "GOMEMLIMIT" {
		return ";"
	}
	return ","
}

// mebibytes prints a size for a reader.
func mebibytes(s dyno.Size) string {
	return strconv.FormatFloat(math.Round(float64(s)/(1<<20)*10)/10, 'f', -1, 64) + " MiB"
}

// variable is the value of a name in an environment.
func variable(env []string, name string) string {
	i := slices.IndexFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
	if i < 0 {
		return ""
	}
	return env[i][len(name)+1:]
}

// limitDoubts are warnings about a CPU limit: that it limits nothing on a machine
// of so many CPUs, or that GOMAXPROCS of the executable does not follow it. env is
// the subject's.
//
// Since Go 1.25 GOMAXPROCS is at most the limit, rounded up, and 2 at the least
// (adjustCgroupGOMAXPROCS in runtime/cgroup_linux.go). It is not where GODEBUG has
// containermaxprocs=0, which is the default of modules whose go.mod says an older
// version (internal/godebugs/table.go).
func limitDoubts(limit dyno.CPUs, path string, env []string, cpus int) []string {
	procs := int(math.Ceil(float64(limit)))
	switch {
	case limit == 0:
		return nil
	case float64(limit) > float64(cpus):
		return []string{fmt.Sprintf("the CPU limit of %v is above the %d CPUs of this machine: it limits nothing", limit, cpus)}
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
	return []string{fmt.Sprintf("GOMAXPROCS does not follow the CPU limit: %s (consider: %sGOMAXPROCS=%d)", why, cures, procs)}
}

// unaware says why an executable takes no notice of a CPU limit, and what would
// make it; "" if it does.
func unaware(info *buildinfo.BuildInfo, env string) (why, cures string) {
	if older(info.GoVersion, "go1.25") {
		return "the subject was built by " + info.GoVersion + ", and Go does so from 1.25 on", "Go 1.25, "
	}
	byDefault := ""
	for _, s := range info.Settings {
		if s.Key == "DefaultGODEBUG" {
			byDefault = s.Value
		}
	}
	switch v := debugSetting(byDefault+","+env, "containermaxprocs"); {
	case v != "0":
		return "", ""
	case debugSetting(env, "containermaxprocs") == "0":
		return "GODEBUG has containermaxprocs=0", "GODEBUG=containermaxprocs=1, or "
	}
	return "the executable has containermaxprocs=0 in its DefaultGODEBUG, as where go.mod says go 1.24 or older", "go 1.25 in go.mod, GODEBUG=containermaxprocs=1, or "
}

// debugSetting is what a list as in GODEBUG says of a name: the last one counts.
func debugSetting(list, name string) (value string) {
	for kv := range strings.SplitSeq(list, ",") {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}
