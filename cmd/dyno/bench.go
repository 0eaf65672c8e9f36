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
	"github.com/dynolab/dyno/analysis/compare"
	"github.com/dynolab/dyno/plan/flags"
	"github.com/dynolab/dyno/report"
)

func newBench() *cobra.Command {
	o := benchFlags{out: outFlags{steps: true}}
	cmd := &cobra.Command{
		Use:   "bench [PACKAGES] [flags] [-- TEST FLAG...]",
		Short: "Compare Go benchmarks, side by side",
		Long: `Bench compares the benchmarks of test packages between two or more settings: of
revisions, Go versions, build flags, environment variables, or two functions of
one package. PACKAGES are as for go test (default .).

    dyno bench --vary rev=HEAD,.                       what is not committed yet, against the last commit
    dyno bench ./... --vary rev=main,. --fail-worse    in CI
    dyno bench --bench Encode --vary go=1.25.5,1.26.8
    dyno bench --vary GOGC=100,400
    dyno bench --vary build=-pgo=off,-pgo=default.pgo
    dyno bench --vary GOEXPERIMENT=,jsonv2
    dyno bench --pair Pipeline1,Pipeline2              BenchmarkPipeline1 and BenchmarkPipeline2
    dyno bench --aa --blocks 14                        the working tree against itself
    dyno bench --baseline old.txt                      against a file of go test -bench, not side by side
    dyno bench --baseline rev:main --cache .bench      against what the cache has of main, if it has
    dyno bench -f dyno.yaml                            of which the key bench is read
    dyno report dyno-runs/x-20261121-101500            the same report again

KEY of --vary is an environment variable (GOGC, GODEBUG, GOEXPERIMENT ...), which
holds for the build too, go, rev, build or bench; "." of rev is the working tree.

The tests are built once for each setting, and linked anew in every block, with
the functions in another order, the same in all settings. In a block all settings
of a benchmark run at the same time on the same CPU and take turns of milliseconds.
Blocks are added until each benchmark is decided or known to --precision, at most
for --duration; the chance of a false change in one comparison stays below --error
however often it is looked. Then the benchmarks that changed are profiled, and the
functions and lines that did it are shown. What makes a benchmark misleading, such
as a result that is optimised away, is said.

Flags after -- go to the test binary, such as -- -test.short. The processes of a
benchmark are stopped and continued, which takes a Unix system; only on Linux are
they pinned to a CPU.
` + summaryHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
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
	p.Key(fs, "name", "", "name", "name", "of the experiment")
	o.borrow(fs, "vary")
	fs.StringVar(&o.pair, "pair", "", "compare benchmarks of one package: `elements` of their names, such as Pipeline1,Pipeline2")
	fs.BoolVar(&o.aa, "aa", false, "compare the first setting with itself: what is said to change is a false alarm")
	fs.StringVar(&o.baseline, "baseline", "", "compare one setting with this `file` of benchmark results, which were not measured side by side")
	fs.StringVar(&o.cache, "cache", "", "keep the results of each commit in this `dir`ectory, for --baseline rev:NAME, as --baseline rev:main")
	p.Key(fs, "bench", "", "regexp", "bench.match", "which benchmarks, as of go test -bench (default all)")
	p.Key(fs, "cpus", "", "n", "bench.cpus", "CPUs that all processes are pinned to; -1: none are (default 1)")
	p.Key(fs, "duration", "d", "time", "bench.duration", fmt.Sprintf("of building and measuring at most (default %v or, where they take longer, --blocks or the %d that can tell a change)", dyno.DefaultBenchDuration, compare.FewestBenchBlocks()))
	p.Key(fs, "blocks", "", "n", "bench.blocks", "so many blocks, whatever is seen (default: until all is settled, or --duration)")
	p.Key(fs, "sample", "", "time", "bench.sample", "of one turn (default: what suits each benchmark, from 1ms on)")
	p.Key(fs, "precision", "", "share", "bench.precision", "half an interval that is narrow enough (default 1%)")
	p.Key(fs, "error", "", "share", "bench.error", "chance of a false change in one comparison (default 0.1%)")
	o.borrow(fs, "negligible", "seed", "env", "go", "rev", "build")
	fs.StringVar(&o.profile, "profile", "cpu,allocs", "`profiles` of benchmarks that changed, or none")
	thresholdFlags(p, fs, &o.out)
	fs.Lookup("threshold").Usage = "`limit` that must hold for every benchmark, or the exit status is 99: 'change(sec_per_op) < 5%', 'allocs_per_op == 0'; may be repeated, replaces the plan's"
	fs.Lookup("strict").Usage = "exit with status 98 if a threshold is unclear or, without any, a verdict"
	fs.BoolVar(&o.out.failWorse, "fail-worse", false, "exit with status 99 if anything is worse")
	o.out.flags(fs, "default dyno-runs/NAME-TIME")
	fs.Lookup("format").Usage = "of the result: " + strings.Join(report.Formats(compare.OfBenchmarks), ", ")
	fs.StringVar(&o.resume, "resume", "", "not for benchmarks")
	fs.Lookup("resume").Hidden = true
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
	if typed(cmd, "resume") {
		return nil, flags.Mistakef("benchmarks cannot be gone on with: blocks of another time would not be the same experiment (consider: dyno report %s for what it has, or dyno bench anew)", o.resume)
	}
	e, err := o.plan.Experiment()
	if err != nil {
		return nil, err
	}
	if e.Bench == nil {
		e.Bench = new(dyno.Bench)
	}
	b := e.Bench
	if n := cmd.ArgsLenAtDash(); n >= 0 {
		e.Subject.Args = args[n:]
		args = args[:n]
	}
	if len(args) > 0 {
		b.Packages, e.Subject.Dir = args, ""
	}
	if e.Subject.Dir == "" {
		if e.Subject.Dir, err = os.Getwd(); err != nil {
			return nil, err
		}
	}
	if e.Name == "" {
		e.Name = filepath.Base(e.Subject.Dir)
	}
	// What a plan may have for its service means nothing here.
	e.Load, e.Probes, e.Limits, e.Trace, e.Slice, e.Memory = dyno.Load{}, dyno.Probes{}, dyno.Limits{}, 0, 0, nil
	e.Repeats, e.ProfileRepeats = 0, 0
	if e.Profile, err = o.profiles(cmd, e.Profile); err != nil {
		return nil, err
	}
	if err := o.compared(cmd, e); err != nil {
		return nil, err
	}
	return e, o.plan.Check(e, (*dyno.Experiment).Check)
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
			return flags.Mistakef("--pair and a plan with settings are two ways to say what is compared (consider: the level bench in the settings)")
		}
		if slices.ContainsFunc(e.Factors, func(f dyno.Factor) bool { return f.Name == dyno.BenchFactor }) {
			return flags.Mistakef("--pair %s and --vary bench are the same (want one)", o.pair)
		}
		e.Factors = append(slices.Clone(e.Factors), dyno.Factor{Name: dyno.BenchFactor, Levels: strings.Split(o.pair, ",")})
	}
	if _, err := regexp.Compile(e.Bench.Match); err != nil {
		return flags.Mistakef("--bench %q: %v (want a regular expression, as of go test -bench)", e.Bench.Match, err)
	}
	limits := e.Thresholds
	e.Thresholds = nil // which may be of the change that --aa makes
	err := e.Check()   // before the settings are listed
	e.Thresholds = limits
	if err != nil {
		return o.plan.Check(e, (*dyno.Experiment).Check)
	}
	if err := o.fromCache(cmd, e); err != nil {
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
		return flags.Mistakef("--baseline is compared with one setting, and there are %d (consider: side by side only, without --baseline)", n)
	case o.baseline != "":
		return checkBaseline(o.baseline)
	case n < 2:
		return flags.Mistakef("nothing is varied, so that there is nothing to compare (consider: --vary rev=HEAD,. for what is not committed yet, --vary rev=main,HEAD, --pair A,B, or --baseline FILE for this setting against a benchmark file)")
	}
	return nil
}
