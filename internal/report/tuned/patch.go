package tuned

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dynolab/dyno"
)

// A Patch is a change as a text for one tool.
type Patch struct {
	Kind string // of PatchKinds
	File string // its name in OUT/patch
	Text string
}

// PatchKinds are what a change can be written for.
var PatchKinds = []string{"env", "docker", "kubernetes", "systemd"}

// Patches are a setting in the form of each tool: its environment variables, with what they cannot say as comments.
func Patches(name string, s dyno.Setting, why string) []Patch {
	var vars, rest []dyno.Level
	for _, l := range s {
		switch {
		case environment(l.Factor):
			vars = append(vars, l)
		default:
			rest = append(rest, l)
		}
	}
	comment := "# " + why + "\n"
	for _, l := range rest {
		comment += "# and " + spell(l) + ", which is not an environment variable\n"
	}
	lines := func(form string) (text string) {
		for _, l := range vars {
			text += fmt.Sprintf(form, l.Factor, l.Value) + "\n"
		}
		return text
	}
	k8s := "spec:\n  template:\n    spec:\n      containers:\n        - name: " + yamlName(name) + "\n          env:\n" +
		lines("            - name: %s\n              value: \"%s\"")
	if len(vars) == 0 {
		k8s = ""
	}
	systemd := lines(`Environment=%s=%s`)
	if systemd != "" {
		systemd = "[Service]\n" + systemd
	}
	return []Patch{
		{"env", "service.env", comment + lines("%s=%s")},
		{"docker", "Dockerfile.append", comment + lines("ENV %s=%s")},
		{"kubernetes", "kubernetes.yaml", comment + "# strategic merge patch: kubectl patch deployment NAME --patch-file kubernetes.yaml\n# name below has to be that of the container in the deployment\n" + k8s},
		{"systemd", "10-dyno.conf", comment + "# drop-in: /etc/systemd/system/NAME.service.d/10-dyno.conf\n" + systemd},
	}
}

// Deployment is a setting as a strategic merge patch of a deployment, for the repository that it comes
// from: dyno changes nothing in a cluster. "" if no part of the setting is the deployment's.
func Deployment(name, container string, s dyno.Setting, why string) string {
	var env, limits, rest string
	for _, l := range s {
		switch {
		case environment(l.Factor):
			env += fmt.Sprintf("            - name: %s\n              value: %q\n", l.Factor, l.Value)
		case l.Factor == "limit.memory":
			size, _ := dyno.ParseSize(l.Value) // the plan was checked
			limits += fmt.Sprintf("              memory: \"%d\"\n", size)
		case l.Factor == "limit.cpu":
			cpus, _ := dyno.ParseCPUs(l.Value)
			limits += fmt.Sprintf("              cpu: \"%v\"\n", float64(cpus))
		default:
			rest += "# and " + spell(l) + ", which is not a part of the deployment\n"
		}
	}
	if env+limits == "" {
		return ""
	}
	if env != "" {
		env = "          env:\n" + env
	}
	if limits != "" {
		limits = "          resources:\n            limits:\n" + limits
	}
	return "# " + why + "\n" + rest + "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: " + name +
		"\nspec:\n  template:\n    spec:\n      containers:\n        - name: " + container + "\n" + env + limits
}

// environment reports whether a level is a variable of the service's own environment, not of its build.
func environment(factor string) bool {
	return !strings.Contains(factor, ".") && !dyno.OfBuild(factor)
}

func spell(l dyno.Level) string { return dyno.Setting{l}.String() }

// yamlName is a container's name as Kubernetes takes it.
func yamlName(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	if clean = strings.Trim(clean, "-"); clean == "" {
		return "service"
	}
	return clean
}

// Changed are the levels of a setting that today's does not have: all that a patch has to say.
func Changed(today, s dyno.Setting) (changed dyno.Setting) {
	for _, l := range s {
		if !slices.Contains(today, l) {
			changed = append(changed, l)
		}
	}
	return changed
}
