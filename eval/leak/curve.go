//go:build linux

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dynolab/dyno/eval/internal/program"
)

var (
	curveSizes   = []float64{0.1, 1, 10, 100, 1000, 10000} // MiB an hour
	curveWindows = []time.Duration{time.Minute, 3 * time.Minute, 10 * time.Minute}
	curveGOGC    = []string{"100", "400"}
)

// curve runs leaks of all sizes in windows of all lengths. The longest come first, so that
// the others fill what they leave free.
func (b *bench) curve(ctx context.Context) error {
	var jobs []job
	for _, d := range slices.Backward(curveWindows) {
		for _, size := range slices.Backward(curveSizes) {
			if d > curveWindows[1] && size > 1000 {
				continue // gigabytes in each of many at once
			}
			for n := range b.runs {
				jobs = append(jobs, job{sized(size, d), n, "bursts.yaml", d})
			}
		}
	}
	program.Progress("curve: %d runs, %d at once", len(jobs), b.atOnce)
	outcomes, err := b.play(ctx, jobs, b.atOnce)
	if len(outcomes) == 0 {
		return err
	}
	fmt.Fprintf(b.w, "\nCurve: leaks found, of %d runs each at some %d requests a second, GOGC %s by turns\n", b.runs, burstRate, strings.Join(curveGOGC, " and "))
	b.drawCurve(outcomes)
	b.said()
	return err
}

// sized leaks so many MiB an hour; its name says the window, too.
func sized(size float64, window time.Duration) kind {
	of := leak(fmt.Sprintf("%gMiB/h-%v", size, window), int(size*(1<<20)/3600/burstRate*1000))
	flags := of.flags
	of.flags = func(n int, d time.Duration) []string {
		return append(flags(3-n%2, d), "--env", "GOGC="+curveGOGC[n%len(curveGOGC)])
	}
	of.name = strings.ReplaceAll(of.name, "/", "-")
	return of
}

func (b *bench) drawCurve(outcomes []outcome) {
	t := tabwriter.NewWriter(b.w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\t")
	for _, size := range curveSizes {
		fmt.Fprintf(t, "%g MiB/h\t", size)
	}
	fmt.Fprintln(t)
	for _, d := range curveWindows {
		fmt.Fprintf(t, "%v\t", d)
		best := 0.0
		for _, size := range curveSizes {
			name, n, found, right := sized(size, d).name, 0, 0, 0
			for _, o := range outcomes {
				if o.Kind != name || o.Err != "" {
					continue
				}
				n++
				if c := o.Found[0]; c.leaking() {
					found++
					if len(c.Sites) == 0 || c.RightSite {
						right++
					}
				}
			}
			if n == 0 {
				fmt.Fprint(t, "-\t")
				continue
			}
			fmt.Fprintf(t, "%d/%d\t", found, n)
			b.goals.Judge(fmt.Sprintf("curve, %v: %g MiB/h no less than smaller ones", d, size), share(found, n), float64(found)/float64(n) >= best)
			b.goals.Judge(fmt.Sprintf("curve, %v: %g MiB/h at the right place", d, size), share(right, found), right == found)
			best = max(best, float64(found)/float64(n))
		}
		fmt.Fprintln(t)
	}
	t.Flush()
}
