//go:build linux

package program_test

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dynolab/dyno"
	"github.com/dynolab/dyno/internal/load"
	"github.com/dynolab/dyno/internal/load/program"
	"github.com/dynolab/dyno/load/client"
)

func init() {
	kinds["stops"] = func(context.Context, *client.Request) error { return syscall.Kill(syscall.Getpid(), syscall.SIGSTOP) }
}

// A program that was stopped takes no due times, and holds nobody up.
func TestStopped(t *testing.T) {
	program.Impatient(t)
	began := time.Now()
	_, err := run(t, t.Context(), "stops", dyno.Load{Rate: dyno.PerSecond(200_000), Duration: 60 * second}, load.Options{})
	if err == nil || !strings.Contains(err.Error(), "it has said nothing for 1s") || time.Since(began) > 30*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}
