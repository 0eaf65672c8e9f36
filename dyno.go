// Package dyno has the types of a dynamometer for Go services: plans, their trials, and results. It launches
// nothing and reads no files. The program cmd/dyno measures; package findings reads what it has written.
//
// An [Experiment] is a plan: a [Subject] to launch, [Factor]s to vary, the [Load] to put on it, and how often
// to repeat. [Experiment.Trials] lists its trials in order; a [Trial] is one launch of the subject under one
// [Setting]. A [Result] is what one trial measured. [Metrics] lists what can be measured.
//
// The JSON of an Experiment has the keys of a dyno.yaml, so that a program can write plans for dyno run -f.
// The package owns what a plan means (package plan reads it, plan/check judges it) and the names of [Metrics].
package dyno

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An Experiment is a plan of trials. Its JSON is a plan's file, which dyno run -f reads.
type Experiment struct {
	Name     string          `json:"name,omitempty"`
	Subject  Subject         `json:"subject,omitzero"`
	Needs    map[string]Need `json:"needs,omitempty"`    // what the subject uses, by names
	Factors  Factors         `json:"vary,omitempty"`     // crossed; none means one setting, ""
	Settings []Setting       `json:"settings,omitempty"` // listed instead of crossed; the first is the baseline
	Repeats  int             `json:"repeat,omitempty"`   // blocks; 0 means as many as it takes where several settings are compared, else DefaultRepeats, of slices DefaultPairs
	Seed     *uint64         `json:"seed,omitempty"`     // of the order of trials and of all else that is random, see Draw and Rand; nil means 0
	Limits   Limits          `json:"limits,omitzero"`    // of every trial's subject
	On       On              `json:"on,omitzero"`        // where trials run
	Load     Load            `json:"load,omitzero"`
	Probes   Probes          `json:"probes,omitzero"`

	// What would disturb compared trials has trials of its own, which come last.
	Profile        []string `json:"profile,omitempty"`        // of ProfileNames: taken over the window of further trials of every setting
	ProfileRepeats int      `json:"profile_repeat,omitempty"` // blocks of those trials; 0 means Repeats
	Trace          Duration `json:"trace,omitempty"`          // length of an execution trace, in one more trial of every setting; 0 means none, or with WhySlow WhySlowTrace

	// Memory adds a trial of every setting in which nothing is forced until the rest after
	// the load is over: is memory given back? nil: if the load has a rest, or a window of
	// LongWindow.
	Memory *bool `json:"memory,omitempty"`

	// WhySlow takes execution traces in WhySlowBlocks more blocks, which say why the slowest requests are slow, and
	// why percentiles differ.
	WhySlow bool `json:"why_slow,omitempty"`

	TraceRepeats int `json:"trace_repeat,omitempty"` // those blocks; 0 means WhySlowBlocks

	Bench *Bench `json:"bench,omitempty"` // benchmarks instead of a service under load: nothing of Load, Probes and what is looked at applies

	More []More `json:"more,omitempty"` // blocks that were added when the others were judged

	Within Duration `json:"within,omitempty"` // most time for compared blocks; 0 means none with Repeats, else DefaultWithin or, where those take longer, the fewest that can tell a change
	Turn   Duration `json:"turn,omitempty"`   // of a setting where subjects run side by side; 0 means DefaultTurn, less for a short load
	Alone  bool     `json:"alone,omitempty"`  // launches follow one another also where they could run side by side

	// Relink links the executables of each compared block anew, with their functions in another order: what differs between
	// settings is then their code, not where the linker put it. nil: a run with a gate on builds does.
	Relink *bool `json:"relink,omitempty"`

	Awake *bool `json:"awake,omitempty"` // loops of the lowest priority keep this machine's CPUs awake; nil: from when its hypervisor withholds time

	Shuffled bool `json:"-"` // Trials shuffles each block by itself, as in runs of before schema 3

	// AllowOverridden goes on with a run though its first block shows that a setting of the Go runtime did not take effect.
	AllowOverridden bool `json:"allow_overridden,omitempty"`

	Slice Duration `json:"slice,omitempty"` // trials are slices of one launch, each so long; 0 means that each is a launch

	Primary    []string    `json:"primary,omitempty"`    // metrics that decide, as reports or thresholds call them; nil means those that are primary in Metrics
	Negligible *Fraction   `json:"negligible,omitempty"` // changes smaller than this are "same"; nil means DefaultNegligible
	Thresholds []Threshold `json:"thresholds,omitempty"` // what must hold, or the run has failed
}

