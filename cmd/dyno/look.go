package main

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/dynolab/dyno"
)

// lookFlags are those of what is looked at beside the load.
func (p *planFlags) lookFlags(fs *pflag.FlagSet) {
	p.flag(fs, "profile", "", "names", "take profiles in trials of their own: "+strings.Join(dyno.ProfileNames, ","), func(e *dyno.Experiment, v string) error {
		e.Profile = strings.Split(v, ",")
		return nil
	})
	p.flag(fs, "profile-repeat", "", "n", "blocks of those trials (default: as --repeat)", func(e *dyno.Experiment, v string) error {
		return count(v, &e.ProfileRepeats)
	})
	p.flag(fs, "trace", "", "time", "take an execution trace of this length, in a trial of its own", func(e *dyno.Experiment, v string) error {
		return positive(v, &e.Trace)
	})
	p.flag(fs, "pprof", "", "path", "where the service has net/http/pprof, such as /debug/pprof (default: the injected probe)", func(e *dyno.Experiment, v string) error {
		e.Probes.Pprof = v
		return nil
	})
	p.flag(fs, "slice", "", "time", "compare the levels of GOGC, GOMEMLIMIT or GOMAXPROCS by turns in one process, each for so long, instead of in launches", func(e *dyno.Experiment, v string) error {
		return positive(v, &e.Slice)
	})
	p.publishedFlags(fs)
}

// publishedFlags are those of what a service tells of itself, for run and load
// alike.
func (p *planFlags) publishedFlags(fs *pflag.FlagSet) {
	for _, source := range []struct {
		name, help string
		to         func(*dyno.Probes) *string
	}{
		{"expvar", "where the service publishes expvar, such as /debug/vars", func(p *dyno.Probes) *string { return &p.Expvar }},
		{"prometheus", "where it publishes Prometheus metrics, such as /metrics", func(p *dyno.Probes) *string { return &p.Prometheus }},
	} {
		p.flag(fs, source.name, "", "path", source.help, func(e *dyno.Experiment, v string) error { *source.to(&e.Probes) = v; return nil })
	}
	p.flag(fs, "metrics", "", "names", "of Prometheus, beside go_* and process_*", func(e *dyno.Experiment, v string) error {
		e.Probes.Metrics = strings.Split(v, ",")
		return nil
	})
}
