package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/dynolab/dyno/cmd/dyno/interrupt"
	"github.com/dynolab/dyno/internal/answer"
	"github.com/dynolab/dyno/internal/findings/receipts"
	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/dynolab/dyno/internal/receipt"
	"github.com/dynolab/dyno/internal/report"
	"github.com/dynolab/dyno/internal/report/layout"
	"github.com/dynolab/dyno/internal/report/promises"
	"github.com/dynolab/dyno/internal/store"
)

// runsRoot is where run directories are unless said.
const runsRoot = "dyno-runs"

func newReceipt() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "receipt",
		Short: "Hold what dyno promised against what came",
		Long: `Receipt keeps the promises of dyno. Every dyno predict --save, and every answer of tune,
capacity and upgrade that has figures, leaves a receipt: what was promised, with
intervals, under which load, and by which version. Receipt check holds it against
what came, and receipt list says how many of all promises held.

    dyno predict DIR --save                       promise
    dyno receipt check dyno-runs/shop-20261121-101500
    dyno receipt list`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return flags.Mistakef("unknown command %q (want check or list)", args[0])
			}
			return cmd.Help()
		},
		Args: cobra.ArbitraryArgs,
	}
	cmd.AddCommand(interrupt.AtOnce(newReceiptCheck()), interrupt.AtOnce(newReceiptList()))
	return cmd
}

