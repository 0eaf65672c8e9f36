package main

import (
	"os"
	"strings"

	"github.com/dynolab/dyno/plan/flags"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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
