package check

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
)

func checkSubject(s *dyno.Subject) *dyno.PlanError {
	var forms []string
	for _, f := range []struct{ key, value string }{
		{"package", s.Package}, {"module", s.Module}, {"binary", s.Binary}, {"image", s.Image}, {"deployment", s.Deployment}, {"url", s.URL},
	} {
		if f.value != "" {
			forms = append(forms, f.key)
		}
	}
	switch {
	case s.PID != 0 && s.Process != "":
		return dyno.PlanErrorf("the subject has both pid and process (want one)").Of("subject", "pid")
	case (s.PID != 0 || s.Process != "") && s.Launched():
		return dyno.PlanErrorf("the subject has something to launch and a pid or process that runs already (want one)").Of("subject")
	case s.PID != 0 || s.Process != "":
	case len(forms) == 0:
		return dyno.PlanErrorf("no subject (want a main package, a module@version, an executable file or a URL)")
	case len(forms) > 1:
		return dyno.PlanErrorf("the subject has both %s (want one)", strings.Join(forms, " and ")).Of("subject")
	case s.Module != "" && !strings.Contains(s.Module, "@"):
		return dyno.PlanErrorf("module %s has no version (want for example %s@latest)", s.Module, s.Module).Of("subject", "module")
	case s.URL != "" && !dyno.IsAddress(s.URL):
		return dyno.PlanErrorf("bad URL %q (want the address of a service, such as http://127.0.0.1:8080, and the path in load.path)", s.URL).Of("subject", "url")
	case s.Go != "" && !dyno.IsGoVersion(s.Go):
		return dyno.PlanErrorf("bad Go version %q (want for example 1.25.5)", s.Go).Of("subject", "go")
	case s.Ready != "" && !strings.HasPrefix(s.Ready, "/"):
		return dyno.PlanErrorf("ready: %q is not a URL path (want for example /healthz)", s.Ready).Of("subject", "ready")
	case (s.Addr != "" || len(s.Files) > 0) && !s.Launched():
		return dyno.PlanErrorf("addr and files need a subject that dyno launches, not %s (consider: url alone)", s).Of("subject")
	case s.Addr != "" && !strings.Contains(s.Addr, "{{") && !dyno.IsAddress(s.Addr):
		return dyno.PlanErrorf("bad addr %q (want for example https://{{.Addr}} or https://127.0.0.1:8443)", s.Addr).Of("subject", "addr")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		if !filepath.IsLocal(name) {
			return dyno.PlanErrorf("bad name %q of a file (want a path below {{.Dir}}, for example etc/service.yaml)", name).Of("subject", "files", name)
		}
	}
	return nil
}

// checkScheme finds an address that only a program speaks with.
func checkScheme(e *dyno.Experiment) *dyno.PlanError {
	for key, address := range map[string]string{"url": e.Subject.URL, "addr": e.Subject.Addr} {
		scheme, _, _ := strings.Cut(address, "://")
		if address != "" && e.Load.Program == "" && scheme != "http" && scheme != "https" && !strings.HasPrefix(scheme, "{{") {
			return dyno.PlanErrorf("bad URL %q (want the address of a service, such as http://127.0.0.1:8080, and the path in load.path; consider: load.program for other protocols)", address).Of("subject", key)
		}
	}
	return nil
}

func checkAwake(e *dyno.Experiment) *dyno.PlanError {
	return wrong(e.Awake != nil && *e.Awake && !e.LaunchedHere(), "awake", "the CPUs are kept awake for a subject that dyno launches on this machine (consider: awake: false)")
}

func checkRelink(e *dyno.Experiment) *dyno.PlanError {
	if e.Relink == nil || !*e.Relink {
		return nil
	}
	return cmp.Or(
		wrong(!e.Subject.Source(), "relink", "relink needs a subject that dyno builds, not %s (consider: subject.package)", &e.Subject),
		wrong(e.On.Kubernetes != nil, "relink", "relink needs a subject on this machine, not in a cluster (consider: relink: false)"),
		wrong(e.Slice > 0, "relink", "slices are of one launch, which has one executable (consider: a run without slice)"),
	)
}

// GatedBuild reports whether relink serves a gate: a change of source, toolchain or flags is to be judged, not where
// the linker put the code.
func GatedBuild(e *dyno.Experiment) bool {
	settings := e.Levels()
	return e.Relink == nil && e.Subject.Source() && e.On.Kubernetes == nil && e.Slice == 0 &&
		slices.ContainsFunc(settings[1:], func(s dyno.Setting) bool { return dyno.DifferInBuild(settings[0], s) })
}

// injectCure is what would put the injected probe into the subject.
func injectCure(s *dyno.Subject) string {
	if s.Source() {
		return "inject: true"
	}
	return "a subject that is built from source"
}
