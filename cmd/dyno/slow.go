package main

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/campaign/progress"
	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/dynolab/dyno/internal/report"
	"github.com/dynolab/dyno/internal/store"
)

func newSlow() *cobra.Command {
	var o format
	var percentile, setting, against string
	var serves []string
	cmd := &cobra.Command{
		Use:   "slow {DIR | TRACE...}",
		Short: "Say why the slowest requests are slow, and why a percentile changed",
		Long: `Slow reads the execution traces of dyno run --why-slow again, or those in files, as
net/http/pprof and runtime/trace.FlightRecorder write them. It says on which line the
slowest requests spend the time that typical ones do not, and which goroutine they
waited for; and of settings that differ, which lines changed the percentile.

    dyno slow DIR
    dyno slow DIR --p 99.9                          the slowest 0.1 %
    dyno slow DIR --setting rev=HEAD --against rev=main
    dyno slow trace.out --serves job                regions or tasks of the service's own, such as of a queue
    curl -o trace.out 'http://127.0.0.1:6060/debug/pprof/trace?seconds=5'
    dyno slow trace.out --format html > slow.html   with the slowest requests, one by one
    dyno slow DIR --format pprof > slow.pb.gz       for go tool pprof -http: slow.pb.gz, as a flame graph

Without a CPU profile at the same time (/debug/pprof/profile?seconds=5) a trace does not
have the lines of goroutines that run, only those on which they wait.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := strconv.ParseFloat(strings.TrimPrefix(percentile, "p"), 64)
			if err != nil || !(p >= 50 && p < 100) {
				return flags.Mistakef("--p %s is no percentile to look above (want 50 or more, below 100)", percentile)
			}
			if err := o.forFile(cmd, map[string]string{"html": "slow.html", "pprof": "slow.pb.gz"}[o.form()]); err != nil {
				return err
			}
			f, err := slowIn(cmd, args, setting, findings.Options{Base: against, Serves: serves, SlowerThan: p / 100})
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(f.Table.Settings, func(s findings.Setting) bool { return s.Slow != nil }) {
				return errors.New("no execution trace has enough requests (consider: dyno run --why-slow, a longer trace, or a lower --p)")
			}
			if o.form() == "json" {
				return report.JSON(cmd.OutOrStdout(), report.SlowJSON(f, answer.Head{Dyno: version(), Plan: store.Redacted(f.Plan), Made: time.Now()}))
			}
			out := cmd.OutOrStdout()
			if o.form() == "pprof" {
				out = progress.Raw(out)
			}
			return report.Slow(out, f, o.form(), lookOf(cmd.OutOrStdout()))
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&percentile, "p", "99", "requests above this `percentile` are slow")
	fs.StringVar(&setting, "setting", "", "part of the name of the `setting`s to show (default all)")
	fs.StringVar(&against, "against", "", "the `setting` to compare with (default the baseline)")
	fs.StringSliceVar(&serves, "serves", nil, "count each goroutine of these `function`s (prefixes) as a request, beside those of net/http and gRPC. Regions or tasks of runtime/trace of this type are the requests, and nothing else")
	o.flags(fs, "format: text, json, markdown, html or pprof", "text", "json", "markdown", "html", "pprof")
	return cmd
}

// slowIn reads trace files, or one run directory. setting is a part of the names of the settings to keep; the baseline
// stays.
func slowIn(cmd *cobra.Command, args []string, setting string, o findings.Options) (*findings.Findings, error) {
	switch info, err := os.Stat(args[0]); {
	case err != nil:
		return nil, err
	case !info.IsDir() && (setting != "" || o.Base != ""):
		return nil, flags.Mistakef("--setting and --against are of a run directory, and %s is a file", args[0])
	case !info.IsDir():
		return findings.Traces(args, o)
	case len(args) > 1:
		return nil, flags.Mistakef("%s is a directory: want one, or files of traces", args[0])
	}
	dir, err := readNoted(cmd, args[0])
	if err != nil {
		return nil, err
	}
	if o.Base != "" && !slices.ContainsFunc(dir.Run.Plan.Levels(), func(s dyno.Setting) bool { return s.String() == o.Base }) {
		return nil, flags.Mistakef("--against %s is no setting of the run (want one of %s)", o.Base, settingsOf(dir.Run.Plan))
	}
	f, err := findings.Read(dir, o)
	if err != nil {
		return nil, err
	}
	if all := f.Table.Settings; setting != "" {
		f.Table.Settings = slices.DeleteFunc(slices.Clone(all), func(s findings.Setting) bool {
			return !s.Baseline && !strings.Contains(s.Setting.String(), setting)
		})
		if len(f.Table.Settings) == 1 && !strings.Contains(all[0].Setting.String(), setting) {
			return nil, flags.Mistakef("--setting %s is in no setting of the run (want a part of %s)", setting, settingsOf(dir.Run.Plan))
		}
	}
	return f, nil
}

func settingsOf(e *dyno.Experiment) string {
	var names []string
	for _, s := range e.Levels() {
		names = append(names, s.Label())
	}
	return strings.Join(names, ", ")
}