// Defaults of a plan, and bounds.
const (
	DefaultRepeats      = 6 // the least for which a setting's median has a 95 % interval
	DefaultNegligible   = 0.01
	DefaultConcurrency  = 10
	DefaultConnections  = 256 // of an open load, opened as they are needed
	DefaultDuration     = Duration(10 * time.Second)
	DefaultTimeout      = Duration(30 * time.Second)
	DefaultReadyTimeout = Duration(30 * time.Second)
	DefaultMaxFailures  = 0.01
	DefaultEvery        = Duration(time.Second)
	MostTrace           = Duration(time.Minute) // of an execution trace: some 5 to 30 MB a second
	WhySlowBlocks       = 12                    // of traces
	WhySlowTrace        = Duration(5 * time.Second)
	WhySlowRequests     = 500 // in a trace of a low rate

	LeakWindow  = Duration(30 * time.Second) // the least window in which a leak is looked for
	LongWindow  = Duration(time.Minute)      // the least that is followed by trials ForMemory unasked, and their longest
	DefaultIdle = Duration(10 * time.Second) // the rest of trials ForMemory where the load says none

	DefaultMaxRequestsKept = 50_000_000

	DefaultBenchDuration = Duration(5 * time.Minute)
	DefaultPrecision     = 0.01
	DefaultBenchError    = 0.001 // in one comparison
)

// A Subject says how to obtain and launch the service under test. One of Package, Module,
// Binary, Image, Deployment and URL is set, or one of PID and Process, with or without a URL.
type Subject struct {
	Package    string `json:"package,omitempty"`    // directory of a main package, such as ./cmd/server
	Module     string `json:"module,omitempty"`     // main package and version, such as example.org/cmd/x@v1.2.0
	Binary     string `json:"binary,omitempty"`     // an executable file
	Image      string `json:"image,omitempty"`      // a container image, in Kubernetes
	Deployment string `json:"deployment,omitempty"` // whose pods are like the subject's, in Kubernetes
	Container  string `json:"container,omitempty"`  // of the deployment that is the subject; "" means its first
	URL        string `json:"url,omitempty"`        // a service that runs already: load or watch only
	PID        int    `json:"pid,omitempty"`        // a process that runs already: watch only
	Process    string `json:"process,omitempty"`    // the name of one

	Args         []string          `json:"args,omitempty"`  // templates: {{.Addr}} {{.Host}} {{.Port}} {{.Dir}} {{.arg.NAME}} {{.needs.NAME.URL}}
	Env          map[string]string `json:"env,omitempty"`   // added to dyno's own environment; values are templates too
	Files        map[string]string `json:"files,omitempty"` // to be in {{.Dir}} before the launch: name → text, a template too
	Addr         string            `json:"addr,omitempty"`  // where it serves: scheme, host and port, a template too; "" means http://{{.Addr}}
	Ready        string            `json:"ready,omitempty"`
	ReadyTimeout Duration          `json:"ready_timeout,omitempty"` // 0 means DefaultReadyTimeout
	NoInject     Not               `json:"inject,omitzero"`         // no probe is injected; the plan says inject: false
	Dir          string            `json:"dir,omitempty"`           // working directory; "" means the plan's, or dyno's

	Go    string   `json:"go,omitempty"`    // toolchain version such as 1.25.5; "" means the go command's own choice
	Rev   string   `json:"rev,omitempty"`   // git revision to build; "" means the working tree
	Build []string `json:"build,omitempty"` // flags of go build

	Arg map[string]string `json:"arg,omitempty"` // values of {{.arg.NAME}}, of factors and of the plan

	// Of revisions, in the worktree of each before it is built:
	Prepare string   `json:"prepare,omitempty"` // command of the shell, such as "npm run build"; what it made is kept for later runs
	Copy    []string `json:"copy,omitempty"`    // paths of the working tree that git does not have, to be copied there

	Layout uint32 `json:"-"` // of a trial: seed of the order of functions; 0: the linker's own

	Deps map[string]string `json:"-"` // of a trial: versions of modules in place of those of go.mod, by path; "." is that of go.mod

	Needs map[string]Need `json:"-"` // of a trial: those of the experiment, with the levels of the setting

	Plantable bool `json:"-"` // built so that changes can be planted in its requests: package subject, Plant
}

