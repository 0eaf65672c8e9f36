// Package flags has the flags of a command line that stand for keys of a plan. A flag
// that is given beats its DYNO_ environment variable, which beats the file.
package flags

import (
	"cmp"
	"encoding/base64"
	"encoding/csv"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/load/traffic"
	"github.com/dynolab/dyno/internal/plan"
	"github.com/dynolab/dyno/internal/safe"
)

// A Set has the flags of one command.
type Set struct {
	File  string
	Bench bool      // of benchmarks, not of a service
	Src   []byte    // of the file
	Flags []*Setter // in the order of definition
}

// Check finds mistakes in the plan with the flags applied, with their place if the file
// has them.
func (p *Set) Check(e *dyno.Experiment, check func(*dyno.Experiment) error) error {
	err := check(e)
	var mistake *dyno.PlanError
	if !errors.As(err, &mistake) || mistake.Line != 0 || p.File == "" {
		return err
	}
	// A mistake of a flag has no place in the file.
	plain, e2 := plan.Parse(p.File, p.Src)
	var same *dyno.PlanError
	if e2 != nil || !errors.As(check(plain), &same) || same.Msg != mistake.Msg {
		return err
	}
	return plan.Locate(p.File, p.Src, mistake)
}

// A Mistake is a mistake on the command line.
type Mistake struct{ err error }

func (e *Mistake) Error() string { return e.err.Error() }
func (e *Mistake) Unwrap() error { return e.err }

// Mistakef makes a Mistake in the way of fmt.Errorf.
func Mistakef(format string, args ...any) error { return &Mistake{fmt.Errorf(format, args...)} }

// A Setter is a flag that sets a value of the plan. It keeps the given values until the plan is
// read, so flags can come first.
type Setter struct {
	Name, kind string
	many       bool
	apply      func(*dyno.Experiment, []string) error
	Values     []string
	Env        bool // the values come from the environment
}

func (s *Setter) String() string { return strings.Join(s.Values, ",") }
func (s *Setter) Type() string   { return s.kind }
func (s *Setter) Set(v string) (err error) {
	if err := s.apply(new(dyno.Experiment), []string{v}); err != nil {
		return err
	}
	if !s.many {
		s.Values = nil
	}
	s.Values = append(s.Values, v)
	return nil
}

// Flag defines a flag that is given at most once.
func (p *Set) Flag(fs *pflag.FlagSet, name, short, kind, help string, apply func(*dyno.Experiment, string) error) *Setter {
	s := &Setter{Name: name, kind: kind, apply: func(e *dyno.Experiment, vs []string) error { return apply(e, vs[0]) }}
	p.add(fs, short, help, s)
	return s
}

// Key defines a flag that says the value of one key of the plan, such as "load.warmup".
func (p *Set) Key(fs *pflag.FlagSet, name, short, kind, key, help string) {
	p.Flag(fs, name, short, kind, help, func(e *dyno.Experiment, v string) error { return plan.Set(e, key, v) })
}

// List defines a flag that may be repeated.
func (p *Set) List(fs *pflag.FlagSet, name, short, kind, help string, apply func(*dyno.Experiment, []string) error) {
	p.add(fs, short, help, &Setter{Name: name, kind: kind, many: true, apply: apply})
}

func (p *Set) add(fs *pflag.FlagSet, short, help string, s *Setter) {
	f := fs.VarPF(s, s.Name, short, help)
	if s.kind == "bool" {
		f.NoOptDefVal = "true"
	}
	p.Flags = append(p.Flags, s)
}

