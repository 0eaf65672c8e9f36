//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dynolab/dyno/eval/internal/program"
)

// A check is what of dyno receipt check --json is used here.
type check struct {
	Checks []struct {
		Outcomes []struct {
			Setting, Metric, Outcome, Reason string
			Corrected, Doubted               bool
		}
	}
}

// rates are of what was measured when the receipt was made.
var rates = []float64{0.7, 1, 1.3}

// receipts measures the base of each workload, keeps what dyno predicts as a receipt, measures its settings at several rates, and lets
// dyno hold the receipt against each. Then it plants a wrong receipt.
func (b *bench) receipts(ctx context.Context, chosen []workload, w io.Writer) error {
	held, told, untold := map[string]int{}, map[string]int{}, map[string]int{}
	planted, caught := 0, 0
	for _, x := range chosen {
		program.Progress("%s", x.name)
		base := filepath.Join(b.dir, x.name+"-base")
		rate, err := b.rate(ctx, x)
		if err == nil {
			err = b.run(ctx, x, base, b.loadOf(rate), 2*b.launches, `{GOGC: "100"}`)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", x.name, err)
		}
		settings, err := b.save(ctx, base)
		if err != nil {
			return fmt.Errorf("%s: %w", x.name, err)
		}
		for _, by := range rates {
			run := filepath.Join(b.dir, fmt.Sprintf("%s-at-%g", x.name, by))
			if err := b.run(ctx, x, run, b.loadOf(by*rate), b.launches, settings...); err != nil {
				return fmt.Errorf("%s: %w", x.name, err)
			}
			c, err := b.check(ctx, run, base)
			if err != nil {
				return fmt.Errorf("%s: %w", x.name, err)
			}
			for _, r := range c.Checks {
				for _, o := range r.Outcomes {
					for _, sort := range []string{sortOf(o.Doubted, ""), sortOf(o.Doubted, o.Metric), sortOf(o.Doubted, fmt.Sprintf("at %g times the rate", by))} {
						switch o.Outcome {
						case "held":
							held[sort]++
							fallthrough
						case "missed":
							told[sort]++
						default:
							untold[sort]++
						}
					}
					fmt.Fprintf(w, "%-8s %3.1f  %-32s %-20s %-7s %s%s%s\n", x.name, by, o.Setting, o.Metric, o.Outcome, o.Reason,
						map[bool]string{true: " corrected"}[o.Corrected], map[bool]string{true: " doubtful"}[o.Doubted])
				}
			}
		}
		n, found, err := b.plant(ctx, base, filepath.Join(b.dir, x.name+"-at-1"))
		if err != nil {
			return fmt.Errorf("%s: plant: %w", x.name, err)
		}
		planted, caught = planted+n, caught+found
	}
	goals := program.Goals{W: w, Width: 60}
	for _, sort := range slices.Sorted(maps.Keys(told)) {
		fmt.Fprintf(w, "%-50s %4d of %4d held, %5.1f %%; %d cannot be told\n", sort, held[sort], told[sort], 100*float64(held[sort])/float64(told[sort]), untold[sort])
	}
	coverage(&goals, "receipts without a doubt", held[sortOf(false, "")], told[sortOf(false, "")])
	goals.Judge("planted wrong promises are called so: all", fmt.Sprintf("%d of %d", caught, planted), planted > 0 && caught == planted)
	return goals.Conclude(b.options.check)
}

func sortOf(doubted bool, what string) string {
	return strings.TrimSpace(map[bool]string{false: "without a doubt", true: "with a doubt"}[doubted] + " " + what)
}

// save keeps a receipt for GOGC from 50 to 400 and two limits, and returns these settings as plans have them.
func (b *bench) save(ctx context.Context, base string) (settings []string, err error) {
	f, err := b.predict(ctx, base)
	if err != nil {
		return nil, err
	}
	ask := [][]string{{"--gogc", "50,200,400"}}
	for _, gogc := range []string{"50", "200", "400"} {
		settings = append(settings, fmt.Sprintf(`{GOGC: "%s"}`, gogc))
	}
	for _, share := range []float64{0.85, 1.4} {
		limit := fmt.Sprintf("%.0fMiB", share*f.Measured[0].Mapped/(1<<20))
		ask = append(ask, []string{"--gogc", "off", "--limit", limit})
		settings = append(settings, fmt.Sprintf(`{GOGC: "off", GOMEMLIMIT: %s}`, limit))
	}
	for _, args := range ask {
		if _, err := b.predict(ctx, base, append(args, "--save")...); err != nil {
			return nil, err
		}
	}
	return settings, nil
}

// check holds the receipts of a directory against a run.
func (b *bench) check(ctx context.Context, run, root string) (c check, err error) {
	cmd := exec.CommandContext(ctx, b.dyno, "receipt", "check", run, "--root", root, "--json")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil {
		return c, fmt.Errorf("dyno receipt check: %w: %s", err, program.LastLine(stderr.String()))
	}
	return c, json.Unmarshal(text, &c)
}

// plant writes a receipt with three times the figures, and counts how many of its promises that can be told are said not to hold.
func (b *bench) plant(ctx context.Context, base, run string) (planted, caught int, err error) {
	text, err := os.ReadFile(filepath.Join(base, "receipt.json"))
	if err != nil {
		return 0, 0, err
	}
	var r map[string]any
	if err := json.Unmarshal(text, &r); err != nil {
		return 0, 0, err
	}
	promises, _ := r["promises"].([]any)
	for _, p := range promises {
		p := p.(map[string]any)
		delete(p, "doubts")
		value, ok := p["value"].(float64)
		if !ok {
			return 0, 0, errors.New("a promise without a value")
		}
		p["value"], p["lo"], p["hi"] = 3*value, 2.9*value, 3.1*value
	}
	r["id"] = "planted"
	if text, err = json.Marshal(r); err != nil {
		return 0, 0, err
	}
	root := base + "-planted"
	if err := os.MkdirAll(root, 0o777); err != nil {
		return 0, 0, err
	}
	if err := os.WriteFile(filepath.Join(root, "receipt.json"), text, 0o666); err != nil {
		return 0, 0, err
	}
	c, err := b.check(ctx, run, root)
	if err != nil {
		return 0, 0, err
	}
	for _, x := range c.Checks {
		for _, o := range x.Outcomes {
			if o.Outcome != "untold" {
				planted++
			}
			if o.Outcome == "missed" {
				caught++
			}
		}
	}
	return planted, caught, nil
}

// loadOf is a load of so many requests per second.
func (b *bench) loadOf(rate float64) string {
	digits := math.Pow(10, 2-math.Floor(math.Log10(rate)))
	return fmt.Sprintf("rate: %g/s, duration: %v", math.Round(rate*digits)/digits, b.window)
}
