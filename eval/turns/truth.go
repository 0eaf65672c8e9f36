//go:build linux

package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/dynolab/dyno/eval/internal/program"
)

// factor varies in truth.
const factor = "GOGC"

// measured is what one arm has of a subject.
type measured struct {
	arm
	blocks []launched
	sides
	seconds float64
}

// truths holds the changes that turns show against those that show while each setting is alone.
func (b *bench) truths(ctx context.Context) error {
	for _, s := range subjects {
		if !slices.Contains(b.truth.names, s.name) {
			continue
		}
		if err := b.truthOf(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) truthOf(ctx context.Context, s subject) error {
	var all []measured
	for _, a := range b.truth.each {
		if a.hasNeighbour() && !s.own {
			fmt.Fprintf(b.w, "\nnote: %s takes no neighbour, so arm %s is left out\n", s.name, a.name)
			continue
		}
		all = append(all, measured{arm: a})
	}
	rounds := b.times(3)
	began := time.Now()
	for round := range rounds {
		for i := range all {
			m := &all[(i+round)%len(all)]
			at := time.Now()
			if err := b.measureArm(ctx, s, m); err != nil {
				return err
			}
			m.seconds += time.Since(at).Seconds()
			program.Progress("truth %s, round %d of %d, %s: %.0f s", s.name, round+1, rounds, m.name, time.Since(at).Seconds())
		}
	}
	fmt.Fprintf(b.w, "\nTruth: %s (%s), %d clients, %v a trial, %d rounds of %d blocks; %.0f s\n",
		s.name, s.about, b.truth.clients, b.truth.window, rounds, b.truth.blocks, time.Since(began).Seconds())
	b.printLevels(all)
	b.printChanges(s, all)
	return nil
}

// measureArm does one round of an arm.
func (b *bench) measureArm(ctx context.Context, s subject, m *measured) error {
	if m.hasNeighbour() {
		return b.measureBeside(ctx, s, m)
	}
	window, more := b.truth.window, []string{"--vary", factor + "=" + b.truth.levels}
	if m.kind == "turns" {
		if m.turn > 0 {
			more = append(more, "--turn", m.turn.String())
		}
	} else {
		more = append(more, "--alone")
	}
	if m.rest != nil { // as much load as without
		window = window * (m.rest.on + m.rest.off) / m.rest.on
	}
	r, err := b.truthRun(ctx, s, window, m.rest, len(b.truth.degrees), more...)
	if err != nil {
		return err
	}
	defer b.forget(r)
	m.sides.add(r)
	m.blocks = append(m.blocks, blocksOf(r.trials, factor)...)
	return nil
}

// measureBeside measures each level in a run of its own, in turns with an instance of the program
// that is something else. So the setting rests as in turns, and what its neighbour does is known.
func (b *bench) measureBeside(ctx context.Context, s subject, m *measured) error {
	blocks := make([]launched, b.truth.blocks)
	for i := range blocks {
		blocks[i] = launched{}
	}
	for _, i := range rand.Perm(len(b.truth.degrees)) {
		level := b.truth.degrees[i]
		more := []string{"--env", factor + "=" + level, "--vary", "NEIGHBOUR=none," + m.kind}
		if m.turn > 0 {
			more = append(more, "--turn", m.turn.String())
		}
		r, err := b.truthRun(ctx, s, b.truth.window, nil, 2, more...)
		if err != nil {
			return err
		}
		m.sides.add(r)
		for _, t := range r.trials {
			if t.Levels["NEIGHBOUR"] == "none" && t.Block >= 1 && t.Block <= len(blocks) {
				blocks[t.Block-1][level] = t.Values
			}
		}
		b.forget(r)
	}
	m.blocks = append(m.blocks, blocks...)
	return nil
}

func (b *bench) truthRun(ctx context.Context, s subject, window time.Duration, rests *rest, settings int, more ...string) (*ran, error) {
	args := append(s.flags(b.root, b.service), "-c", fmt.Sprint(b.truth.clients), "-d", window.String(), "-w", "500ms",
		"--repeat", fmt.Sprint(b.truth.blocks), "--keep-requests", "none")
	args = append(args, more...)
	if len(s.args) > 0 {
		args = append(append(args, "--"), s.args...)
	}
	limit := 3*time.Minute + time.Duration(b.truth.blocks*settings)*(3*window+5*time.Second)
	r, err := b.dynoRun(ctx, limit, rests, args...)
	if err != nil {
		return nil, err
	}
	if why := r.refused(); why != "" {
		return nil, fmt.Errorf("dyno refuses: %s", why)
	}
	for _, f := range r.Failed {
		fmt.Fprintf(b.w, "  note: trial %d failed: %s\n", f.Trial, f.Error)
	}
	return r, nil
}

// printLevels shows the values themselves, which tell which level an arm sees otherwise.
func (b *bench) printLevels(all []measured) {
	head := []string{factor, "arm"}
	for _, m := range compared {
		head = append(head, m.name)
	}
	units := []string{"", ""}
	for _, m := range compared {
		units = append(units, m.unit)
	}
	lines := [][]string{head, units}
	for _, level := range b.truth.degrees {
		for i, m := range all {
			line := []string{"", m.name}
			if i == 0 {
				line[0] = level
			}
			for _, c := range compared {
				line = append(line, number("%.4g", levelMedian(m.blocks, level, c.name)*c.scale))
			}
			lines = append(lines, line)
		}
	}
	printTable(b.w, 2, lines)
	fmt.Fprintln(b.w, "  medians of the blocks")
}

// printChanges shows the changes with their intervals, and those that are not the first arm's.
func (b *bench) printChanges(s subject, all []measured) {
	arms := make([][]launched, len(all))
	for i, m := range all {
		arms[i] = m.blocks
	}
	cs := comparisons(arms, b.truth.degrees)
	each := 0 // comparisons of an arm that is not the first
	for _, c := range cs {
		if c.arm == 1 {
			each++
		}
	}
	lines := [][]string{{factor, "metric", "arm", "change", "95 %", "from " + all[0].name + "'s", "95 %", ""}}
	last := ""
	for _, c := range cs {
		line := []string{"", "", all[c.arm].name, percent(c.ratio()), between(c.interval(0.05)), "", "", ""}
		if c.level != last {
			line[0], last = c.level, c.level
		}
		if c.arm == 0 {
			line[1] = c.metric
		} else {
			line[5], line[6], line[7] = percent(c.from.ratio()), between(c.from.interval(0.05)), c.word(each)
		}
		if c.lost > 0 {
			line[7] = strings.TrimSpace(fmt.Sprintf("%s (%d blocks with 0)", line[7], c.lost))
		}
		lines = append(lines, line)
	}
	fmt.Fprintf(b.w, "  changes from %s=%s\n", factor, b.truth.degrees[0])
	printTable(b.w, 3, lines)
	fmt.Fprintf(b.w, "  intervals: by t over blocks, by Welch between arms; doubt: the interval leaves 0 out;\n"+
		"  differs: so does one for all %d comparisons of the arm\n", each)
	for i, m := range all {
		what := fmt.Sprintf("%s, %s", s.name, m.name)
		if m.kind == "turns" || m.hasNeighbour() {
			b.judgeSides(what, m.sides)
		}
		if m.kind == "turns" && i > 0 {
			b.judgeArm(what, all[0].name, m.sides, slices.DeleteFunc(slices.Clone(cs), func(c comparison) bool { return c.arm != i }), each)
		}
	}
}

// seen is how well the change of CPU time has to be known for its agreement to mean something.
const seen = 0.05

// judgeArm holds the changes of an arm in turns against the first arm's. That they do not differ
// tells nothing where nothing could be seen, or where the settings did not take turns.
func (b *bench) judgeArm(what, first string, s sides, cs []comparison, each int) {
	agree := fmt.Sprintf("%s: no change differs from %s's", what, first)
	width := fmt.Sprintf("%s: difference in cpu-sec/req known to %g %%", what, seen*100)
	if s.beside < s.blocks || s.blocks == 0 || len(cs) == 0 {
		b.goals.Blank(agree)
		b.goals.Blank(width)
		return
	}
	wrong, blank, half := 0, 0, math.NaN()
	for _, c := range cs {
		switch c.word(each) {
		case differs:
			wrong++
		case unknown:
			blank++
		}
		if c.metric == "cpu-sec/req" {
			if h := halfWidth(c.from.interval(0.05)); math.IsNaN(half) || h > half { // the widest of the levels
				half = h
			}
		}
	}
	b.goals.Judge(agree, fmt.Sprintf("%d of %d differ, %d unknown", wrong, len(cs), blank), wrong == 0 && blank == 0)
	b.goals.Judge(width, number("%.1f %%", half*100), half <= seen)
}