func newReceiptList() *cobra.Command {
	var o format
	var full bool
	cmd := &cobra.Command{
		Use:   "list [ROOT]",
		Short: "List receipts, and how many of all promises held",
		Long: `List prints the receipts below a directory, dyno-runs unless said, with what came of
them, and the share of promises that held, by command and figure.

    dyno receipt list
    dyno receipt list ~/work --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			root := append(args, runsRoot)[0]
			found, unread, err := findReceipts(cmd, root)
			if err != nil {
				return err
			}
			l, w := &promises.List{Root: root, Kept: found, Left: unread}, cmd.OutOrStdout()
			if o.form() == "json" {
				return report.JSON(w, l.JSON(answer.Head{Dyno: version(), Made: time.Now()}))
			}
			look := lookOf(w)
			look.Full = full
			_, err = fmt.Fprint(w, l.Text(look))
			return err
		},
	}
	o.flags(cmd.Flags(), "format of the result: text or json", "text", "json")
	cmd.Flags().BoolVarP(&full, "full", "v", false, "print all instead of one screen")
	return cmd
}

type receiptFlags struct {
	root, file, name string
	gate, full       bool
	sameMachine      bool
	sourceFlags
	format
}

func newReceiptCheck() *cobra.Command {
	var o receiptFlags
	cmd := &cobra.Command{
		Use:   "check [DIR]",
		Short: "Hold receipts against a later run, watch or log",
		Long: `Check holds receipts against what came after: a run directory (dyno watch writes one of
a live service), or the log of a service that ran with GODEBUG=gctrace=1. For each
figure it says that the promise held, that it did not hold, or that this cannot be
told, for example since the load changed. Where the model can, it corrects for the
load. It takes the receipts of the same service that promise for the setting, and keeps
the outcome beside each. A second check of the same run counts once.

    dyno receipt check dyno-runs/shop-20261121-101500
    dyno receipt check DIR --receipt dyno-runs/shop-tune-20261120-090000/receipt.json
    dyno receipt check --gctrace gc.log --requests 180000 --gogc-was 200 --name shop
    dyno receipt check DIR --gate                 exit status 99 if a promise did not hold,
                                                  98 if none could be told`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.onlyTyped(cmd)
			return o.run(cmd, args)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&o.file, "receipt", "", "hold this receipt `file` against it, not those that fit")
	fs.StringVar(&o.root, "root", runsRoot, "look for receipts below this `dir`ectory")
	fs.StringVar(&o.name, "name", "", "`name` of the service in receipts, if it is not that of the run")
	o.sourceFlags.flags(fs, "hold receipts against")
	fs.BoolVar(&o.sameMachine, "same-machine", false, "it ran on the machine that the promises are of, or on one as fast")
	fs.BoolVar(&o.gate, "gate", false, "exit with status 99 if a promise without a doubt did not hold, 98 if none could be told")
	o.format.flags(fs, "format of the result: text or json", "text", "json")
	fs.BoolVarP(&o.full, "full", "v", false, "print all instead of one screen")
	return cmd
}

func (o *receiptFlags) run(cmd *cobra.Command, args []string) error {
	if err := o.check(cmd, args); err != nil {
		return err
	}
	after, err := o.after(cmd, args)
	if err != nil {
		return err
	}
	if after.Goals > 0 && after.Assumed != "" && o.gogcWas == "" {
		return flags.Mistakef("the goals of the collections of %s look like GOGC=%d, not %d (consider: --gogc-was %[2]d)", after.Path, after.Goals, after.NotGoals)
	}
	after.SameMachine = o.sameMachine
	found, unread, err := findReceipts(cmd, o.root)
	if err != nil {
		return err
	}
	c := &promises.Checked{After: after, Of: promises.Below(o.root), Left: unread}
	if o.file != "" {
		err = o.only(c, &found)
	} else {
		c.Held, err = o.held(after, found)
	}
	if err != nil {
		return err
	}
	head := answer.Head{Dyno: version(), Made: time.Now()}
	var unkept error // is no reason not to answer
	for i := range c.Held {
		h := &c.Held[i]
		h.Check.Dyno, h.Check.Made = head.Dyno, head.Made
		if !h.Late {
			unkept = errors.Join(unkept, h.Add(h.Check))
		}
	}
	unkept = errors.Join(unkept, receipts.Withdraw(found, after, head.Dyno, head.Made))
	c.Rates = promises.RatesOf(found)
	w := cmd.OutOrStdout()
	if o.form() == "json" {
		err = report.JSON(w, c.JSON(head))
	} else {
		look := lookOf(w)
		look.Full = o.full
		_, err = fmt.Fprint(w, c.Text(look))
	}
	told, missed := c.Told()
	switch err = errors.Join(err, unkept); {
	case err != nil || !o.gate:
		return err
	case missed > 0:
		return &gateError{exitThreshold, layout.Count(missed, "promise") + " did not hold"}
	case told == 0:
		return &gateError{exitUnclear, "no promise without a doubt could be told"}
	}
	return nil
}

// after reads what came.
func (o *receiptFlags) after(cmd *cobra.Command, args []string) (*receipt.After, error) {
	read, err := o.options()
	if err != nil {
		return nil, err
	}
	if o.gctrace != "" {
		s, err := o.readLog(cmd, read)
		if err != nil {
			return nil, err
		}
		var written time.Time
		if info, err := os.Stat(o.gctrace); o.gctrace != "-" && err == nil && info.Mode().IsRegular() {
			written = info.ModTime()
		}
		return receipts.Log(s, read, written), nil
	}
	dir, err := o.open(cmd, args[0])
	if err != nil {
		return nil, err
	}
	return receipts.Run(dir, read)
}

// only holds the receipt of --receipt against what came. It counts among the receipts that were found, or alone if it lies elsewhere.
func (o *receiptFlags) only(c *promises.Checked, found *[]*receipts.Kept) error {
	k, err := receipts.Read(o.file)
	if err != nil {
		return err
	}
	h := promises.Held{Kept: k, Check: k.Against(c.After), Late: !k.Before(c.After)}
	if len(h.Check.Outcomes) == 0 {
		return fmt.Errorf("%s promises nothing for the settings of %s (%s)", o.file, c.After.Path, receipts.Ran(c.After))
	}
	c.Held = []promises.Held{h}
	if i := slices.IndexFunc(*found, func(x *receipts.Kept) bool { return x.ID == k.ID }); i >= 0 {
		(*found)[i] = k
	} else {
		c.Of, *found = "of "+o.file, []*receipts.Kept{k}
	}
	return nil
}

// held are the receipts that fit what came, with their outcomes. They are of the same service, promise for one of its settings, and were made
// before. A receipt in a copied directory counts once.
func (o *receiptFlags) held(after *receipt.After, found []*receipts.Kept) (held []promises.Held, err error) {
	late := 0
	var names []string
	for _, k := range found {
		h := promises.Held{Kept: k, Check: k.Against(after)}
		switch {
		case len(h.Check.Outcomes) == 0 || !k.IsOf(after, o.name):
		case !k.Before(after):
			late++
		case !slices.ContainsFunc(held, func(x promises.Held) bool { return x.ID == k.ID }):
			held = append(held, h)
			if !slices.Contains(names, k.Name) {
				names = append(names, k.Name)
			}
		}
	}
	switch {
	case len(held) == 0 && late > 0:
		return nil, fmt.Errorf("%s below %s promised for %s, but after it was measured (consider: --receipt FILE, which does not count it)", layout.Count(late, "receipt"), o.root, after.Path)
	case len(held) == 0:
		return nil, fmt.Errorf("no receipt below %s promises for %s of %s (consider: dyno predict DIR --save before a change; --name, or --receipt FILE)", o.root, receipts.Ran(after), after.Path)
	case len(names) > 1 && o.name == "" && after.Name == "":
		return nil, flags.Mistakef("receipts for this setting are of several services, and a log does not say of which it is (consider: --name, one of %s)", strings.Join(names, ", "))
	}
	return held, nil
}

// findReceipts notes what cannot be read. There need not be runs yet.
func findReceipts(cmd *cobra.Command, root string) (found []*receipts.Kept, unread []error, err error) {
	found, unread, err = receipts.Find(root)
	for _, err := range unread {
		notef(cmd, "left out: %v", err)
	}
	if root == runsRoot && errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return found, unread, err
}

// save keeps a receipt in a directory, "" for a new one that is named after a log.
func save(cmd *cobra.Command, dir, name string, r *receipt.Receipt) (err error) {
	if r == nil {
		return errors.New("nothing is promised: all settings were measured, or have no limit (consider: --gogc)")
	}
	if dir == "" {
		if dir, err = store.NewPath(strings.TrimSuffix(filepath.Base(name), ".log")+"-receipt", time.Now()); err != nil {
			return err
		}
	}
	path, err := receipts.Keep(dir, r)
	if err == nil {
		notef(cmd, "%s are kept in %s (consider, after the change: %s receipt check DIR)", layout.Count(len(r.Promises), "promise"), path, self())
	}
	return err
}
