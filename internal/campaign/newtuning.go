package campaign

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/findings/predict"
	"github.com/dynolab/dyno/internal/lab"
	"github.com/dynolab/dyno/internal/plan/check"
	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/tuned"
	"github.com/dynolab/dyno/internal/store"
	"github.com/dynolab/dyno/internal/tune"
)

// TuningFlags are the flags of a tuning, as given.
type TuningFlags struct {
	Goal      string
	SubjectTo []string
	Price     float64 // of memory, as of tune.Goal
	Gain      string
	Reserve   string
	Total     time.Duration
	Headroom  bool
	Try       []string

	Typed func(name string) bool // that a flag was
}

// DefaultPrice is that of memory where the user says none.
const DefaultPrice = tune.DefaultPrice

// leastTotal is the shortest tuning: two launches of today's setting, and some blocks of three.
const leastTotal = 10 * time.Second

// NewTuning checks what is asked for. dir is the directory, "" for a new one below dyno-runs.
func NewTuning(c *Campaign, r *store.Record, dir string, o TuningFlags) (*Tuning, error) {
	e := r.Plan
	switch {
	case !e.Subject.Launched():
		return nil, flags.Mistakef("%s runs already, but tune launches the service with other settings (consider: the package of the service)", &e.Subject)
	case e.Slice > 0:
		return nil, flags.Mistakef("tune needs launches, not slices of one process (consider: a plan without slice)")
	case e.Load.Command != "" || e.Load.None:
		return nil, flags.Mistakef("tune needs dyno's own load")
	case o.Total < leastTotal:
		return nil, flags.Mistakef("--total %v is too short for a tuning (want at least %v)", dyno.Duration(o.Total), dyno.Duration(leastTotal))
	}
	t := &Tuning{Campaign: c, Record: r, Common: tune.Common(e), Dir: dir, Schedule: tune.Schedule{Total: o.Total, Headroom: o.Headroom}}
	if err := t.pose(e, &o); err != nil {
		return nil, err
	}
	return t, nil
}

// pose makes the problem of plan and flags.
func (t *Tuning) pose(e *dyno.Experiment, o *TuningFlags) (err error) {
	p, baseline := &t.Problem, e.Levels()[0]
	p.Others = e.MetricNames()
	if p.Goal, err = tune.ParseGoal(o.Goal, p.Others); err != nil {
		return flags.Mistakef("--goal: %w", err)
	}
	switch {
	case o.Price < 0:
		return flags.Mistakef("--memory-price %g: want 0 or more", o.Price)
	case !p.Goal.Sum() && o.Typed("memory-price"):
		return flags.Mistakef("--memory-price is for the sum of CPU time and memory, but --goal is %q (want one of the flags)", o.Goal)
	case p.Goal.Sum():
		p.Goal.Price = o.Price
	}
	p.Constraints = e.Thresholds
	if o.Typed("subject-to") {
		if p.Constraints, err = flags.Thresholds(o.SubjectTo); err != nil {
			return flags.Mistakef("--subject-to: %w", err)
		}
	}
	if mistake := check.Thresholds(p.Constraints, p.Others); mistake != nil {
		return flags.Mistakef("--subject-to: %s", mistake.Msg)
	}
	margin, err := dyno.ParseFraction(o.Gain)
	if err != nil || margin <= 0 || margin >= 1 {
		return flags.Mistakef("--gain %s: want a share, for example 2%%", o.Gain)
	}
	p.Margin = float64(margin)
	trial := e.Trial(baseline)
	if p.Reserved, err = reserved(o.Reserve, trial.Limits.Memory); err != nil {
		return err
	}
	if err := t.today(baseline, trial.Subject.Env); err != nil {
		return err
	}
	p.Most = t.Schedule.Settings()
	return t.extras(trial, o.Try)
}

func reserved(text string, limit dyno.Size) (float64, error) {
	if text == "" {
		return float64(limit), nil
	}
	size, err := dyno.ParseSize(text)
	if err != nil {
		return 0, flags.Mistakef("--reserve: %w", err)
	}
	if limit > 0 && size > limit {
		return 0, flags.Mistakef("--reserve %v is more than the service's memory limit, %v", size, limit)
	}
	return float64(size), nil
}

