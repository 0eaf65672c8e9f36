//go:build linux

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dynolab/dyno/eval/internal/program"
)

// aas are services whose two settings are equal: AA means nothing to them.
var aas = []struct {
	name, about string
	flags       []string
	service     []string
}{
	{"spin", "hardly a collection", nil, []string{"spin"}},
	{"alloc", "a high share of collections", []string{"--env", "GOGC=25"}, []string{"alloc"}},
}

// equals counts what was said of equal settings.
type equals struct {
	runs, comparisons    int
	wrong, wrongVerdicts int // runs with a false verdict, and those verdicts
	gated                int // false alarms of the gate
	gc                   []float64
	seconds              []float64
	sides
}

func (b *bench) falseAlarms(ctx context.Context) error {
	gate, err := b.offers(ctx, "--fail-worse")
	if err != nil {
		return err
	}
	stop, err := b.makeNoise(ctx)
	if err != nil {
		return err
	}
	defer stop()
	family, gated := make([]equals, len(aas)), make([]equals, len(aas))
	for i := range b.times(40) {
		if err := b.equal(ctx, i, &family[i%len(aas)], "run"); err != nil {
			return err
		}
	}
	if gate {
		for i := 0; sum(gated, func(e equals) int { return e.comparisons }) < b.gate; i++ {
			if err := b.equal(ctx, i, &gated[i%len(aas)], "gate", "--fail-worse"); err != nil {
				return err
			}
		}
	}
	runs, wrong := b.printEquals("runs of the family kind", family), sum(family, func(e equals) int { return e.wrong })
	b.goals.Judge(fmt.Sprintf("A/A: at most %d of %d runs with a false verdict", allowed(runs), runs), fmt.Sprint(wrong), wrong <= allowed(runs))
	b.judgeSides("A/A", sides{sum(family, func(e equals) int { return e.beside }), sum(family, func(e equals) int { return e.sides.blocks })})
	const goal = "A/A: at most 1 of 300 comparisons of the gate kind false"
	if b.gate == 0 {
		return nil
	}
	if !gate {
		fmt.Fprintln(b.w, "  note: this dyno run has no --fail-worse")
		b.goals.Blank(goal)
		return nil
	}
	b.printEquals("runs of the gate kind", gated)
	false1 := sum(gated, func(e equals) int { return e.gated })
	b.goals.Judge(goal, fmt.Sprintf("%d of %d", false1, sum(gated, func(e equals) int { return e.comparisons })), false1 <= max(1, b.gate/300))
	return nil
}

// equal does one run of a service whose settings are equal.
func (b *bench) equal(ctx context.Context, i int, e *equals, what string, more ...string) error {
	s := aas[i%len(aas)]
	args := append([]string{b.service, "--vary", "AA=1,2", "-c", "2", "-d", b.window.String(), "-w", "200ms",
		"--within", b.within.String()}, s.flags...)
	args = append(append(append(append(args, b.flags...), more...), "--"), s.service...)
	r, err := b.dynoRun(ctx, b.limit(), nil, args...)
	if err != nil {
		return err
	}
	defer b.forget(r)
	if why := r.refused(); why != "" {
		return fmt.Errorf("dyno refuses: %s", why)
	}
	wrong := e.add(r)
	program.Progress("A/A %s %d, %s: %d blocks, %.0f s, exit status %d, false: %d %s", what, i+1, s.name, r.Blocks, r.took.Seconds(), r.status, len(wrong), strings.Join(wrong, ", "))
	return nil
}

// add returns the false verdicts on primary metrics.
func (e *equals) add(r *ran) (wrong []string) {
	for name, v := range r.primary(1) {
		if v.Verdict != "" {
			e.comparisons++
		}
		if v.changed() {
			wrong = append(wrong, fmt.Sprintf("%s %s %s", name, v.Verdict, percent(known(v.Ratio))))
		}
	}
	slices.Sort(wrong)
	e.runs++
	e.wrongVerdicts += len(wrong)
	if len(wrong) > 0 {
		e.wrong++
	}
	if r.status == exitGate {
		e.gated += max(1, r.failedThresholds())
	}
	for _, t := range r.trials {
		if v, ok := t.Values["gc-cpu-frac"]; ok {
			e.gc = append(e.gc, v)
		}
	}
	e.seconds = append(e.seconds, r.took.Seconds())
	e.sides.add(r)
	return wrong
}

func (b *bench) printEquals(what string, es []equals) (runs int) {
	fmt.Fprintf(b.w, "\nA/A: %s; %s\n", what, noises[b.noise])
	lines := [][]string{{"", "", "collecting", "runs", "with a false verdict", "comparisons", "false", "gate false", "s median"}}
	for i, e := range es {
		runs += e.runs
		lines = append(lines, []string{aas[i].name, aas[i].about, number("%.1f %%", 100*median(e.gc)), fmt.Sprint(e.runs), fmt.Sprint(e.wrong),
			fmt.Sprint(e.comparisons), fmt.Sprint(e.wrongVerdicts), fmt.Sprint(e.gated), number("%.0f", median(e.seconds))})
	}
	printTable(b.w, 2, lines)
	fmt.Fprintln(b.w, "  comparisons: of primary metrics; collecting: share of the service's CPU time, median of the trials;\n  gate false: alarms in runs with exit status 99")
	return runs
}

func sum(es []equals, of func(equals) int) (n int) {
	for _, e := range es {
		n += of(e)
	}
	return n
}
