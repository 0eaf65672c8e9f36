package program

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
)

// Builds compiles the standard library again and again beside a measurement, in a build cache of its own below dir, until
// stop is called. stop returns when no compiler is left.
func Builds(ctx context.Context, dir string) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		cache := filepath.Join(dir, "builds")
		for ctx.Err() == nil {
			cmd := exec.CommandContext(ctx, "go", "build", "-a", "std")
			cmd.Env = append(os.Environ(), "GOCACHE="+cache)
			cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // so that it ends its compilers
			cmd.Run()
		}
		os.RemoveAll(cache)
	}()
	return func() { cancel(); <-done }
}