// today spells what the collector is told today: by the plan, or by dyno's own environment, which the service has, too.
func (t *Tuning) today(baseline dyno.Setting, env map[string]string) error {
	p, told := &t.Problem, map[string]string{}
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		told[name] = cmp.Or(env[name], os.Getenv(name))
	}
	gogc := cmp.Or(told["GOGC"], "100")
	_, bad := predict.ParseGOGC(gogc)
	var err error
	if p.Collector, err = predict.SettingOf(told); cmp.Or(bad, err) != nil {
		return flags.Mistakef("%w", cmp.Or(bad, err))
	}
	p.Today = slices.DeleteFunc(slices.Clone(baseline), func(l dyno.Level) bool { return l.Factor == "GOGC" || l.Factor == "GOMEMLIMIT" })
	p.Today = append(p.Today, dyno.Level{Factor: "GOGC", Value: gogc})
	if p.Collector.Limit > 0 || p.Reserved > 0 {
		p.Today = append(p.Today, dyno.Level{Factor: "GOMEMLIMIT", Value: cmp.Or(told["GOMEMLIMIT"], "off")})
	}
	return nil
}

// extras reads --try.
func (t *Tuning) extras(trial dyno.Trial, try []string) error {
	add := func(axis, factor, value string) {
		t.Problem.Try = append(t.Problem.Try, tune.Extra{Axis: axis, Levels: dyno.Setting{{Factor: factor, Value: value}}})
	}
	for _, text := range try {
		name, value, given := strings.Cut(text, "=")
		switch {
		case text == "pgo":
			if !trial.Subject.Source() {
				return flags.Mistakef("--try pgo builds the service, but %s is already built (consider: its package)", &trial.Subject)
			}
			t.PGO = true
			t.Problem.Try = append(t.Problem.Try, tune.Extra{Axis: "pgo", Levels: tune.PGO("/")}) // the profile is not yet there
		case text == "GOMAXPROCS":
			for _, n := range tune.Procs(trial.Subject.Env["GOMAXPROCS"], runtime.NumCPU(), trial.Limits.CPU) {
				add(text, text, strconv.Itoa(n))
			}
		case !given || value == "":
			return flags.Mistakef("--try %s: want GOMAXPROCS, pgo, or a factor and its level, such as go=1.27.4", text)
		default:
			add(name, name, value)
		}
	}
	for _, x := range t.Problem.Try {
		e := *t.Common
		e.Settings = []dyno.Setting{t.Problem.Today, tune.With(t.Problem.Today, x.Levels...)}
		if err := lab.Check(&e); err != nil {
			return flags.Mistakef("--try: %w", err)
		}
	}
	return nil
}

// Print says what would be measured.
func (t *Tuning) Print(w io.Writer) error {
	e := t.plan(tune.StageToday, []dyno.Setting{t.Problem.Today})
	text, err := findings.PlanText(e)
	if err != nil {
		return err
	}
	fmt.Fprint(w, tuned.Planned(t.Problem))
	share := func(s tune.Stage) dyno.Duration { return dyno.Duration(t.Most(s).Round(time.Second)) }
	fmt.Fprintf(w, "%s: today's setting, %d launches, at most %v\n", tuned.Dirs[tune.StageToday], cmp.Or(e.Repeats, 1), share(tune.StageToday))
	fmt.Fprintf(w, "%s: today's and %s side by side, at most %v\n", tuned.Dirs[tune.StageCandidates],
		layout.Count(t.Problem.Most+len(t.Problem.Try), "other"), share(tune.StageCandidates))
	t.Spent = t.Most(tune.StageToday) + t.Most(tune.StageCandidates)
	fmt.Fprintf(w, "%s: if the results suggest another setting, at most %v\n", tuned.Dirs[tune.StageMore], share(tune.StageMore))
	if t.Headroom {
		t.Spent += t.Most(tune.StageMore)
		fmt.Fprintf(w, "%s: half and double the load, larger live heaps, at most %v\n", tuned.Dirs[tune.StageHeadroom], share(tune.StageHeadroom))
	}
	_, err = fmt.Fprintf(w, "\nthe plan of the first stage:\n\n%s", text)
	return err
}
