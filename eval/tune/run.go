//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dynolab/dyno/eval/internal/program"
)

// A service is what a plan says of it, but for settings and the length of the load.
type service struct {
	name, subject, load string
}

// plan writes a plan, and returns its file.
func (b *bench) plan(s service, name string, gogcs []int, repeat int, length time.Duration) (string, error) {
	settings := make([]string, len(gogcs))
	for i, g := range gogcs {
		settings[i] = fmt.Sprintf(`{GOGC: "%d"}`, g)
	}
	load, repeats := s.load, ""
	if length > 0 {
		load = fmt.Sprintf("duration: %v, %s", length, load)
		repeats = fmt.Sprintf("repeat: %d\n", repeat)
	}
	text := fmt.Sprintf("name: %s\nsubject: {%s}\nsettings: [%s]\n%sload: {%s}\n", s.name, s.subject, strings.Join(settings, ", "), repeats, load)
	file := filepath.Join(b.dir, name+".yaml")
	return file, os.WriteFile(file, []byte(text), 0o666)
}

// dynoes runs dyno, and returns how long that took.
func (b *bench) dynoes(ctx context.Context, args ...string) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, b.dyno, args...)
	var text strings.Builder
	cmd.Stderr = &text
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("dyno %s: %w: %s", args[0], err, program.LastLine(text.String()))
	}
	return time.Since(began), nil
}

// A tuning is what dyno tune said.
type tuning struct {
	gogc int // that is to be set; 0: keep what there is
	why  string
	gain float64 // measured, of what is recommended
	took time.Duration
}

// tune tunes a service that runs with a GOGC today. The price of memory is dyno's own if it is 0.
func (b *bench) tune(ctx context.Context, s service, name string, today int, price float64, total time.Duration) (t tuning, err error) {
	file, err := b.plan(s, name, []int{today}, 0, 0)
	if err != nil {
		return t, err
	}
	out := filepath.Join(b.dir, name)
	if err := os.RemoveAll(out); err != nil {
		return t, err
	}
	args := []string{"tune", "-f", file, "--out", out, "--total", total.String(), "--format", "json"}
	if price > 0 {
		args = append(args, "--memory-price", strconv.FormatFloat(price, 'g', 3, 64))
	}
	if t.took, err = b.dynoes(ctx, args...); err != nil {
		return t, err
	}
	text, err := os.ReadFile(filepath.Join(out, "tune.json"))
	if err != nil {
		return t, err
	}
	var doc struct {
		Recommend map[string]string
		Why       string
		Measured  []struct {
			Levels map[string]string
			Gain   float64 `json:"gain-frac"`
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return t, fmt.Errorf("tune.json: %w", err)
	}
	t.why = doc.Why
	if doc.Recommend == nil {
		return t, nil
	}
	for _, m := range doc.Measured {
		if m.Levels["GOGC"] == doc.Recommend["GOGC"] {
			t.gain = m.Gain
		}
	}
	t.gogc, err = strconv.Atoi(doc.Recommend["GOGC"])
	return t, err
}

// A grid is what was measured at each GOGC, block by block; NaN where a trial failed.
type grid struct {
	gogcs       []int
	cpu, memory [][]float64 // by GOGC, then block
	took        time.Duration
}

// grid measures settings side by side.
func (b *bench) grid(ctx context.Context, s service, gogcs []int, blocks int, length time.Duration) (*grid, error) {
	name := s.name + "-grid"
	file, err := b.plan(s, name, gogcs, blocks, length)
	if err != nil {
		return nil, err
	}
	out := filepath.Join(b.dir, name)
	if err := os.RemoveAll(out); err != nil {
		return nil, err
	}
	g := &grid{gogcs: gogcs}
	if g.took, err = b.dynoes(ctx, "run", "-f", file, "--out", out, "--keep-requests", "none", "--format", "json"); err != nil {
		return nil, err
	}
	for range gogcs {
		nan := slices.Repeat([]float64{math.NaN()}, blocks)
		g.cpu, g.memory = append(g.cpu, nan), append(g.memory, slices.Clone(nan))
	}
	f, err := os.Open(filepath.Join(out, "results.jsonl"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var r struct {
			Block  int
			Levels map[string]string
			Values map[string]float64
		}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("results.jsonl: %w", err)
		}
		n, err := strconv.Atoi(r.Levels["GOGC"])
		i := slices.Index(gogcs, n)
		if err != nil || i < 0 || r.Block < 1 || r.Block > blocks {
			return nil, fmt.Errorf("results.jsonl has a trial of GOGC=%s in block %d", r.Levels["GOGC"], r.Block)
		}
		if cpu := r.Values["cpu-sec/req"]; cpu > 0 {
			g.cpu[i][r.Block-1], g.memory[i][r.Block-1] = cpu, r.Values["rss-peak-B"]
		}
	}
	return g, lines.Err()
}

// ratios are CPU time and memory of a GOGC by that of another, medians over blocks.
func (g *grid) ratios(gogc, by int) (cpu, memory float64) {
	i, j := slices.Index(g.gogcs, gogc), slices.Index(g.gogcs, by)
	return median(g.cpu[i], g.cpu[j]), median(g.memory[i], g.memory[j])
}

// median returns the median of the quotients xs/ys, and NaN without one.
func median(xs, ys []float64) float64 {
	var qs []float64
	for i := range xs {
		if q := xs[i] / ys[i]; !math.IsNaN(q) {
			qs = append(qs, q)
		}
	}
	if len(qs) == 0 {
		return math.NaN()
	}
	slices.Sort(qs)
	return (qs[(len(qs)-1)/2] + qs[len(qs)/2]) / 2
}
