package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dynolab/dyno/cmd/dyno/help"
	"github.com/dynolab/dyno/internal/campaign"
	"github.com/dynolab/dyno/internal/campaign/tracking"
	"github.com/dynolab/dyno/internal/findings/tracks"
	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/dynolab/dyno/internal/report"
	"github.com/dynolab/dyno/internal/report/tracked"
)

// trackFlags are those of all subcommands of track.
type trackFlags struct {
	tracks.Options
	remote string
	format
}

func (o *trackFlags) flags(fs *pflag.FlagSet, forms ...string) {
	fs.SortFlags = false
	fs.StringVar(&o.Dir, "repo", ".", "a `dir`ectory of the repository")
	fs.StringVar(&o.At, "store", "", "`place` of the lines: a directory, s3://BUCKET/FOLDER, or a URL that takes GET and PUT (default the repository, refs/dyno/track)")
	fs.StringVar(&o.remote, "sync", "", "fetch lines from this `remote` of the repository before, and push them after")
	if len(forms) > 0 {
		o.format.flags(fs, "format of the result: "+forms[0]+", or another: see dyno help track", forms...)
	}
}

// open reads the track, with what others have pushed.
func (o *trackFlags) open(cmd *cobra.Command) (*tracking.Tracking, error) {
	t, err := tracking.Open(cmd.Context(), o.Options, func() *campaign.Campaign { return campaignOf(cmd) })
	if err == nil {
		err = t.Sync(cmd.Context(), o.remote)
	}
	return t, err
}

// begun is open where a track has begun.
func (o *trackFlags) begun(cmd *cobra.Command) (*tracking.Tracking, error) {
	t, err := o.open(cmd)
	if err == nil {
		err = t.Begun()
	}
	return t, err
}

// revOf is the revision that is asked for.
func revOf(args []string) string { return append(args, "HEAD")[0] }

func newTrack() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "track",
		Short: "Follow a service over its commits, and raise an alarm that is true",
		Long:  help.Track,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return flags.Mistakef("unknown command %q (want init, add, check or log)", args[0])
			}
			return cmd.Help()
		},
		Args: cobra.ArbitraryArgs,
	}
	cmd.AddCommand(newTrackInit(), newTrackAdd(), newTrackCheck(), newTrackLog())
	return cmd
}

func newTrackInit() *cobra.Command {
	var p flags.Set
	var o trackFlags
	var anchor string
	cmd := &cobra.Command{
		Use:   "init [TARGET] [flags] [-- ARGUMENT...]",
		Short: "Begin a track: keep the plan, and the commit that others are compared with",
		Args:  oneTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := planned(cmd, &p, args, false)
			if err != nil {
				return err
			}
			o.Name = e.Name
			t, err := o.open(cmd)
			if err != nil {
				return err
			}
			was := t.Log.Start.Anchor
			fresh, err := t.Init(cmd.Context(), e, anchor, cmd.Flags().Changed("anchor"))
			if err != nil {
				return err
			}
			if !fresh && t.Log.Start.Anchor == was {
				notef(cmd, "the track is there already, with the same plan")
			}
			if err := t.Sync(cmd.Context(), o.remote); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is tracked in %s, against %.12s. Next: dyno track add%s\n", t.Log.Start.Name, t.Ledger, t.Log.Start.Anchor, o.again(t))
			return err
		},
	}
	fs := cmd.Flags()
	o.flags(fs)
	fs.StringVar(&anchor, "anchor", "HEAD", "the `commit` that all others are measured against")
	p.LoadFlags(fs)
	p.SubjectFlags(fs)
	for _, name := range append(ofOneRun, "rev", "vary", "on", "command", "threshold", "slice") {
		if f := fs.Lookup(name); f != nil {
			f.Hidden = true
		}
	}
	return cmd
}

// again are the flags that the next command needs, too.
func (o *trackFlags) again(t *tracking.Tracking) (all string) {
	for _, f := range [][]string{{" --store ", o.At}, {" --sync ", o.remote}} {
		if f[1] != "" {
			all += f[0] + f[1]
		}
	}
	if len(t.Log.Names) > 1 {
		all += " --name " + t.Log.Start.Name
	}
	return all
}

// named adds the flag for one of several tracks.
func (o *trackFlags) named(fs *pflag.FlagSet) {
	fs.StringVar(&o.Name, "name", "", "`name` of the track, if there are several")
}