// Experiment reads the plan file, if there is one, and applies the flags. It draws a seed if none is given.
func (p *Set) Experiment() (*dyno.Experiment, error) {
	e := new(dyno.Experiment)
	if p.File != "" {
		var err error
		if p.Src, err = safe.Plan.ReadFile(p.File); err != nil {
			return nil, Mistakef("read plan: %w", err)
		}
		if e, err = plan.Parse(p.File, p.Src); err != nil {
			return nil, err
		}
		if e.Bench != nil && !p.Bench {
			return nil, Mistakef("%s is a plan of benchmarks (consider: dyno bench -f %[1]s)", p.File)
		}
	}
	// The environment first, so that -n 100 beats DYNO_DURATION too.
	for _, env := range []bool{true, false} {
		ends := 0
		for _, s := range p.Flags {
			if len(s.Values) == 0 || s.Env != env {
				continue
			}
			if s.Name == "requests" || s.Name == "duration" {
				ends++
			}
			if ends > 1 {
				return nil, Mistakef("--requests and --duration are both given (want one)")
			}
			if err := s.apply(e, s.Values); err != nil {
				return nil, Mistakef("--%s: %w", s.Name, err)
			}
		}
	}
	e.Draw()
	return e, p.Check(e, func(e *dyno.Experiment) error { return traffic.Note(&e.Load) })
}

// LoadFlags are those of a load, for run and load alike. The order matters: what
// a flag takes back of the file, an earlier one may not have said.
func (p *Set) LoadFlags(fs *pflag.FlagSet) {
	fs.StringVarP(&p.File, "file", "f", "", "the plan, a dyno.yaml `file`")
	p.Key(fs, "name", "", "name", "name", "name of the experiment")
	p.Flag(fs, "command", "", "line", "shell command of another load generator, instead of dyno's own; the service is $DYNO_URL", func(e *dyno.Experiment, v string) error {
		e.Load = dyno.Load{Command: v, Idle: e.Load.Idle, MaxFailures: e.Load.MaxFailures}
		return nil
	})
	p.Flag(fs, "replay", "", "file", "recording whose requests and times are the load: access log, HAR file or GoReplay's .gor", func(e *dyno.Experiment, v string) (err error) {
		l := &e.Load
		l.Rate, l.Arrival, l.RequestsPerClient, l.Targets, l.Client, l.Data, l.LogFormat, l.Recording = nil, "", 0, "", dyno.Client{}, nil, "", nil
		l.Replay, err = filepath.Abs(v)
		return err
	})
	p.Key(fs, "speed", "", "x", "load.speed", "how much faster than recorded a replay is (default 1)")
	p.Key(fs, "log-format", "", "format", "load.log_format", "what is where in the lines of a replay, as in nginx: '$remote_addr [$time_local] \"$request\" $status'")
	p.Key(fs, "replay-secrets", "", "bool", "load.replay_secrets", "send headers of the recording that look secret, such as Authorization and Cookie")
	p.Key(fs, "concurrency", "c", "n", "load.concurrency", "number of clients; with a rate, most connections (default 10, with a rate 256)")
	p.Flag(fs, "rate", "r", "rate", "open load: rate at which requests are due, such as 500/s or '0->500 over 1m then 500 over 30s'", func(e *dyno.Experiment, v string) (err error) {
		if e.Load.Rate, err = dyno.ParseRate(v); e.Load.Rate.Length() > 0 {
			e.Load.Duration = 0 // the rate has its own
		}
		return err
	})
	p.Key(fs, "arrival", "", "kind", "load.arrival", "open load: arrivals are constant or poisson")
	p.Key(fs, "max-in-flight", "", "n", "load.max_in_flight", "open load: most requests under way (default: as many as connections)")
	end := func(l *dyno.Load) { l.Requests, l.RequestsPerClient, l.Duration = 0, 0, 0 }
	p.Flag(fs, "requests", "n", "n", "number of measured requests in all", func(e *dyno.Experiment, v string) error {
		end(&e.Load)
		return plan.Set(e, "load.requests", v)
	})
	p.Flag(fs, "duration", "d", "time", "length of the measured load (default 10s, side by side 3s, or as long as the stages of the rate)", func(e *dyno.Experiment, v string) error {
		end(&e.Load)
		return plan.Set(e, "load.duration", v)
	})
	p.Key(fs, "warmup", "w", "time", "load.warmup", "length of the same load before, not measured (default 0s; of run, chosen by a look at the service if neither this nor -d nor -n is said)")
	p.Key(fs, "deadline", "", "time", "load.deadline", "latest answer to a request: late-frac is the share that took longer, failed or was never sent")
	p.Key(fs, "max-failures", "", "share", "load.max_failures", "share of requests that may fail (default 1%)")
	p.Flag(fs, "on", "", "where", "where the load comes from: kubernetes, which runs the subject, too, or agents host:port,host:port (default: this machine)", on)
	p.requestFlags(fs)
	p.wireFlags(fs)
	p.TrialFlags(fs)
}

