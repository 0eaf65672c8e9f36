package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/dynolab/dyno/findings"
	"github.com/dynolab/dyno/gctrace"
	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/dynolab/dyno/internal/report"
	"github.com/dynolab/dyno/internal/report/gclog"
	"github.com/dynolab/dyno/internal/unwrap"
)

type gcFlags struct {
	requests int64
	explain  bool
	line     int
	compare  bool
	format
}

func newGC() *cobra.Command {
	var o gcFlags
	cmd := &cobra.Command{
		Use:   "gc [FILE...]",
		Short: "Analyse the GC trace in a log of any Go program",
		Long: `Gc reads the lines that GODEBUG=gctrace=1 makes a Go program print, from Go 1.5 on,
in logs that may have any other text. It reports how often the program collected
garbage, what that cost, and how the heap changed. It joins lines that other text
cut in two. Without a file, or with -, it reads standard input.

    GODEBUG=gctrace=1 ./service 2> gc.log
    dyno gc gc.log
    dyno gc --requests 10000 gc.log            with requests per collection
    dyno gc --explain gc.log                   the last line in plain words
    dyno gc --explain 'gc 3 @3.182s 0%: …'     this line
    dyno gc --compare before.log after.log
    dyno gc dyno-runs/NAME/trials/0007/gctrace.txt`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !typed(cmd, "requests") { // DYNO_REQUESTS is how many a load sends
				o.requests = 0
			}
			if err := o.check(cmd, args); err != nil {
				return err
			}
			return o.run(cmd, args)
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.Int64Var(&o.requests, "requests", 0, "`number` of requests answered meanwhile, for requests per collection")
	fs.BoolVar(&o.explain, "explain", false, "break one line into its parts: the last, that of --line, or the one given")
	fs.IntVar(&o.line, "line", 0, "explain collection `n`")
	fs.BoolVar(&o.compare, "compare", false, "show two logs side by side")
	o.format.flags(fs, "format of the result: text or json", "text", "json")
	return cmd
}

func (o *gcFlags) check(cmd *cobra.Command, args []string) error {
	switch o.explain = o.explain || typed(cmd, "line"); {
	case o.requests < 0:
		return flags.Mistakef("--requests %d is negative", o.requests)
	case typed(cmd, "line") && o.line < 1:
		return flags.Mistakef("--line %d: collections are counted from 1", o.line)
	case o.compare && o.explain:
		return flags.Mistakef("--compare shows two logs and --explain one line (want one of these flags)")
	case o.compare && len(args) != 2:
		return flags.Mistakef("--compare wants two files, not %d", len(args))
	case o.explain && len(args) > 1:
		return flags.Mistakef("--explain wants one file or one line, not %d", len(args))
	case o.explain && o.form() == "json":
		return flags.Mistakef("--explain has no JSON form")
	}
	return nil
}

func (o *gcFlags) run(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		if f, ok := cmd.InOrStdin().(*os.File); ok && term.IsTerminal(int(f.Fd())) {
			return flags.Mistakef("no log given (consider: GODEBUG=gctrace=1 ./service 2> gc.log, and then dyno gc gc.log)")
		}
		args = []string{"-"}
	}
	w := cmd.OutOrStdout()
	opt := lookOf(w)
	if o.explain {
		line, err := o.lineOf(cmd, args[0])
		if err != nil {
			return err
		}
		return gclog.Explain(w, line, opt)
	}
	asJSON := o.form() == "json"
	var logs []*gctrace.Log
	for i, name := range args {
		l, err := o.read(cmd, name)
		if err != nil {
			return err
		}
		logs = append(logs, l)
		switch {
		case asJSON:
			err = report.JSON(w, l)
		case !o.compare:
			if i > 0 {
				fmt.Fprintln(w)
			}
			err = gclog.Text(w, l, opt)
		}
		if err != nil {
			return err
		}
	}
	if !o.compare || asJSON {
		return nil
	}
	names := findings.RunNames(logs[0].Name, logs[1].Name)
	logs[0].Name, logs[1].Name = names[0], names[1]
	return gclog.Compare(w, logs[0], logs[1], opt)
}

// lineOf is arg itself, or the wanted line of that log.
func (o *gcFlags) lineOf(cmd *cobra.Command, arg string) (string, error) {
	if strings.HasPrefix(arg, "gc ") {
		if cs, err := gctrace.Parse(strings.NewReader(arg)); err != nil || len(cs) != 1 {
			return "", flags.Mistakef("explain %q: not a complete gc line", arg)
		}
		return arg, nil
	}
	line, n := "", 0
	_, err := readTrace(cmd, arg, func(c *gctrace.Cycle, text []byte) {
		n++
		if o.line == 0 || c.N == o.line {
			line = string(text)
		}
	})
	switch {
	case err != nil:
		return "", err
	case n == 0:
		return "", noCollections(arg)
	case line == "":
		return "", fmt.Errorf("explain %s: no collection %d among its %d", arg, o.line, n)
	}
	return line, nil
}

func (o *gcFlags) read(cmd *cobra.Command, name string) (*gctrace.Log, error) {
	l := &gctrace.Log{Name: name, Requests: o.requests}
	if name == "-" {
		l.Name = "standard input"
	}
	text, err := readTrace(cmd, name, func(c *gctrace.Cycle, _ []byte) { l.Add(c) })
	if err != nil {
		return nil, err
	}
	if l.Total.Collections == 0 {
		return nil, noCollections(name)
	}
	l.Text = text
	return l, nil
}

func noCollections(name string) error {
	return fmt.Errorf("%s has no GC trace lines (consider: GODEBUG=gctrace=1 ./service 2> gc.log)", cmp.Or(strings.TrimPrefix(name, "-"), "standard input"))
}

// readTrace reads a file, or standard input where name is "-".
func readTrace(cmd *cobra.Command, name string, each func(*gctrace.Cycle, []byte)) (gctrace.Text, error) {
	r, err := openLog(cmd, name)
	if err != nil {
		return gctrace.Text{}, err
	}
	defer r.Close()
	text, err := gctrace.Read(r, each)
	if err != nil {
		return text, fmt.Errorf("read log: %w", err)
	}
	return text, nil
}

// openLog opens what is inside of a file, or of standard input where name is "-", however it is kept.
func openLog(cmd *cobra.Command, name string) (io.ReadCloser, error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a directory, not a log (consider: %[1]s/trials/0001/gctrace.txt, if it is a run)", name)
	}
	return unwrap.Open(name, cmd.InOrStdin())
}
