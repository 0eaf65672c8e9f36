//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// burst is the mean length of a burst.
const burst = 200 * time.Millisecond

// bursts takes a third of all CPUs: all are busy for some time, and then rest for twice as long in the mean. Both times are
// exponential, so bursts keep step with nothing. With a real-time priority, which makeNoise gives, that is what another virtual
// machine does that the hypervisor runs first.
func bursts(ctx context.Context) error {
	cpus := runtime.NumCPU()
	began := time.Now()
	for ctx.Err() == nil {
		until := time.Now().Add(exponential(burst))
		var all sync.WaitGroup
		for range cpus {
			all.Go(func() {
				for time.Now().Before(until) {
				}
			})
		}
		all.Wait()
		select {
		case <-time.After(exponential(2 * burst)):
		case <-ctx.Done():
		}
	}
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return err
	}
	cpu := time.Duration(used.Utime.Nano() + used.Stime.Nano())
	fmt.Fprintf(os.Stderr, "the neighbour took %.0f %% of the CPUs\n", 100*cpu.Seconds()/time.Since(began).Seconds()/float64(cpus))
	return nil
}

// exponential is a time of that mean, and at most five times as long.
func exponential(mean time.Duration) time.Duration {
	return min(time.Duration(rand.ExpFloat64()*float64(mean)), 5*mean)
}
