package check

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/dynolab/dyno"
)

const mostParallel = 10_000

func checkSteps(l *dyno.Load) *dyno.PlanError {
	rests := func(s dyno.Step) bool { return s.Sleep != dyno.Sleep{} }
	loop := l.Client.Loop
	return cmp.Or(
		wrong(l.Targets != "" && given(l.Client) != "", "load targets", "load has targets and its own steps (want one: method, path, headers and body are in the targets)"),
		checkClient(&l.Client),
		wrong(len(loop) > 0 && len(slices.DeleteFunc(slices.Clone(loop), rests)) == 0, "load client loop", "the loop only sleeps (want a request in it, for example GET /)"),
	)
}

func checkClient(c *dyno.Client) *dyno.PlanError {
	partOf := map[string]string{} // measured steps, by label
	for _, part := range []struct {
		name  string
		steps []dyno.Step
	}{{"setup", c.Setup}, {"loop", c.Loop}, {"teardown", c.Teardown}} {
		for i := range part.steps {
			at := []string{"load", "client", part.name, strconv.Itoa(i)}
			if err := checkStep(&part.steps[i], at); err != nil {
				return err
			}
			for _, s := range part.steps[i].Requests() {
				if s.Measure == nil && part.name != "loop" || s.Measure != nil && !*s.Measure {
					continue
				}
				if p := cmp.Or(partOf[s.Label()], part.name); p != part.name {
					return dyno.PlanErrorf("step %q is measured in %s and in %s (consider: name: in one of them)", s.Label(), p, part.name).Of(at...)
				}
				partOf[s.Label()] = part.name
			}
		}
	}
	return nil
}

// checkStep finds what makes no sense in a step; at is its place in the plan.
func checkStep(s *dyno.Step, at []string) *dyno.PlanError {
	if s.Sleep != (dyno.Sleep{}) {
		if key := given(*s, "sleep"); key != "" {
			return dyno.PlanErrorf("a step with sleep has no other keys, but this has %s (consider: two steps)", key).Of(append(at, key)...)
		}
		return nil
	}
	if len(s.Parallel.Steps) > 0 {
		return checkList(s, at)
	}
	switch {
	case strings.ContainsFunc(s.Method, func(r rune) bool { return r < 'A' || r > 'Z' }):
		return dyno.PlanErrorf("bad method %q (want for example PUT)", s.Method).Of(at...)
	case !strings.HasPrefix(s.Path, "/") && !strings.HasPrefix(s.Path, "{{"):
		return dyno.PlanErrorf("path %q of a step does not begin with a slash", s.Path).Of(at...)
	case s.Body != "" && s.BodyFile != "":
		return dyno.PlanErrorf("a step has both body and body_file (want one)").Of(append(at, "body_file")...)
	case s.Parallel.Times > mostParallel:
		return dyno.PlanErrorf("parallel is %d (want at most %d)", s.Parallel.Times, mostParallel).Of(append(at, "parallel")...)
	case s.Parallel.Times > 1 && len(s.Capture) > 0:
		return dyno.PlanErrorf("a step captures from one answer, not from %d parallel ones (consider: a separate step)", s.Parallel.Times).Of(append(at, "capture")...)
	}
	return nil
}

func checkList(s *dyno.Step, at []string) *dyno.PlanError {
	if key := given(*s, "parallel", "name"); key != "" {
		return dyno.PlanErrorf("a list of parallel steps has no key but name, and this has %s (consider: %[1]s in each of them)", key).Of(append(at, key)...)
	}
	for i := range s.Parallel.Steps {
		p, at := &s.Parallel.Steps[i], append(slices.Clip(at), "parallel", strconv.Itoa(i))
		if p.Sleep != (dyno.Sleep{}) || p.Parallel.Times != 0 || len(p.Parallel.Steps) > 0 {
			return dyno.PlanErrorf("a parallel step is one request, without sleep or parallel").Of(at...)
		}
		if err := checkStep(p, at); err != nil {
			return err
		}
	}
	return nil
}
