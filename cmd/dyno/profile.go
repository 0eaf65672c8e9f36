package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/analysis/profiles"
	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/profile"
	"github.com/dynolab/dyno/internal/store"
)

// summaryRows are the functions of a setting.
const summaryRows = 5

type profileFlags struct {
	kind, setting, base string
	bench               string // of a run of benchmarks, a part of the name of one
	one, versus         bool   // setting, base are given; the name of a setting may be empty
	rows                int
	cum, flat           bool
	own                 string
	folded              bool
	format
}

func newProfile() *cobra.Command {
	var o profileFlags
	cmd := &cobra.Command{
		Use:   "profile DIR [top | list FUNC | peek FUNC | flame]",
		Short: "Show the profiles of a run, or what changed between two settings",
		Long: `Profile shows the profiles of dyno run --profile cpu,allocs per request, as the mean
of all trials of a setting. It shows the profiles of dyno bench, which are of the
benchmarks that changed, per operation.

    dyno profile DIR                            a list of profiles, what uses CPU time, the top functions
    dyno profile DIR --base 100                 changes of every other setting, with intervals
    dyno profile DIR top --type allocs --setting GOGC=50
    dyno profile DIR list rssSearch             the source, line by line; with --base the change too
    dyno profile DIR peek ToLower               its callers and callees, as pprof -peek shows them
    dyno profile DIR flame                      a tree of stacks
    dyno profile DIR flame --folded             for other tools
    dyno profile DIR --bench Encode --base main a benchmark that dyno bench found changed

The cost of a function includes the library calls that it makes, as only the subject's
own code can be changed (--flat: the function alone; --cum: all that it calls). FUNC is
a regular expression. Any unique part of a setting's name selects it.`,
		Args: cobra.RangeArgs(1, 3),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&o.kind, "type", "", "`profile` to show: "+strings.Join(dyno.ProfileNames, ", ")+" (default all in the summary and with --base, else the first)")
	fs.StringVar(&o.bench, "bench", "", "`benchmark` to show, in a run of dyno bench (default the first with profiles)")
	fs.StringVar(&o.setting, "setting", "", "`setting` to show (default all, or the baseline)")
	fs.StringVar(&o.base, "base", "", "show the changes from this `setting`")
	fs.IntVarP(&o.rows, "rows", "n", 20, "functions in a table; 0 means all")
	fs.BoolVar(&o.flat, "flat", false, "sort by the cost of each function alone")
	fs.BoolVar(&o.cum, "cum", false, "sort by the cost of each function with all that it calls")
	fs.StringVar(&o.own, "own", "", "`prefix` of the subject's own packages (default package main, and all outside the standard library and other modules)")
	fs.BoolVar(&o.folded, "folded", false, "flame: one stack per line, for flamegraph.pl, speedscope and inferno")
	o.format.flags(fs, "format of tables: text, json or markdown", "text", "json", "markdown")
	return cmd
}

func (o *profileFlags) run(cmd *cobra.Command, args []string) error {
	verb := "summary"
	if len(args) > 1 {
		verb = args[1]
	}
	if err := o.check(verb, len(args)); err != nil {
		return err
	}
	var match *regexp.Regexp
	if len(args) == 3 {
		var err error
		if match, err = regexp.Compile(args[2]); err != nil {
			return flags.Mistakef("bad FUNC: %v", err)
		}
	}
	dir, err := readNoted(cmd, args[0])
	if err != nil {
		return err
	}
	results, err := o.results(dir)
	if err != nil {
		return err
	}
	run, err := findings.ReadProfiles(dir, results)
	if err != nil {
		return err
	}
	if verb != "summary" || o.base != "" { // else it tells them itself
		for _, note := range profile.LeftOut(run) {
			notef(cmd, "%s", note)
		}
	}
	if o.one = o.setting != ""; o.one {
		if o.setting, err = named(run.Settings, "--setting", o.setting); err != nil {
			return err
		}
	}
	if o.versus = o.base != ""; o.versus {
		if o.base, err = named(run.Settings, "--base", o.base); err != nil {
			return err
		}
	}
	if o.one && o.versus && o.setting == o.base {
		return flags.Mistakef("--setting and --base are the same, %s", layout.Label(o.base))
	}
	if o.kind != "" && !slices.Contains(run.Kinds, o.kind) {
		return fmt.Errorf("%s has no %s profile, but %s (consider: %s --profile %s)", args[0], o.kind, strings.Join(run.Kinds, ", "), findings.MadeBy(dir), strings.Join(append(run.Kinds, o.kind), ","))
	}
	switch verb {
	case "summary", "top":
		return o.tables(cmd, dir, run, verb)
	}
	return o.stacks(cmd, dir, run, verb, match)
}

