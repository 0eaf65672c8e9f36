// Package program holds what the programs of eval do alike: they start, find dyno,
// say where they measured, and hold figures against goals. It imports nothing of
// dyno, so that no mistake is made twice.
package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
)

var errInterrupted = errors.New("interrupted")

// Main runs measure and ends the process: with status 0, with 1 if measure failed,
// or with 130 if the user interrupted it, which ends its context.
func Main(name string, measure func(context.Context) error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-signals
		cancel(errInterrupted)
	}()
	err := measure(ctx)
	if err != nil && ctx.Err() != nil {
		fmt.Fprintf(os.Stderr, "%s: interrupted\n", name)
		os.Exit(130)
	}
	Exit(name, err)
}

// Exit ends the process: with status 0, or with 1 and the error.
func Exit(name string, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// NeedsLinux ends the process where the program has no other main. why names what
// other systems lack.
func NeedsLinux(name, why string) {
	Exit(name, fmt.Errorf("needs Linux (%s); this is %s", why, runtime.GOOS))
}

// Progress prints a line to standard error.
func Progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// LastLine returns the last line of what a program printed, without space around it.
func LastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndex(s, "\n")+1:]
}
