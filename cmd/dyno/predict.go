package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/analysis/gcmodel"
	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/findings/predict"
	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/dynolab/dyno/internal/report"
	"github.com/dynolab/dyno/internal/report/prediction"
	"github.com/dynolab/dyno/internal/store"
)

type predictFlags struct {
	gogc, limits string
	live         float64
	group        string
	save, full   bool
	sourceFlags
	format
}

// A sourceFlags says where collections are read, and what is not said there.
type sourceFlags struct {
	gctrace           string
	requests          int64
	duration          time.Duration
	gogcWas, limitWas string
}

// flags begin with a verb, such as "predict from".
func (o *sourceFlags) flags(fs *pflag.FlagSet, verb string) {
	fs.StringVar(&o.gctrace, "gctrace", "", verb+" the log `file` of a program that ran with GODEBUG=gctrace=1; - is standard input")
	fs.Int64Var(&o.requests, "requests", 0, "`number` of requests answered during the log")
	fs.DurationVar(&o.duration, "duration", 0, "`time` in which --requests were answered, if not that of the log; of several processes the sum")
	fs.StringVar(&o.gogcWas, "gogc-was", "", "`value` of GOGC that was in force, if dyno did not set it (default 100)")
	fs.StringVar(&o.limitWas, "limit-was", "", "`value` of GOMEMLIMIT that was in force (default none)")
}

// onlyTyped leaves out DYNO_REQUESTS and DYNO_DURATION, which are of a load.
func (o *sourceFlags) onlyTyped(cmd *cobra.Command) {
	if !typed(cmd, "requests") {
		o.requests = 0
	}
	if !typed(cmd, "duration") {
		o.duration = 0
	}
}

