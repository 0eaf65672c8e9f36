//go:build linux

package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/dynolab/dyno/eval/internal/program"
)

// variants are the service of eval/predict with different heaps, allocation and shares of collection.
var variants = []struct {
	workload string
	live     int // MiB
}{{"cache", 40}, {"cache", 10}, {"bytes", 50}, {"tree", 24}, {"tree", 60}, {"words", 30}, {"lists", 12}, {"rows", 24}, {"slabs", 60}, {"stacks", 48}, {"small", 2}, {"bytes", 150}}

// coarse are settings of which one is to be the best.
var coarse = []int{50, 25, 100, 200, 400, 800, 1600}

// interior are those of which that can be.
var interior = []int{50, 100, 200, 400, 800}

const (
	pairs  = 30 // of service and today's setting
	within = 3  // of each service at most
)

// kept asks how often a change is recommended where today's setting is the best: by the price of memory, which is
// chosen so that no setting of a grid has a smaller sum.
func (b *bench) kept(ctx context.Context, goals *program.Goals) error {
	total, blocks := cmp.Or(b.total, 40*time.Second), cmp.Or(b.blocks, 3)
	n, wrong := 0, 0
	for _, v := range variants {
		s := service{fmt.Sprintf("%s-%d", v.workload, v.live),
			fmt.Sprintf(`package: %s/eval/predict/service, args: ["{{.Addr}}"], env: {WORKLOAD: %s, LIVE: "%d"}, ready_timeout: 1m`, b.root, v.workload, v.live),
			"concurrency: 2, path: /"}
		if !b.chosen(s.name) || n >= pairs {
			continue
		}
		program.Progress("%s", s.name)
		g, err := b.grid(ctx, s, coarse, blocks, 2*time.Second)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		of := 0
		for _, today := range interior {
			lo, hi := g.prices(today)
			if of == within || n >= pairs || !(lo < hi) {
				continue
			}
			p := math.Sqrt(lo * hi)
			t, err := b.tune(ctx, s, fmt.Sprintf("%s-%d", s.name, today), today, p, total)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			n++
			of++
			said := "keep (" + t.why + ")"
			if t.gogc > 0 {
				wrong++
				said = fmt.Sprintf("GOGC=%d, gains %.1f %%", t.gogc, 100*t.gain)
			}
			fmt.Printf("%-10s today GOGC=%-4d memory's price %.3f (best from %.3f to %.3f): %s, %.0f s\n", s.name, today, p, lo, hi, said, t.took.Seconds())
		}
	}
	goals.Judge("at least 30 pairs", fmt.Sprintf("%d", n), n >= 30)
	goals.Judge("at most one recommendation to change", fmt.Sprintf("%d", wrong), wrong <= 1)
	return nil
}

// prices returns the range of prices of memory at which no other setting of the grid has a smaller sum. Without such a
// range, lo is not below hi.
func (g *grid) prices(today int) (lo, hi float64) {
	lo, hi = 0.01, 20
	for _, other := range g.gogcs {
		if other == today {
			continue
		}
		cpu, memory := g.ratios(other, today)
		at := (1 - cpu) / (memory - 1) // the price at which both are alike
		switch {
		case memory > 1: // more memory for less CPU time: has to be dear
			lo = max(lo, at)
		case memory < 1: // has to be cheap
			hi = min(hi, at)
		case cpu < 1:
			return 1, 0
		}
	}
	return lo, hi
}
