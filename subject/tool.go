package subject

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"

	"github.com/dynolab/dyno/subject/guard"
)

// RunTool runs a program that is no service, such as another load generator,
// and returns how it ended, as os/exec says it: "exit status 0" is well. It
// listens on nothing and is never ready: from its start it does its work.
//
// Its standard input is empty; vars are added to dyno's own environment. stdout
// and stderr are called once for each of its writes, not at the same time on
// Linux, and must not keep the slice. When it ends, when ctx ends and when dyno
// is killed, no descendant of it is left. If ctx ended first, the error is the
// context's cause; any other says why it could not be started.
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
