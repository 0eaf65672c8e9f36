//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// record measures one version as four, side by side, with a layout of its own in each block, and writes the logarithms of its CPU
// time per request, a block a line.
func record(ctx context.Context, dyno, dir string, o options) error {
	repo, out := filepath.Join(dir, "repo"), filepath.Join(dir, "out")
	h := newHistory(options{commits: 2, kind: "none"}, rand.New(rand.NewPCG(o.seed, 0)))
	if _, err := h.Make(repo); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, dyno, "run", "./cmd/server", "--vary", "AA=1,2,3,4", "--repeat", strconv.Itoa(o.blocks), "--relink", "--out", out)
	cmd.Dir = repo
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("dyno run: %w\n%s", err, said)
	}
	results, err := os.Open(filepath.Join(out, "results.jsonl"))
	if err != nil {
		return err
	}
	defer results.Close()
	blocks := map[int][]float64{}
	lines := bufio.NewScanner(results)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var r struct {
			Block  int
			For    string
			Values map[string]float64
		}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return err
		}
		if v := r.Values["cpu-sec/req"]; v > 0 && r.For == "" {
			blocks[r.Block] = append(blocks[r.Block], math.Log(v))
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	file, err := os.Create(o.record)
	if err != nil {
		return err
	}
	defer file.Close()
	to := json.NewEncoder(file)
	for n := 1; n <= o.blocks; n++ {
		if len(blocks[n]) == 4 {
			if err := to.Encode(blocks[n]); err != nil {
				return err
			}
		}
	}
	return nil
}
