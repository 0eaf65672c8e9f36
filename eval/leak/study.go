//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/dynolab/dyno/eval/internal/program"
)

// studied is what T. Keskiniemi, Measuring Performance in Go (Metropolia, 2022), has
// in its table 2, MB.
var studied = []struct {
	gogc string
	mb   float64
}{{"0", 30.3}, {"50", 30.9}, {"100", 32.4}, {"150", 34.1}, {"200", 36.0}}

const (
	studyBase  = 2               // GOGC=100
	studyApart = 5 * time.Second // between two starts
)

// A resident is what one setting of the study came to.
type resident struct {
	*report
	level   float64 // bytes
	at      time.Duration
	levels  bool
	samples int
}

// studyMemory runs the plan of study 000's memory with its five settings side by
// side, and prints its table 2.
func (b *bench) studyMemory(ctx context.Context) error {
	plan := filepath.Join(b.root, "examples/sessions/memory.yaml")
	program.Progress("study: five settings side by side, %v each", b.studied)
	end := meter()
	found := make([]resident, len(studied))
	errs := make([]error, len(studied))
	var wg sync.WaitGroup
	for i, s := range studied {
		wg.Go(func() {
			wait(ctx, time.Duration(i)*studyApart)
			found[i], errs[i] = b.studyOne(ctx, plan, s.gogc)
			if errs[i] != nil {
				errs[i] = fmt.Errorf("GOGC=%s: %w", s.gogc, errs[i])
			}
			program.Progress("GOGC=%s has ended", s.gogc)
		})
	}
	wg.Wait()
	b.busy, b.own = end()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	fmt.Fprintf(b.w, "\nMemory usage with different values of GOGC: %v of %s each, side by side\n", b.studied, b.rate)
	b.studyTable(found)
	b.said()
	return nil
}

func (b *bench) studyOne(ctx context.Context, plan, gogc string) (r resident, err error) {
	dir := filepath.Join(b.dir, "sessions-memory-"+gogc)
	args := []string{"-f", plan, "--vary", "GOGC=" + gogc, "-d", b.studied.String(), "-r", b.rate, "--idle", b.idle, "--every", "1s"}
	if r.report, err = b.run(ctx, dir, args, b.studied+20*time.Minute); err != nil {
		return r, err
	}
	samples, err := readRSS(filepath.Join(dir, "trials", "0001"))
	if err != nil {
		return r, err
	}
	r.samples = len(samples)
	r.level, r.at, r.levels = levelOf(samples, b.studied)
	return r, nil
}

// studyTable has the study's rows, in its units, and what it could not say.
func (b *bench) studyTable(found []resident) {
	t := tabwriter.NewWriter(b.w, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(label string, cell func(i int) string) {
		fmt.Fprintf(t, "%s\t", label)
		for i := range studied {
			fmt.Fprintf(t, "%s\t", cell(i))
		}
		fmt.Fprintln(t)
	}
	peak := func(i int) float64 { return found[i].get("rss-peak-B") / 1e6 }
	told := func(i int) float64 { return studied[i].mb }
	line("GOGC", func(i int) string { return studied[i].gogc })
	for _, who := range []struct {
		name string
		mb   func(int) float64
	}{{"", peak}, {"study: ", told}} {
		line(who.name+"highest RSS, MB", func(i int) string { return fmt.Sprintf("%.1f", who.mb(i)) })
		line(who.name+"difference, MB", func(i int) string { return fmt.Sprintf("%+.1f", who.mb(i)-who.mb(studyBase)) })
		line(who.name+"difference, %", func(i int) string { return fmt.Sprintf("%+.1f", 100*(who.mb(i)/who.mb(studyBase)-1)) })
	}
	line("level of RSS, MB", func(i int) string { return fmt.Sprintf("%.1f", found[i].level/1e6) })
	line("time to level, s", func(i int) string {
		if !found[i].levels {
			return "not level"
		}
		return fmt.Sprintf("%.0f", found[i].at.Seconds())
	})
	line("RSS after the rest, MB", func(i int) string { return mb(found[i].get("rss-idle-B")) })
	line("live heap, MB", func(i int) string { return mb(found[i].get("heap-live-B")) })
	line("leak", func(i int) string { return found[i].findings["heap"].Verdict })
	line("finds from, MiB/h", func(i int) string { return fmt.Sprintf("%.2f", found[i].findings["heap"].Detectable/(1<<20)) })
	line("late over 30 ms", func(i int) string { return percent(found[i].get("late-frac")) })
	line("requests/s", func(i int) string { return fmt.Sprintf("%.0f", found[i].get("req/s")) })
	line("samples of RSS", func(i int) string { return strconv.Itoa(found[i].samples) })
	t.Flush()
	fmt.Fprint(b.w, "  level: the median of the second half, of the highest RSS in the twentieth of the window before each sample; time\n"+
		"  to level: from when on these are all within 1 MB or 2 % of it; MB are millions of bytes\n")
}

// get is a metric, NaN if dyno has none.
func (r *report) get(metric string) float64 {
	if v, ok := r.values[metric]; ok {
		return v
	}
	return math.NaN()
}

func mb(v float64) string      { return fmt.Sprintf("%.1f", v/1e6) }
func percent(v float64) string { return fmt.Sprintf("%.3f %%", 100*v) }
