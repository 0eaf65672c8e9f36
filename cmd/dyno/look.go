package main

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/dynolab/dyno"
)

// lookFlags are those of what is looked at beside the load.
func (p *planFlags) lookFlags(fs *pflag.FlagSet) {
	field(p, fs, "profile", "", "names", "take profiles in trials of their own: "+strings.Join(dyno.ProfileNames, ","), names, func(e *dyno.Experiment) *[]string { return &e.Profile })
	field(p, fs, "profile-repeat", "", "n", "blocks of those trials (default: as --repeat)", count, func(e *dyno.Experiment) *int { return &e.ProfileRepeats })
	field(p, fs, "trace", "", "time", "take an execution trace of this length, in a trial of its own", positive, func(e *dyno.Experiment) *dyno.Duration { return &e.Trace })
	field(p, fs, "pprof", "", "path", "where the service has net/http/pprof, such as /debug/pprof (default: the injected probe)", text, func(e *dyno.Experiment) *string { return &e.Probes.Pprof })
	field(p, fs, "slice", "", "time", "compare the levels of GOGC, GOMEMLIMIT or GOMAXPROCS by turns in one process, each for so long, instead of in launches", positive, func(e *dyno.Experiment) *dyno.Duration { return &e.Slice })
	p.publishedFlags(fs)
}

// publishedFlags are those of what a service tells of itself, for run and load
// alike.
func (p *planFlags) publishedFlags(fs *pflag.FlagSet) {
	field(p, fs, "expvar", "", "path", "where the service publishes expvar, such as /debug/vars", text, func(e *dyno.Experiment) *string { return &e.Probes.Expvar })
	field(p, fs, "prometheus", "", "path", "where it publishes Prometheus metrics, such as /metrics", text, func(e *dyno.Experiment) *string { return &e.Probes.Prometheus })
	field(p, fs, "metrics", "", "names", "of Prometheus, beside go_* and process_*", names, func(e *dyno.Experiment) *[]string { return &e.Probes.Metrics })
}
