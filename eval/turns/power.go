//go:build linux

package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno/eval/internal/program"
)

// most is the time that a run of power has, from its start to its exit.
const most = time.Minute

// A pair is a service with a change of known size between two settings.
type pair struct {
	name    string
	service []string // arguments
	vary    string
	metric  string
	truth   string
	quiet   bool // whatever -noise says
}

var pairs = []pair{
	{"cpu", []string{"spin"}, "ITERS=10000,10500", "cpu-sec/req", "5 % more hashes in each request", false},
	{"cpu3", []string{"spin"}, "ITERS=10000,10500,010000", "cpu-sec/req", "5 % more hashes in each request, and a third setting that is the first", false},
	{"p50", []string{"spin"}, "ITERS=10000,10500", "p50-sec", "5 % more hashes in each request", true},
	{"p99", []string{"tail"}, "LONG=10000,11000", "p99-sec", "10 % more hashes in the longest 3 % of the requests", true},
}

// tries are the runs of a pair by one protocol.
type tries struct {
	found, reversed, late int
	seconds, halves       []float64
	ratios                []float64
	accused               []string // verdicts on a setting that is the first
	sides
}

func (t *tries) add(r *ran, metric string) (string, error) {
	if why := r.refused(); why != "" {
		return "", fmt.Errorf("dyno refuses: %s", why)
	}
	if n := len(r.Settings); n != 2 && n != 3 {
		return "", fmt.Errorf("summary.json has %d settings", n)
	}
	for _, equal := range r.Settings[2:] {
		for name, v := range equal.Versus {
			if v.Verdict == "better" || v.Verdict == "worse" {
				t.accused = append(t.accused, name+" "+v.Verdict)
			}
		}
	}
	v := r.Settings[1].Versus[metric]
	switch {
	case v.Verdict == "better":
		t.reversed++
	case v.Verdict == "worse" && r.took <= most:
		t.found++
	case r.took > most:
		t.late++
	}
	t.seconds = append(t.seconds, r.took.Seconds())
	t.halves = append(t.halves, v.half())
	t.ratios = append(t.ratios, known(v.Ratio))
	t.sides.add(r)
	return fmt.Sprintf("%s %s %s, %d blocks, %.0f s", v.Verdict, percent(known(v.Ratio)), between(known(v.Lo), known(v.Hi)), r.Blocks, r.took.Seconds()), nil
}

func (b *bench) power(ctx context.Context) error {
	for _, p := range pairs {
		if slices.Contains(strings.Split(b.pairs, ","), p.name) {
			if err := b.powerOf(ctx, p); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bench) powerOf(ctx context.Context, p pair) error {
	runs := b.times(20)
	noise := noises["none"]
	if !p.quiet && b.noise != "none" {
		noise = noises[b.noise]
		stop, err := b.makeNoise(ctx)
		if err != nil {
			return err
		}
		defer stop()
	}
	names := []string{"turns"}
	if b.alone {
		names = append(names, "alone")
	}
	all := map[string]*tries{"turns": {}, "alone": {}}
	for i := range runs {
		for j := range names {
			name := names[(i+j)%len(names)] // each goes first in every other round
			args := append([]string{b.service, "--vary", p.vary, "-c", "2", "-d", b.window.String(), "-w", "200ms",
				"--within", b.within.String()}, b.flags...)
			if name == "alone" {
				args = append(args, "--alone")
			}
			r, err := b.dynoRun(ctx, b.limit(), nil, append(append(args, "--"), p.service...)...)
			if err != nil {
				return err
			}
			said, err := all[name].add(r, p.metric)
			if err != nil {
				return err
			}
			program.Progress("%s %s, run %d of %d: %s", p.name, name, i+1, runs, said)
			b.forget(r)
		}
	}
	fmt.Fprintf(b.w, "\nPower: %s, %s; %s; %d runs, at most %v each\n", p.metric, p.truth, noise, runs, most)
	lines := [][]string{{"", "found", "reversed", "too late", "s median", "s most", "ratio", "half width"}}
	for _, name := range names {
		t := all[name]
		lines = append(lines, []string{name, fmt.Sprintf("%d of %d", t.found, runs), fmt.Sprint(t.reversed), fmt.Sprint(t.late),
			number("%.0f", median(t.seconds)), fmt.Sprintf("%.0f", slices.Max(t.seconds)), percent(median(t.ratios)), number("%.1f %%", 100*median(t.halves))})
	}
	printTable(b.w, 1, lines)
	fmt.Fprintln(b.w, "  found: called worse; reversed: called better; s: dyno's whole time, with what it builds; ratio and half\n"+
		"  width of its 95 % interval: medians of the runs")
	turns := all["turns"]
	if strings.Count(p.vary, ",") > 1 {
		fmt.Fprintf(b.w, "  called changed of the setting that is the first, in all metrics of all runs: %s\n", cmp.Or(strings.Join(turns.accused, ", "), "none"))
	}
	b.judgeSides(p.name, turns.sides)
	b.goals.Judge(fmt.Sprintf("%s: found in at least %d of %d runs of %v", p.name, enough(runs), runs, most), fmt.Sprint(turns.found), turns.found >= enough(runs))
	if b.alone && !math.IsNaN(median(all["alone"].halves)) {
		fmt.Fprintf(b.w, "  the interval is %.1f times as wide alone\n", median(all["alone"].halves)/median(turns.halves))
	}
	return nil
}
