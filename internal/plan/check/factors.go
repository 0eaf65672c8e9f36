package check

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/dynolab/dyno"
)

// mostSettings is the greatest number of settings that a plan has.
const mostSettings = 10_000

// checkFactors checks factors, settings and their number.
func checkFactors(e *dyno.Experiment) *dyno.PlanError {
	if len(e.Factors) > 0 && len(e.Settings) > 0 {
		return dyno.PlanErrorf("vary and settings are both given (consider: settings alone, which lists whole settings)").Of("settings")
	}
	if err := checkMany(e); err != nil {
		return err
	}
	for _, f := range e.Factors {
		if len(f.Levels) == 0 {
			return dyno.PlanErrorf("factor %s has no levels (want for example --vary %s=a,b)", f.Name, f.Name).Of("vary", f.Name)
		}
		if second(f.Levels, func(level string) string { return level }) >= 0 {
			return dyno.PlanErrorf("factor %s has a level twice", f.Name).Of("vary", f.Name)
		}
	}
	levels := e.Levels()
	if i := second(levels, dyno.Setting.String); i >= 0 {
		return dyno.PlanErrorf("setting %q is listed twice", levels[i]).Of("settings")
	}
	return nil
}

// checkMany bounds what Levels and Trials write out.
func checkMany(e *dyno.Experiment) *dyno.PlanError {
	n := max(float64(len(e.Settings)), 1)
	for _, f := range e.Factors {
		n *= max(float64(len(f.Levels)), 1)
	}
	if n > mostSettings {
		return dyno.PlanErrorf("%.3g settings are too many (want at most %d)", n, mostSettings).Of("vary")
	}
	if e.Bench != nil {
		return nil
	}
	blocks, key := max(e.Repeats, 1), "repeat"
	if e.Sequential() {
		blocks, key = dyno.MostBlocks, "vary"
	}
	more := 0.0
	for _, m := range e.More {
		if m.Blocks < 1 {
			return dyno.PlanErrorf("%d blocks more are none (want at least 1)", m.Blocks).Of("more")
		}
		more += float64(m.Blocks)
	}
	if e.WhySlow {
		more += float64(cmp.Or(e.TraceRepeats, dyno.WhySlowBlocks))
	}
	if n *= float64(blocks) + float64(e.ProfileRepeats) + more; n > dyno.MostTrials {
		return dyno.PlanErrorf("%.3g trials are too many (want at most %d)", n, dyno.MostTrials).Of(key)
	}
	return nil
}

// checkSource finds factors that this form of subject cannot have.
func checkSource(t *dyno.Trial) *dyno.PlanError {
	s := &t.Subject
	for _, l := range t.Setting {
		switch {
		case strings.HasPrefix(l.Factor, "load.") || strings.HasPrefix(l.Factor, "arg."):
		case l.Factor == "version" && (s.Package != "" || s.Binary != "" || s.URL != "" || strings.HasPrefix(s.Module, "@")):
			return dyno.PlanErrorf("factor version needs a published module, not %s (consider: its import path, or factor rev for revisions of a repository)", cmp.Or(s.Package, s.Binary, s.URL)).Of("vary", "version")
		case strings.HasPrefix(l.Factor, dyno.DepFactor) && !s.Source():
			return dyno.PlanErrorf("factor %s needs a subject that is built from source, not %s", l.Factor, s).Of("vary", l.Factor)
		case l.Factor == "rev" && s.Package == "":
			return dyno.PlanErrorf("factor rev needs a package in a git repository, not %s", s).Of("vary", "rev")
		case (l.Factor == "go" || l.Factor == "build") && !s.Source():
			return dyno.PlanErrorf("factor %s needs a subject that is built from source, not %s", l.Factor, s).Of("vary", l.Factor)
		case !s.Launched():
			return dyno.PlanErrorf("factor %s needs a subject that dyno launches, not %s", l.Factor, s).Of("vary", l.Factor)
		}
	}
	for _, l := range t.Setting {
		if !dyno.RuntimeTakes(l) {
			return dyno.PlanErrorf("%s=%s: the Go runtime does not accept this value", l.Factor, l.Value).Of("vary", l.Factor)
		}
		if err := checkVersion(l); err != nil {
			return err
		}
	}
	return cmp.Or(
		wrong(t.Limits != (dyno.Limits{}) && !s.Launched(), "limits", "limits need a subject that dyno launches, not %s", s),
		wrong(s.Go != "" && !s.Source(), "subject go", "go needs a subject that is built from source, not %s", s),
	)
}

var moduleName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._~/-]*$`)

// checkVersion finds levels that cannot be what the go command takes for a version: https://go.dev/ref/mod#version-queries.
func checkVersion(l dyno.Level) *dyno.PlanError {
	module, dep := strings.CutPrefix(l.Factor, dyno.DepFactor)
	if !dep && l.Factor != "version" {
		return nil
	}
	bad := l.Value == "" || strings.HasPrefix(l.Value, "-") || strings.ContainsAny(l.Value, " @,")
	return cmp.Or(
		wrong(dep && !moduleName.MatchString(module), "vary "+l.Factor, "bad module %q (want its path, as go list -m all prints it)", module),
		wrong(bad && dep, "vary "+l.Factor, "bad version %q (want for example v1.20.0, latest, or . for that of go.mod)", l.Value),
		wrong(bad, "vary "+l.Factor, "bad version %q (want for example v1.20.0 or latest)", l.Value),
	)
}

// Extend adds blocks to a run that was judged after so many, if its plan can have them.
func Extend(e *dyno.Experiment, after, blocks int) error {
	if !e.Compares() {
		return fmt.Errorf("only launches of several settings can have more blocks (consider: a new run)")
	}
	extended := *e
	extended.More = append(extended.More[:len(e.More):len(e.More)], dyno.More{After: after, Blocks: blocks})
	if err := checkMany(&extended); err != nil {
		return err
	}
	*e = extended
	return nil
}
