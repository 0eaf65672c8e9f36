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

// check finds what makes no sense in a load, resolved or not.
func (l *Load) check() *PlanError {
	if l.None {
		if key := given(*l, "none", "duration", "warmup", "idle", "insecure", "max_failures"); key != "" {
			return PlanErrorf("load has none and %s (want one)", key).Of("load", key)
		}
		return nil
	}
	if l.Command != "" {
		if l.Deadline > 0 {
			return PlanErrorf("load has command and deadline, but deadline works with dyno's own load only (consider: no command)").Of("load", "deadline")
		}
		if key := given(*l, "command", "idle", "max_failures"); key != "" {
			return PlanErrorf("load has command and %s (consider: say it in the command)", key).Of("load", key)
		}
		return nil
	}
	return cmp.Or(l.checkGRPC(), l.checkProgram(), l.checkReplay(), l.checkMuch(), l.checkRate(), l.checkHow(), l.checkSteps(), l.checkData())
}

// wrong returns the mistake of a plan in which something is wrong, or nil. The
// key is its place in the plan, such as "load rate".
func wrong(is bool, key, format string, args ...any) *PlanError {
	if !is {
		return nil
	}
	return PlanErrorf(format, args...).Of(strings.Fields(key)...)
}

// Keys yields the fields of a struct with their names in JSON.
func Keys(part reflect.Value) iter.Seq2[string, reflect.Value] {
	return func(yield func(string, reflect.Value) bool) {
		for i := range part.NumField() {
			key, _, _ := strings.Cut(part.Type().Field(i).Tag.Get("json"), ",")
			if key != "-" && !yield(key, part.Field(i)) {
				return
			}
		}
	}
}

// given returns the first key of a part of the plan that is set and not allowed, or "".
func given(part any, allowed ...string) string {
	for key, field := range Keys(reflect.ValueOf(part)) {
		if !field.IsZero() && !slices.Contains(allowed, key) {
			return key
		}
	}
	return ""
}

// mostClients exceeds the 64,511 ports from one address to another.
const mostClients = 100_000

// mostRate bounds the work of counting requests.
const mostRate = 1e7

const mostParallel = 10_000

func (l *Load) checkMuch() *PlanError {
	ends := 0
	for _, given := range []bool{l.Requests != 0, l.RequestsPerClient != 0, l.Duration != 0} {
		if given {
			ends++
		}
	}
	return cmp.Or(
		wrong(l.Concurrency > mostClients, "load concurrency", "%d clients are too many (want at most %d)", l.Concurrency, mostClients),
		wrong(l.MaxInFlight > mostClients, "load max_in_flight", "max_in_flight is %d (want at most %d)", l.MaxInFlight, mostClients),
		wrong(ends > 1, "load", "the load has two ends (want one of requests, requests_per_client and duration)"),
		wrong(len(l.Rate) > 1 && l.Rate.Length() == 0 && ends == 0, "load rate", "the last stage of the rate has no end (want for example %v over 30s, or duration or requests)", l.Rate),
	)
}

func (l *Load) checkRate() *PlanError {
	if !l.Open() {
		return cmp.Or(
			wrong(l.Arrival != "", "load arrival", "arrival needs a rate"),
			wrong(l.MaxInFlight != 0, "load max_in_flight", "max_in_flight needs a rate (consider: concurrency, the most requests under way in a closed load)"),
		)
	}
	length := l.Rate.Length()
	connections := l.Resolved().Concurrency
	loop := l.Client.Loop
	_, enough := l.Rate.Due(float64(max(l.Requests, 1) - 1))
	enough = enough || l.Replay != ""
	return cmp.Or(
		wrong(l.Rate.Max() > mostRate, "load rate", "the rate is %g/s, more than any generator sends (want at most %g/s)", l.Rate.Max(), mostRate),
		wrong(l.Arrival != "" && l.Arrival != "constant" && l.Arrival != "poisson", "load arrival", "unknown arrival %q (want constant or poisson)", l.Arrival),
		wrong(l.RequestsPerClient > 0, "load requests_per_client", "requests_per_client is for a closed load; with a rate use duration or requests"),
		wrong(length > 0 && l.Duration > 0 && time.Duration(l.Duration) != length, "load duration", "the rate has its own length, %v (consider: leave duration out)", length),
		wrong(l.Requests > 0 && !enough, "load requests", "the stages of the rate end before %d requests are due", l.Requests),
		wrong(l.HTTP != "2" && l.MaxInFlight > connections, "load max_in_flight", "max_in_flight is %d, but each of %d connections has one request under way, unless http is 2 (consider: concurrency: %d, or http: 2)", l.MaxInFlight, connections, l.MaxInFlight),
		wrong(len(loop) > 0 && loop[0].Sleep != Sleep{}, "load client loop 0", "with a rate the loop begins with a request, which is due by the schedule (consider: the sleep at its end)"),
		wrong(l.Session() && l.MaxInFlight > 0 && l.MaxInFlight != connections, "load max_in_flight", "max_in_flight is %d, but each of %d clients plays one session at a time (consider: concurrency: %[1]d)", l.MaxInFlight, connections),
	)
}

