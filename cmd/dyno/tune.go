package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/campaign"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/findings/predict"
	"github.com/dynolab/dyno/lab"
	"github.com/dynolab/dyno/plan/flags"
	"github.com/dynolab/dyno/report"
	"github.com/dynolab/dyno/report/layout"
	"github.com/dynolab/dyno/report/tuned"
	"github.com/dynolab/dyno/store"
	"github.com/dynolab/dyno/tune"
)

type tuneFlags struct {
	goal     string
	subject  []string
	price    float64
	gain     string
	reserve  string
	total    time.Duration
	headroom bool
	try      []string
	patch    string
	print    bool
	dir      string
	resume   string
	format
}

// leastTotal is the shortest tuning: two launches of today's setting, and some blocks of three.
const leastTotal = 10 * time.Second

func newTune() *cobra.Command {
	var p flags.Set
	var o tuneFlags
	cmd := &cobra.Command{
		Use:   "tune [TARGET] [flags] [-- ARGUMENT...]",
		Short: "Say which GOGC and GOMEMLIMIT to set, and prove it",
		Long: `Tune measures a service as it runs today, predicts the effect of other settings of the
garbage collector, and records the predictions. Then it measures the most promising
settings side by side with today's. It recommends a setting only if it measured better,
and "keep what you have" otherwise. TARGET is as for dyno run.

    dyno tune ./cmd/server -- -addr '{{.Addr}}'
    dyno tune ./cmd/server --goal 'min cpu_per_req' --subject-to 'rss_peak < 400MiB'
    dyno tune -f dyno.yaml --limit memory=512MiB --subject-to 'p99 < 30ms' --total 10m
    dyno tune -f dyno.yaml --headroom --try GOMAXPROCS,pgo
    dyno tune dyno-runs/server-tune-20261121-101500 --patch kubernetes

The default goal is a sum: CPU time per request and peak memory, in per cent of today's,
where 1% of memory may cost 0.5% of CPU time (--memory-price). Tune tries GOMEMLIMIT, and
GOGC=off with it, only if memory is reserved for the service: by --limit memory=, a level
of limit.memory, or --reserve. If a plan has several settings, the first is today's.

The directory has a run for each stage: 1-today, 2-candidates, 3-more, 4-headroom. The
commands report, compare and view read them. Tune writes predictions.json before
2-candidates begins. Ctrl-C keeps the results so far, and
--resume DIR goes on with them, as after a crash.

KIND of --try is GOMAXPROCS (half of it, and the CPU limit), pgo (a build with the CPU
profile of today's setting), or a factor of --vary with a level: go=1.27.4,
GOEXPERIMENT=nogreenteagc.`,
		Args: oneTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.patch != "" {
				return printPatch(cmd.OutOrStdout(), args, o.patch)
			}
			c := campaignOf(cmd)
			r, err := question(cmd, c, o.resume, args, func() (*dyno.Experiment, error) { return planned(cmd, &p, args, false) })
			if err != nil {
				return err
			}
			t, err := newTuner(cmd, c, r, &o)
			if err != nil {
				return err
			}
			if o.print {
				return t.printPlan()
			}
			found, err := t.Run(cmd.Context())
			return t.printReport(found, err)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&o.goal, "goal", "", "the goal: min or max and a `metric`, such as 'min cpu_per_req' (default a sum of CPU time and memory)")
	fs.StringArrayVar(&o.subject, "subject-to", nil, "`limit` that must hold, such as 'rss_peak < 400MiB' or 'change(p99) < 5%'; may be repeated, replaces the plan's thresholds")
	fs.Float64Var(&o.price, "memory-price", tune.DefaultPrice, "without --goal: how many per cent of CPU time 1% of peak memory may cost, a `number`")
	fs.StringVar(&o.gain, "gain", "2%", "least gain that is worth a change, a `share`")
	fs.StringVar(&o.reserve, "reserve", "", "`size` of the memory reserved for the service, such as a container's limit if this machine sets none (default --limit memory=)")
	fs.DurationVar(&o.total, "total", 5*time.Minute, "most `time` for all trials, without builds")
	fs.BoolVar(&o.headroom, "headroom", false, "also measure half and double the load, and live heaps that are 25% and 50% larger")
	fs.StringSliceVar(&o.try, "try", nil, "other `kinds` of settings to try, such as GOMAXPROCS,pgo,go=1.27.4")
	fs.StringVar(&o.patch, "patch", "", "print the change that the tuning in directory TARGET recommends, for this `kind`: env, docker, kubernetes or systemd; measure nothing")
	fs.StringVar(&o.resume, "resume", "", "go on with the tuning in this `dir`ectory")
	fs.BoolVar(&o.print, "print", false, "show what would be measured, run nothing")
	fs.StringVar(&o.dir, "out", "", "the `dir`ectory of the tuning (default dyno-runs/NAME-tune-TIME)")
	o.format.flags(fs, "format of the result: text or json", "text", "json")
	p.LoadFlags(fs)
	p.SubjectFlags(fs)
	p.PublishedFlags(fs)
	for _, name := range ofOneRun {
		if f := fs.Lookup(name); f != nil {
			f.Hidden = true
		}
	}
	return cmd
}

