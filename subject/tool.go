package subject

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"

	"github.com/dynolab/dyno/subject/guard"
)

// RunTool runs a program that is no service, such as another load generator, and returns how it
// ended, as os/exec says it. Its standard input is empty; vars are added to dyno's environment.
// stdout and stderr must not keep the slice. No descendant survives the program, ctx, or dyno. If
// ctx ended first, the error is its cause; other errors say why the program did not start.
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
	status, err = guard.Run(ctx, guard.Job{Path: path, Args: argv, Dir: dir, Env: environ(vars, dir, "", "")}, o)
	if err != nil && ctx.Err() == nil {
		return "", fmt.Errorf("start %s: %w", argv[0], err)
	}
	return status, err
}
