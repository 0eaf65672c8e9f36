//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dynolab/dyno/eval/internal/program"
)

// gateFlags are those of the default gate, as action.yml has them, without the profiles, which are of trials of their own.
var gateFlags = []string{"--fail-worse", "--primary=robust"}

// alike are settings that do not differ, in turns: a revision with another comment, whose builds are linked anew in each
// block, and, twice as often, levels that mean nothing.
var alike = []string{"rev=base,equal", "AA=1,2,3,4", "AA=1,2,3,4"}

// gated counts what the default gate said of two revisions.
type gated struct {
	slower                     bool // its second revision
	runs, comparisons, stopped int  // stopped: runs with exit status 99
	false1                     []string
	seconds, halves            []float64
	blocks                     []float64
	ratios                     []float64
	sides
}

// gates runs the default gate on settings that do not differ, and on a pull request with 10 % more hashes.
func (b *bench) gates(ctx context.Context) error {
	repository, err := b.revisions(ctx)
	if err != nil {
		return err
	}
	stop, err := b.makeNoise(ctx)
	if err != nil {
		return err
	}
	defer stop()
	equal, slower := gated{}, gated{slower: true}
	runs := b.times(20)
	for i := 0; equal.comparisons < b.gate || slower.runs < runs; i++ {
		if equal.comparisons < b.gate {
			s := aas[i%len(aas)]
			if err := b.gateOf(ctx, &equal, repository, alike[i/len(aas)%len(alike)], s.name, append(slices.Clone(s.flags), "--"), s.service); err != nil {
				return err
			}
		}
		// The runs with a change are spread over the time.
		if slower.runs < runs && float64(slower.runs)*float64(max(b.gate, 1)) <= float64(runs*equal.comparisons) {
			if err := b.gateOf(ctx, &slower, repository, "rev=base,slower", "spin", []string{"--"}, []string{"spin"}); err != nil {
				return err
			}
		}
	}
	b.printGates(&equal, &slower)
	b.goals.Judge(fmt.Sprintf("gate: none of %d comparisons of equals false", equal.comparisons), fmt.Sprint(len(equal.false1)), len(equal.false1) == 0)
	b.goals.Judge(fmt.Sprintf("gate: 10 %% of CPU time found in at least %d of %d runs", enough(runs), runs), fmt.Sprint(slower.stopped), slower.stopped >= enough(runs))
	return nil
}

func (b *bench) gateOf(ctx context.Context, g *gated, repository, vary, name string, flags, service []string) error {
	args := append([]string{repository, "--vary", vary}, gateFlags...)
	args = append(args, strings.Fields(b.gateLoad)...)
	args = append(append(append(args, b.flags...), flags...), service...)
	r, err := b.dynoRun(ctx, b.limit(), nil, args...)
	if err != nil {
		return err
	}
	defer b.forget(r)
	if why := r.refused(); why != "" {
		return fmt.Errorf("dyno refuses: %s", why)
	}
	said := g.add(r)
	program.Progress("gate %s, run %d, %s: %d blocks, %.0f s, exit status %d: %s", vary, g.runs, name, r.Blocks, r.took.Seconds(), r.status, said)
	return nil
}

// add counts a run. Of two revisions that differ in CPU time alone, all other verdicts are false, too.
func (g *gated) add(r *ran) string {
	g.runs++
	g.seconds = append(g.seconds, r.took.Seconds())
	g.blocks = append(g.blocks, float64(r.Blocks))
	g.sides.add(r)
	if r.status == exitGate {
		g.stopped++
	}
	var said []string
	for i := 1; i < len(r.Settings); i++ {
		for name, v := range r.primary(i) {
			if v.Verdict == "" {
				continue
			}
			s := fmt.Sprintf("%s %s %s", name, v.Verdict, percent(known(v.Ratio)))
			said = append(said, s)
			if g.slower && name == "cpu-sec/req" {
				g.ratios, g.halves = append(g.ratios, known(v.Ratio)), append(g.halves, v.half())
				continue
			}
			g.comparisons++
			if v.changed() {
				g.false1 = append(g.false1, s)
			}
		}
	}
	slices.Sort(said)
	return strings.Join(said, ", ")
}

func (b *bench) printGates(equal, slower *gated) {
	fmt.Fprintf(b.w, "\nGate: dyno run %s %s; %s\n", strings.Join(gateFlags, " "), b.gateLoad, noises[b.noise])
	lines := [][]string{{"", "runs", "comparisons of equals", "false", "stopped", "s median", "s most", "blocks", "side by side", "ratio", "half width"}}
	for _, g := range []struct {
		about string
		*gated
	}{{"nothing changed", equal}, {"10 % more hashes", slower}} {
		lines = append(lines, []string{g.about, fmt.Sprint(g.runs), fmt.Sprint(g.comparisons), fmt.Sprint(len(g.false1)), fmt.Sprint(g.stopped),
			number("%.0f", median(g.seconds)), number("%.0f", quantile(g.seconds, 1)), number("%.0f", median(g.gated.blocks)), fmt.Sprintf("%d of %d", g.beside, g.sides.blocks), percent(median(g.ratios)), number("%.1f %%", 100*median(g.halves))})
	}
	printTable(b.w, 1, lines)
	fmt.Fprintln(b.w, "  false: called better or worse; stopped: exit status 99; ratio and half width: of CPU time per request")
	for _, f := range slices.Concat(equal.false1, slower.false1) {
		fmt.Fprintf(b.w, "  false: %s\n", f)
	}
}

// revisions makes a repository of the services with the tags base, equal and slower, in the temporary directory.
func (b *bench) revisions(ctx context.Context) (dir string, err error) {
	dir = filepath.Join(b.temp, "repository")
	if err := os.Mkdir(dir, 0o777); err != nil {
		return "", err
	}
	files := map[string]string{"go.mod": "module service\n\ngo 1.24\n"}
	for _, name := range []string{"main.go", "work.go"} {
		text, err := os.ReadFile(filepath.Join(b.service, name))
		if err != nil {
			return "", err
		}
		files[name] = string(text)
	}
	const base = `number("ITERS", 10_000)`
	if strings.Count(files["main.go"], base) != 1 {
		return "", fmt.Errorf("the service has not the line %s", base)
	}
	main1 := files["main.go"]
	git := func(args ...string) error {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "user.name=eval", "-c", "user.email=eval@localhost"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, program.LastLine(string(out)))
		}
		return nil
	}
	if err := git("init", "-q"); err != nil {
		return "", err
	}
	for _, r := range []struct{ tag, main string }{
		{"base", main1},
		{"equal", main1 + "\n// A comment.\n"},
		{"slower", strings.Replace(main1, base, `number("ITERS", 11_000)`, 1)},
	} {
		files["main.go"] = r.main
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
				return "", err
			}
		}
		for _, args := range [][]string{{"add", "."}, {"commit", "-q", "-m", r.tag}, {"tag", r.tag}} {
			if err := git(args...); err != nil {
				return "", err
			}
		}
	}
	return dir, nil
}
