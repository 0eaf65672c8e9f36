package campaign

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/lab"
	"github.com/dynolab/dyno/internal/store"
	"github.com/dynolab/dyno/internal/subject"
)

// ThisHost is this machine, with the go command that builds what e measures.
func ThisHost(e *dyno.Experiment) store.Host {
	h := store.Host{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()}
	h.Name, _ = os.Hostname()
	if e.Subject.Source() || e.Bench != nil {
		h.Go = GoVersion(context.Background(), e.Subject.Dir)
	}
	h.Kernel, h.CPU, h.Memory = lab.Describe()
	return h
}

// GoVersion is that of the go command in a directory, whose go.mod may want another; "" without one.
func GoVersion(ctx context.Context, dir string) string {
	version, _ := Tool(ctx, dir, "go", "env", "GOVERSION")
	return version
}

// Tool returns what a program prints, without the space around it. Whatever ends dyno ends the program.
func Tool(ctx context.Context, dir string, argv ...string) (string, error) {
	var stdout, stderr strings.Builder
	status, err := subject.RunTool(ctx, argv, nil, dir, &stdout, &stderr)
	if err == nil && status != "exit status 0" {
		err = errors.New(status)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(stdout.String()), nil
}
