package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/cmd/dyno/help"
	"github.com/dynolab/dyno/internal/campaign"
	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/dynolab/dyno/internal/report/tuned"
)

type tuneFlags struct {
	campaign.TuningFlags
	patch string
	campaignFlags
}

func newTune() *cobra.Command {
	var p flags.Set
	var o tuneFlags
	cmd := &cobra.Command{
		Use:   "tune [TARGET] [flags] [-- ARGUMENT...]",
		Short: "Say which GOGC and GOMEMLIMIT to set, and prove it",
		Long:  help.Tune,
		Args:  oneTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.patch != "" {
				return printPatch(cmd.OutOrStdout(), args, o.patch)
			}
			c := campaignOf(cmd)
			r, e, err := question(cmd, c, o.resume, args, func() (*dyno.Experiment, error) { return planned(cmd, &p, args, false) })
			if err != nil {
				return err
			}
			if e == nil {
				return printKept(cmd, &o.format, r)
			}
			if err := alone(cmd, "--%s is for one run, but tune decides itself how long each run takes (consider: --total)", ofOneRun...); err != nil {
				return err
			}
			t, err := campaign.NewTuning(c, r, e, cmp.Or(o.resume, o.dir), o.TuningFlags)
			if err != nil {
				return err
			}
			if o.print {
				return t.Print(cmd.OutOrStdout())
			}
			found, err := t.Run(cmd.Context())
			if found == nil {
				return err
			}
			return printAnswer(cmd, &o.format, found.Dir, found, err)
		},
	}
	o.flags(cmd.Flags(), &p)
	return cmd
}

func (o *tuneFlags) flags(fs *pflag.FlagSet, p *flags.Set) {
	fs.SortFlags = false
	fs.StringVar(&o.Goal, "goal", "", "the goal: min or max and a `metric`, such as 'min cpu_per_req' (default a sum of CPU time and memory)")
	fs.StringArrayVar(&o.SubjectTo, "subject-to", nil, "`limit` that must hold, such as 'rss_peak < 400MiB' or 'change(p99) < 5%'; may be repeated, replaces the plan's thresholds")
	fs.Float64Var(&o.Price, "memory-price", campaign.DefaultPrice, "without --goal: how many per cent of CPU time 1% of peak memory may cost, a `number`")
	fs.StringVar(&o.Gain, "gain", "2%", "least gain that is worth a change, a `share`")
	fs.StringVar(&o.Reserve, "reserve", "", "`size` of the memory reserved for the service, such as a container's limit if this machine sets none (default --limit memory=)")
	fs.DurationVar(&o.Total, "total", 5*time.Minute, "most `time` for all trials, without builds")
	fs.BoolVar(&o.Headroom, "headroom", false, "also measure half and double the load, and live heaps that are 25% and 50% larger")
	fs.StringSliceVar(&o.Try, "try", nil, "other `kinds` of settings to try, such as GOMAXPROCS,pgo,go=1.27.4")
	fs.StringVar(&o.patch, "patch", "", "print the change that the tuning in directory TARGET recommends, for this `kind`: env, docker, kubernetes or systemd; measure nothing")
	o.campaignFlags.flags(p, fs, "tuning", "the `dir`ectory of the tuning (default dyno-runs/NAME-tune-TIME)", ofOneRun...)
}

// ofOneRun are flags that tune has only to say that it decides what they say.
var ofOneRun = []string{"repeat", "within"}

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
