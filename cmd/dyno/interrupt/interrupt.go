// Package interrupt owns the signals that ask dyno to stop.
package interrupt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// Err is the cause of a context that a signal has ended.
var Err = errors.New("interrupted")

// Status is the exit status of a command that was interrupted.
const Status = 130

// oneSignal is how long further signals belong to the first: timeout(1) sends its
// own twice, to dyno and to their process group.
const oneSignal = 200 * time.Millisecond

var atOnce atomic.Bool

// Context ends with the first signal. A second one ends dyno at once; the guards clean up.
func Context() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as it is under nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		<-signals
		if !atOnce.Load() {
			fmt.Fprintln(os.Stderr, "\ndyno: stopping (interrupt again to end at once)")
		}
		cancel(Err)
		time.Sleep(oneSignal)
		signal.Stop(signals)
	}()
	return ctx
}

// AtOnce makes the first signal end a command that only reads, which may take long: it has nothing to end before.
func AtOnce(cmd *cobra.Command) *cobra.Command {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		atOnce.Store(true)
		defer context.AfterFunc(ctx, func() {
			if errors.Is(context.Cause(ctx), Err) {
				fmt.Fprintln(os.Stderr, "dyno: interrupted")
				os.Exit(Status)
			}
		})()
		return run(cmd, args)
	}
	return cmd
}
