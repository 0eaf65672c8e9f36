package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/analysis/profiles"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/plan/flags"
	"github.com/dynolab/dyno/report"
	"github.com/dynolab/dyno/report/layout"
	"github.com/dynolab/dyno/report/pprofpage"
	"github.com/dynolab/dyno/report/profile"
	"github.com/dynolab/dyno/store"
)

// summaryRows are the functions of a setting.
const summaryRows = 5

type profileFlags struct {
	kind, setting, base string
	bench               string // of a run of benchmarks, a part of the name of one
	one, versus         bool   // setting, base are given; the name of a setting may be empty
	rows                int
	cum, flat           bool
	own, format         string
	json, folded        bool
}

func newProfile() *cobra.Command {
	var o profileFlags
	cmd := &cobra.Command{
		Use:   "profile DIR [top | list FUNC | peek FUNC | flame]",
		Short: "Show the profiles of a run, or what changed between two settings",
		Long: `Profile shows what dyno run --profile cpu,allocs took, per request, as the mean of
all trials of a setting; and what dyno bench took of benchmarks that changed, per
operation.

    dyno profile DIR                            which there are; what CPU time is spent on; the first functions
    dyno profile DIR --base 100                 what changed, of every other setting, with intervals
    dyno profile DIR top --type allocs --setting GOGC=50
    dyno profile DIR list rssSearch             the source, line by line; with --base the change too
    dyno profile DIR peek ToLower               its callers and callees, as pprof -peek has them
    dyno profile DIR flame                      a tree of stacks
    dyno profile DIR flame --folded             for other tools
    dyno profile DIR --bench Encode --base main a benchmark that dyno bench found changed

A function is charged with what it costs itself and with the library calls that it
makes, as it is the subject's own code that can be changed (--flat: only what a
function does itself; --cum: all that it calls). FUNC is a regular expression. A
setting may be given by any part that only one has.`,
		Args: cobra.RangeArgs(1, 3),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&o.kind, "type", "", "which `profile`: "+strings.Join(dyno.ProfileNames, ", ")+" (default all in the summary and with --base, else the first there is)")
	fs.StringVar(&o.bench, "bench", "", "of a run of dyno bench, which `benchmark` (default the first that has profiles)")
	fs.StringVar(&o.setting, "setting", "", "of which `setting` (default all, or the baseline)")
	fs.StringVar(&o.base, "base", "", "what changed since this `setting`")
	fs.IntVarP(&o.rows, "rows", "n", 20, "functions in a table; 0 means all")
	fs.BoolVar(&o.flat, "flat", false, "sort by what functions do themselves")
	fs.BoolVar(&o.cum, "cum", false, "sort by what functions do with all that they call")
	fs.StringVar(&o.own, "own", "", "the `prefix` of the subject's own packages (default package main and what is neither standard library nor another module)")
	fs.BoolVar(&o.folded, "folded", false, "flame: one stack a line, as flamegraph.pl, speedscope and inferno take it")
	fs.StringVar(&o.format, "format", "text", "of tables: text, json or markdown")
	fs.BoolVar(&o.json, "json", false, "short for --format json")
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
	if o.json {
		o.format = "json"
	}
	var match *regexp.Regexp
	if len(args) == 3 {
		var err error
		if match, err = regexp.Compile(args[2]); err != nil {
			return flags.Mistakef("bad FUNC: %v", err)
		}
	}
	dir, err := store.Read(args[0])
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
	notes := dir.Notes()
	if verb != "summary" || o.base != "" { // else it tells them itself
		notes = append(notes, profile.LeftOut(run)...)
	}
	for _, note := range notes {
		notef(cmd, "%s", note)
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
	return "", fmt.Errorf("no setting that was asked for has a %s profile", p.Kind)
}

func (o *profileFlags) check(verb string, args int) error {
	want := map[string]int{"summary": 1, "top": 2, "flame": 2, "list": 3, "peek": 3}[verb]
	switch {
	case want == 0:
		return flags.Mistakef("unknown word %q (want top, list FUNC, peek FUNC or flame)", verb)
	case args < want:
		return flags.Mistakef("%s needs the name of a function, or a part of it", verb)
	case args > want:
		return flags.Mistakef("%s takes no name of a function", verb)
	case o.kind != "" && !slices.Contains(dyno.ProfileNames, o.kind):
		return flags.Mistakef("unknown profile %q (want %s)", o.kind, strings.Join(dyno.ProfileNames, ", "))
	case o.flat && o.cum:
		return flags.Mistakef("--flat and --cum are two orders: only one of them can be had")
	case !slices.Contains([]string{"text", "json", "markdown"}, o.format):
		return flags.Mistakef("unknown format %q (want text, json or markdown)", o.format)
	case o.format == "markdown" && verb != "summary" && verb != "top":
		return flags.Mistakef("%s has no Markdown form", verb)
	case o.rows < 0:
		return flags.Mistakef("-n is %d (want at least 0)", o.rows)
	case verb == "peek" && (o.json || o.format == "json"):
		return flags.Mistakef("peek is a text of pprof's (consider: flame --json, which has callers and callees)")
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

func (o *profileFlags) tables(cmd *cobra.Command, dir *store.Dir, run *profiles.Run, verb string) error {
	kinds := run.Kinds
	switch {
	case o.kind != "":
		kinds = []string{o.kind}
	case verb == "top" && !o.versus:
		kinds = kinds[:1]
	}
	out := &profile.Profile{Rows: o.rows}
	if verb == "summary" && !o.versus {
		out.About, out.Notes = profile.AboutProfiles(run)
		if !cmd.Flags().Changed("rows") {
			out.Rows = summaryRows
		}
	}
	for _, kind := range kinds {
		p, err := o.load(run, kind)
		if err != nil {
			return err
		}
		if verb == "summary" && !run.PerOp {
			out.Shares = append(out.Shares, slices.DeleteFunc(p.CPUShares(), func(s profiles.CPUShare) bool {
				return o.one && s.Setting != o.setting && !(o.versus && s.Setting == o.base)
			})...)
		}
		for _, s := range run.Settings {
			switch {
			case o.one && s != o.setting, p.Trials(s) == 0:
			case o.versus && s != o.base && p.Trials(o.base) > 0:
				out.Diffs = append(out.Diffs, p.Difference(o.base, s, o.order(), findings.Negligible(dir.Run.Plan)))
			case !o.versus:
				out.Tops = append(out.Tops, p.Top(s, o.order()))
			}
		}
	}
	if o.versus && len(out.Diffs) == 0 {
		return fmt.Errorf("no other setting has profiles to compare with those of %s", layout.Label(o.base))
	}
	w := cmd.OutOrStdout()
	switch o.format {
	case "json":
		return report.JSON(w, out)
	case "markdown":
		return profile.Markdown(w, out)
	}
	return profile.Text(w, out, lookOf(w))
}

func (o *profileFlags) stacks(cmd *cobra.Command, dir *store.Dir, run *profiles.Run, verb string, match *regexp.Regexp) error {
	kind := cmp.Or(o.kind, run.Kinds[0])
	p, err := o.load(run, kind)
	if err != nil {
		return err
	}
	setting, err := o.choose(run, p)
	if err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	asJSON := o.format == "json"
	title := func() {
		of := counted(p.Trials(setting), "trial")
		if p.Trials(setting) != 1 {
			of = "mean of " + of
		}
		fmt.Fprintf(w, "%s of %s, %s\n\n", kind, layout.Label(setting), of)
	}
	none := fmt.Errorf("no function in the %s profiles of %s matches %v", kind, layout.Label(setting), match)
	switch verb {
	case "list":
		ls := p.List(match, setting, o.versus, o.base)
		if len(ls) == 0 {
			return none
		}
		if asJSON {
			return report.JSON(w, ls)
		}
		title()
		text, losses := findings.ReadSources(dir, run, ls, kind, setting)
		for _, loss := range losses {
			notef(cmd, "%v", loss)
		}
		return profile.List(w, ls, p.Metric, o.versus, text)
	case "peek":
		sum, err := run.Sum(kind, setting)
		if err != nil {
			return err
		}
		text, err := pprofpage.Peek(kind, sum, match)
		if errors.Is(err, fs.ErrNotExist) {
			return none
		}
		fmt.Fprint(w, text)
		return err
	}
	tree := p.Flame(setting)
	switch {
	case asJSON:
		return report.JSON(w, tree)
	case o.folded:
		return profile.Folded(w, tree, p.Metric)
	}
	title()
	return profile.Flame(w, tree, p.Metric)
}

// results are those of the chosen benchmark, or all.
func (o *profileFlags) results(dir *store.Dir) ([]*dyno.Result, error) {
	if dir.Run.Plan.Bench == nil {
		if o.bench != "" {
			return nil, flags.Mistakef("--bench: %s is no run of benchmarks", dir.Path)
		}
		return dir.Results(), nil
	}
	results := dir.Results()
	names := findings.ProfiledBenchmarks(results)
	if len(names) == 0 {
		return nil, fmt.Errorf("%s has no profiles: of benchmarks only those that changed are profiled", dir.Path)
	}
	found := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.Contains(name, o.bench) })
	if i := slices.IndexFunc(names, func(name string) bool { return name == o.bench || strings.HasSuffix(name, "."+o.bench) }); i >= 0 {
		found = names[i : i+1]
	}
	switch {
	case len(found) == 0:
		return nil, flags.Mistakef("--bench %s fits none of the benchmarks that have profiles: %s", o.bench, strings.Join(names, ", "))
	case len(found) > 1 && o.bench != "":
		return nil, flags.Mistakef("--bench %s fits %s", o.bench, strings.Join(found, " and "))
	}
	return findings.ProfilesOf(results, found[0]), nil
}

// named finds a setting by all of its name, a level, or any part that only one has.
func named(settings []string, flag, part string) (string, error) {
	for _, fits := range []func(s string) bool{
		func(s string) bool { return s == part || layout.Label(s) == part },
		func(s string) bool {
			return slices.ContainsFunc(strings.Fields(s), func(l string) bool {
				_, level, _ := strings.Cut(l, "=")
				return level == part || l == part
			})
		},
		func(s string) bool { return strings.Contains(s, part) },
	} {
		found := slices.DeleteFunc(slices.Clone(settings), func(s string) bool { return !fits(s) })
		switch len(found) {
		case 0:
			continue
		case 1:
			return found[0], nil
		}
		return "", flags.Mistakef("%s %s fits %s", flag, part, strings.Join(labels(found), " and "))
	}
	return "", flags.Mistakef("%s %s fits none of the settings that have profiles: %s", flag, part, strings.Join(labels(settings), ", "))
}

func labels(settings []string) []string {
	var out []string
	for _, s := range settings {
		out = append(out, layout.Label(s))
	}
	return out
}
