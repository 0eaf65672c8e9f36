package check

import (
	"cmp"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"github.com/dynolab/dyno"
)

// checkLoad finds what makes no sense in a load, resolved or not.
func checkLoad(l *dyno.Load) *dyno.PlanError {
	if l.None {
		if key := given(*l, "none", "duration", "warmup", "idle", "insecure", "max_failures"); key != "" {
			return dyno.PlanErrorf("load has none and %s (want one)", key).Of("load", key)
		}
		return nil
	}
	if l.Command != "" {
		if l.Deadline > 0 {
			return dyno.PlanErrorf("load has command and deadline, but deadline works with dyno's own load only (consider: no command)").Of("load", "deadline")
		}
		if key := given(*l, "command", "idle", "max_failures"); key != "" {
			return dyno.PlanErrorf("load has command and %s (consider: say it in the command)", key).Of("load", key)
		}
		return nil
	}
	return cmp.Or(checkGRPC(l), checkProgram(l), checkReplay(l), checkMuch(l), checkRate(l), checkHow(l), checkSteps(l), checkData(l))
}

// mostClients exceeds the 64,511 ports from one address to another.
const mostClients = 100_000

// mostRate bounds the work of counting requests.
const mostRate = 1e7

func checkMuch(l *dyno.Load) *dyno.PlanError {
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

func checkRate(l *dyno.Load) *dyno.PlanError {
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
		wrong(len(loop) > 0 && loop[0].Sleep != dyno.Sleep{}, "load client loop 0", "with a rate the loop begins with a request, which is due by the schedule (consider: the sleep at its end)"),
		wrong(l.Session() && l.MaxInFlight > 0 && l.MaxInFlight != connections, "load max_in_flight", "max_in_flight is %d, but each of %d clients plays one session at a time (consider: concurrency: %[1]d)", l.MaxInFlight, connections),
	)
}

func checkHow(l *dyno.Load) *dyno.PlanError {
	timeout := l.Resolved().Timeout
	return cmp.Or(
		wrong(l.ConnectTimeout > timeout, "load connect_timeout", "connect_timeout is %v, longer than the timeout of the whole request, %v", l.ConnectTimeout, timeout),
		wrong(l.ReadTimeout > timeout, "load read_timeout", "read_timeout is %v, longer than the timeout of the whole request, %v", l.ReadTimeout, timeout),
		wrong(l.HTTP != "" && l.HTTP != "1.1" && l.HTTP != "2", "load http", "unknown version %q of HTTP (want 1.1 or 2)", l.HTTP),
		wrong(l.KeepRequests != "" && l.KeepRequests != "all" && l.KeepRequests != "none", "load keep_requests", "bad keep_requests %q (want all or none)", l.KeepRequests),
		wrong(l.MaxRequestsKept > 0 && l.KeepRequests == "none", "load max_requests_kept", "max_requests_kept has no meaning with keep_requests: none"),
	)
}

// checkProgram finds keys that only dyno's own requests have.
func checkProgram(l *dyno.Load) *dyno.PlanError {
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
			return dyno.PlanErrorf("load has program and %s, which is for dyno's own requests (consider: args of the program)", key.name).Of("load", key.name)
		}
	}
	return nil
}

var takenNames = []string{"n", "client", "arg", "counter", "uuid", "random"}

func checkData(l *dyno.Load) *dyno.PlanError {
	for _, name := range slices.Sorted(maps.Keys(l.Data)) {
		switch {
		case !dyno.IsName(name):
			return dyno.PlanErrorf("bad name %q of data (want letters, digits and _, as in {{.users.name}})", name).Of("load", "data", name)
		case slices.Contains(takenNames, name):
			return dyno.PlanErrorf("data cannot be named %s, a reserved name of templates", name).Of("load", "data", name)
		}
		for s := range l.Client.Requests() {
			if _, ok := s.Capture[name]; ok {
				return dyno.PlanErrorf("%s is data and is captured by step %q (want two names)", name, s.Label()).Of("load", "data", name)
			}
		}
	}
	return nil
}

var notWithReplay = []string{"rate", "arrival", "requests_per_client", "targets", "client", "data", "program", "args", "grpc"}

func checkReplay(l *dyno.Load) *dyno.PlanError {
	if l.Replay == "" {
		return cmp.Or(
			wrong(l.Speed != 0, "load speed", "speed is that of a replay (want replay, too; consider: rate)"),
			wrong(l.LogFormat != "", "load log_format", "log_format is that of a replay's lines (want replay, too)"),
			wrong(l.ReplaySecrets, "load replay_secrets", "replay_secrets needs a replay"),
		)
	}
	for key, field := range Keys(reflect.ValueOf(*l)) {
		if slices.Contains(notWithReplay, key) && !field.IsZero() {
			return dyno.PlanErrorf("load has replay and %s, but a recording has requests and times of its own (want one)", key).Of("load", key)
		}
	}
	r := cmp.Or(l.Recording, &dyno.Recording{Requests: l.Requests})
	return wrong(l.Requests > r.Requests, "load requests", "%s has %d requests that can be sent, not %d", filepath.Base(l.Replay), r.Requests, l.Requests)
}
