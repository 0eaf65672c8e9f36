package subject

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/dynolab/dyno/internal/subject/guard"
)

// command runs a program for the build and returns its standard output. No compiler survives dyno,
// and the guard of b waits for it before it removes the folder.
func (b *Builder) command(ctx context.Context, dir string, env map[string]string, name string, args ...string) (string, error) {
	temp := filepath.Join(b.dir, "tmp") // for compilers of C, too, which leave their files when they are killed
	vars := map[string]string{"GOTMPDIR": temp, "TMPDIR": temp, "GIT_TERMINAL_PROMPT": "0"}
	maps.Copy(vars, env)
	var stdout bytes.Buffer
	stderr := &talk{tell: func(string) {}}
	if b.Tell != nil {
		stderr.tell = b.Tell
	}
	argv := append([]string{name}, args...)
	status, err := runProgram(ctx, argv, vars, dir, guard.IO{Stdout: &stdout, Stderr: stderr, Before: b.guard})
	switch {
	case ctx.Err() != nil && err != nil:
		return "", ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("%w (consider: install %s)", err, name)
	case err != nil:
		return "", err
	case status != guard.StatusOK:
		return stdout.String(), &commandError{argv, status, stderr.String()}
	}
	return stdout.String(), nil
}

type commandError struct {
	args   []string
	status string
	stderr string
}

const errorLines = 40 // of a command's stderr in an error

const (
	removedDebug = "remove that line, which this Go no longer takes, or compare versions before it"
	unknownDebug = "remove that line, which this Go does not know"
)

// cures are looked for in the order given; case does not matter.
var cures = []struct{ message, cure string }{
	{"missing go.sum entry", "go mod tidy"},
	{"updates to go.mod needed", "go mod tidy"},
	{"no required module provides package", "go mod tidy"},
	{"inconsistent vendoring", "go mod vendor"},
	{"GOTOOLCHAIN=local)", "GOTOOLCHAIN=auto, or a newer Go"},
	{"removed godebug", removedDebug},
	{"removed //go:debug", removedDebug},
	{"unknown godebug", unknownDebug}, // the go command's errors are of CheckGodebug in cmd/go/internal/modload
	{"unknown //go:debug", unknownDebug},
	{"C compiler", "CGO_ENABLED=0, or install a C compiler"},
	{"dubious ownership", "git config --global --add safe.directory DIR"},
}

func (e *commandError) Error() string {
	s := strings.Join(e.args, " ") + ": " + e.status
	said := strings.ToLower(e.stderr)
	for _, c := range cures {
		if strings.Contains(said, strings.ToLower(c.message)) {
			s += " (consider: " + c.cure + ")"
			break
		}
	}
	lines := strings.Split(strings.TrimSpace(e.stderr), "\n")
	if len(lines) > errorLines {
		lines = append(lines[:errorLines], fmt.Sprintf("… and %d more lines", len(lines)-errorLines))
	}
	return s + "\n" + strings.Join(lines, "\n")
}

func firstMessage(err error) string {
	e, ok := err.(*commandError)
	if !ok {
		return err.Error()
	}
	for line := range strings.Lines(e.stderr) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "go: downloading") {
			return line
		}
	}
	return e.status
}

// RunTool runs a program that is no service, such as another load generator, as guard.Run does. Its
// standard input is empty; vars are added to dyno's environment. stdout and stderr must not keep the
// slice. No descendant survives the program, ctx, or dyno.
func RunTool(ctx context.Context, argv []string, vars map[string]string, dir string, stdout, stderr io.Writer) (status string, err error) {
	return runProgram(ctx, argv, vars, dir, guard.IO{Stdout: stdout, Stderr: stderr})
}

func runProgram(ctx context.Context, argv []string, vars map[string]string, dir string, o guard.IO) (status string, err error) {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return "", err
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", err
	}
	status, err = guard.Run(ctx, guard.Job{Path: path, Args: argv, Dir: dir, Env: Environ(vars, dir)}, o)
	if err != nil && ctx.Err() == nil {
		return "", fmt.Errorf("start %s: %w", argv[0], err)
	}
	return status, err
}
