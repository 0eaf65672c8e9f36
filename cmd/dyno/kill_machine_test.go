//go:build machine

package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// kill -9 at fifty random moments of runs side by side: nothing is left, no result is lost,
// and --resume finishes the run.
func TestLongKilled(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	finished := 0
	for range 50 {
		s := startSession(t, "--repeat", "3", "-d", "500ms")
		time.Sleep(time.Duration(rng.Int64N(int64(6 * time.Second))))
		s.cmd.Process.Kill()
		s.exit()
		s.nothingIsLeft()
		before, err := os.ReadFile(filepath.Join(s.out, "results.jsonl"))
		if err != nil { // it was still building
			continue
		}
		before = before[:bytes.LastIndexByte(before, '\n')+1]
		finished += bytes.Count(before, []byte("\n"))
		s.run(filepath.Dir(s.out), "run", "--resume", s.out)
		if status := s.exit(); status != 0 || !strings.Contains(s.stdout.String(), "6 trials in 3 blocks of 2 settings") {
			t.Errorf("resume ended with status %d:\n%s\n%s", status, &s.stderr, &s.stdout)
		}
		s.nothingIsLeft()
		if after, _ := os.ReadFile(filepath.Join(s.out, "results.jsonl")); !bytes.HasPrefix(after, before) {
			t.Errorf("results.jsonl was\n%s\nand is\n%s", before, after)
		}
	}
	t.Logf("%d results were there before the kills", finished)
}
