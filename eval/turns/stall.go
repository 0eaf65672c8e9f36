//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
)

// The stalling service holds what arrives in the first quarter of its period for up to 500 ms. So
// at an even rate p70 is next to nothing, and a share of 0.10 waits longer than 300 ms, one of 0.01
// longer than 480 ms.
const (
	stallRate  = 500
	stallShort = 5.0 // ms, of p70
)

var stallTruth = []struct {
	metric string
	q, ms  float64
}{{"p90-sec", 0.90, 300}, {"p99-sec", 0.99, 480}}

// A stalled setting is what its trials showed.
type stalled struct {
	ms           []float64            // latencies of all requests
	own          map[string][]float64 // dyno's own percentiles of each trial, ms
	sent, unsent float64
}

func (s *stalled) add(dir string, t trial) error {
	ms, err := readLatencies(filepath.Join(dir, "trials", fmt.Sprintf("%04d", t.Trial), "requests.parquet"))
	if err != nil {
		return err
	}
	s.ms = append(s.ms, ms...)
	s.sent += t.Sent.Requests
	s.unsent += t.Sent.Unsent
	for metric, v := range t.Values {
		s.own[metric] = append(s.own[metric], v*1e3)
	}
	return nil
}

// stalls asks for the percentiles of two equal settings that stall.
func (b *bench) stalls(ctx context.Context) error {
	settings := map[string]*stalled{"1": {own: map[string][]float64{}}, "2": {own: map[string][]float64{}}}
	var s sides
	said := ""
	runs := b.times(2)
	for range runs {
		args := append([]string{b.service, "--vary", "AA=1,2", "--rate", fmt.Sprintf("%d/s", stallRate), "-d", b.stall.String(),
			"--repeat", "1"}, b.flags...)
		r, err := b.dynoRun(ctx, 3*time.Minute+6*b.stall, nil, append(args, "--", "stall")...)
		if err != nil {
			return err
		}
		if why := r.refused(); why != "" {
			fmt.Fprintf(b.w, "\nStall: %d/s over a service that stalls\n  dyno refuses: %s\n", stallRate, why)
			b.goals.Judge("stall: percentiles within 2 %, or refused with the reason", "refused", true)
			return nil
		}
		said = r.said
		s.add(r)
		for _, t := range r.trials {
			if setting, ok := settings[t.Levels["AA"]]; ok {
				if err := setting.add(r.dir, t); err != nil {
					return err
				}
			}
		}
		b.forget(r)
	}
	fmt.Fprintf(b.w, "\nStall: %d/s over a service that stalls 500 ms of every 2 s, two equal settings, %v each, %d runs; ms\n", stallRate, b.stall, runs)
	b.printStalls(settings, runs)
	fmt.Fprintf(b.w, "  p70 to p99: of all requests of all runs; dyno's: medians of the trials; settings side by side in %d of %d blocks\n", s.beside, s.blocks)
	if s.beside < s.blocks {
		fmt.Fprintf(b.w, "  dyno said:\n%s", indent(said))
	}
	b.judgeStalls(settings)
	return nil
}

func (b *bench) printStalls(settings map[string]*stalled, runs int) {
	lines := [][]string{{"", "p70", "p90", "p99", "dyno's p90", "p99", "requests", "unsent"}, {"truth", "0.00", "300.0", "480.0", "300.0", "480.0",
		fmt.Sprintf("%.0f", stallRate*b.stall.Seconds()*float64(runs)), "0"}}
	for _, level := range slices.Sorted(maps.Keys(settings)) {
		x := settings[level]
		lines = append(lines, []string{"AA=" + level, number("%.2f", quantile(x.ms, 0.70)), number("%.1f", quantile(x.ms, 0.90)), number("%.1f", quantile(x.ms, 0.99)),
			number("%.1f", median(x.own["p90-sec"])), number("%.1f", median(x.own["p99-sec"])), fmt.Sprint(x.sent), fmt.Sprint(x.unsent)})
	}
	printTable(b.w, 1, lines)
}

func (b *bench) judgeStalls(settings map[string]*stalled) {
	for _, level := range slices.Sorted(maps.Keys(settings)) {
		x, what := settings[level], "stall, AA="+level
		judge := func(goal string, v float64, met bool) {
			if math.IsNaN(v) {
				b.goals.Blank(what + ": " + goal)
				return
			}
			b.goals.Judge(what+": "+goal, fmt.Sprintf("%.2f ms", v), met)
		}
		p70 := quantile(x.ms, 0.70)
		judge(fmt.Sprintf("p70 under %g ms", stallShort), p70, p70 < stallShort)
		for _, t := range stallTruth {
			v, own := quantile(x.ms, t.q), median(x.own[t.metric])
			judge(fmt.Sprintf("p%g within 2 %% of %g ms", t.q*100, t.ms), v, near(v, t.ms))
			judge(fmt.Sprintf("dyno's p%g within 2 %% of %g ms", t.q*100, t.ms), own, near(own, t.ms))
		}
	}
}

func near(v, want float64) bool { return math.Abs(v/want-1) <= 0.02 }

// readLatencies returns those of all requests of a trial, failed ones too, in milliseconds.
func readLatencies(path string) (ms []float64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	type row struct {
		Due  int64 `parquet:"due_ns"`
		Done int64 `parquet:"done_ns"`
	}
	r := parquet.NewGenericReader[row](f)
	defer r.Close()
	rows := make([]row, 4096)
	for {
		n, err := r.Read(rows)
		for _, x := range rows[:n] {
			ms = append(ms, float64(x.Done-x.Due)/1e6)
		}
		if errors.Is(err, io.EOF) {
			return ms, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
	}
}

func indent(s string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n    ") + "\n"
}
