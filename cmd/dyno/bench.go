package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/cmd/dyno/help"
	"github.com/dynolab/dyno/internal/analysis/compare"
	"github.com/dynolab/dyno/internal/campaign"
	"github.com/dynolab/dyno/internal/plan/check"
	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/dynolab/dyno/internal/report"
)

func newBench() *cobra.Command {
	o := benchFlags{out: outFlags{steps: true}}
	cmd := &cobra.Command{
		Use:   "bench [PACKAGES] [flags] [-- TEST FLAG...]",
		Short: "Compare Go benchmarks, side by side",
		Long:  help.Bench + summaryHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.resume != "" {
				return resumeBench(cmd, args, &o)
			}
			if typed(cmd, "more") {
				return flags.Mistakef("--more adds blocks to a run (consider: --resume DIR --more %d)", o.out.more)
			}
			e, err := o.experiment(cmd, args)
			if err != nil {
				return err
			}
			return benchInto(cmd, e, &o)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	o.define(fs)
	return cmd
}

type benchFlags struct {
	plan     flags.Set
	out      outFlags
	pair     string
	aa       bool
	profile  string
	baseline string
	cache    string
	resume   string
}

func (o *benchFlags) define(fs *pflag.FlagSet) {
	p := &o.plan
	p.Bench = true
	fs.StringVarP(&p.File, "file", "f", "", "the plan, a dyno.yaml `file` with the key bench")
	p.Key(fs, "name", "", "name", "name", "name of the experiment")
	o.borrow(fs, "vary")
	fs.StringVar(&o.pair, "pair", "", "compare the benchmarks of one package with these `elements` in their names, such as Pipeline1,Pipeline2")
	fs.BoolVar(&o.aa, "aa", false, "compare the first setting with itself: any change reported is a false alarm")
	fs.StringVar(&o.baseline, "baseline", "", "compare one setting with this `file` of benchmark results, not measured side by side")
	fs.StringVar(&o.cache, "cache", "", "keep the results of each commit in this `dir`ectory, for --baseline rev:NAME, such as rev:main")
	p.Key(fs, "bench", "", "regexp", "bench.match", "benchmarks to run, as for go test -bench (default all)")
	p.Key(fs, "cpus", "", "n", "bench.cpus", "number of CPUs to pin all processes to; -1 pins none (default 1)")
	p.Key(fs, "duration", "d", "time", "bench.duration", fmt.Sprintf("most time to build and measure (default %v, or longer for --blocks, or for the %d blocks needed to show a change)", dyno.DefaultBenchDuration, compare.FewestBenchBlocks()))
	p.Key(fs, "blocks", "", "n", "bench.blocks", "number of blocks, whatever the results (default: until all benchmarks are decided, or --duration)")
	p.Key(fs, "sample", "", "time", "bench.sample", "length of one turn (default: fitted to each benchmark, at least 1ms)")
	p.Key(fs, "all", "", "bool", "bench.all", "run benchmarks that are the same code in all revisions, too")
	p.Key(fs, "precision", "", "share", "bench.precision", "stop when half of the interval is this narrow (default 1%)")
	p.Key(fs, "error", "", "share", "bench.error", "chance of a false change in one comparison (default 0.1%)")
	o.borrow(fs, "negligible", "seed", "env", "need", "go", "rev", "build", "prepare", "copy")
	fs.StringVar(&o.profile, "profile", "cpu,allocs", "`profiles` to take of benchmarks that changed, or none")
	thresholdFlags(p, fs, &o.out)
	fs.Lookup("threshold").Usage = "`limit` that must hold for every benchmark, or the exit status is 99: 'change(sec_per_op) < 5%', 'allocs_per_op == 0'; may be repeated, replaces the plan's"
	fs.Lookup("strict").Usage = "exit with status 98 if a threshold is unclear or, without thresholds, a verdict is"
	fs.BoolVar(&o.out.failWorse, "fail-worse", false, "exit with status 99 if anything is worse")
	o.out.flags(fs, "default dyno-runs/NAME-TIME")
	fs.Lookup("format").Usage = "format of the result: " + strings.Join(report.Formats(compare.OfBenchmarks), ", ")
	fs.StringVar(&o.resume, "resume", "", "resume the run in this `dir`ectory")
	fs.IntVar(&o.out.more, "more", 0, "with --resume: add a `number` of blocks, within the same error rate")
}

// borrow adds flags that other commands have too.
func (o *benchFlags) borrow(fs *pflag.FlagSet, names ...string) {
	p := flags.Set{}
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	p.TrialFlags(all)
	p.SubjectFlags(all)
	for _, name := range names {
		f := all.Lookup(name)
		f.Usage = strings.Replace(f.Usage, "the subject", "the tests", 1)
		fs.AddFlag(f)
		o.plan.Flags = append(o.plan.Flags, f.Value.(*flags.Setter))
	}
}

func (o *benchFlags) experiment(cmd *cobra.Command, args []string) (*dyno.Experiment, error) {
	e, err := o.plan.Experiment()
	if err != nil {
		return nil, err
	}
	if e.Bench == nil {
		e.Bench = new(dyno.Bench)
	}
	if err := benchmarksOf(cmd, e, args); err != nil {
		return nil, err
	}
	if e.Profile, err = o.profiles(cmd, e.Profile); err != nil {
		return nil, err
	}
	if err := o.compared(cmd, e); err != nil {
		return nil, err
	}
	return e, o.plan.Check(e, check.Experiment)
}

// benchmarksOf says by the arguments which packages' benchmarks a plan is of.
func benchmarksOf(cmd *cobra.Command, e *dyno.Experiment, args []string) (err error) {
	if n := cmd.ArgsLenAtDash(); n >= 0 {
		e.Subject.Args = args[n:]
		args = args[:n]
	}
	if err := flags.Packages(e, args); err != nil {
		return err
	}
	if e.Subject.Dir == "" {
		if e.Subject.Dir, err = os.Getwd(); err != nil {
			return err
		}
	}
	if e.Name == "" {
		e.Name = filepath.Base(e.Subject.Dir)
	}
	// What a plan may have for its service means nothing here.
	e.Load, e.Probes, e.Limits, e.Trace, e.WhySlow, e.Slice, e.Memory = dyno.Load{}, dyno.Probes{}, dyno.Limits{}, 0, false, 0, nil
	e.Repeats, e.ProfileRepeats = 0, 0
	return nil
}

func (o *benchFlags) profiles(cmd *cobra.Command, planned []string) ([]string, error) {
	if len(planned) > 0 && !cmd.Flags().Changed("profile") {
		return planned, nil
	}
	if o.profile == "none" || o.profile == "" {
		return nil, nil
	}
	kinds := strings.Split(o.profile, ",")
	for _, kind := range kinds {
		if kind != "cpu" && kind != "allocs" {
			return nil, flags.Mistakef("--profile: unknown profile %q (want cpu, allocs or none)", kind)
		}
	}
	return kinds, nil
}

func (o *benchFlags) compared(cmd *cobra.Command, e *dyno.Experiment) error {
	if o.pair != "" {
		if len(e.Settings) > 0 {
			return flags.Mistakef("--pair and settings in the plan both say what to compare (consider: the level bench in the settings)")
		}
		if slices.ContainsFunc(e.Factors, func(f dyno.Factor) bool { return f.Name == dyno.BenchFactor }) {
			return flags.Mistakef("--pair %s and --vary bench are the same (want one)", o.pair)
		}
		e.Factors = append(slices.Clone(e.Factors), dyno.Factor{Name: dyno.BenchFactor, Levels: strings.Split(o.pair, ",")})
	}
	if _, err := regexp.Compile(e.Bench.Match); err != nil {
		return flags.Mistakef("--bench %q: %v (want a regular expression, as for go test -bench)", e.Bench.Match, err)
	}
	limits := e.Thresholds
	e.Thresholds = nil         // which may be of the change that --aa makes
	err := check.Experiment(e) // before the settings are listed
	e.Thresholds = limits
	if err != nil {
		return o.plan.Check(e, check.Experiment)
	}
	if o.baseline, err = campaignOf(cmd).FromCache(cmd.Context(), e, o.baseline, o.cache); err != nil {
		return err
	}
	switch n := len(e.Levels()); {
	case o.aa && o.baseline != "":
		return flags.Mistakef("--aa and --baseline are two experiments (want one)")
	case o.aa:
		// Nothing reads the variable.
		first := e.Levels()[0]
		e.Factors, e.Settings = nil, []dyno.Setting{
			append(slices.Clone(first), dyno.Level{Factor: dyno.AAFactor, Value: "1"}),
			append(slices.Clone(first), dyno.Level{Factor: dyno.AAFactor, Value: "2"}),
		}
	case o.baseline != "" && n > 1:
		return flags.Mistakef("--baseline is compared with one setting, not %d (consider: a run without --baseline)", n)
	case o.baseline != "":
		return campaign.CheckBaseline(o.baseline)
	case n < 2:
		return flags.Mistakef("no factor is varied, so there is nothing to compare (consider: --vary rev=HEAD,. for uncommitted changes, --vary rev=main,HEAD, --pair A,B, or --baseline FILE for a benchmark file)")
	}
	return nil
}