// ofOneRun are flags that tune has only to say that it decides what they say.
var ofOneRun = []string{"repeat", "within"}

// A tuner is a tuning as flags ask for it.
type tuner struct {
	campaign.Tuning
	cmd      *cobra.Command
	flags    *tuneFlags
	baseline dyno.Setting // today's as the plan has it
}

// newTuner checks what is asked for.
func newTuner(cmd *cobra.Command, c *campaign.Campaign, r *store.Record, o *tuneFlags) (*tuner, error) {
	e := r.Plan
	for _, name := range ofOneRun {
		if typed(cmd, name) {
			return nil, flags.Mistakef("--%s is for one run, but tune decides itself how long each run takes (consider: --total)", name)
		}
	}
	switch {
	case !e.Subject.Launched():
		return nil, flags.Mistakef("%s runs already, but tune launches the service with other settings (consider: the package of the service)", &e.Subject)
	case e.Slice > 0:
		return nil, flags.Mistakef("tune needs launches, not slices of one process (consider: a plan without slice)")
	case e.Load.Command != "" || e.Load.None:
		return nil, flags.Mistakef("tune needs dyno's own load")
	case o.total < leastTotal:
		return nil, flags.Mistakef("--total %v is too short for a tuning (want at least %v)", dyno.Duration(o.total), dyno.Duration(leastTotal))
	}
	t := &tuner{cmd: cmd, flags: o, baseline: e.Levels()[0], Tuning: campaign.Tuning{
		Campaign: c, Record: r, Common: tune.Common(e), Dir: cmp.Or(o.resume, o.dir), Schedule: tune.Schedule{Total: o.total, Headroom: o.headroom},
	}}
	if err := t.pose(e); err != nil {
		return nil, err
	}
	return t, nil
}

// pose makes the problem of plan and flags.
func (t *tuner) pose(e *dyno.Experiment) error {
	o, p := t.flags, &t.Problem
	var err error
	p.Others = e.MetricNames()
	if p.Goal, err = tune.ParseGoal(o.goal, p.Others); err != nil {
		return flags.Mistakef("--goal: %w", err)
	}
	switch {
	case o.price < 0:
		return flags.Mistakef("--memory-price %g: want 0 or more", o.price)
	case !p.Goal.Sum() && typed(t.cmd, "memory-price"):
		return flags.Mistakef("--memory-price is for the sum of CPU time and memory, but --goal is %q (want one of the flags)", o.goal)
	case p.Goal.Sum():
		p.Goal.Price = o.price
	}
	p.Constraints = e.Thresholds
	if typed(t.cmd, "subject-to") {
		if p.Constraints, err = parseThresholds(o.subject); err != nil {
			return flags.Mistakef("--subject-to: %w", err)
		}
	}
	if mistake := dyno.CheckThresholds(p.Constraints, p.Others); mistake != nil {
		return flags.Mistakef("--subject-to: %s", mistake.Msg)
	}
	margin, err := dyno.ParseFraction(o.gain)
	if err != nil || margin <= 0 || margin >= 1 {
		return flags.Mistakef("--gain %s: want a share, for example 2%%", o.gain)
	}
	p.Margin = float64(margin)
	trial := e.Trial(t.baseline)
	if p.Reserved, err = t.reserved(trial.Limits.Memory); err != nil {
		return err
	}
	if err := t.today(trial.Subject.Env); err != nil {
		return err
	}
	p.Most = t.Schedule.Settings()
	return t.extras(trial)
}

