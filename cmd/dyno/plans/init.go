// Package plans has the commands about the file of a plan: init and schema.
package plans

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/dynolab/dyno/internal/campaign"
	"github.com/dynolab/dyno/internal/plan/flags"
	"github.com/spf13/cobra"
)

// Init is the plan that dyno init writes: a template of Package, Name and Needs, between << and >>.
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
			if err := t.Execute(&text, map[string]string{"Package": pkg, "Name": filepath.Base(name), "Needs": needsOf(cmd.Context(), pkg)}); err != nil {
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

// drivers are packages that speak with servers which dyno can start.
var drivers = []struct {
	name, kind, variable, key, comment string
	prefixes                           []string
}{
	{"db", "{postgres: {seed: [schema.sql]}}", "DATABASE_URL", "URL", "a Postgres with this seed", []string{"github.com/jackc/pgx/", "github.com/jackc/pgconn", "github.com/lib/pq"}},
	{"mydb", "{mysql: {seed: [schema.sql]}}", "MYSQL_DSN", "DSN", "a MySQL or MariaDB", []string{"github.com/go-sql-driver/mysql"}},
	{"cache", "{redis: {}}", "REDIS_URL", "URL", "a Redis", []string{"github.com/redis/go-redis/", "github.com/go-redis/redis", "github.com/gomodule/redigo/", "github.com/redis/rueidis"}},
	{"bus", "{nats: {}}", "NATS_URL", "URL", "a NATS server", []string{"github.com/nats-io/nats.go"}},
}

// composeFiles are the names that docker compose itself looks for.
var composeFiles = []string{"compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml"}

// needsOf writes the needs of a package as lines of a comment, the first without its beginning: a compose file that is here, and
// what belongs to the drivers that the package imports; without any, all are examples.
func needsOf(ctx context.Context, pkg string) string {
	imports, _ := campaign.Tool(ctx, "", "go", "list", "-deps", "-f", "{{.ImportPath}}", pkg) // else none is known
	imported := strings.Fields(imports)
	text := ""
	for _, file := range composeFiles {
		if _, err := os.Stat(file); err == nil {
			text = fmt.Sprintf("%-43s# its databases, caches and queues; or else, for dyno's own:\n", "  # compose: "+file)
			break
		}
	}
	beside := text
	for _, all := range []bool{false, true} {
		for _, d := range drivers {
			used := slices.ContainsFunc(imported, func(path string) bool {
				return slices.ContainsFunc(d.prefixes, func(prefix string) bool { return strings.HasPrefix(path+"/", prefix) })
			})
			if !used && !all {
				continue
			}
			line := fmt.Sprintf("  # %s: %s", d.name, d.kind)
			text += fmt.Sprintf("%-43s# %s; then in env: %s: \"{{.needs.%s.%s}}\"\n", line, d.comment, d.variable, d.name, d.key)
		}
		if text != beside {
			break
		}
	}
	return strings.TrimSuffix(strings.TrimPrefix(text, "  # "), "\n")
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