func newTrackAdd() *cobra.Command {
	var o trackFlags
	var add tracking.Adding
	var check tracking.Checking
	checked, gate := false, false
	cmd := &cobra.Command{
		Use:   "add [REVISION]",
		Short: "Measure a commit beside the anchor and the commit before",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := o.begun(cmd)
			if err != nil {
				return err
			}
			if add.Rev = revOf(args); add.Blocks < 2 {
				return flags.Mistakef("--blocks %d: want 2 or more", add.Blocks)
			}
			point, err := t.Add(cmd.Context(), add)
			switch {
			case errors.Is(err, tracking.ErrAnchor):
				notef(cmd, "%v: nothing was measured", err)
				check.Rev = t.Log.Start.Anchor
			case err != nil:
				return err
			default:
				if check.Rev = point.Commit; point.Same {
					notef(cmd, "the program of %.12s is that of %.12s, so nothing was measured", point.Commit, point.Before)
				}
			}
			if !checked {
				check.Most = 0
			}
			return o.conclude(cmd, t, check, gate)
		},
	}
	fs := cmd.Flags()
	o.flags(fs, "text", "json", "markdown", "html", "svg")
	o.named(fs)
	fs.IntVar(&add.Blocks, "blocks", 8, "`number` of blocks that are measured")
	fs.DurationVar(&add.Within, "within", 5*time.Minute, "most `time` for them")
	fs.StringVar(&add.Out, "out", "", "the `dir`ectory of the run (default dyno-runs/NAME-track-TIME)")
	fs.BoolVar(&checked, "check", false, "look at possible changes after it, as dyno track check does")
	looks(fs, &check, &gate)
	return cmd
}

// looks adds the flags of a check.
func looks(fs *pflag.FlagSet, c *tracking.Checking, gate *bool) {
	fs.IntVar(&c.Most, "looks", 3, "most `number` of possible changes that are looked at on fresh blocks")
	fs.DurationVar(&c.Within, "look-within", 6*time.Minute, "most `time` for each of them")
	fs.BoolVar(&c.NoName, "no-bisect", false, "do not search for the commit of a change that is shown")
	fs.BoolVar(gate, "gate", false, "exit with status 99 if something is shown to be worse: by this command, or with this revision; with 98 if the revision cannot be compared")
}

func newTrackCheck() *cobra.Command {
	var o trackFlags
	var c tracking.Checking
	gate := false
	cmd := &cobra.Command{
		Use:   "check [REVISION]",
		Short: "Look at possible changes on fresh blocks, and say which are shown",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := o.begun(cmd)
			if err != nil {
				return err
			}
			c.Rev = revOf(args)
			return o.conclude(cmd, t, c, gate)
		},
	}
	fs := cmd.Flags()
	o.flags(fs, "text", "json", "markdown", "html", "svg")
	o.named(fs)
	looks(fs, &c, &gate)
	return cmd
}

func newTrackLog() *cobra.Command {
	var o trackFlags
	cmd := &cobra.Command{
		Use:   "log [REVISION]",
		Short: "Show what is known, without measuring",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := o.begun(cmd)
			if err != nil {
				return err
			}
			return o.conclude(cmd, t, tracking.Checking{Rev: revOf(args)}, false)
		},
	}
	fs := cmd.Flags()
	o.flags(fs, "text", "json", "markdown", "html", "svg")
	o.named(fs)
	return cmd
}

// conclude looks at as many possible changes as it may, sends the lines, and prints what is known. After an error it prints that, too.
func (o *trackFlags) conclude(cmd *cobra.Command, t *tracking.Tracking, c tracking.Checking, gate bool) error {
	at, err := t.Commit(cmd.Context(), c.Rev)
	if err != nil {
		return err
	}
	c.Remote = o.remote
	waiting, failed := t.Check(cmd.Context(), c)
	failed = errors.Join(failed, t.Sync(cmd.Context(), o.remote))
	r, err := t.Report(cmd.Context(), c.Rev, version())
	if err != nil {
		return errors.Join(failed, err)
	}
	r.Waiting, r.New = waiting, t.Shown
	if failed = errors.Join(failed, o.write(cmd.OutOrStdout(), r)); failed != nil || !gate {
		return failed
	}
	switch worse := r.Worse(at); {
	case worse != "":
		return &gateError{exitThreshold, r.Log.Start.Name + ": " + worse + " (--gate)"}
	case slices.Contains(r.Apart, at.ID):
		return &gateError{exitUnclear, fmt.Sprintf("%.12s cannot be compared with the commits before: nothing tells the level of its anchor (--gate)", at.ID)}
	}
	return nil
}

func (o *trackFlags) write(w io.Writer, r *tracked.Report) error {
	switch o.form() {
	case "json":
		return report.JSON(w, r.Document())
	case "markdown":
		_, err := io.WriteString(w, r.Markdown())
		return err
	case "html":
		return r.HTML(w)
	case "svg":
		return r.Badge(w)
	}
	_, err := io.WriteString(w, r.Text(lookOf(w)))
	return err
}