// choose defaults to the first setting with profiles that is not the base.
func (o *profileFlags) choose(run *profiles.Run, p *profiles.Profiles) (string, error) {
	for _, s := range run.Settings {
		if p.Trials(s) > 0 && (s == o.setting || !o.one && !(o.versus && s == o.base)) {
			return s, nil
		}
	}
	return "", fmt.Errorf("no selected setting has a %s profile", p.Kind)
}

func (o *profileFlags) check(verb string, args int) error {
	want := map[string]int{"summary": 1, "top": 2, "flame": 2, "list": 3, "peek": 3}[verb]
	switch {
	case want == 0:
		return flags.Mistakef("unknown word %q (want top, list FUNC, peek FUNC or flame)", verb)
	case args < want:
		return flags.Mistakef("%s needs the name of a function, or a part of it", verb)
	case args > want:
		return flags.Mistakef("%s takes no function name", verb)
	case o.kind != "" && !slices.Contains(dyno.ProfileNames, o.kind):
		return flags.Mistakef("unknown profile %q (want %s)", o.kind, strings.Join(dyno.ProfileNames, ", "))
	case o.flat && o.cum:
		return flags.Mistakef("--flat and --cum are two orders (want one)")
	case o.form() == "markdown" && verb != "summary" && verb != "top":
		return flags.Mistakef("%s has no Markdown form", verb)
	case o.rows < 0:
		return flags.Mistakef("-n is %d (want at least 0)", o.rows)
	case verb == "peek" && o.form() == "json":
		return flags.Mistakef("peek prints pprof's text only (consider: flame --json, which has callers and callees)")
	case o.folded && verb != "flame":
		return flags.Mistakef("--folded is a form of flame")
	case o.base != "" && (verb == "peek" || verb == "flame"):
		return flags.Mistakef("%s shows one setting (consider: dyno profile DIR --base, or list FUNC --base)", verb)
	}
	return nil
}

func (o *profileFlags) order() profiles.Order {
	switch {
	case o.flat:
		return profiles.ByFlat
	case o.cum:
		return profiles.ByCum
	}
	return profiles.ByOwn
}

func (o *profileFlags) load(run *profiles.Run, kind string) (*profiles.Profiles, error) {
	var own func(pkg, file string) bool
	if o.own != "" {
		own = func(pkg, _ string) bool { return strings.HasPrefix(pkg, o.own) }
	}
	return run.Profiles(kind, own)
}

// results are those of the chosen benchmark, or all.
func (o *profileFlags) results(dir *store.Dir) ([]*dyno.Result, error) {
	results := dir.Results()
	if dir.Run.Plan.Bench == nil {
		if o.bench != "" {
			return nil, flags.Mistakef("--bench: %s is not a run of benchmarks", dir.Path)
		}
		return results, nil
	}
	names := findings.ProfiledBenchmarks(results)
	if len(names) == 0 {
		return nil, fmt.Errorf("%s has no profiles: dyno profiles only benchmarks that changed", dir.Path)
	}
	if o.bench == "" {
		return findings.ProfilesOf(results, names[0]), nil
	}
	name, err := theOne("--bench", o.bench, "benchmarks", names, func(name string) bool { return name == o.bench || strings.HasSuffix(name, "."+o.bench) })
	return findings.ProfilesOf(results, name), err
}

// named finds a setting by all of its name, a level, or any part that only one has.
func named(settings []string, flag, part string) (string, error) {
	return theOne(flag, part, "settings", settings,
		func(s string) bool { return s == part || layout.Label(s) == part },
		func(s string) bool {
			return slices.ContainsFunc(strings.Fields(s), func(l string) bool {
				_, level, _ := strings.Cut(l, "=")
				return level == part || l == part
			})
		})
}

// theOne finds the only name that is meant, by the first way in which any fits; the last
// is to have the text as a part.
func theOne(flag, text, noun string, names []string, ways ...func(name string) bool) (string, error) {
	list := func(names []string, and string) string {
		var labels []string
		for _, name := range names {
			labels = append(labels, layout.Label(name))
		}
		return strings.Join(labels, and)
	}
	for _, fits := range append(ways, func(name string) bool { return strings.Contains(name, text) }) {
		found := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !fits(name) })
		switch len(found) {
		case 0:
			continue
		case 1:
			return found[0], nil
		}
		return "", flags.Mistakef("%s %s matches %s", flag, text, list(found, " and "))
	}
	return "", flags.Mistakef("%s %s matches none of the %s with profiles: %s", flag, text, noun, list(names, ", "))
}
