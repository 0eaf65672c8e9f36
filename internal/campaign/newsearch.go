package campaign

import (
	"fmt"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/capacity"
	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/dynolab/dyno/internal/plan/how"
	"github.com/dynolab/dyno/internal/store"
)

// SearchFlags are the flags of a search, as given.
type SearchFlags struct {
	SLO       []string
	Precision string
	From      string
	Most      string

	Typed func(name string) bool // that a flag was
}

// Defaults of a search.
const (
	DefaultFrom = "100/s"
	searchTime  = 3 * time.Minute   // of a setting
	longSearch  = 290 * time.Second // of one whose requests are few, or slow: with its build, 5 minutes
	leastSearch = 20 * time.Second
)

// NewSearch checks what is asked for. path is of the run directory, "" for a new one below dyno-runs.
func NewSearch(c *Campaign, r *store.Record, path string, o SearchFlags) (*Search, error) {
	asked := *r.Plan // which is kept as it is
	e := &asked
	if e.Load.Command != "" || e.Load.None {
		return nil, flags.Mistakef("capacity needs dyno's own load")
	}
	s := &Search{Campaign: c, Record: r, Settings: e.Levels(), Path: path}
	for _, setting := range s.Settings {
		for _, l := range setting {
			if l.Factor == "load.rate" {
				return nil, flags.Mistakef("load.rate varies, but capacity looks for the rate (consider: --from)")
			}
		}
	}
	if err := s.objectives(e, o.SLO); err != nil {
		return nil, err
	}
	p := &s.Problem
	if e.Load.Replay != "" {
		return nil, flags.Mistakef("capacity looks for a rate, and a recording has times of its own (consider: dyno run --vary load.speed=1,2,4)")
	}
	precision, err := dyno.ParseFraction(o.Precision)
	if err != nil || precision < 0.005 || precision > 0.5 {
		return nil, flags.Mistakef("--precision %s: want a share from 0.5%% to 50%%, for example 3%%", o.Precision)
	}
	p.Precision = float64(precision)
	if p.From, err = rateOf("from", o.From, e.Load.Rate, DefaultFrom); err != nil {
		return nil, err
	}
	if p.Most, err = rateOf("most", o.Most, nil, ""); err != nil {
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
	if n := e.Load.Concurrency; n > 0 && !e.Load.Open() && !o.Typed("concurrency") && r.Dir() == "" {
		s.Notes = append(s.Notes, fmt.Sprintf("concurrency: %d of the plan is left out, as it is that of a closed load (consider: --concurrency)", n))
		e.Load.Concurrency, r.Plan.Load.Concurrency = 0, 0
	}
	if e.Awake != nil && *e.Awake {
		s.Notes = append(s.Notes, how.KeptAwake("as asked"))
	}
	s.Plan = p.Plan(e)
	return s, nil
}

// objectives are those of --slo, or the plan's thresholds that are some.
func (s *Search) objectives(e *dyno.Experiment, slo []string) error {
	p := &s.Problem
	for _, text := range slo {
		o, err := capacity.ParseObjective(text)
		if err != nil {
			return flags.Mistakef("--slo: %w", err)
		}
		p.Objectives = append(p.Objectives, o)
	}
	if len(slo) > 0 {
		return nil
	}
	for _, t := range e.Thresholds {
		o, err := capacity.ParseObjective(t.String())
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

// rateOf is that of a flag, or its default.
func rateOf(name, text string, plan dyno.Rate, otherwise string) (float64, error) {
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
