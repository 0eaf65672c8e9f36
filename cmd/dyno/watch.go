package main

import (
	"cmp"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/lab"
	"github.com/dynolab/dyno/internal/lab/watched"
	"github.com/dynolab/dyno/internal/plan"
	"github.com/dynolab/dyno/internal/plan/flags"
)

func newWatch() *cobra.Command {
	var p flags.Set
	o := outFlags{steps: true}
	var w watchFlags
	cmd := &cobra.Command{
		Use:   "watch [TARGET]",
		Short: "Watch a service that is already running",
		Long: `Watch samples a running service, until Ctrl-C or for -d: memory, page faults, CPU,
threads, descriptors, and the heap if the service publishes it. It is a trial of dyno
run without a launch, kept in a run directory. TARGET is one of

    1234                       a process; dyno looks for its pages on the ports where it listens
    argus                      the name of a process, a part of it, or a regular expression, as for pidstat -C
    http://127.0.0.1:6060      a service with /debug/vars, /debug/pprof or /metrics, and the process
                               that holds the port, if it is on this machine

Dyno only reads these pages of the service. It forces no collection without
--profile-heap, and takes no profile or trace without that or --why-slow. With --load, or with -f and a plan that has a load,
dyno also sends requests; the other flags of a load are as for dyno load.

    dyno watch argus
    dyno watch --pid 1234 --url http://127.0.0.1:6060 -d 1h --every 100ms
    dyno watch argus --load http://127.0.0.1:8080/ -c 1 -d 60m
    dyno watch http://127.0.0.1:6060 -d 10m --profile-heap --why-slow
` + summaryHelp,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := p.Experiment()
			if err != nil {
				return err
			}
			if err := w.target(cmd, &e.Subject, args); err != nil {
				return err
			}
			if err := flags.NeedPIDs(e, w.needs); err != nil {
				return err
			}
			if err := w.sends(cmd, &p, e); err != nil {
				return err
			}
			oneTrial(cmd, e)
			if err := p.Check(e, lab.Check); err != nil {
				return err
			}
			found, err := w.find(cmd, e)
			if err != nil {
				return err
			}
			return watchInto(cmd, e, &o, found)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	w.flags(fs)
	samplingFlags(&p, fs, &w)
	thresholdFlags(&p, fs, &o)
	o.flags(fs, "default dyno-runs/NAME-TIME")
	o.otlpFlag(fs)
	return cmd
}

type watchFlags struct {
	pid       int
	process   string
	url, load string
	needs     []string // NAME=PID
	heap      bool
	slow      bool
	ofLoad    []string // the flags that only a load has use for
}

func (w *watchFlags) flags(fs *pflag.FlagSet) {
	fs.IntVar(&w.pid, "pid", 0, "the process with this `number`")
	fs.StringVar(&w.process, "process", "", "the process with this `name`, a part of it, or a regular expression")
	fs.StringVar(&w.url, "url", "", "the `URL` of a service that publishes metrics")
	fs.StringVar(&w.load, "load", "", "send requests to this `URL` meanwhile")
	fs.StringArrayVar(&w.needs, "need-pid", nil, "watch what the service needs, too: `NAME=PID` of a database's first process")
	fs.BoolVar(&w.heap, "profile-heap", false, "take profiles of the heap (each after a collection) and of goroutines, before and after")
	fs.BoolVar(&w.slow, "why-slow", false, "say why the slowest requests are slow: an execution trace and a CPU profile of 2s every 30s, the last 20")
}

// samplingFlags has of a load all but what it varies.
func samplingFlags(p *flags.Set, fs *pflag.FlagSet, w *watchFlags) {
	p.Key(fs, "every", "", "time", "probes.every", "time between samples (default 1s)")
	p.PublishedFlags(fs)
	p.Key(fs, "pprof", "", "path", "probes.pprof", "path or URL of net/http/pprof, such as /debug/pprof")
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	all.SortFlags = false
	p.LoadFlags(all)
	all.VisitAll(func(f *pflag.Flag) {
		switch f.Name {
		case "command", "vary", "repeat", "seed", "negligible":
			return
		case "duration":
			f.Usage = "length of the watch (default: until Ctrl-C)"
		case "warmup":
			f.Usage = "time before the watch that is not measured (default 0s)"
		case "file", "name", "insecure":
		default:
			f.Usage = "with --load: " + f.Usage
			w.ofLoad = append(w.ofLoad, f.Name)
		}
		fs.AddFlag(f)
	})
}

// target prefers the command line to the plan.
func (w *watchFlags) target(cmd *cobra.Command, s *dyno.Subject, args []string) error {
	given := func(names ...string) (said []string) {
		for _, name := range names {
			if cmd.Flags().Changed(name) {
				said = append(said, "--"+name)
			}
		}
		return said
	}
	processes, urls := given("pid", "process"), given("url")
	if len(args) == 1 {
		switch pid, err := strconv.Atoi(args[0]); {
		case strings.Contains(args[0], "://"):
			w.url, urls = args[0], append(urls, args[0])
		case err == nil:
			w.pid, processes = pid, append(processes, args[0])
		default:
			w.process, processes = args[0], append(processes, args[0])
		}
	}
	for _, said := range [][]string{processes, urls} {
		if len(said) > 1 {
			return flags.Mistakef("%s are two targets (want one process, and one URL if it publishes metrics)", strings.Join(said, " and "))
		}
	}
	switch none := len(processes)+len(urls) == 0; {
	case none && s.PID == 0 && s.Process == "" && s.URL == "":
		return flags.Mistakef("no target (want for example dyno watch 1234, dyno watch argus or dyno watch http://127.0.0.1:6060)")
	case none:
		w.pid, w.process, w.url = s.PID, s.Process, s.URL
	case w.pid < 0 || w.pid == 0 && w.process == "" && w.url == "":
		return flags.Mistakef("bad target (want the number or name of a process, or a URL)")
	}
	*s = dyno.Subject{PID: w.pid, Process: w.process, Arg: s.Arg}
	if w.url != "" {
		u, _ := url.Parse(w.url)      // nil with an error
		service, _ := dyno.Service(u) // the path is that of a page
		if service == nil || u.Scheme != "http" && u.Scheme != "https" {
			return flags.Mistakef("bad URL %q (want for example http://127.0.0.1:6060)", w.url)
		}
		s.URL = service.String()
	}
	return nil
}

func (w *watchFlags) sends(cmd *cobra.Command, p *flags.Set, e *dyno.Experiment) error {
	planned := false
	if p.File != "" {
		plan, err := plan.Parse(p.File, p.Src)
		if err != nil {
			return err
		}
		planned = !reflect.ValueOf(plan.Load).IsZero() && !plan.Load.None
	}
	l := &e.Load
	switch {
	case w.load == "" && !planned:
		for _, name := range w.ofLoad {
			if typed(cmd, name) {
				return flags.Mistakef("--%s needs a load (consider: --load URL)", name)
			}
		}
		e.Load = dyno.Load{None: true, Duration: l.Duration, Warmup: l.Warmup, Insecure: l.Insecure}
		return nil
	case w.load == "" && w.url == "":
		return flags.Mistakef("no URL for the plan's load (consider: --load http://127.0.0.1:8080)")
	case l.Command != "":
		return flags.Mistakef("watch runs no load command (consider: dyno watch without -f, and the command beside it)")
	case l.Requests == 0 && l.RequestsPerClient == 0 && l.Duration == 0 && l.Length() == 0:
		return flags.Mistakef("the load has no end (consider: -d 60m)")
	}
	subject, name := e.Subject, e.Name
	if err := flags.TargetURL(e, cmp.Or(w.load, subject.URL)); err != nil {
		return err
	}
	subject.URL = e.Subject.URL
	e.Subject, e.Name = subject, name
	return nil
}

func (w *watchFlags) find(cmd *cobra.Command, e *dyno.Experiment) (found lab.Watching, err error) {
	if _, err := regexp.Compile(w.process); err != nil {
		return found, flags.Mistakef("bad process name: %w", err)
	}
	target := watched.Target{PID: w.pid, Process: w.process, URL: w.url}
	found, err = target.Find(e, func(format string, args ...any) { notef(cmd, format, args...) })
	switch {
	case err != nil:
		return found, err
	case found.Process.PID == os.Getpid():
		return found, flags.Mistakef("process %d is this dyno itself (want another)", os.Getpid())
	case (w.heap || w.slow) && e.Probes.Pprof == "":
		return found, flags.Mistakef("--profile-heap and --why-slow need the address of net/http/pprof (consider: --url http://127.0.0.1:6060 of a service that imports it)")
	}
	if w.heap {
		found.Profiles = []string{"heap", "goroutine"}
	}
	if w.slow {
		found.Traces = lab.WatchTraces
	}
	return found, nil
}

func watchInto(cmd *cobra.Command, e *dyno.Experiment, o *outFlags, w lab.Watching) error {
	if err := o.check(cmd, e); err != nil {
		return err
	}
	c := campaignOf(cmd)
	dir, err := c.Watch(cmd.Context(), o.runOf(e), w)
	if dir == nil {
		return err
	}
	defer dir.Close()
	err = o.conclude(cmd, c, dir, err)
	if !reported(err) {
		return err
	}
	if before, after := dir.TrialFile(1, "heap-before.pb.gz"), dir.TrialFile(1, "heap-after.pb.gz"); exists(before) && exists(after) {
		notef(cmd, "the heap profiles show what the heap kept meanwhile (consider: go tool pprof -top -sample_index=inuse_space -diff_base %s %s)", before, after)
	}
	sayWhere(cmd, dir.Path, "")
	return err
}
