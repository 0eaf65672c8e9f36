package program

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// Root returns the directory of dyno's source. The working directory has to be in
// dyno's module, or in that of eval.
func Root(ctx context.Context) (string, error) {
	root, err := output(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/dynolab/dyno")
	if err != nil {
		return "", fmt.Errorf("find dyno's source: %w (consider: start it in eval)", err)
	}
	return root, nil
}

// Dyno returns the absolute path of the dyno to measure: path, or where that is
// empty, one that it builds into dir.
func Dyno(ctx context.Context, path, dir string) (string, error) {
	if path != "" {
		return filepath.Abs(path)
	}
	Progress("building dyno")
	root, err := Root(ctx)
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "dyno")
	if _, err := output(ctx, "go", "build", "-C", root, "-o", path, "./cmd/dyno"); err != nil {
		return "", fmt.Errorf("build dyno: %w", err)
	}
	return path, nil
}

// output runs a command that has no other effect, and returns what it prints.
func output(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, LastLine(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}
