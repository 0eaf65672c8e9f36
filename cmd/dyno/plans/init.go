// Package plans has the commands about the file of a plan: init and schema.
package plans

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/dynolab/dyno/internal/campaign"
	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/spf13/cobra"
)

// Init is the plan that dyno init writes: a template of Package and Name, between << and >>.
//
//go:embed init.yaml
var Init string

// NewInit is the command dyno init.
func NewInit() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "init [PACKAGE]",
		Short: "Write a commented dyno.yaml",
		Long: `Init writes dyno.yaml in this directory: a plan that explains every key. The plan is
for PACKAGE, or for the only main package below this directory.

    dyno init
    dyno init ./cmd/server`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			pkg, err := mainPackage(cmd.Context(), args)
			if err != nil {
				return err
			}
			const file = "dyno.yaml"
			if _, err := os.Stat(file); err == nil && !force {
				return fmt.Errorf("%s exists already (consider: --force)", file)
			}
			name, err := filepath.Abs(pkg)
			if err != nil {
				return err
			}
			var text bytes.Buffer
			t := template.Must(template.New(file).Delims("<<", ">>").Parse(Init))
			if err := t.Execute(&text, map[string]string{"Package": pkg, "Name": filepath.Base(name)}); err != nil {
				return err
			}
			if err := os.WriteFile(file, text.Bytes(), 0o666); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "wrote %s for %s\nnext: look at it, then dyno run -f %s\n", file, pkg, file)
			return err
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "overwrite dyno.yaml")
	return cmd
}

// mainPackage finds the only main package below, as a path that begins with a dot.
func mainPackage(ctx context.Context, args []string) (string, error) {
	pattern := "./..."
	if len(args) == 1 {
		if pattern = args[0]; !filepath.IsAbs(pattern) && !strings.HasPrefix(pattern, ".") {
			pattern = "./" + pattern
		}
	}
	out, err := campaign.Tool(ctx, "", "go", "list", "-e", "-f", `{{if eq .Name "main"}}{{.Dir}}{{end}}`, pattern)
	if err != nil {
		return "", fmt.Errorf("find a main package: %w", err)
	}
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(here); err == nil {
		here = real
	}
	var dirs []string
	for dir := range strings.Lines(out) { // of main packages alone
		rel, err := filepath.Rel(here, strings.TrimSuffix(dir, "\n"))
		if err != nil {
			return "", err
		}
		if rel = filepath.ToSlash(rel); !strings.HasPrefix(rel, ".") {
			rel = "./" + rel
		}
		dirs = append(dirs, rel)
	}
	switch len(dirs) {
	case 0:
		return "", fmt.Errorf("no main package at %s", pattern)
	case 1:
		return dirs[0], nil
	}
	return "", flags.Mistakef("%d main packages here: %s (consider: dyno init %s)", len(dirs), strings.Join(dirs, " "), dirs[0])
}
