package dyno

import (
	"cmp"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// check finds what makes no sense in a load as the user gave it. The one that
// Resolved makes of it passes too.
func (l *Load) check() *PlanError {
	if l.None {
		if key := given(*l, "none", "duration", "warmup", "idle", "insecure", "max_failures"); key != "" {
			return PlanErrorf("load has none and %s (want one)", key).of("load", key)
		}
		return nil
	}
	if l.Command != "" {
		if l.Deadline > 0 {
			return PlanErrorf("load has command and deadline, which another generator does not tell requests by (consider: dyno's own load)").of("load", "deadline")
		}
		if key := given(*l, "command", "idle", "max_failures"); key != "" {
			return PlanErrorf("load has command and %s (consider: say it in the command)", key).of("load", key)
		}
		return nil
	}
	for _, check := range []func() *PlanError{l.checkMuch, l.checkRate, l.checkHow, l.checkSteps, l.checkData} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// given returns the first key of a part of the plan, by its name in JSON, that
// is set and is none of those allowed, or "".
func given(part any, allowed ...string) string {
	v := reflect.ValueOf(part)
	for i := range v.NumField() {
		key, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if !v.Field(i).IsZero() && key != "-" && !slices.Contains(allowed, key) {
			return key
		}
	}
	return ""
}

// mostClients is more than a machine has ports for: 64,511 from one address to
// another.
const mostClients = 100_000

// mostRate bounds the work of counting what is due.
const mostRate = 1e7

// mostParallel is of each client.
const mostParallel = 10_000

func (l *Load) checkMuch() *PlanError {
	ends := 0
	for _, given := range []bool{l.Requests != 0, l.RequestsPerClient != 0, l.Duration != 0} {
		if given {
			ends++
		}
	}
	switch {
	case l.Concurrency < 0:
		return PlanErrorf("concurrency is %d (want at least 1)", l.Concurrency).of("load", "concurrency")
	case l.MaxInFlight < 0:
		return PlanErrorf("max_in_flight is %d (want at least 1)", l.MaxInFlight).of("load", "max_in_flight")
	case l.Concurrency > mostClients:
		return PlanErrorf("%d clients are more than dyno has room for (want at most %d)", l.Concurrency, mostClients).of("load", "concurrency")
	case l.MaxInFlight > mostClients:
		return PlanErrorf("max_in_flight is %d (want at most %d)", l.MaxInFlight, mostClients).of("load", "max_in_flight")
	case l.Requests < 0 || l.RequestsPerClient < 0:
		return PlanErrorf("the number of requests is negative").of("load", "requests")
	case ends > 1:
		return PlanErrorf("the load has two ends (want one of requests, requests_per_client and duration)").of("load")
	case len(l.Rate) > 1 && l.Rate.Length() == 0 && ends == 0:
		return PlanErrorf("the last stage of the rate has no end (want for example %v over 30s, or duration or requests)", l.Rate).of("load", "rate")
	}
	return nil
}

func (l *Load) checkRate() *PlanError {
	if !l.Rate.Open() {
		switch {
		case l.Arrival != "":
			return PlanErrorf("arrival needs a rate").of("load", "arrival")
		case l.MaxInFlight != 0:
			return PlanErrorf("max_in_flight needs a rate (consider: concurrency, the most requests under way in a closed load)").of("load", "max_in_flight")
		}
		return nil
	}
	length := l.Rate.Length()
	connections := l.Resolved().Concurrency
	loop := l.Client.Loop
	_, enough := l.Rate.Due(float64(max(l.Requests, 1) - 1))
	switch {
	case l.Rate.Max() > mostRate:
		return PlanErrorf("the rate is %g/s, more than any generator sends (want at most %g/s)", l.Rate.Max(), mostRate).of("load", "rate")
	case l.Arrival != "" && l.Arrival != "constant" && l.Arrival != "poisson":
		return PlanErrorf("unknown arrival %q (want constant or poisson)", l.Arrival).of("load", "arrival")
	case l.RequestsPerClient > 0:
		return PlanErrorf("requests_per_client is for a closed load; with a rate use duration or requests").of("load", "requests_per_client")
	case length > 0 && l.Duration > 0 && time.Duration(l.Duration) != length:
		return PlanErrorf("the rate has its own length, %v (consider: leave duration out)", length).of("load", "duration")
	case l.Requests > 0 && !enough:
		return PlanErrorf("the stages of the rate end before %d requests are due", l.Requests).of("load", "requests")
	case l.HTTP != "2" && l.MaxInFlight > connections:
		return PlanErrorf("max_in_flight is %d, but each of %d connections has one request under way, unless http is 2 (consider: concurrency: %d, or http: 2)",
			l.MaxInFlight, connections, l.MaxInFlight).of("load", "max_in_flight")
	case len(loop) > 1:
		return PlanErrorf("with a rate the loop has one step, as each request is due on its own; it has %d", len(loop)).of("load", "client")
	case len(loop) == 1 && !loop[0].single():
		return PlanErrorf("with a rate the step is one request, as each is due on its own; sleep and parallel are for a closed load").of("load", "client", "loop", "0")
	}
	return nil
}

// checkHow checks how requests are sent, and what is kept of them.
func (l *Load) checkHow() *PlanError {
	timeout := l.Resolved().Timeout
	switch {
	case l.ConnectTimeout > timeout:
		return PlanErrorf("connect_timeout is %v, longer than the timeout of the whole request, %v", l.ConnectTimeout, timeout).of("load", "connect_timeout")
	case l.ReadTimeout > timeout:
		return PlanErrorf("read_timeout is %v, longer than the timeout of the whole request, %v", l.ReadTimeout, timeout).of("load", "read_timeout")
	case l.HTTP != "" && l.HTTP != "1.1" && l.HTTP != "2":
		return PlanErrorf("unknown version %q of HTTP (want 1.1 or 2)", l.HTTP).of("load", "http")
	case l.KeepRequests != "" && l.KeepRequests != "all" && l.KeepRequests != "none":
		return PlanErrorf("bad keep_requests %q (want all or none)", l.KeepRequests).of("load", "keep_requests")
	case l.MaxRequestsKept < 0:
		return PlanErrorf("max_requests_kept is %d (want at least 1)", l.MaxRequestsKept).of("load", "max_requests_kept")
	case l.MaxRequestsKept > 0 && l.KeepRequests == "none":
		return PlanErrorf("max_requests_kept has no meaning with keep_requests: none").of("load", "max_requests_kept")
	}
	return nil
}

func (l *Load) checkSteps() *PlanError {
	if l.Targets != "" && given(l.Client) != "" {
		return PlanErrorf("load has targets and steps of its own (want one: method, path, headers and body are in the targets)").of("load", "targets")
	}
	if err := l.Client.check(); err != nil {
		return err
	}
	loop := l.Client.Loop
	if len(loop) > 0 && !slices.ContainsFunc(loop, func(s Step) bool { return s.Sleep == Sleep{} }) {
		return PlanErrorf("the loop only sleeps (want a request in it, for example GET /)").of("load", "client", "loop")
	}
	return nil
}

// takenNames are names of templates that data cannot have.
var takenNames = []string{"n", "client", "arg", "counter", "uuid", "random"}

func (l *Load) checkData() *PlanError {
	for _, name := range slices.Sorted(maps.Keys(l.Data)) {
		switch {
		case !envName.MatchString(name):
			return PlanErrorf("bad name %q of data (want letters, digits and _, as in {{.users.name}})", name).of("load", "data", name)
		case slices.Contains(takenNames, name):
			return PlanErrorf("data cannot be named %s, which has a meaning in templates", name).of("load", "data", name)
		}
		for s := range l.Client.requests() {
			if _, ok := s.Capture[name]; ok {
				return PlanErrorf("%s is data and is captured by step %q (want two names)", name, s.Label()).of("load", "data", name)
			}
		}
	}
	return nil
}

// requests yields the steps that are requests, those of parallel lists too.
func (c *Client) requests() iter.Seq[*Step] {
	return func(yield func(*Step) bool) {
		for _, steps := range [][]Step{c.Setup, c.Loop, c.Teardown} {
			for i := range steps {
				for _, s := range steps[i].requests() {
					if !yield(s) {
						return
					}
				}
			}
		}
	}
}

// requests are the step itself, or the steps that it is a list of; a rest is none.
func (s *Step) requests() []*Step {
	if s.Sleep != (Sleep{}) {
		return nil
	}
	if len(s.Parallel.Steps) == 0 {
		return []*Step{s}
	}
	var list []*Step
	for i := range s.Parallel.Steps {
		list = append(list, &s.Parallel.Steps[i])
	}
	return list
}

// single reports whether the step is one request.
func (s *Step) single() bool {
	return s.Sleep == Sleep{} && s.Parallel.Times == 0 && len(s.Parallel.Steps) == 0
}

func (c *Client) check() *PlanError {
	partOf := map[string]string{} // measured steps, by label
	for _, part := range []struct {
		name  string
		steps []Step
	}{{"setup", c.Setup}, {"loop", c.Loop}, {"teardown", c.Teardown}} {
		for i := range part.steps {
			at := []string{"load", "client", part.name, strconv.Itoa(i)}
			if err := part.steps[i].check(at); err != nil {
				return err
			}
			for _, s := range part.steps[i].requests() {
				if s.Measure == nil && part.name != "loop" || s.Measure != nil && !*s.Measure {
					continue
				}
				if p := cmp.Or(partOf[s.Label()], part.name); p != part.name {
					return PlanErrorf("step %q is measured in %s and in %s (consider: name: in one of them)", s.Label(), p, part.name).of(at...)
				}
				partOf[s.Label()] = part.name
			}
		}
	}
	return nil
}

// check finds what makes no sense in a step; at is its place in the plan.
func (s *Step) check(at []string) *PlanError {
	if s.Sleep != (Sleep{}) {
		if key := given(*s, "sleep"); key != "" {
			return PlanErrorf("a step that sleeps has nothing else; this has %s too (consider: two steps)", key).of(append(at, key)...)
		}
		return nil
	}
	if len(s.Parallel.Steps) > 0 {
		return s.checkList(at)
	}
	switch {
	case !strings.HasPrefix(s.Path, "/") && !strings.HasPrefix(s.Path, "{{"):
		return PlanErrorf("path %q of a step does not begin with a slash", s.Path).of(at...)
	case s.Body != "" && s.BodyFile != "":
		return PlanErrorf("a step has both body and body_file (want one)").of(append(at, "body_file")...)
	case s.Parallel.Times < 0:
		return PlanErrorf("parallel is %d (want at least 1)", s.Parallel.Times).of(append(at, "parallel")...)
	case s.Parallel.Times > mostParallel:
		return PlanErrorf("parallel is %d (want at most %d)", s.Parallel.Times, mostParallel).of(append(at, "parallel")...)
	case s.Parallel.Times > 1 && len(s.Capture) > 0:
		return PlanErrorf("a step captures from one answer, not from %d parallel ones (consider: a step of its own)", s.Parallel.Times).of(append(at, "capture")...)
	}
	return nil
}

// checkList checks a step that is a list of parallel ones.
func (s *Step) checkList(at []string) *PlanError {
	if key := given(*s, "parallel", "name"); key != "" {
		return PlanErrorf("a list of parallel steps has nothing else but a name; this has %s too (consider: say it in each of them)", key).of(append(at, key)...)
	}
	for i := range s.Parallel.Steps {
		p, at := &s.Parallel.Steps[i], append(slices.Clip(at), "parallel", strconv.Itoa(i))
		if !p.single() {
			return PlanErrorf("a parallel step is one request, and has no sleep or parallel itself").of(at...)
		}
		if err := p.check(at); err != nil {
			return err
		}
	}
	return nil
}