// requestFlags say what is sent.
func (p *Set) requestFlags(fs *pflag.FlagSet) {
	p.grpcFlags(fs)
	p.Flag(fs, "targets", "", "file", "file of requests to send in turn: lines GET URL, or JSON", func(e *dyno.Experiment, v string) (err error) {
		e.Load.Client = dyno.Client{}
		e.Load.Targets, err = filepath.Abs(v)
		return err
	})
	p.Flag(fs, "load-program", "", "package", "load written in Go, for any protocol: a main package that imports load/client, or an executable file", func(e *dyno.Experiment, v string) error {
		e.Load.Client, e.Load.Targets, e.Load.Replay, e.Load.Args = dyno.Client{}, "", "", nil
		e.Load.Program = v
		if _, err := os.Stat(v); err == nil || strings.HasPrefix(v, ".") {
			e.Load.Program, err = filepath.Abs(v)
			return err
		}
		return nil
	})
	p.List(fs, "load-arg", "", "arg", "argument of the load's program, a template with {{.arg.NAME}}; may be repeated", func(e *dyno.Experiment, vs []string) error {
		e.Load.Args = vs
		return nil
	})
	p.Flag(fs, "method", "X", "method", "method of the request (default GET, or POST with a body)", func(e *dyno.Experiment, v string) error {
		return single(e, func(s *dyno.Step) { s.Method = strings.ToUpper(v) })
	})
	p.List(fs, "header", "H", "header", "header of the request, such as 'Accept: text/html'; may be repeated", func(e *dyno.Experiment, vs []string) error {
		return fields("header", vs, func(name, value string) error {
			return single(e, func(s *dyno.Step) { s.Headers = put(s.Headers, name, value) })
		})
	})
	p.Flag(fs, "body", "", "text", "body of the request, a template; @FILE sends a file as it is", func(e *dyno.Experiment, v string) error {
		file := ""
		if name, ok := strings.CutPrefix(v, "@"); ok {
			abs, err := filepath.Abs(name)
			if err != nil {
				return err
			}
			v, file = "", abs
		}
		return single(e, func(s *dyno.Step) {
			if s.Body, s.BodyFile = v, file; s.Method == "" {
				s.Method = "POST"
			}
		})
	})
	p.List(fs, "data", "", "NAME=file", "CSV file with a header; its fields are {{.NAME.COLUMN}}; may be repeated", func(e *dyno.Experiment, vs []string) error {
		if err := assign(&e.Load.Data, vs); err != nil {
			return err
		}
		for name, file := range e.Load.Data {
			abs, err := filepath.Abs(file)
			if err != nil {
				return err
			}
			e.Load.Data[name] = abs
		}
		return nil
	})
}

// wireFlags say how it is sent, and what is kept of it.
func (p *Set) wireFlags(fs *pflag.FlagSet) {
	p.Key(fs, "timeout", "", "time", "load.timeout", "most time for one request (default 30s)")
	p.Key(fs, "connect-timeout", "", "time", "load.connect_timeout", "most time to connect, within the timeout (default: no separate limit)")
	p.Key(fs, "read-timeout", "", "time", "load.read_timeout", "longest silence of the service, within the timeout (default: no separate limit)")
	p.Key(fs, "http", "", "version", "load.http", "HTTP version: 1.1 or 2 (default: 2 if TLS negotiates it)")
	p.Key(fs, "insecure", "k", "bool", "load.insecure", "do not verify the service's certificate")
	p.Key(fs, "keep-requests", "", "which", "load.keep_requests", "requests to keep in requests.parquet, one row each: all or none (default all)")
	p.Key(fs, "max-requests-kept", "", "n", "load.max_requests_kept", "keep a uniform sample if there are more requests (default 50000000)")
}

