package flags

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/dynolab/dyno"
)

// LookFlags are those of what is looked at beside the load.
func (p *Set) LookFlags(fs *pflag.FlagSet) {
	Field(p, fs, "profile", "", "names", "take profiles in trials of their own: "+strings.Join(dyno.ProfileNames, ","), names, func(e *dyno.Experiment) *[]string { return &e.Profile })
	Field(p, fs, "profile-repeat", "", "n", "blocks of those trials (default: as --repeat)", Count, func(e *dyno.Experiment) *int { return &e.ProfileRepeats })
	Field(p, fs, "trace", "", "time", "take an execution trace of this length, in a trial of its own", Positive, func(e *dyno.Experiment) *dyno.Duration { return &e.Trace })
	Field(p, fs, "pprof", "", "path", "where the service has net/http/pprof, such as /debug/pprof (default: the injected probe)", Text, func(e *dyno.Experiment) *string { return &e.Probes.Pprof })
	Field(p, fs, "slice", "", "time", "compare the levels of GOGC, GOMEMLIMIT or GOMAXPROCS by turns in one process, each for so long, instead of in launches", Positive, func(e *dyno.Experiment) *dyno.Duration { return &e.Slice })
	p.PublishedFlags(fs)
}

// PublishedFlags are those of what a service tells of itself, for run and load alike.
func (p *Set) PublishedFlags(fs *pflag.FlagSet) {
	Field(p, fs, "expvar", "", "path", "where the service publishes expvar, such as /debug/vars", Text, func(e *dyno.Experiment) *string { return &e.Probes.Expvar })
	Field(p, fs, "prometheus", "", "path", "where it publishes Prometheus metrics, such as /metrics", Text, func(e *dyno.Experiment) *string { return &e.Probes.Prometheus })
	Field(p, fs, "metrics", "", "names", "of Prometheus, beside go_* and process_*", names, func(e *dyno.Experiment) *[]string { return &e.Probes.Metrics })
}
