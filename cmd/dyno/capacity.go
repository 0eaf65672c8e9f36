package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/campaign"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/lab"
	"github.com/dynolab/dyno/plan/flags"
	"github.com/dynolab/dyno/report"
	"github.com/dynolab/dyno/report/knee"
	"github.com/dynolab/dyno/store"
)

type capacityFlags struct {
	slo       []string
	precision string
	from      string
	most      string
	print     bool
	dir       string
	resume    string
	format
}

// Defaults of a search.
const (
	defaultFrom = "100/s"
	searchTime  = 3 * time.Minute   // of a setting
	longSearch  = 290 * time.Second // of one whose requests are few, or slow: with its build, 5 minutes
	leastSearch = 20 * time.Second
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
generator cannot send more, capacity says "at least". Ctrl-C keeps the windows so far, and
--resume DIR goes on with them, as after a crash.

The rate of a load with several steps is that of sessions; the objective is about the
requests of all its steps.`,
		Args: oneTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			c := campaignOf(cmd)
			r, err := question(cmd, c, o.resume, args, func() (*dyno.Experiment, error) { return written(cmd, &p, args) })
			if err != nil {
				return err
			}
			s, err := newSearch(cmd, c, r, &o)
			if err != nil {
				return err
			}
			if err := p.Check(s.Plan, lab.Check); err != nil {
				return err
			}
			if o.print {
				return s.printPlan()
			}
			found, err := s.Run(cmd.Context())
			return s.printReport(found, err)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringArrayVar(&o.slo, "slo", nil, "`objective` that must hold, such as 'p99 < 30ms' or 'failures < 0.1%'; may be repeated, replaces the plan's thresholds")
	fs.StringVar(&o.precision, "precision", "3%", "half the width of the interval at which the search ends, a `share` of the capacity")
	fs.StringVar(&o.from, "from", "", "`rate` of the first window (default the plan's rate, or "+defaultFrom+")")
	fs.StringVar(&o.most, "most", "", "highest `rate` to try (default: any)")
	fs.StringVar(&o.resume, "resume", "", "go on with the search in this `dir`ectory")
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

// A search is one as flags ask for it.
type search struct {
	campaign.Search
	cmd   *cobra.Command
	flags *capacityFlags
}

// newSearch checks what is asked for.
func newSearch(cmd *cobra.Command, c *campaign.Campaign, r *store.Record, o *capacityFlags) (*search, error) {
	asked := *r.Plan // which is kept as it is
	e := &asked
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
	s := &search{cmd: cmd, flags: o, Search: campaign.Search{Campaign: c, Record: r, Settings: e.Levels(), Path: cmp.Or(o.resume, o.dir)}}
	for _, setting := range s.Settings {
		for _, l := range setting {
			if l.Factor == "load.rate" {
				return nil, flags.Mistakef("load.rate varies, but capacity looks for the rate (consider: --from)")
			}
		}
	}
	if err := s.objectives(e); err != nil {
		return nil, err
	}
	p := &s.Problem
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
		p.Within, p.Longer = time.Duration(e.Within)/time.Duration(len(s.Settings)), 0
	}
	if p.Within < leastSearch {
		return nil, flags.Mistakef("--within leaves %v for each setting, too short for a search (want at least %v)", dyno.Duration(p.Within), dyno.Duration(leastSearch))
	}
	if want := p.LeastWithin(); p.Within < want {
		return nil, flags.Mistakef("windows of such a long limit need more time than --within leaves, %v for each setting (want at least %v, or a shorter limit)", dyno.Duration(p.Within), dyno.Duration(want))
	}
	s.Negligible = float64(*e.Resolved().Negligible)
	if n := e.Load.Concurrency; n > 0 && !e.Load.Open() && !typed(cmd, "concurrency") && r.Dir() == "" {
		s.Notes = append(s.Notes, fmt.Sprintf("concurrency: %d of the plan is left out, as it is that of a closed load (consider: --concurrency)", n))
		e.Load.Concurrency, r.Plan.Load.Concurrency = 0, 0
	}
	if e.Awake != nil && *e.Awake {
		s.Notes = append(s.Notes, dyno.KeptAwake("as asked"))
	}
	s.Plan = p.Plan(e)
	return s, nil
}

// objectives are those of --slo, or the plan's thresholds that are some.
func (s *search) objectives(e *dyno.Experiment) error {
	p := &s.Problem
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
			s.Notes = append(s.Notes, fmt.Sprintf("the plan's threshold %q is left out, as it is no objective", t))
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

// printReport prints what a search found. failed is why it did not come to its end.
func (s *search) printReport(r *knee.Report, failed error) error {
	if r == nil {
		return failed
	}
	w := s.cmd.OutOrStdout()
	if s.flags.form() == "json" {
		return errors.Join(failed, report.JSON(w, r.Document()))
	}
	r.Dir = fromHere(r.Dir)
	_, err := io.WriteString(w, knee.Text(r, lookOf(w)))
	return errors.Join(failed, err)
}

// printPlan says what would be measured.
func (s *search) printPlan() error {
	text, err := findings.PlanText(s.Plan)
	if err != nil {
		return err
	}
	w, p := s.cmd.OutOrStdout(), &s.Problem
	for _, o := range p.Objectives {
		fmt.Fprintf(w, "objective: %s, so %s of the requests may be beyond\n", o, dyno.Fraction(o.Share))
	}
	fmt.Fprintf(w, "first rate: %g/s; then by what was measured, until the interval is ±%s\n", p.From, dyno.Fraction(p.Precision))
	fmt.Fprintf(w, "settings: %d, at most %v for each\n", len(s.Settings), dyno.Duration(p.Within))
	_, err = fmt.Fprintf(w, "\nthe plan of a window, but for its rate and length:\n\n%s", text)
	return err
}
