package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/dynolab/dyno/internal/campaign/progress"
	"github.com/dynolab/dyno/internal/plan/flags"
)

// byEnvironment annotates a flag whose value comes from the environment.
const byEnvironment = "environment"

// fromEnvironment lets DYNO_CONCURRENCY=8 stand for --concurrency 8.
func fromEnvironment(cmd *cobra.Command) {
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		var err error
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			name := "DYNO_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
			if v, ok := os.LookupEnv(name); ok && !f.Changed && err == nil && f.Name != "help" {
				if e := cmd.Flags().Set(f.Name, v); e != nil {
					err = flags.Mistakef("%s=%s: %w", name, v, e)
				}
				if s, ok := f.Value.(*flags.Setter); ok {
					s.Env = true
				}
				f.Annotations = map[string][]string{byEnvironment: nil}
			}
		})
		return err
	}
}

// typed reports whether a flag was given on the command line itself.
func typed(cmd *cobra.Command, name string) bool {
	f := cmd.Flags().Lookup(name)
	_, env := f.Annotations[byEnvironment]
	return f.Changed && !env
}

// alone returns an error if one of the other flags is typed too.
func alone(cmd *cobra.Command, text string, others ...string) error {
	for _, other := range others {
		if typed(cmd, other) {
			return flags.Mistakef(text, other)
		}
	}
	return nil
}

// A campaignFlags has what is common to commands that measure in many runs or windows.
type campaignFlags struct {
	print       bool
	dir, resume string
	format
}

// flags come after those of the command's own. decided are the flags that it has only to say that it
// decides what they say.
func (o *campaignFlags) flags(p *flags.Set, fs *pflag.FlagSet, noun, out string, decided ...string) {
	fs.StringVar(&o.resume, "resume", "", "go on with the "+noun+" in this `dir`ectory")
	fs.BoolVar(&o.print, "print", false, "show what would be measured, run nothing")
	fs.StringVar(&o.dir, "out", "", out)
	o.format.flags(fs, "format of the result: text or json", "text", "json")
	p.LoadFlags(fs)
	p.SubjectFlags(fs)
	p.PublishedFlags(fs)
	for _, name := range decided {
		if f := fs.Lookup(name); f != nil {
			f.Hidden = true
		}
	}
}

// A format is the flag --format of a command, and --json.
type format struct {
	name  string
	json  bool
	known []string
}

func (f *format) flags(fs *pflag.FlagSet, usage string, known ...string) {
	f.name, f.known = known[0], known
	fs.Var(f, "format", usage)
	fs.BoolVar(&f.json, "json", false, "short for --format json")
}

func (f *format) String() string { return f.name }
func (f *format) Type() string   { return "name" }
func (f *format) Set(v string) error {
	if !slices.Contains(f.known, v) {
		return fmt.Errorf("unknown format %q (want one of %s)", v, strings.Join(f.known, ", "))
	}
	f.name = v
	return nil
}

// forFile reports a page or a profile that would go to a terminal.
func (f *format) forFile(cmd *cobra.Command, file string) error {
	if out := progress.FileOf(cmd.OutOrStdout()); out != nil && slices.Contains([]string{"html", "pprof"}, f.form()) && term.IsTerminal(int(out.Fd())) {
		return flags.Mistakef("--format %s is for a file, not for a terminal (consider: %s --format %[1]s ... > %s)", f.form(), cmd.CommandPath(), file)
	}
	return nil
}

// form is the name of the chosen form.
func (f *format) form() string {
	if f.json {
		return "json"
	}
	return f.name
}
