// Dyno is a dynamometer for Go services: it builds a service, launches it under
// every setting of interest, loads it, watches response times, memory and the
// garbage collector, and says what changed. It also runs benchmarks and compares them.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/cmd/dyno/help"
	"github.com/dynolab/dyno/cmd/dyno/interrupt"
	"github.com/dynolab/dyno/cmd/dyno/plans"
	"github.com/dynolab/dyno/cmd/dyno/remote"
	"github.com/dynolab/dyno/internal/campaign/progress"
	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/dynolab/dyno/internal/subject/awake"
	"github.com/dynolab/dyno/internal/subject/guard"
)

// The exit statuses, as dyno help status says.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitUnclear     = 98
	exitThreshold   = 99
	exitInterrupted = interrupt.Status
)

func main() {
	guard.Main() // does not return where dyno was started as a guard of a subject
	awake.Main() // nor where it keeps CPUs awake
	os.Exit(mainStatus())
}

func mainStatus() int {
	return run(interrupt.Context(), os.Args[1:], os.Stdout, os.Stderr)
}

// run is main without the process.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	stdout, stderr = progress.Tame(stdout), progress.Tame(stderr)
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	// Before what an interrupt means: that is the normal end of a watch.
	if gate := (*gateError)(nil); errors.As(err, &gate) {
		fmt.Fprintf(stderr, "%s: %v\n", cmd.CommandPath(), err)
		return gate.status
	}
	if errors.Is(context.Cause(ctx), interrupt.Err) {
		if err.Error() != interrupt.Err.Error() && !errors.Is(err, context.Canceled) {
			fmt.Fprintf(stderr, "%s: %v\n", cmd.CommandPath(), err)
		}
		fmt.Fprintln(stderr, "dyno: interrupted")
		return exitInterrupted
	}
	fmt.Fprintf(stderr, "%s: %v\n", cmd.CommandPath(), err)
	var plan *dyno.PlanError
	var usage *flags.Mistake
	if errors.As(err, &usage) {
		fmt.Fprintf(stderr, "(try: %s --help)\n", cmd.CommandPath())
	}
	if errors.As(err, &plan) || usage != nil {
		return exitUsage
	}
	return exitFailed
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "dyno",
		Short: "A dynamometer for Go services",
		Long: `Dyno measures a Go service under several settings and says what changed.

    dyno demo                                     see it work, in under 3 minutes
    dyno run ./cmd/server --vary GOGC=100,200     your own service
    dyno bench ./... --vary rev=main,.            your own benchmarks
    dyno init                                     write a commented dyno.yaml`,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return flags.Mistakef("unknown command %q%s", args[0], help.Meant(cmd, args[0]))
			}
			return cmd.Help()
		},
		Args: cobra.ArbitraryArgs,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		var unknown *pflag.NotExistError
		if errors.As(err, &unknown) {
			return flags.Mistakef("%w%s", err, help.Meant(cmd, "--"+unknown.GetSpecifiedName()))
		}
		return flags.Mistakef("%w", err)
	})
	root.AddCommand(newRun(), newBench(), newLoad(), newWatch(), newView(), plans.NewInit(), plans.NewSchema(), newDemo(), newCertify(), newTune(), newBisect(), newUpgrade(), newTrack(), newCapacity(), newReceipt(), remote.NewAgent(version()), remote.NewImage(version()), newVersion())
	for _, cmd := range []*cobra.Command{newCompare(), newReport(), newPredict(), newProfile(), newGC(), newSlow()} {
		root.AddCommand(interrupt.AtOnce(cmd))
	}
	dress(root)
	help.Set(root)
	return root
}

// dress makes what is wrong with arguments a mistake, and takes flags from the environment, in all commands below one.
func dress(above *cobra.Command) {
	for _, cmd := range above.Commands() {
		if cmd.Args != nil {
			check := cmd.Args
			cmd.Args = func(cmd *cobra.Command, args []string) error {
				if err := check(cmd, args); err != nil {
					return flags.Mistakef("%w", err)
				}
				return nil
			}
		}
		fromEnvironment(cmd)
		dress(cmd)
	}
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of dyno",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "dyno %s %s %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// version is the module's version, or the commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v, dirty := info.Main.Version, ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && v == "(devel)":
			v = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if v == "" {
		v = "(devel)"
	}
	return v + dirty
}

func notef(cmd *cobra.Command, format string, args ...any) {
	fmt.Fprintf(cmd.ErrOrStderr(), "note: "+format+"\n", args...)
}
