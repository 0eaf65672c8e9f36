package dyno

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// Settings run side by side unless something of the plan has room for one subject only, or
// takes an undisturbed course; what surprises has a reason, with a cure.
func TestWhyAlone(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Experiment)
		why    string // part of it; "" means none
		beside bool
	}{
		"settings":     {func(*Experiment) {}, "", true},
		"one setting":  {func(e *Experiment) { e.Factors = nil }, "", false},
		"as asked":     {func(e *Experiment) { e.Alone = true }, "", false},
		"slices":       {func(e *Experiment) { e.Slice = Duration(time.Second) }, "", false},
		"attached":     {func(e *Experiment) { e.Subject = Subject{URL: "http://127.0.0.1:1"} }, "", false},
		"an open load": {func(e *Experiment) { e.Load.Rate = PerSecond(100) }, "", true},
		"open loads":   {func(e *Experiment) { e.Factors = Factors{{Name: "load.rate", Levels: []string{"1/s", "2/s"}}} }, "", true},
		"a ramp to leaks": {func(e *Experiment) {
			e.Factors = Factors{{Name: "load.rate", Levels: []string{"1/s", "1->2 over 30s"}}}
		}, "leaks", false},
		"open and closed": {func(e *Experiment) {
			e.Factors, e.Settings = nil, []Setting{{{"GOGC", "100"}}, {{"load.rate", "1/s"}}}
		}, "load.rate for all", false},
		"open all the same": {func(e *Experiment) {
			e.Factors, e.Settings, e.Load.Rate = nil, []Setting{{{"GOGC", "100"}}, {{"load.rate", "1/s"}}}, PerSecond(2)
		}, "", true},
		"a command":             {func(e *Experiment) { e.Load.Command = "wrk" }, "dyno's own load", false},
		"many":                  {func(e *Experiment) { e.Factors[0].Levels = strings.Split(strings.Repeat("1", 17), "") }, "17 settings", false},
		"a CPU limit":           {func(e *Experiment) { e.Limits.CPU = 2 }, "GOMAXPROCS", false},
		"half a CPU":            {func(e *Experiment) { e.Limits.CPU = 0.5 }, "a resting setting does not use", false},
		"whole CPUs and less":   {func(e *Experiment) { e.Factors = Factors{{Name: "limit.cpu", Levels: []string{"1", "150%"}}} }, "a resting setting does not use", false},
		"CPU limits":            {func(e *Experiment) { e.Factors = Factors{{Name: "limit.cpu", Levels: []string{"none", "1"}}} }, "GOMAXPROCS", false},
		"leaks":                 {func(e *Experiment) { e.Load.Duration = LeakWindow }, "leaks", false},
		"expvar":                {func(e *Experiment) { e.Probes.Expvar = "/debug/vars" }, "", true},
		"an address of its own": {func(e *Experiment) { e.Subject.Addr = "https://127.0.0.1:8443" }, "{{.Port}} for its port", false},
		"with TLS":              {func(e *Experiment) { e.Subject.Addr = "https://{{.Addr}}" }, "", true},
		"its own port":          {func(e *Experiment) { e.Probes.Prometheus = "http://127.0.0.1:9090/metrics" }, "probes.prometheus", false},
	} {
		e := &Experiment{Subject: Subject{Package: "."}, Factors: Factors{{Name: "GOGC", Levels: []string{"100", "50"}}}}
		c.change(e)
		why, beside := e.WhyAlone()
		if beside != c.beside || (why == "") != (c.why == "") || !strings.Contains(why, c.why) || strings.Contains(why, "consider: ") != (why != "" && !slices.Contains([]string{"many", "half a CPU", "whole CPUs and less"}, name)) {
			t.Errorf("%s: %v, %q", name, beside, why)
		}
	}
}

// A load without an end is shorter in turns, and as it was where there are none.
func TestDefaultBeside(t *testing.T) {
	e := &Experiment{Subject: Subject{Package: "."}, Factors: Factors{{Name: "GOGC", Levels: []string{"100", "50"}}}}
	for _, c := range []struct {
		change func(*Experiment)
		want   Duration
	}{
		{func(*Experiment) {}, DefaultBeside},
		{func(e *Experiment) { e.Alone = true }, DefaultDuration},
		{func(e *Experiment) { e.Alone, e.Load.Requests = false, 100 }, 0},
		{func(e *Experiment) { e.Load.Duration = Duration(7 * time.Second) }, Duration(7 * time.Second)},
	} {
		c.change(e)
		if got := e.Resolved().Load.Duration; got != c.want || e.Trials()[0].Load.Duration != c.want {
			t.Errorf("duration %v in the plan, %v in a trial, want %v", got, e.Trials()[0].Load.Duration, c.want)
		}
	}
}
