//go:build linux

package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dynolab/dyno/eval/internal/program"
)

// verdicts runs every kind, all kinds in turn, so that drift falls on all alike.
func (b *bench) verdicts(ctx context.Context) error {
	var jobs []job
	for n := range b.runs {
		for _, k := range kinds {
			if len(b.kinds) == 0 || slices.Contains(b.kinds, k.name) {
				jobs = append(jobs, job{k, n, "bursts.yaml", b.length})
			}
		}
	}
	batches := (len(jobs) + b.atOnce - 1) / b.atOnce
	eta := time.Duration(batches)*(b.length+warmup+5*time.Second) + apart*time.Duration(min(b.atOnce, len(jobs)))
	program.Progress("verdicts: %d runs, %d at once: some %v", len(jobs), b.atOnce, eta.Round(time.Second))
	outcomes, err := b.play(ctx, jobs, b.atOnce)
	if len(outcomes) == 0 {
		return err
	}
	fmt.Fprintf(b.w, "\nVerdicts: services of known truth, %v of some %d requests a second each, %d at once\n", b.length, burstRate, b.atOnce)
	table(b.w, outcomes)
	b.said()
	if err != nil {
		return err
	}
	judgeLeaks(&b.goals, outcomes)
	return nil
}

// power runs the leak that three minutes are to be enough for.
func (b *bench) power(ctx context.Context) error {
	var jobs []job
	for n := range min(b.runs, 4) {
		jobs = append(jobs, job{fast, n, "dyno.yaml", 3 * time.Minute})
	}
	program.Progress("power: %d runs, 2 at once: some %d minutes", len(jobs), (len(jobs)+1)/2*3+1)
	outcomes, err := b.play(ctx, jobs, 2)
	if len(outcomes) == 0 {
		return err
	}
	fmt.Fprintf(b.w, "\nPower: 10 KiB for every 1,000 requests, 2,000 requests a second, 3 minutes, 2 at once\n")
	table(b.w, outcomes)
	b.said()
	if err != nil {
		return err
	}
	judgePower(&b.goals, outcomes)
	return nil
}

// said tells whether the machine was busy.
func (b *bench) said() {
	fmt.Fprintf(b.w, "  CPUs busy: %.0f %%, of it %.0f with these runs\n", 100*b.busy, 100*b.own)
	if b.busy > 0.8 {
		fmt.Fprintln(b.w, "  note: collections that wait for a CPU blur what is live (consider: a smaller -at-once)")
	}
}
