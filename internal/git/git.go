// Package git runs git without asking anybody, without hooks, and in the repository of a directory alone.
//
// It owns the environment in which git runs. It does not know what the commands say.
package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// ofRepository are the variables that bind git to one repository, as git sets them for its hooks, and not those of its
// settings (git rev-parse --local-env-vars); and the name and date of a commit.
var ofRepository = []string{
	"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_DIR", "GIT_GRAFT_FILE", "GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE",
	"GIT_INTERNAL_SUPER_PREFIX", "GIT_NAMESPACE", "GIT_NO_REPLACE_OBJECTS", "GIT_OBJECT_DIRECTORY", "GIT_PREFIX",
	"GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE", "GIT_WORK_TREE",
	"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_COMMITTER_DATE",
}

// Command is git with what it needs to ask nobody, and without the hooks of the repository.
func Command(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsync=loose-object,pack,pack-metadata,reference"}, args...)...)
	cmd.Dir = dir
	cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(ofRepository, name)
	})
	cmd.Env = append(cmd.Env, "GIT_TERMINAL_PROMPT=0", "GIT_NO_REPLACE_OBJECTS=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME=dyno", "GIT_AUTHOR_EMAIL=dyno@localhost", "GIT_COMMITTER_NAME=dyno", "GIT_COMMITTER_EMAIL=dyno@localhost")
	cmd.Cancel = func() error { // git removes its locks when it is asked to end
		if err := cmd.Process.Signal(syscall.SIGTERM); err == nil || errors.Is(err, os.ErrProcessDone) {
			return err
		}
		return cmd.Process.Kill()
	}
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// Run runs git with input and returns what it prints, without the last newline.
func Run(ctx context.Context, dir string, input []byte, args ...string) (string, error) {
	cmd := Command(ctx, dir, args...)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), &stderr
	out, err := cmd.Output()
	if err != nil {
		for len(args) > 2 && args[0] == "-c" {
			args = args[2:]
		}
		return "", Error(ctx, args[0], err, stderr.String())
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

// Error is what git said, and why it failed.
func Error(ctx context.Context, command string, err error, stderr string) error {
	switch stderr = strings.TrimSpace(stderr); {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("%w (consider: install git)", err)
	case stderr == "":
		return fmt.Errorf("git %s: %w", command, err)
	}
	return fmt.Errorf("git %s: %s", command, stderr)
}