// TrialFlags say what to vary and how often.
func (p *Set) TrialFlags(fs *pflag.FlagSet) {
	p.List(fs, "vary", "", "KEY=a,b", "a factor and its levels, the baseline first; several factors are crossed", vary)
	p.List(fs, "arg", "", "NAME=value", "value of {{.arg.NAME}}; may be repeated", func(e *dyno.Experiment, vs []string) error {
		return assign(&e.Subject.Arg, vs)
	})
	p.Key(fs, "repeat", "", "n", "repeat", "number of blocks, each with one trial of every setting (default: until decided; 6 for one setting, 1 for dyno load)")
	p.Key(fs, "seed", "", "n", "seed", "seed of the order of trials and of all else that is random (default: drawn for each run)")
	p.Key(fs, "primary", "", "names", "primary", "metrics that decide, such as cpu/req,p99: a run ends when they are decided, and only they can fail --fail-worse (default p50,p99,req/s,cpu/req,rss-peak); robust: what a busy machine shows, too")
	p.Key(fs, "negligible", "", "share", "negligible", "changes below this count as the same (default 1%)")
}

// SubjectFlags are those of a subject that dyno launches.
func (p *Set) SubjectFlags(fs *pflag.FlagSet) {
	p.Flag(fs, "path", "", "path", "path of the request (default /)", func(e *dyno.Experiment, v string) error {
		return single(e, func(s *dyno.Step) { s.Path = v })
	})
	p.Key(fs, "within", "", "time", "within", "most time for the compared blocks, a hard limit if given (default 2m without --repeat, but at least 6 blocks, 15 with --fail-worse)")
	p.Key(fs, "turn", "", "time", "turn", "length of one turn of a setting that runs side by side; slow answers extend it (default 200ms, less in loads below 3s)")
	p.Key(fs, "alone", "", "bool", "alone", "launch the settings one after the other, not side by side")
	p.Key(fs, "relink", "", "bool", "relink", "link the executables of each block anew, with their functions in another order (default: with --fail-worse and factors rev, go or build)")
	p.Key(fs, "awake", "", "bool", "awake", "keep the CPUs awake, by loops that run almost only where nothing else wants to (default: from when the hypervisor withholds time)")
	p.Key(fs, "allow-overridden", "", "bool", "allow_overridden", "go on although the program overrides GOGC, GOMEMLIMIT or GOMAXPROCS (default: the run ends after its first block)")
	p.Key(fs, "image", "", "name", "subject.image", "container image that is the subject, with --on kubernetes")
	p.Key(fs, "deployment", "", "name", "subject.deployment", "deployment whose pod is copied as the subject, with --on kubernetes")
	p.Key(fs, "addr", "", "URL", "subject.addr", "address of the subject: https://{{.Addr}} with TLS, a unix socket as http://unix:{{.Dir}}/x.sock, or a fixed one (default http://{{.Addr}})")
	p.Key(fs, "ready", "", "path", "subject.ready", "path that answers 2xx when the subject is ready (default: an open port is enough)")
	p.Key(fs, "ready-timeout", "", "time", "subject.ready_timeout", "most time to get ready (default 30s)")
	p.Key(fs, "idle", "", "time", "load.idle", "rest after the load, when memory may be given back (default 0s; 10s in trials for memory)")
	p.Key(fs, "memory", "", "bool", "memory", "run extra trials that check whether memory is given back (default: if idle is given or the window is a minute or longer)")
	p.List(fs, "env", "", "NAME=value", "environment of the subject; may be repeated", func(e *dyno.Experiment, vs []string) error {
		return assign(&e.Subject.Env, vs)
	})
	p.List(fs, "need", "", "NAME=KIND,...", "what the subject uses: db=postgres,seed=FILE, cache=redis,per=block, users=package=./cmd/users, or another key of needs; it serves at {{.needs.NAME.URL}}; may be repeated", needs)
	p.Flag(fs, "limit", "", "limits", "limits of the subject's control group, such as cpu=0.5,memory=128MiB; cpu=10% is 0.1 CPUs", limit)
	p.Key(fs, "go", "", "version", "subject.go", "version of the Go toolchain that builds the subject")
	p.Key(fs, "rev", "", "revision", "subject.rev", "git revision to build")
	p.Key(fs, "build", "", "flags", "subject.build", "flags of go build, such as '-pgo=off'")
	p.Key(fs, "prepare", "", "command", "subject.prepare", "shell command in the worktree of each revision before it is built, such as 'npm run build'; what it makes is kept for later runs")
	p.Key(fs, "copy", "", "paths", "subject.copy", "paths of the working tree that git does not have, to be copied to the worktree of each revision")
	p.Key(fs, "inject", "", "bool", "subject.inject", "build the runtime probe into the subject (default true)")
	p.Key(fs, "probe", "", "names", "probes.use", "the probes to use: "+strings.Join(dyno.ProbeNames, ",")+" (default all)")
	p.Key(fs, "every", "", "time", "probes.every", "time between samples of the probes (default 1s)")
}

