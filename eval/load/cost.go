//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dynolab/dyno/eval/internal/program"
)

const (
	costSeconds = 2
	conns       = 64
	manyConns   = 1000
)

func isClosed(g generator) bool { return g.closed != nil }
func isOpen(g generator) bool   { return g.open != nil }

// play runs each generator once a round, each round in another order, because a
// machine drifts more within a minute than good generators differ. A run that
// fails is reported at once and is without figures. It returns the names of the
// generators that took part.
func (b *bench) play(ctx context.Context, what string, rounds int, fit func(generator) bool,
	one func(generator) (figures, error)) (runs, []string, error) {
	gs := slices.DeleteFunc(slices.Clone(b.generators), func(g generator) bool { return !fit(g) })
	rs := make(runs)
	for round := range rounds {
		program.Progress("%s: round %d of %d", what, round+1, rounds)
		for i := range gs {
			g := gs[(i+round)%len(gs)]
			f, err := one(g)
			if ctx.Err() != nil {
				return nil, nil, context.Cause(ctx)
			}
			if err != nil {
				fmt.Fprintf(b.goals.W, "failed: %s: %s: %v\n", what, g.name, err)
			}
			rs[g.name] = append(rs[g.name], f)
		}
	}
	var names []string
	for _, g := range gs {
		names = append(names, g.name)
	}
	return rs, names, nil
}

func (b *bench) noise(heard bool) {
	if heard {
		fmt.Fprintln(b.goals.W, "  note: other work took the CPU from server or generator (consider: a quiet machine, or -rt)")
	}
}

// cost measures CPU time per request in the closed model: the server never
// sleeps and has a CPU of its own, so the generator is what limits.
func (b *bench) cost(ctx context.Context) error {
	rounds := b.times(7)
	rs, names, err := b.play(ctx, "cost", rounds, isClosed, func(g generator) (figures, error) {
		u, t, err := b.run(ctx, costSeconds, g.closed(b.url+"/hello", conns, costSeconds))
		if err == nil && t.Requests == 0 {
			err = errors.New("no request reached the server")
		}
		if err != nil {
			return nil, err
		}
		n := float64(t.Requests)
		return figures{"cost": u.cpu.Seconds() / n * 1e5, "per cpu": n / u.cpu.Seconds(), "rate": n / costSeconds, "busy": u.busy()}, nil
	})
	if err != nil {
		return err
	}
	empty, _, err := b.run(ctx, 1, b.generators[0].once(b.url+"/hello"))
	if err != nil {
		return err
	}
	least := 1.0
	for _, name := range names {
		all := rs.all(name, "cost")
		if len(all) == 0 {
			continue
		}
		least = min(least, rs.median(name, "busy"))
		// Of all rounds; the median of these is they.
		rs[name] = append(rs[name], figures{"least": slices.Min(all), "most": slices.Max(all)})
		if ratios := rs.ratios(name, "wrk", "cost"); len(ratios) > 0 {
			rs[name] = append(rs[name], figures{"vs wrk": median(ratios)})
		}
	}
	fmt.Fprintf(b.goals.W, "\nCost: %d connections, each sends its next request when the last is answered; %d s, medians of %d rounds\n",
		conns, costSeconds, rounds)
	rs.print(b.goals.W, names, column{"CPU-s/100k", "cost", "%.3f"}, column{"least", "least", "%.3f"}, column{"most", "most", "%.3f"},
		column{"req/CPU-s", "per cpu", "%.0f"}, column{"vs wrk", "vs wrk", "%.2f"}, column{"req/s", "rate", "%.0f"}, column{"busy", "busy", "%.2f"})
	fmt.Fprintf(b.goals.W, "  CPU-s: user and system, of the whole process; requests: as the server counted them; vs wrk: of the same\n"+
		"  round; busy: share of its CPU that the generator had. dyno with one request costs %.3f CPU-s.\n", empty.cpu.Seconds())
	b.noise(least < 0.8)
	for _, limit := range []struct {
		name string
		most float64
	}{{"wrk", 1.1}, {"hey", 0.5}} {
		v := median(rs.ratios("dyno", limit.name, "cost"))
		judge(&b.goals, fmt.Sprintf("CPU per request at most %.1f x %s's", limit.most, limit.name), "%.2f", v, v <= limit.most)
	}
	return nil
}

// memory measures the highest resident memory.
func (b *bench) memory(ctx context.Context) error {
	columns := []column{}
	levels := []int{conns, manyConns}
	for _, n := range levels {
		columns = append(columns, column{fmt.Sprintf("%d connections", n), fmt.Sprint(n), "%.1f"})
	}
	rounds := b.times(3)
	rs, names, err := b.play(ctx, "memory", rounds, isClosed, func(g generator) (figures, error) {
		f := figures{}
		for _, n := range levels {
			u, _, err := b.run(ctx, costSeconds, g.closed(b.url+"/hello", n, costSeconds))
			if err != nil {
				return f, err
			}
			f[fmt.Sprint(n)] = float64(u.peak) / 1e6
		}
		return f, nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(b.goals.W, "\nMemory: highest resident set, MB; as many requests as it can send in %d s, medians of %d rounds\n", costSeconds, rounds)
	rs.print(b.goals.W, names, columns...)
	for i, most := range []float64{20, 40} {
		v := rs.median("dyno", columns[i].key)
		judge(&b.goals, fmt.Sprintf("at most %.0f MB at %s", most, columns[i].head), "%.1f MB", v, v <= most)
	}
	return nil
}