// Launched reports whether dyno itself starts the subject.
func (s *Subject) Launched() bool {
	return s.Package != "" || s.Module != "" || s.Binary != "" || s.InPod()
}

// InPod reports whether the subject is a container in Kubernetes.
func (s *Subject) InPod() bool { return s.Image != "" || s.Deployment != "" }

// Source reports whether the subject is built from source.
func (s *Subject) Source() bool { return s.Package != "" || s.Module != "" }

// String names the subject as the user did.
func (s *Subject) String() string {
	pid := ""
	if s.PID != 0 {
		pid = "process " + strconv.Itoa(s.PID)
	}
	return cmp.Or(s.Package, s.Module, s.Binary, s.Image, s.Deployment, s.Process, s.URL, pid)
}

// A Load says what requests to send, and when each is due. Without Rate and Replay it is closed:
// Concurrency clients, each sending its next request when the last is answered. With one
// of them it is open: the schedule is kept whatever the service does, and Concurrency is the
// most connections. If the loop has several steps, each run through it is due by the schedule.
type Load struct {
	None              bool      `json:"none,omitempty"`                // nothing is sent: the subject is watched for Duration, 0 means until somebody ends it
	Concurrency       int       `json:"concurrency,omitempty"`         // 0 means DefaultConcurrency, or with a rate MaxInFlight or else DefaultConnections
	MaxInFlight       int       `json:"max_in_flight,omitempty"`       // with a rate: most requests under way; 0 means Concurrency
	Requests          int       `json:"requests,omitempty"`            // measured requests in all; or
	RequestsPerClient int       `json:"requests_per_client,omitempty"` // of each client; or
	Duration          Duration  `json:"duration,omitempty"`            // for so long; none of the three means the length of Rate, or DefaultDuration
	Rate              Rate      `json:"rate,omitempty"`                // requests per second
	Arrival           string    `json:"arrival,omitempty"`             // "", "constant" or "poisson"
	Seed              uint64    `json:"-"`                             // of all that is random: from the experiment's seed and the block
	Warmup            Duration  `json:"warmup,omitempty"`              // same load, not measured
	Idle              Duration  `json:"idle,omitempty"`                // rest after the load, for rss-idle-B
	Deadline          Duration  `json:"deadline,omitempty"`            // requests that take longer are late, for late-frac; 0 means that none is
	Timeout           Duration  `json:"timeout,omitempty"`             // of one request, from sent to its last byte; 0 means DefaultTimeout
	ConnectTimeout    Duration  `json:"connect_timeout,omitempty"`     // part of Timeout; 0 means no limit of its own
	ReadTimeout       Duration  `json:"read_timeout,omitempty"`        // longest silence of the service; 0 means no limit of its own
	MaxFailures       *Fraction `json:"max_failures,omitempty"`        // share of requests; nil means DefaultMaxFailures
	HTTP              string    `json:"http,omitempty"`                // "1.1", "2", or "": 2 where TLS agrees on it, else 1.1
	Insecure          bool      `json:"insecure,omitempty"`            // the service's certificate is not verified

	Data    map[string]string `json:"data,omitempty"`    // name → CSV file with a header; {{.NAME.COLUMN}} is a row's field
	Targets string            `json:"targets,omitempty"` // a file of requests to take in turn, instead of Client
	Replay  string            `json:"replay,omitempty"`  // a recording, whose requests and times are the load: it is open, instead of Rate and Client
	Client  Client            `json:"client,omitzero"`   // no loop means GET /
	Program string            `json:"program,omitempty"` // a load written in Go, instead of Client: directory of a main package that imports load/client, module@version, or an executable file
	Args    []string          `json:"args,omitempty"`    // of Program; templates: {{.arg.NAME}}
	GRPC    *GRPC             `json:"grpc,omitempty"`    // calls of a method by gRPC, instead of Client
	Command string            `json:"command,omitempty"` // another generator, run by the shell instead of dyno's own

	Speed         Speed      `json:"speed,omitempty"`          // of a replay; 0 means 1, as recorded
	LogFormat     string     `json:"log_format,omitempty"`     // of Replay's lines, as nginx has it; "" means that each line tells by itself
	ReplaySecrets bool       `json:"replay_secrets,omitempty"` // headers of a recording are sent that look secret
	Recording     *Recording `json:"recording,omitempty"`      // what Replay has, once it was read

	KeepRequests    string `json:"keep_requests,omitempty"`     // "", "all" or "none" in requests.parquet
	MaxRequestsKept int    `json:"max_requests_kept,omitempty"` // beyond it a uniform sample; 0 means DefaultMaxRequestsKept
}