// LookFlags are the flags of profiles, traces and slices.
func (p *Set) LookFlags(fs *pflag.FlagSet) {
	p.Flag(fs, "profile", "", "names", "take profiles in extra trials: "+strings.Join(dyno.ProfileNames, ",")+"; or all, and why the slowest requests are slow", profiles)
	p.Key(fs, "profile-repeat", "", "n", "profile_repeat", "number of blocks with profiles (default: as --repeat, or 6)")
	p.Key(fs, "trace", "", "time", "trace", "take an execution trace of this length in an extra trial, or in each of --why-slow (default there 5s, or 500 requests)")
	p.Key(fs, "why-slow", "", "bool", "why_slow", "say why the slowest requests are slow: execution traces in extra blocks")
	p.Key(fs, "trace-repeat", "", "n", "trace_repeat", "number of blocks with traces for --why-slow (default 12)")
	p.Key(fs, "pprof", "", "path", "probes.pprof", "path or URL of net/http/pprof, such as /debug/pprof (default: the injected probe)")
	p.Key(fs, "slice", "", "time", "slice", "compare the levels of GOGC, GOMEMLIMIT or GOMAXPROCS in one process, in turns of this length, instead of in launches")
	p.PublishedFlags(fs)
}

// profiles names profiles, or all of them and the traces that say why requests are slow.
func profiles(e *dyno.Experiment, v string) error {
	if v == "all" {
		e.WhySlow, v = true, strings.Join(dyno.ProfileNames, ",")
	}
	return plan.Set(e, "profile", v)
}

// PublishedFlags are the flags of metrics that a service publishes, for run and load alike.
func (p *Set) PublishedFlags(fs *pflag.FlagSet) {
	p.Key(fs, "expvar", "", "path", "probes.expvar", "path or URL of the service's expvar, such as /debug/vars")
	p.Key(fs, "prometheus", "", "path", "probes.prometheus", "path or URL of its Prometheus metrics, such as /metrics")
	p.Key(fs, "metrics", "", "names", "probes.metrics", "Prometheus metrics to read beside go_* and process_*")
}

// on keeps what the plan says of Kubernetes.
func on(e *dyno.Experiment, v string) error {
	if v != "kubernetes" {
		e.On = dyno.On{Agents: strings.Split(v, ",")}
		return nil
	}
	e.On.Agents = nil
	if e.On.Kubernetes == nil {
		e.On.Kubernetes = new(dyno.Kubernetes)
	}
	return nil
}

