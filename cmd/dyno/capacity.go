package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/lab"
	"github.com/dynolab/dyno/plan/flags"
)

type capacityFlags struct {
	slo       []string
	precision string
	from      string
	most      string
	print     bool
	dir       string
	format
}

// Defaults of a search.
const (
	defaultFrom    = "100/s"
	searchTime     = 3 * time.Minute   // of a setting
	longSearch     = 290 * time.Second // of one whose requests are few, or slow: with its build, 5 minutes
	leastSearch    = 20 * time.Second
	shortWarmup    = dyno.Duration(500 * time.Millisecond)
	leastPatience  = dyno.Duration(2 * time.Second)
	patienceLimits = 10
)

func newCapacity() *cobra.Command {
	var p flags.Set
	var o capacityFlags
	cmd := &cobra.Command{
		Use:   "capacity [TARGET] [flags] [-- ARGUMENT...]",
		Short: "Find the highest rate that holds an objective",
		Long: `Capacity searches the highest rate of requests at which a service still holds an
objective, such as a p99 below 30 ms, and says how exactly it knows that rate. It measures
windows at one rate each, every one with a launch and a queue of its own, and chooses the
rate of the next window by what it has learnt. TARGET is as for dyno run, or the URL of a
service that runs already.

    dyno capacity ./cmd/server --slo 'p99 < 30ms' --slo 'failures < 0.1%'
    dyno capacity ./cmd/server --slo 'p99 < 30ms' --vary GOGC=100,400 --path /search
    dyno capacity http://127.0.0.1:8080/search --slo 'p99 < 30ms'
    dyno capacity -f dyno.yaml --slo 'p50 < 5ms' --precision 5% --within 2m

An objective is a percentile of latency, or failures with a share of the requests. A request
that fails, or was never sent, is slower than any limit. Without --slo, the thresholds of the
plan that are objectives hold. Requests arrive at random (arrival: poisson), unless the plan
or --arrival says constant. The search ends when the interval is ±3% (--precision), or after
3 minutes for each setting, 5 while the interval is wider than ±10%. --within sets the time
for all settings together.

Several settings (--vary) are searched at the same time, one window of each in turn. If the
generator cannot send more, capacity says "at least". Ctrl-C keeps the windows so far.

The rate of a load with several steps is that of sessions; the objective is about the
requests of all its steps.`,
		Args: oneTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := written(cmd, &p, args)
			if err != nil {
				return err
			}
			s, err := newSearch(cmd, e, &o)
			if err != nil {
				return err
			}
			if err := p.Check(s.plan, lab.Check); err != nil {
				return err
			}
			if o.print {
				return s.printPlan()
			}
			return s.search()
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringArrayVar(&o.slo, "slo", nil, "`objective` that must hold, such as 'p99 < 30ms' or 'failures < 0.1%'; may be repeated, replaces the plan's thresholds")
	fs.StringVar(&o.precision, "precision", "3%", "half the width of the interval at which the search ends, a `share` of the capacity")
	fs.StringVar(&o.from, "from", "", "`rate` of the first window (default the plan's rate, or "+defaultFrom+")")
	fs.StringVar(&o.most, "most", "", "highest `rate` to try (default: any)")
	fs.BoolVar(&o.print, "print", false, "show what would be measured, run nothing")
	fs.StringVar(&o.dir, "out", "", "the run `dir`ectory (default dyno-runs/NAME-capacity-TIME)")
	o.format.flags(fs, "format of the result: text or json", "text", "json")
	p.LoadFlags(fs)
	p.SubjectFlags(fs)
	p.PublishedFlags(fs)
	fs.Lookup("within").Usage = "most `time` for the search of all settings together (default 3m for each, 5m while its interval is wider than ±10%)"
	for _, name := range slices.Concat(ofOneRate, ofBeside) {
		if f := fs.Lookup(name); f != nil {
			f.Hidden = true
		}
	}
	return cmd
}

// ofOneRate are flags that capacity has only to say that it decides what they say.
var ofOneRate = []string{"rate", "duration", "requests", "repeat"}

// ofBeside are those of blocks, which windows are not.
var ofBeside = []string{"alone", "turn", "relink"}

// newSearch checks what is asked for.
func newSearch(cmd *cobra.Command, e *dyno.Experiment, o *capacityFlags) (*search, error) {
	for _, name := range ofOneRate {
		if typed(cmd, name) {
			return nil, flags.Mistakef("--%s is for one run, but capacity decides itself at which rates it measures, and how long (consider: --from, --within)", name)
		}
	}
	for _, name := range ofBeside {
		if typed(cmd, name) {
			return nil, flags.Mistakef("--%s is for dyno run: each window of capacity has a launch of its own, and nothing beside it", name)
		}
	}
	if e.Load.Command != "" || e.Load.None {
		return nil, flags.Mistakef("capacity needs dyno's own load")
	}
	if e.Subject.URL != "" {
		if err := onlyLoads(cmd); err != nil {
			return nil, err
		}
		loadOnly(cmd, e)
	}
	s := &search{cmd: cmd, flags: o, settings: e.Levels()}
	for _, setting := range s.settings {
		for _, l := range setting {
			if l.Factor == "load.rate" {
				return nil, flags.Mistakef("load.rate varies, but capacity looks for the rate (consider: --from)")
			}
		}
	}
	if err := s.objectives(e); err != nil {
		return nil, err
	}
	p := &s.problem
	if e.Load.Replay != "" {
		return nil, flags.Mistakef("capacity looks for a rate, and a recording has times of its own (consider: dyno run --vary load.speed=1,2,4)")
	}
	precision, err := dyno.ParseFraction(o.precision)
	if err != nil || precision < 0.005 || precision > 0.5 {
		return nil, flags.Mistakef("--precision %s: want a share from 0.5%% to 50%%, for example 3%%", o.precision)
	}
	p.Precision = float64(precision)
	if p.From, err = s.rate("from", o.from, e.Load.Rate, defaultFrom); err != nil {
		return nil, err
	}
	if p.Most, err = s.rate("most", o.most, nil, ""); err != nil {
		return nil, err
	}
	if p.Most > 0 && p.Most < p.From {
		p.From = p.Most
	}
	p.Within, p.Longer, p.Seed = searchTime, longSearch, e.Rand(0).Uint64()
	if e.Within > 0 {
		p.Within, p.Longer = time.Duration(e.Within)/time.Duration(len(s.settings)), 0
	}
	if p.Within < leastSearch {
		return nil, flags.Mistakef("--within leaves %v for each setting, too short for a search (want at least %v)", dyno.Duration(p.Within), dyno.Duration(leastSearch))
	}
	if want := p.LeastWithin(); p.Within < want {
		return nil, flags.Mistakef("windows of such a long limit need more time than --within leaves, %v for each setting (want at least %v, or a shorter limit)", dyno.Duration(p.Within), dyno.Duration(want))
	}
	s.negligible = float64(*e.Resolved().Negligible)
	if n := e.Load.Concurrency; n > 0 && !e.Load.Open() && !typed(cmd, "concurrency") {
		s.notes = append(s.notes, fmt.Sprintf("concurrency: %d of the plan is left out, as it is that of a closed load (consider: --concurrency)", n))
		e.Load.Concurrency = 0
	}
	if e.Awake != nil && *e.Awake {
		s.notes = append(s.notes, dyno.KeptAwake("as asked"))
	}
	s.plan = s.common(e)
	return s, nil
}

// objectives are those of --slo, or the plan's thresholds that are some.
func (s *search) objectives(e *dyno.Experiment) error {
	p := &s.problem
	for _, text := range s.flags.slo {
		o, err := dyno.ParseObjective(text)
		if err != nil {
			return flags.Mistakef("--slo: %w", err)
		}
		p.Objectives = append(p.Objectives, o)
	}
	if len(s.flags.slo) > 0 {
		return nil
	}
	for _, t := range e.Thresholds {
		o, err := dyno.ParseObjective(t.String())
		if err != nil {
			s.notes = append(s.notes, fmt.Sprintf("the plan's threshold %q is left out, as it is no objective", t))
			continue
		}
		p.Objectives = append(p.Objectives, o)
	}
	if len(p.Objectives) == 0 {
		return flags.Mistakef("no objective (want for example --slo 'p99 < 30ms')")
	}
	return nil
}

// rate is that of a flag, or its default.
func (s *search) rate(name, text string, plan dyno.Rate, otherwise string) (float64, error) {
	if text == "" && plan.Open() && plan[0].From >= 1 {
		return plan[0].From, nil
	}
	if text == "" {
		text = otherwise
	}
	if text == "" {
		return 0, nil
	}
	r, err := dyno.ParseRate(text)
	if err != nil || len(r) != 1 || r[0].From != r[0].To || r[0].From < 1 {
		return 0, flags.Mistakef("--%s %s: want one rate of at least 1/s, for example 100/s", name, text)
	}
	return r[0].From, nil
}

// common is the plan of every window, but for its rate and length.
func (s *search) common(e *dyno.Experiment) *dyno.Experiment {
	p := *e
	p.More, p.Repeats, p.Within, p.Slice, p.Alone = nil, 1, 0, 0, true
	p.Profile, p.ProfileRepeats, p.Trace, p.Memory, p.Thresholds = nil, 0, 0, new(bool), nil
	p.Load.Rate, p.Load.Requests, p.Load.RequestsPerClient, p.Load.Idle = dyno.PerSecond(s.problem.From), 0, 0, 0
	p.Load.Duration = dyno.Duration(time.Second)
	all := dyno.Fraction(1) // what fails is counted, not refused
	p.Load.MaxFailures = &all
	if p.Load.Arrival == "" {
		p.Load.Arrival = "poisson"
	}
	if p.Load.Warmup == 0 {
		p.Load.Warmup = shortWarmup
	}
	if p.Load.KeepRequests == "" {
		p.Load.KeepRequests = "none"
	}
	longest := time.Duration(0)
	for _, o := range s.problem.Objectives {
		longest = max(longest, o.Limit)
	}
	if p.Load.Timeout == 0 && longest > 0 { // so that an overloaded service is left alone soon
		p.Load.Timeout = max(leastPatience, dyno.Duration(patienceLimits*longest))
	}
	return &p
}

// printPlan says what would be measured.
func (s *search) printPlan() error {
	text, err := findings.PlanText(s.plan)
	if err != nil {
		return err
	}
	w, p := s.cmd.OutOrStdout(), &s.problem
	for _, o := range p.Objectives {
		fmt.Fprintf(w, "objective: %s, so %s of the requests may be beyond\n", o, dyno.Fraction(o.Share))
	}
	fmt.Fprintf(w, "first rate: %g/s; then by what was measured, until the interval is ±%s\n", p.From, dyno.Fraction(p.Precision))
	fmt.Fprintf(w, "settings: %d, at most %v for each\n", len(s.settings), dyno.Duration(p.Within))
	_, err = fmt.Fprintf(w, "\nthe plan of a window, but for its rate and length:\n\n%s", text)
	return err
}