// String describes the load, and from when its latency runs.
func (l Load) String() string {
	if l.None {
		return l.watched()
	}
	if l.Command != "" {
		s := "load: " + l.Command
		if name := generator(l.Command); name != "" {
			s += "; latency as " + name + " measures it"
		}
		return s
	}
	l = l.Resolved()
	much := fmt.Sprintf("for %v", l.Duration)
	if l.Requests > 0 {
		much = fmt.Sprintf("%d requests in all", l.Requests)
	}
	if l.RequestsPerClient > 0 {
		much = fmt.Sprintf("%d requests each", l.RequestsPerClient)
	}
	warm := ""
	if l.Warmup > 0 {
		warm = fmt.Sprintf(" after %v of warm-up", l.Warmup)
	}
	switch {
	case l.Targets != "":
		much += " with the requests of " + filepath.Base(l.Targets)
	case l.GRPC != nil:
		much += " with calls of " + l.GRPC.Path() + " by gRPC"
	case l.Program != "":
		much += " with the requests of program " + filepath.Base(l.Program)
	}
	if l.Open() {
		return l.opened(much, warm)
	}
	clients := fmt.Sprintf("%d clients", l.Concurrency)
	if l.Concurrency == 1 {
		clients = "1 client"
	}
	return fmt.Sprintf("closed load: %s, %s%s; latency runs from when a request was sent", clients, much, warm)
}

// opened describes an open load, whose length is much, after the warm-up warm.
func (l *Load) opened(much, warm string) string {
	what, most, due := "requests", fmt.Sprintf("at most %d connections", l.Concurrency), "when a request was due"
	switch {
	case l.Program != "":
		most = fmt.Sprintf("at most %d clients", l.Concurrency)
	case l.Session():
		what, most = "sessions", fmt.Sprintf("at most %d clients", l.Concurrency)
		due = "when a session was due, of its later steps from when the one before ended"
	case l.MaxInFlight != l.Concurrency:
		most += fmt.Sprintf(" with at most %d requests under way", l.MaxInFlight)
	}
	rate := fmt.Sprintf("%v %s per second", l.Rate, what)
	if len(l.Rate) > 1 || l.Rate.Length() > 0 {
		rate = fmt.Sprintf("%s per second %v", what, l.Rate)
	}
	if rate += fmt.Sprintf(" (%s), %s", cmp.Or(l.Arrival, "constant"), much); l.Replay != "" {
		rate = l.replayed()
	}
	return fmt.Sprintf("open load: %s%s, over %s; latency runs from %s", rate, warm, most, due)
}

// Session reports whether an open load is one of sessions: what is due is a run through a loop of several
// steps, not one request.
func (l *Load) Session() bool {
	loop := l.Client.Loop
	return l.Rate.Open() && (len(loop) > 1 || len(loop) == 1 && !loop[0].single())
}

func (l Load) watched() string {
	s := "watched, with no load by dyno"
	if l.Duration > 0 {
		s += fmt.Sprintf(", for %v", l.Duration)
	}
	if l.Warmup > 0 {
		s += fmt.Sprintf(", after %v that are not measured", l.Warmup)
	}
	return s
}

// generator is the last load generator that a command names: in a pipe, its output is
// read.
func generator(command string) (name string) {
	for _, word := range strings.FieldsFunc(command, func(c rune) bool { return strings.ContainsRune(" \t\n/\\|;&(", c) }) {
		switch word = strings.TrimSuffix(word, ".exe"); word {
		case "hey", "wrk", "vegeta", "oha", "k6":
			name = word
		}
	}
	return name
}