func vary(e *dyno.Experiment, vs []string) error {
	given := map[string]bool{}
	for _, v := range vs {
		name, levels, ok := strings.Cut(v, "=")
		if !ok || name == "" || levels == "" {
			return fmt.Errorf("bad factor %q (want for example GOGC=100,50)", v)
		}
		r := csv.NewReader(strings.NewReader(levels)) // a level with a comma is quoted: build="-tags=a,b",-race
		r.LazyQuotes = true
		fields, err := r.Read()
		if err != nil {
			return fmt.Errorf("bad levels of %s: %w", name, err)
		}
		if given[name] {
			return fmt.Errorf("factor %s is given twice (consider: --vary %s=a,b,c)", name, name)
		}
		given[name] = true
		f := dyno.Factor{Name: name, Levels: fields}
		e.Settings = nil
		if i := slices.IndexFunc(e.Factors, func(f dyno.Factor) bool { return f.Name == name }); i >= 0 {
			e.Factors = slices.Clone(e.Factors)
			e.Factors[i] = f // the flag beats the file
		} else {
			e.Factors = append(e.Factors, f)
		}
	}
	return nil
}

// limit sets the limits that are named; the file's others stay.
func limit(e *dyno.Experiment, v string) error {
	given := map[string]bool{}
	for part := range strings.SplitSeq(v, ",") {
		name, amount, _ := strings.Cut(part, "=")
		switch {
		case name != "cpu" && name != "memory":
			return fmt.Errorf("bad limit %q (want for example cpu=0.5,memory=128MiB)", part)
		case given[name]:
			return fmt.Errorf("limit %s is given twice (consider: --vary limit.%[1]s=a,b to compare them)", name)
		}
		given[name] = true
		if err := plan.Set(e, "limits."+name, amount); err != nil {
			return err
		}
	}
	return nil
}

// TargetURL takes the URL of a service that runs already for the subject and its first request.
func TargetURL(e *dyno.Experiment, arg string) error {
	u, err := url.Parse(arg)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" && e.Load.Program == "" {
		return Mistakef("bad URL %q (want for example http://127.0.0.1:8080/path)", arg)
	}
	service, path := dyno.Service(u)
	if service == nil {
		return Mistakef("bad URL %q (want for example http://127.0.0.1:8080/path, or http://unix:/run/x.sock:/path)", arg)
	}
	e.Subject = dyno.Subject{URL: service.String(), Arg: e.Subject.Arg}
	e.Name = cmp.Or(e.Name, u.Hostname())
	if path != "/" {
		if err := single(e, func(s *dyno.Step) { s.Path = path }); err != nil {
			return err
		}
	}
	if u.User != nil {
		password, _ := u.User.Password()
		login := base64.StdEncoding.EncodeToString([]byte(u.User.Username() + ":" + password))
		return single(e, func(s *dyno.Step) { s.Headers = put(s.Headers, "Authorization", "Basic "+login) })
	}
	return nil
}

// single changes the one step of the loop; a plan with more has no use for it.
func single(e *dyno.Experiment, change func(*dyno.Step)) error {
	c := &e.Load.Client
	if len(c.Loop) > 1 || len(c.Setup) > 0 {
		return errors.New("the plan has its own steps (consider: change them there)")
	}
	step := dyno.Step{Path: "/"}
	if len(c.Loop) == 1 {
		step = c.Loop[0]
	}
	change(&step)
	c.Loop = []dyno.Step{step}
	return nil
}

// fields reads each NAME: VALUE of what is called noun.
func fields(noun string, vs []string, each func(name, value string) error) error {
	for _, v := range vs {
		name, value, ok := strings.Cut(v, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return fmt.Errorf("bad %s %q (want NAME: VALUE)", noun, v)
		}
		if err := each(name, strings.TrimSpace(value)); err != nil {
			return err
		}
	}
	return nil
}

func put(m map[string]string, k, v string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[k] = v
	return m
}

// assign puts NAME=value pairs into a map.
func assign(to *map[string]string, pairs []string) error {
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return fmt.Errorf("want NAME=value, got %q", pair)
		}
		*to = put(*to, name, value)
	}
	return nil
}
