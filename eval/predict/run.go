//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/dynolab/dyno/eval/internal/program"
)

// An estimate is a predicted value with its interval of 90 %.
type estimate struct{ Value, Lo, Hi *float64 }

// A prediction is one of dyno predict --json; it and window have what of it is used here.
type prediction struct {
	Setting  string
	Limit    float64  `json:"limit-B"`
	Cycles   estimate `json:"gc"`
	GCCPU    estimate `json:"gc-cpu-sec"`
	CPU      estimate `json:"cpu-sec"`
	HeapPeak estimate `json:"heap-peak-B"`
	RSSPeak  estimate `json:"rss-peak-B"`
	Limited  bool
	Spiral   bool
	Doubts   []string
}

type window struct {
	Setting  string
	GOGC     *float64
	Limit    float64 `json:"limit-B"`
	Requests float64
	Cycles   float64  `json:"gc-cycles"`
	Live     float64  `json:"live-B"`
	Alloc    float64  `json:"alloc-B"`
	CPU      *float64 `json:"cpu-sec"`
	GCCPU    *float64 `json:"gc-cpu-sec"`
	HeapPeak float64  `json:"heap-peak-B"`
	RSSPeak  float64  `json:"rss-peak-B"`
	Mapped   float64  `json:"mapped-B"`
}

type forecast struct {
	Cliff       *float64 `json:"cliff-B"`
	Measured    []window
	Predictions []prediction
}

// A row is one setting, predicted and measured.
type row struct {
	workload   string
	again      bool // it is the base's setting, measured once more
	base, real window
	prediction
}

// workload measures the base, predicts, and measures the rest, in this order.
func (b *bench) workload(ctx context.Context, x workload) ([]row, error) {
	base, rest := filepath.Join(b.dir, x.name+"-base"), filepath.Join(b.dir, x.name+"-rest")
	rate, err := b.rate(ctx, x)
	if err != nil {
		return nil, err
	}
	load := b.loadOf(rate)
	if err := b.run(ctx, x, base, load, 2*b.launches, `{GOGC: "100"}`); err != nil {
		return nil, err
	}
	first, err := b.predict(ctx, base, "--gogc", "25,50,200,400")
	if err != nil {
		return nil, err
	}
	was := first.Measured[0]
	predicted := first.Predictions
	settings := []string{`{GOGC: "100"}`} // once more: what two runs differ by
	for _, gogc := range []string{"25", "50", "200", "400"} {
		settings = append(settings, fmt.Sprintf(`{GOGC: "%s"}`, gogc))
	}
	for _, limit := range []struct {
		share float64
		gogc  string
	}{{0.7, "off"}, {0.85, "off"}, {1.4, "off"}, {0.75, "100"}} {
		text := fmt.Sprintf("%.0fMiB", limit.share*was.Mapped/(1<<20))
		f, err := b.predict(ctx, base, "--gogc", limit.gogc, "--limit", text)
		if err != nil {
			return nil, err
		}
		predicted = append(predicted, f.Predictions...)
		settings = append(settings, fmt.Sprintf(`{GOGC: "%s", GOMEMLIMIT: %s}`, limit.gogc, text))
	}
	if err := b.run(ctx, x, rest, load, b.launches, settings...); err != nil {
		return nil, err
	}
	seen, err := b.predict(ctx, rest) // its predictions are not looked at
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, m := range seen.Measured {
		for _, p := range predicted {
			if p.Setting == m.Setting {
				rows = append(rows, row{x.name, m.Setting == was.Setting, was, m, p})
				break
			}
		}
	}
	if len(rows) != len(settings) {
		return rows, fmt.Errorf("%d of %d settings were measured and predicted", len(rows), len(settings))
	}
	return rows, nil
}

// busy is how many CPUs the service takes under the load of all settings.
const busy = 0.6

// rate finds the one at which the service takes so many CPUs. A service that waits for a CPU tells nothing: the
// runtime books the CPU time of the collector by the wall clock.
func (b *bench) rate(ctx context.Context, x workload) (float64, error) {
	out := filepath.Join(b.dir, x.name+"-rate")
	if err := b.run(ctx, x, out, "concurrency: 1, duration: 2s", 1, `{GOGC: "100"}`); err != nil {
		return 0, err
	}
	f, err := b.predict(ctx, out)
	if err != nil {
		return 0, err
	}
	w := f.Measured[0]
	rate := busy / (known(w.CPU) / w.Requests)
	if !(rate > 0) {
		return 0, errors.New("its CPU time is not known")
	}
	return rate, nil
}

// run measures settings with launches one after the other, under the same load.
func (b *bench) run(ctx context.Context, x workload, out, load string, launches int, settings ...string) error {
	plan := fmt.Sprintf(`name: %s
subject:
  package: %[2]s
  args: ["{{.Addr}}"]
  env: {WORKLOAD: %[1]s, LIVE: "%[3]d"}
  ready_timeout: 2m
settings: [%[4]s]
repeat: %[5]d
alone: true
probes: {every: 50ms}
load: {%[6]s, warmup: 2s, path: /}
`, x.name, b.service, x.live, strings.Join(settings, ", "), launches, load)
	file := out + ".yaml"
	if err := os.WriteFile(file, []byte(plan), 0o666); err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, b.dyno, "run", "-f", file, "--out", out, "--keep-requests", "none", "--format", "json")
	if b.experiment != "" {
		cmd.Env = append(os.Environ(), "GOEXPERIMENT="+b.experiment)
	}
	var text strings.Builder
	cmd.Stderr = &text
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("dyno run: %w: %s", err, program.LastLine(text.String()))
	}
	return nil
}

// predict asks dyno, and keeps the answer with the time at which it came.
func (b *bench) predict(ctx context.Context, dir string, args ...string) (*forecast, error) {
	text, err := exec.CommandContext(ctx, b.dyno, append([]string{"predict", dir, "--json"}, args...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("dyno predict: %w", err)
	}
	f := new(forecast)
	if err := json.Unmarshal(text, f); err != nil {
		return nil, err
	}
	if len(f.Measured) == 0 {
		return nil, fmt.Errorf("dyno predict %s: nothing was measured", dir)
	}
	line, err := json.Marshal(map[string]any{"at": time.Now().UTC(), "dir": filepath.Base(dir), "args": args, "answer": json.RawMessage(text)})
	if err != nil {
		return nil, err
	}
	if _, err := b.log.Write(append(line, '\n')); err != nil {
		return nil, err
	}
	return f, b.log.Sync()
}

func known(x *float64) float64 {
	if x == nil {
		return math.NaN()
	}
	return *x
}
