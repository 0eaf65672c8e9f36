package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/lab"
	"github.com/dynolab/dyno/internal/load"
	"github.com/dynolab/dyno/internal/plan/check"
	"github.com/dynolab/dyno/internal/plan/flags"
)

func newLoad() *cobra.Command {
	var p flags.Set
	o := outFlags{steps: true}
	cmd := &cobra.Command{
		Use:   "load URL",
		Short: "Load a service that is already running",
		Long: `Load sends requests to a URL and reports response times, as a trial of dyno run
without a launch. It measures latency from when a request was due. With a rate, a
stall of the service therefore counts in every request that it delayed. For one
trial, dyno reports as load testers do: rate, throughput, bytes, percentiles,
histogram, status codes, errors and the slowest requests. For several (--repeat,
--vary), it reports as dyno run does. Without --out, it writes no files. If the
service publishes expvar or Prometheus metrics, dyno also reports memory, CPU and
collections.

    dyno load http://127.0.0.1:8080/ -c 50 -d 10s
    dyno load http://127.0.0.1:8080/search -r 500/s -d 30s --json
    dyno load http://127.0.0.1:8080/search -r 500/s --format hgrm > latency.hgrm
    dyno load -f dyno.yaml http://127.0.0.1:8080     the steps of a plan
    dyno load --targets targets.txt -r 100/s         a file of requests, as for vegeta
    dyno load http://127.0.0.1:8080/ --replay access.log --speed 2   recorded requests at their times
    dyno load http://127.0.0.1:50051 --grpc-method helloworld.Greeter/SayHello --grpc-data '{"name":"dyno"}'
    dyno load http://127.0.0.1:8080/ --expvar /debug/vars --prometheus /metrics
    dyno load http://127.0.0.1:8080/ --vary load.rate=200/s,400/s --repeat 6
    dyno load http://127.0.0.1:8080/ -r 500/s --threshold 'p99 < 30ms' --threshold 'failures == 0'
` + summaryHelp,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := p.Experiment()
			if err != nil {
				return err
			}
			if err := loadTarget(e, args); err != nil {
				return err
			}
			if e.Load.None {
				return flags.Mistakef("the plan's load is none (consider: dyno watch)")
			}
			if e.Repeats == 0 {
				e.Repeats = 1
			}
			if err := onlyLoads(cmd); err != nil {
				return err
			}
			loadOnly(cmd, e)
			if err := p.Check(e, lab.Check); err != nil {
				return err
			}
			if o.dir != "" {
				return newRunDir(cmd, e, &o)
			}
			if err := campaignOf(cmd).CheckRepeats(e); err != nil {
				return err
			}
			return measureOnly(cmd, e, &o)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	p.LoadFlags(fs)
	p.PublishedFlags(fs)
	thresholdFlags(&p, fs, &o)
	o.flags(fs, "default: nothing is written")
	o.otlpFlag(fs)
	return cmd
}

// loadTarget sets the URL, which may be that of a file of requests.
func loadTarget(e *dyno.Experiment, args []string) error {
	if len(args) == 0 && e.Subject.URL == "" && e.Load.Targets != "" {
		base, err := load.TargetsBase(e.Load.Targets)
		if err != nil {
			return err
		}
		if base == "" {
			return flags.Mistakef("no URL, and %s has only paths (want for example dyno load http://127.0.0.1:8080 --targets %[1]s)", e.Load.Targets)
		}
		args = []string{base}
	}
	if len(args) == 1 {
		return flags.TargetURL(e, args[0])
	}
	if e.Subject.URL == "" {
		return flags.Mistakef("no URL (want for example http://127.0.0.1:8080/)")
	}
	return nil
}

// onlyLoads refuses other factors: without them, another load would run than was meant.
func onlyLoads(cmd *cobra.Command) error {
	for _, v := range cmd.Flag("vary").Value.(*flags.Setter).Values {
		name, _, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, "load.") && !strings.HasPrefix(name, "arg.") {
			return flags.Mistakef("--vary %s: the service runs already, so only its load can vary (want for example load.rate, load.speed or load.concurrency)", name)
		}
	}
	return nil
}

// loadOnly leaves of a plan what a service that runs already can have.
func loadOnly(cmd *cobra.Command, e *dyno.Experiment) {
	var notes []string
	fixed := func(factor string) bool {
		arg, ok := strings.CutPrefix(factor, "arg.")
		if strings.HasPrefix(factor, "load.") || ok && check.Uses(&e.Load, arg) {
			return false
		}
		if note := factor + " is not varied"; !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
		return true
	}
	e.Factors = slices.DeleteFunc(slices.Clone(e.Factors), func(f dyno.Factor) bool { return fixed(f.Name) })
	var settings []dyno.Setting
	for _, s := range e.Settings {
		s = slices.DeleteFunc(slices.Clone(s), func(l dyno.Level) bool { return fixed(l.Factor) })
		if len(s) > 0 && !slices.ContainsFunc(settings, func(t dyno.Setting) bool { return t.String() == s.String() }) {
			settings = append(settings, s)
		}
	}
	e.Settings = settings
	if e.Subject.PID != 0 || e.Subject.Process != "" {
		notef(cmd, "the process is not watched (consider: dyno watch with --load)")
		e.Subject.PID, e.Subject.Process = 0, ""
	}
	attached(cmd, e, notes...)
}

// attached leaves out what no service can have that runs already, and says so.
func attached(cmd *cobra.Command, e *dyno.Experiment, notes ...string) {
	if len(e.Profile) > 0 || e.Trace > 0 || e.WhySlow {
		notes = append(notes, "no profile or trace is taken")
	}
	if e.Limits != (dyno.Limits{}) {
		notes = append(notes, "limits are not set")
	}
	if e.Memory != nil && *e.Memory {
		notes = append(notes, "no trial checks whether memory is given back")
	}
	for _, note := range notes {
		notef(cmd, "%s: the service runs already", note)
	}
	e.Profile, e.ProfileRepeats, e.Trace, e.WhySlow, e.TraceRepeats, e.Limits, e.Memory = nil, 0, 0, false, 0, dyno.Limits{}, nil
}

// oneTrial leaves what a service that runs already can have.
func oneTrial(cmd *cobra.Command, e *dyno.Experiment) {
	var notes []string
	if len(e.Factors)+len(e.Settings) > 0 {
		notes = append(notes, "nothing is varied")
	}
	attached(cmd, e, notes...)
	e.Factors, e.Settings, e.Repeats, e.Slice = nil, nil, 1, 0
	e.Load.Idle = 0 // in which it would not end when it is told to
}
