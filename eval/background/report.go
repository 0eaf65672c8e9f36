//go:build linux

package main

import (
	"fmt"
	"math"
	"os"
	"text/tabwriter"

	"github.com/dynolab/dyno/eval/internal/program"
)

var metrics = []string{"cpu-sec/req", "req/s", "p50-sec", "p99-sec"}

// far is how far the two may be apart.
const far = 0.1

const exitGate = 99

func (r *record) way() string {
	if r.Default.Why == "" {
		return "side by side"
	}
	return "alone: " + r.Default.Why
}

// A tally counts comparisons of one change, measured in two ways.
type tally struct{ all, agree, apart, surely, unknown int }

// add returns the ratio of the two ratios. They agree if its interval has 1, by the two half-widths as errors that
// are independent.
func (t *tally) add(a, b *change) (ratio float64, word string) {
	if !a.known() || !b.known() {
		t.unknown++
		return math.NaN(), "unknown"
	}
	off := math.Log(*a.Ratio / *b.Ratio)
	half := math.Hypot(a.half(), b.half())
	t.all++
	if math.Abs(off) <= half {
		t.agree++
	} else {
		word = "differs"
	}
	if math.Abs(off) > math.Log(1+far) {
		t.apart++
		if math.Abs(off)-half > math.Log(1+far) {
			t.surely++
			word = "far"
		}
	}
	return math.Exp(off), word
}

func (c *change) known() bool {
	return c != nil && c.Ratio != nil && c.Lo != nil && c.Hi != nil && *c.Lo > 0
}

// half is half of the width of the interval of the logarithm.
func (c *change) half() float64 { return math.Log(*c.Hi / *c.Lo) / 2 }

func (c *change) String() string {
	if !c.known() {
		return "-"
	}
	return fmt.Sprintf("%+.1f%% ±%.1f%%", 100*(*c.Ratio-1), 100*(math.Exp(c.half())-1))
}

// report prints what the file has of the combinations that were asked for, and judges it.
func (b *bench) report() error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "background\tsettings\tload\tsetting\tmetric\tdefault\talone\tratio\t\ts\ts alone\tmeasured")
	var all, beside tally
	for _, c := range combinations() {
		r := b.known[b.key(c)]
		if r == nil || !b.only.MatchString(c.name()) {
			continue
		}
		for i := range r.Default.Changes {
			for _, m := range metrics {
				x, y := r.Default.Changes[i][m], r.Alone.Changes[i][m]
				ratio, word := all.add(x, y)
				if r.Default.Why == "" {
					beside.add(x, y)
				}
				fmt.Fprintf(w, "%s:%g\t%d\t%s\t%s\t%s\t%v\t%v\t%.3f\t%s\t%.0f\t%.0f\t%s\n", c.kind, c.share, c.settings, c.arrival(),
					c.levels()[i+1], m, x, y, ratio, word, r.Default.Seconds, r.Alone.Seconds, r.way())
			}
		}
	}
	w.Flush()
	goals := program.Goals{W: os.Stdout, Width: 64}
	for _, t := range []struct {
		what string
		tally
	}{{"all", all}, {"of those side by side", beside}} {
		fmt.Printf("%s: %d comparisons, %d agree, %d more than a tenth apart, %d surely; %d unknown\n", t.what, t.all, t.agree, t.apart, t.surely, t.unknown)
	}
	if all.all > 0 {
		goals.Judge("at least 95 % agree within their intervals", fmt.Sprintf("%d of %d", all.agree, all.all), all.agree*20 >= all.all*19)
		goals.Judge("none is more than a tenth off, beyond the intervals", fmt.Sprint(all.surely), all.surely == 0)
	}
	runs, stopped := 0, 0
	for _, r := range b.known {
		if r.Gate != nil {
			if runs++; *r.Gate == exitGate {
				stopped++
			}
		}
	}
	if runs > 0 {
		goals.Judge("the gate stops a goroutine that burns most of a CPU", fmt.Sprintf("%d of %d", stopped, runs), stopped == runs)
	}
	return goals.Conclude(b.check)
}