// Resolved returns the load with its defaults written out, as far as its generator and
// targets have a use for them.
func (l Load) Resolved() Load {
	if l.MaxFailures == nil {
		l.MaxFailures = fraction(DefaultMaxFailures)
	}
	if l.Command != "" || l.None {
		return l
	}
	if l.Concurrency == 0 {
		l.Concurrency = DefaultConcurrency
		if l.Open() {
			l.Concurrency = cmp.Or(l.MaxInFlight, DefaultConnections)
		}
	}
	if l.Open() && l.MaxInFlight == 0 {
		l.MaxInFlight = l.Concurrency
	}
	if l.Requests == 0 && l.RequestsPerClient == 0 && l.Duration == 0 {
		l.Duration = cmp.Or(Duration(l.Length()), DefaultDuration)
	}
	if l.Replay != "" && l.Recording != nil {
		l.Duration = min(l.Duration, Duration(l.Length()))
	}
	l.Timeout = cmp.Or(l.Timeout, DefaultTimeout)
	if len(l.Client.Loop) == 0 && l.Targets == "" && l.Replay == "" && l.Program == "" && l.GRPC == nil {
		l.Client.Loop = []Step{{Path: "/"}}
	}
	return l
}

// Resolved returns the experiment with its defaults written out, so that it stays the same
// if these change.
func (e Experiment) Resolved() Experiment {
	switch {
	case e.Repeats > 0:
	case e.Slice > 0:
		e.Repeats = DefaultPairs
	case !e.Sequential():
		e.Repeats = DefaultRepeats
	}
	if e.WhySlow {
		e.TraceRepeats = cmp.Or(e.TraceRepeats, WhySlowBlocks)
	}
	if _, beside := e.WhyAlone(); beside {
		e.Turn = e.EachTurn()
	}
	if e.Negligible == nil {
		e.Negligible = fraction(DefaultNegligible)
	}
	if e.Bench != nil {
		b := e.Bench.Resolved()
		e.Bench, e.Repeats = &b, 0
		return e
	}
	e.Probes.Every = cmp.Or(e.Probes.Every, DefaultEvery)
	if e.Subject.Launched() {
		e.Subject.ReadyTimeout = cmp.Or(e.Subject.ReadyTimeout, DefaultReadyTimeout)
	}
	given := e.load()
	e.Load = given.Resolved()
	if e.Slice > 0 {
		e.Load.Duration = e.sliced()
	}
	// What the levels decide is resolved in each trial.
	schedule := e.Varies("load.rate") || e.Varies("load.speed")
	if schedule {
		e.Load.Duration = given.Duration
	}
	if schedule || e.Varies("load.concurrency") {
		e.Load.Concurrency, e.Load.MaxInFlight = given.Concurrency, given.MaxInFlight
	}
	return e
}

// Varies reports whether a factor is varied.
func (e *Experiment) Varies(factor string) bool {
	return slices.ContainsFunc(e.Levels(), func(s Setting) bool {
		return slices.ContainsFunc(s, func(l Level) bool { return l.Factor == factor })
	})
}

func fraction(f Fraction) *Fraction { return &f }

// Probes says what a trial observes, and how often.
type Probes struct {
	Use   []string `json:"use,omitempty"`   // of ProbeNames; none means all that apply but pprof
	Every Duration `json:"every,omitempty"` // between samples, at least 10ms; 0 means DefaultEvery

	// Paths of the service or URLs, of what it publishes itself; "" means not asked.
	Expvar     string   `json:"expvar,omitempty"`     // such as /debug/vars
	Prometheus string   `json:"prometheus,omitempty"` // such as /metrics
	Pprof      string   `json:"pprof,omitempty"`      // such as /debug/pprof; "" means the injected probe
	Metrics    []string `json:"metrics,omitempty"`    // of Prometheus, beside go_* and process_*, which are read anyway
}

// ProbeNames are the probes of plans. expvar, prometheus and pprof need the service's address, and pprof
// has to be asked for.
var ProbeNames = []string{"proc", "cgroup", "gctrace", "runtime", "expvar", "prometheus", "pprof", "needs"}

// ProfileNames are the profiles of plans, as in package runtime/pprof.
var ProfileNames = []string{"cpu", "heap", "allocs", "goroutine", "mutex", "block"}

// What a trial is for, if not for its values to be compared.
const (
	ForProfile = "profile" // the files of profiles
	ForTrace   = "trace"   // trace.out
	ForSurvey  = "survey"  // what benchmarks are like, before their blocks
	ForSame    = "same"    // two of the baseline, run as two settings are: they differ by chance only
	ForMemory  = "memory"  // what is resident after a rest, and after FreeOSMemory
)
