//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/dynolab/dyno/eval/internal/program"
)

// cost says what the traces cost a service that does nothing, by the trials of one run with and without them, and what
// it takes to read them.
func cost(ctx context.Context, p program.Place, o options) error {
	fmt.Printf("%8s  %-21s  %-21s  %10s  %10s  %10s  %s\n", "rate", "CPU/req, µs", "p99, µs", "a trace", "found", "read in", "memory")
	goals := program.Goals{W: os.Stdout, Width: 60}
	for text := range strings.SplitSeq(o.cost, ",") {
		rate, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		out := filepath.Join(p.Dir, fmt.Sprint("cost-", rate))
		run := exec.CommandContext(ctx, p.Dyno, "run", "./slow/service", "--rate", fmt.Sprint(rate, "/s"), "-d", o.length.String(), "--trace", o.length.String(), "-w", "0s", "--repeat", "6",
			"--why-slow", "--trace-repeat", "6", "--out", out, "--", "-case", "none", "-addr", "{{.Addr}}")
		if text, err := run.CombinedOutput(); err != nil {
			return fmt.Errorf("%d/s: %w: %s", rate, err, program.LastLine(string(text)))
		}
		plain, traced, files, err := trials(out)
		if err != nil {
			return err
		}
		for _, f := range files { // what the run kept of them
			if err := os.Remove(filepath.Join(filepath.Dir(f), "slow.json")); err != nil {
				return err
			}
		}
		said, took, peak, err := readAgain(ctx, p, out)
		if err != nil {
			return err
		}
		var size int64
		for _, f := range files {
			info, err := os.Stat(f)
			if err != nil {
				return err
			}
			size += info.Size() / int64(len(files))
		}
		each := took / time.Duration(len(files))
		fmt.Printf("%8d  %-21s  %-21s  %7.1f MB  %10s  %8.2f s  %.0f MB\n", rate, beside(plain, traced, "cpu-sec/req"), beside(plain, traced, "p99-sec"),
			float64(size)/1e6, said, each.Seconds(), float64(peak)/1e6)
		goals.Judge(fmt.Sprintf("%d/s: a trace is read within 15 s and 512 MiB", rate), fmt.Sprintf("%.1f s, %d MiB", each.Seconds(), peak>>20), each < 15*time.Second && peak <= 512<<20)
	}
	return goals.Conclude(o.check)
}

// beside are the medians of a metric without and with traces, and the second over the first.
func beside(plain, traced map[string][]float64, metric string) string {
	median := func(xs []float64) float64 {
		slices.Sort(xs)
		return 1e6 * (xs[(len(xs)-1)/2] + xs[len(xs)/2]) / 2
	}
	a, b := median(plain[metric]), median(traced[metric])
	return fmt.Sprintf("%.1f → %.1f (%+.0f%%)", a, b, 100*(b/a-1))
}

// trials are the values of a run's trials without and with a trace, and the files of the traces.
func trials(dir string) (plain, traced map[string][]float64, files []string, err error) {
	f, err := os.Open(filepath.Join(dir, "results.jsonl"))
	if err != nil {
		return nil, nil, nil, err
	}
	defer f.Close()
	plain, traced = map[string][]float64{}, map[string][]float64{}
	for in := json.NewDecoder(f); ; {
		var r struct {
			Trial  int
			For    string
			Values map[string]float64
		}
		if err := in.Decode(&r); err == io.EOF {
			break
		} else if err != nil {
			return nil, nil, nil, err
		}
		to := plain
		switch r.For {
		case "trace":
			to = traced
			files = append(files, filepath.Join(dir, "trials", fmt.Sprintf("%04d", r.Trial), "trace.out"))
		case "":
		default:
			continue
		}
		for name, v := range r.Values {
			to[name] = append(to[name], v)
		}
	}
	if len(plain["p99-sec"]) == 0 || len(files) == 0 {
		return nil, nil, nil, fmt.Errorf("%s has no trials of both kinds", dir)
	}
	return plain, traced, files, nil
}

// readAgain has dyno slow read a run: how many of the client's requests it found, in what time, and with what memory.
func readAgain(ctx context.Context, p program.Place, dir string) (found string, took time.Duration, peak int64, err error) {
	cmd := exec.CommandContext(ctx, p.Dyno, "slow", dir, "--json")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	began := time.Now()
	data, err := cmd.Output()
	if err != nil {
		return "", 0, 0, fmt.Errorf("%w: %s", err, program.LastLine(stderr.String()))
	}
	took = time.Since(began)
	var said struct {
		Settings []struct {
			Why struct {
				Trials []struct{ Sent, Requests int }
			} `json:"why-slow"`
		}
	}
	if err := json.Unmarshal(data, &said); err != nil {
		return "", 0, 0, err
	}
	sent, known := 0, 0
	for _, s := range said.Settings {
		for _, t := range s.Why.Trials {
			sent, known = sent+t.Sent, known+t.Requests
		}
	}
	return fmt.Sprintf("%.2f%%", 100*float64(known)/float64(sent)), took, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10, nil
}