func newPredict() *cobra.Command {
	var o predictFlags
	cmd := &cobra.Command{
		Use:   "predict [DIR]",
		Short: "Predict what other values of GOGC and GOMEMLIMIT would cost",
		Long: `Predict estimates the cost of garbage collection under settings that were not
measured: its frequency, its CPU time, and the peaks of heap and resident memory,
each with a 90% interval. It replays the collections of a run through the rules of
the runtime's pacer, and measures nothing.

    dyno predict dyno-runs/sessions-20261121-101500
    dyno predict DIR --gogc 60,80 --limit none,200MiB     these settings
    dyno predict DIR --live 1.25                          with a live heap 25% larger
    dyno predict DIR --format html > predicted.html

One setting with 15 or more collections is enough. Two also show what a collection
costs beyond the CPU time that the runtime attributes to it. Predict also reads the
log of a service that ran elsewhere with GODEBUG=gctrace=1 (and gcpacertrace=1, for
sizes to the byte). Without --requests, its figures are per minute:

    dyno predict --gctrace gc.log --requests 180000 --duration 1h --gogc-was 200

With --save it keeps what it predicts as a receipt, against which dyno receipt check
holds what comes.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.onlyTyped(cmd)
			return o.run(cmd, args)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&o.gogc, "gogc", "", "predict these `values` of GOGC, such as 50,75,off (default 10 to 1600 and off)")
	fs.StringVar(&o.limits, "limit", "", "predict these `values` of GOMEMLIMIT, such as none,200MiB (default some, from the lowest workable one up)")
	fs.Float64Var(&o.live, "live", 1, "multiply the measured live heap by this `factor`")
	fs.StringVar(&o.group, "group", "", "the other `levels`, such as rev=main, if the run varies more than GOGC and GOMEMLIMIT (default the baseline's)")
	o.sourceFlags.flags(fs, "predict from")
	fs.BoolVar(&o.save, "save", false, "keep the predictions as receipt.json in the run directory; of a log, in dyno-runs/NAME-receipt-TIME")
	o.format.flags(fs, "format of the result: text, json or html", "text", "json", "html")
	fs.BoolVarP(&o.full, "full", "v", false, "print all instead of one screen")
	return cmd
}

func (o *predictFlags) run(cmd *cobra.Command, args []string) error {
	q, err := o.question()
	if err != nil {
		return err
	}
	read, err := o.options()
	if err != nil {
		return err
	}
	read.Group = o.group
	if err := o.check(cmd, args); err != nil {
		return err
	}
	var s *predict.Source
	if o.gctrace != "" {
		s, err = o.readLog(cmd, read)
	} else if dir, failed := o.open(cmd, args[0]); failed != nil {
		err = failed
	} else {
		s, err = predict.Read(dir, read)
	}
	if err != nil {
		return err
	}
	f := s.Forecast(s.Fit(), q)
	w, head := cmd.OutOrStdout(), answer.Head{Dyno: version(), Made: time.Now()}
	switch o.form() {
	case "json":
		err = report.JSON(w, prediction.JSON(f, head))
	case "html":
		err = prediction.HTML(w, f)
	default:
		look := lookOf(w)
		look.Full = o.full
		err = prediction.Text(w, f, look)
	}
	if err == nil && o.save {
		err = save(cmd, append(args, "")[0], f.Name, prediction.Receipt(f, head))
	}
	return err
}

func (o *predictFlags) check(cmd *cobra.Command, args []string) error {
	if err := o.sourceFlags.check(cmd, args); err != nil {
		return err
	}
	if o.gctrace != "" && o.group != "" {
		return flags.Mistakef("--group is for a run; a log has one group")
	}
	return o.forFile(cmd, "predicted.html")
}

func (o *sourceFlags) check(cmd *cobra.Command, args []string) error {
	switch {
	case o.gctrace == "" && len(args) == 0:
		return flags.Mistakef("no run given (consider: %s dyno-runs/NAME, or --gctrace FILE for a log)", cmd.CommandPath())
	case o.gctrace != "" && len(args) > 0:
		return flags.Mistakef("--gctrace is for a log, but %s is a run (want one of them)", args[0])
	case o.gctrace == "" && (o.requests != 0 || o.duration != 0):
		return flags.Mistakef("--requests and --duration are for a log; a run has its own (consider: --gctrace FILE)")
	case o.requests < 0 || o.duration < 0:
		return flags.Mistakef("--requests and --duration cannot be negative")
	case o.duration > 0 && o.requests == 0:
		return flags.Mistakef("--duration needs --requests, the number answered in this time")
	}
	return nil
}

// question is what the flags ask for.
func (o *predictFlags) question() (q predict.Question, err error) {
	if !(o.live > 0 && o.live <= 1000) {
		return q, flags.Mistakef("--live %v: want a factor, such as 1.25", o.live)
	}
	q.Live = o.live
	for _, text := range listed(o.gogc) {
		x, err := predict.ParseGOGC(text)
		if err != nil {
			return q, flags.Mistakef("--gogc: %w", err)
		}
		q.GOGC = append(q.GOGC, x)
	}
	for _, text := range listed(o.limits) {
		x, err := parseLimit(text)
		if err != nil {
			return q, flags.Mistakef("--limit: %w", err)
		}
		q.Limits = append(q.Limits, x)
	}
	return q, nil
}

// listed are the parts of a list with commas; there are none in "".
func listed(list string) (parts []string) {
	if list == "" {
		return nil
	}
	for part := range strings.SplitSeq(list, ",") {
		parts = append(parts, strings.TrimSpace(part))
	}
	return parts
}

// parseLimit reads a value of GOMEMLIMIT; off and none mean no limit.
func parseLimit(text string) (float64, error) {
	if text == "off" {
		return 0, nil
	}
	n, err := dyno.ParseSize(text)
	return float64(n), err
}

// options say what really was in force.
func (o *sourceFlags) options() (read predict.Options, err error) {
	if o.gogcWas != "" {
		x, err := predict.ParseGOGC(o.gogcWas)
		if err != nil {
			return read, flags.Mistakef("--gogc-was: %w", err)
		}
		read.GOGC = &x
	}
	if o.limitWas != "" {
		x, err := parseLimit(o.limitWas)
		if err != nil {
			return read, flags.Mistakef("--limit-was: %w", err)
		}
		read.Limit = &x
	}
	return read, nil
}

// open opens a run directory.
func (o *sourceFlags) open(cmd *cobra.Command, path string) (*store.Dir, error) {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is a file, not a run directory (consider: --gctrace %[1]s)", path)
	}
	return readNoted(cmd, path)
}

func (o *sourceFlags) readLog(cmd *cobra.Command, read predict.Options) (*predict.Source, error) {
	l := predict.Log{Name: o.gctrace, Requests: float64(o.requests), Duration: o.duration, Told: gcmodel.Setting{GOGC: 100}}
	if read.GOGC != nil {
		l.Told.GOGC = *read.GOGC
	}
	if read.Limit != nil {
		l.Told.Limit = *read.Limit
	}
	in, err := openLog(cmd, o.gctrace)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if o.gctrace == "-" {
		l.Name = "standard input"
	}
	s, err := predict.ReadLog(in, l)
	if errors.Is(err, predict.ErrNothing) && err.Error() == predict.ErrNothing.Error() {
		return nil, noCollections(o.gctrace)
	}
	if err != nil {
		return nil, fmt.Errorf("%s from %s: %w", cmd.Name(), l.Name, err)
	}
	return s, nil
}
