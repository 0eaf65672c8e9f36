//go:build linux

package main

import (
	"context"
	"fmt"
	"math"
)

const (
	delay        = 5000 // microseconds
	truthSeconds = 5

	stallRate    = 500
	stallSeconds = 8 // four periods of the server, so that it does not matter when in one it begins
)

// The percentiles of latency that uniform arrivals have at the stalling server:
// a quarter of them waits, for up to 500 ms; milliseconds.
const (
	stallP90 = 300.0
	stallP99 = 480.0
)

// report runs a generator with a rate and reads what it reports; to that it
// adds the figures of the run that are the same for all.
func (b *bench) report(ctx context.Context, g generator, seconds int, argv []string) (figures, truth, error) {
	u, t, err := b.run(ctx, seconds, argv)
	if err != nil {
		return nil, t, err
	}
	f, err := g.parse(u.out)
	if err != nil {
		return nil, t, err
	}
	f["busy"] = u.busy()
	f["arrived"] = float64(t.Timed)
	return f, t, nil
}

// truths compares percentiles with those of the server that delays each
// request by a known time, as the server itself measured them in the same run.
func (b *bench) truths(ctx context.Context) error {
	for _, level := range []struct{ rate, conns int }{{1000, 64}, {10_000, 128}} {
		if err := b.truthAt(ctx, float64(level.rate), level.conns); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) truthAt(ctx context.Context, rate float64, conns int) error {
	rounds := b.times(3)
	what := fmt.Sprintf("%g/s", rate)
	own := make(runs) // the server's
	rs, names, err := b.play(ctx, "truth at "+what, rounds, isOpen, func(g generator) (figures, error) {
		argv := g.open(fmt.Sprintf("%s/delay?us=%d", b.url, delay), int(rate), conns, truthSeconds)
		f, t, err := b.report(ctx, g, truthSeconds, argv)
		if err != nil {
			return nil, err
		}
		s := figures{"p50": t.Service.P50, "p90": t.Service.P90, "p99": t.Service.P99, "p99.9": t.Service.P999}
		own["server"] = append(own["server"], s)
		for q, v := range s {
			f["error "+q] = f.get(q) - v
		}
		f["rate"] = (t.Rate/rate - 1) * 100
		f["missing"] = rate*truthSeconds - f["arrived"]
		f["gap p50"], f["gap p99"], f["gap max"] = t.Gaps.P50, t.Gaps.P99, t.Gaps.Max
		return f, nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(b.goals.W, "\nTruth: %s on at most %d connections, the server delays each by %d ms; %d s, medians of %d rounds; ms\n",
		what, conns, delay/1000, truthSeconds, rounds)
	rs.print(b.goals.W, names, column{"rate", "rate", "%+.3f%%"}, column{"missing", "missing", "%.0f"},
		column{"gap p50", "gap p50", "%.3f"}, column{"p99", "gap p99", "%.3f"}, column{"max", "gap max", "%.2f"},
		column{"error p50", "error p50", "%+.3f"}, column{"p90", "error p90", "%+.3f"}, column{"p99", "error p99", "%+.3f"},
		column{"p99.9", "error p99.9", "%+.3f"}, column{"late p99", "lateness-p99", "%.3f"}, column{"busy", "busy", "%.2f"})
	fmt.Fprintf(b.goals.W, "  gap: between two arrivals at the server, ideally %g; error: what the generator reports less what the server\n"+
		"  measured in the same run (p50 %.3f, p99 %.3f); late: the generator's own word; busy: share of its CPU\n",
		1000/rate, own.median("server", "p50"), own.median("server", "p99"))
	b.noise(own.median("server", "p99") > delay/1000+1)
	off, missing := rs.median("dyno", "rate"), rs.median("dyno", "missing")
	judge(&b.goals, what+": rate within 0.1 %", "%+.3f %%", off, math.Abs(off) <= 0.1)
	judge(&b.goals, what+": requests within 0.1 %", "%.0f missing", missing, math.Abs(missing) <= rate*truthSeconds/1000)
	for _, q := range []struct {
		name string
		most float64
	}{{"p50", 0.15}, {"p99", 0.6}} {
		v := rs.median("dyno", "error "+q.name)
		judge(&b.goals, fmt.Sprintf("%s: error at %s at most %.2f ms", what, q.name, q.most), "%+.3f ms", v, math.Abs(v) <= q.most)
	}
	return nil
}

// stalls asks for the percentiles of a server that stalls, which a generator
// does not see that sends its next request only when the last is answered.
func (b *bench) stalls(ctx context.Context) error {
	rounds, due := b.times(1), float64(stallRate*stallSeconds)
	lines := []string{"truth"}
	all := runs{"truth": {{"p70": 0, "p90": stallP90, "p99": stallP99, "arrived": due, "unsent": 0}}}
	levels := []int{4, 64, 512}
	line := func(name string, conns int) string { return fmt.Sprintf("%s, %d connections", name, conns) }
	for _, conns := range levels {
		rs, names, err := b.play(ctx, line("stall", conns), rounds, isOpen, func(g generator) (figures, error) {
			f, _, err := b.report(ctx, g, stallSeconds, g.open(b.url+"/stall", stallRate, conns, stallSeconds))
			if err == nil && g.hgrm != nil {
				f["p70"], err = b.p70(ctx, g, conns, f.get("p99"))
			}
			return f, err
		})
		if err != nil {
			return err
		}
		for _, name := range names {
			lines = append(lines, line(name, conns))
			all[line(name, conns)] = rs[name]
		}
	}
	fmt.Fprintf(b.goals.W, "\nStall: %d/s, the server holds what it reads in the first %v of every %v; %d s, medians of %d rounds; ms\n",
		stallRate, stall, period, stallSeconds, rounds)
	all.print(b.goals.W, lines, column{"p70", "p70", "%.2f"}, column{"p90", "p90", "%.1f"}, column{"p99", "p99", "%.1f"},
		column{"arrived", "arrived", "%.0f"}, column{"unsent", "unsent", "%.0f"}, column{"busy", "busy", "%.2f"})
	if b.generators[0].hgrm == nil {
		fmt.Fprintln(b.goals.W, "  note: no p70, because this dyno load has no --format hgrm")
	}
	for _, conns := range levels {
		dyno := line("dyno", conns)
		what := fmt.Sprintf("%d connections: ", conns)
		p70, p90, p99 := all.median(dyno, "p70"), all.median(dyno, "p90"), all.median(dyno, "p99")
		judge(&b.goals, what+"p70 under 5 ms", "%.2f ms", p70, p70 < 5)
		judge(&b.goals, fmt.Sprintf("%sp90 within 2 %% of %g ms", what, stallP90), "%.1f ms", p90, near(p90, stallP90))
		judge(&b.goals, fmt.Sprintf("%sp99 within 2 %% of %g ms", what, stallP99), "%.1f ms", p99, near(p99, stallP99))
		arrived := all.median(dyno, "arrived")
		judge(&b.goals, fmt.Sprintf("%sall %g requests sent", what, due), "%.0f", arrived, arrived == due)
	}
	return nil
}

func near(v, want float64) bool { return math.Abs(v/want-1) <= 0.02 }

// p70 is from a run of its own, because dyno prints either JSON or all
// percentiles. Its p99 tells whether they are in milliseconds.
func (b *bench) p70(ctx context.Context, g generator, conns int, p99 float64) (float64, error) {
	u, _, err := b.run(ctx, stallSeconds, g.hgrm(b.url+"/stall", stallRate, conns, stallSeconds))
	if err != nil {
		return 0, err
	}
	v, err := parseHgrm(u.out, 0.70)
	same, err2 := parseHgrm(u.out, 0.99)
	if err != nil || err2 != nil || same < p99/2 || same > p99*2 {
		return 0, fmt.Errorf("--format hgrm: p99 is %g, but %g ms in the JSON of the run before (%v)", same, p99, err)
	}
	return v, nil
}