func (t *tuner) reserved(limit dyno.Size) (float64, error) {
	if t.flags.reserve == "" {
		return float64(limit), nil
	}
	size, err := dyno.ParseSize(t.flags.reserve)
	if err != nil {
		return 0, flags.Mistakef("--reserve: %w", err)
	}
	if limit > 0 && size > limit {
		return 0, flags.Mistakef("--reserve %v is more than the service's memory limit, %v", size, limit)
	}
	return float64(size), nil
}

// today spells what the collector is told today: by the plan, or by dyno's own environment, which the service has, too.
func (t *tuner) today(env map[string]string) error {
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
	p.Today = slices.DeleteFunc(slices.Clone(t.baseline), func(l dyno.Level) bool { return l.Factor == "GOGC" || l.Factor == "GOMEMLIMIT" })
	p.Today = append(p.Today, dyno.Level{Factor: "GOGC", Value: gogc})
	if p.Collector.Limit > 0 || p.Reserved > 0 {
		p.Today = append(p.Today, dyno.Level{Factor: "GOMEMLIMIT", Value: cmp.Or(told["GOMEMLIMIT"], "off")})
	}
	return nil
}

// extras reads --try.
func (t *tuner) extras(trial dyno.Trial) error {
	add := func(axis, factor, value string) {
		t.Problem.Try = append(t.Problem.Try, tune.Extra{Axis: axis, Levels: dyno.Setting{{Factor: factor, Value: value}}})
	}
	for _, text := range t.flags.try {
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

// printReport prints what a tuning found. failed is why it did not come to its end.
func (t *tuner) printReport(r *tuned.Report, failed error) error {
	if r == nil {
		return failed
	}
	w := t.cmd.OutOrStdout()
	if t.flags.form() == "json" {
		return errors.Join(failed, report.JSON(w, r.Document()))
	}
	r.Dir = fromHere(r.Dir)
	_, err := io.WriteString(w, tuned.Text(r, lookOf(w)))
	if r.Interrupted {
		fmt.Fprintf(t.cmd.ErrOrStderr(), "the tuning did not finish; its results so far are in %s (consider: %s tune --resume %[1]s)\n", r.Dir, self())
	}
	return errors.Join(failed, err)
}

// fromHere is a path relative to the working directory, if it lies below that.
func fromHere(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(here, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}

// printPlan says what would be measured.
func (t *tuner) printPlan() error {
	w := t.cmd.OutOrStdout()
	e := t.Plan(t.Common, &t.Problem, tune.StageToday, []dyno.Setting{t.Problem.Today})
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
	if t.flags.headroom {
		t.Spent += t.Most(tune.StageMore)
		fmt.Fprintf(w, "%s: half and double the load, larger live heaps, at most %v\n", tuned.Dirs[tune.StageHeadroom], share(tune.StageHeadroom))
	}
	_, err = fmt.Fprintf(w, "\nthe plan of the first stage:\n\n%s", text)
	return err
}

// printPatch prints a patch of a tuning that is over.
func printPatch(w io.Writer, args []string, kind string) error {
	if !slices.Contains(tuned.PatchKinds, kind) {
		return flags.Mistakef("--patch %s: want %s", kind, strings.Join(tuned.PatchKinds, ", "))
	}
	if len(args) != 1 {
		return flags.Mistakef("--patch needs the directory of a tuning (consider: dyno tune DIR --patch %s)", kind)
	}
	for _, p := range tuned.Patches("", nil, "") {
		if p.Kind != kind {
			continue
		}
		text, err := os.ReadFile(filepath.Join(args[0], "patch", p.File))
		if errors.Is(err, os.ErrNotExist) {
			if _, err := os.Stat(filepath.Join(args[0], "tune.json")); err != nil {
				return flags.Mistakef("%s is not the directory of a tuning", args[0])
			}
			return fmt.Errorf("%s has no patch: its advice is to keep what you have", args[0])
		}
		if err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	}
	return nil
}