func (l *Load) checkHow() *PlanError {
	timeout := l.Resolved().Timeout
	return cmp.Or(
		wrong(l.ConnectTimeout > timeout, "load connect_timeout", "connect_timeout is %v, longer than the timeout of the whole request, %v", l.ConnectTimeout, timeout),
		wrong(l.ReadTimeout > timeout, "load read_timeout", "read_timeout is %v, longer than the timeout of the whole request, %v", l.ReadTimeout, timeout),
		wrong(l.HTTP != "" && l.HTTP != "1.1" && l.HTTP != "2", "load http", "unknown version %q of HTTP (want 1.1 or 2)", l.HTTP),
		wrong(l.KeepRequests != "" && l.KeepRequests != "all" && l.KeepRequests != "none", "load keep_requests", "bad keep_requests %q (want all or none)", l.KeepRequests),
		wrong(l.MaxRequestsKept > 0 && l.KeepRequests == "none", "load max_requests_kept", "max_requests_kept has no meaning with keep_requests: none"),
	)
}

func (l *Load) checkSteps() *PlanError {
	rests := func(s Step) bool { return s.Sleep != Sleep{} }
	loop := l.Client.Loop
	return cmp.Or(
		wrong(l.Targets != "" && given(l.Client) != "", "load targets", "load has targets and its own steps (want one: method, path, headers and body are in the targets)"),
		l.Client.check(),
		wrong(len(loop) > 0 && len(slices.DeleteFunc(slices.Clone(loop), rests)) == 0, "load client loop", "the loop only sleeps (want a request in it, for example GET /)"),
	)
}

// checkProgram finds keys that only dyno's own requests have.
func (l *Load) checkProgram() *PlanError {
	if l.Program == "" {
		return wrong(len(l.Args) > 0, "load args", "args are those of a program (want program: ./loadtest, a main package)")
	}
	for _, key := range []struct {
		name  string
		given bool
	}{
		{"client", given(l.Client) != ""}, {"targets", l.Targets != ""}, {"data", len(l.Data) > 0}, {"http", l.HTTP != ""},
		{"insecure", l.Insecure}, {"connect_timeout", l.ConnectTimeout > 0}, {"read_timeout", l.ReadTimeout > 0},
	} {
		if key.given {
			return PlanErrorf("load has program and %s, which is for dyno's own requests (consider: args of the program)", key.name).Of("load", key.name)
		}
	}
	return nil
}

var takenNames = []string{"n", "client", "arg", "counter", "uuid", "random"}

func (l *Load) checkData() *PlanError {
	for _, name := range slices.Sorted(maps.Keys(l.Data)) {
		switch {
		case !IsName(name):
			return PlanErrorf("bad name %q of data (want letters, digits and _, as in {{.users.name}})", name).Of("load", "data", name)
		case slices.Contains(takenNames, name):
			return PlanErrorf("data cannot be named %s, a reserved name of templates", name).Of("load", "data", name)
		}
		for s := range l.Client.Requests() {
			if _, ok := s.Capture[name]; ok {
				return PlanErrorf("%s is data and is captured by step %q (want two names)", name, s.Label()).Of("load", "data", name)
			}
		}
	}
	return nil
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
			for _, s := range part.steps[i].Requests() {
				if s.Measure == nil && part.name != "loop" || s.Measure != nil && !*s.Measure {
					continue
				}
				if p := cmp.Or(partOf[s.Label()], part.name); p != part.name {
					return PlanErrorf("step %q is measured in %s and in %s (consider: name: in one of them)", s.Label(), p, part.name).Of(at...)
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
			return PlanErrorf("a step with sleep has no other keys, but this has %s (consider: two steps)", key).Of(append(at, key)...)
		}
		return nil
	}
	if len(s.Parallel.Steps) > 0 {
		return s.checkList(at)
	}
	switch {
	case strings.ContainsFunc(s.Method, func(r rune) bool { return r < 'A' || r > 'Z' }):
		return PlanErrorf("bad method %q (want for example PUT)", s.Method).Of(at...)
	case !strings.HasPrefix(s.Path, "/") && !strings.HasPrefix(s.Path, "{{"):
		return PlanErrorf("path %q of a step does not begin with a slash", s.Path).Of(at...)
	case s.Body != "" && s.BodyFile != "":
		return PlanErrorf("a step has both body and body_file (want one)").Of(append(at, "body_file")...)
	case s.Parallel.Times > mostParallel:
		return PlanErrorf("parallel is %d (want at most %d)", s.Parallel.Times, mostParallel).Of(append(at, "parallel")...)
	case s.Parallel.Times > 1 && len(s.Capture) > 0:
		return PlanErrorf("a step captures from one answer, not from %d parallel ones (consider: a separate step)", s.Parallel.Times).Of(append(at, "capture")...)
	}
	return nil
}

func (s *Step) checkList(at []string) *PlanError {
	if key := given(*s, "parallel", "name"); key != "" {
		return PlanErrorf("a list of parallel steps has no key but name, and this has %s (consider: %[1]s in each of them)", key).Of(append(at, key)...)
	}
	for i := range s.Parallel.Steps {
		p, at := &s.Parallel.Steps[i], append(slices.Clip(at), "parallel", strconv.Itoa(i))
		if !p.single() {
			return PlanErrorf("a parallel step is one request, without sleep or parallel").Of(at...)
		}
		if err := p.check(at); err != nil {
			return err
		}
	}
	return nil
}
