//go:build machine

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A log, of requests and gc lines of which one in sixteen is torn, is read on one
// core in less than 100 MiB of memory, without losing a line.
func TestMachineGCLog(t *testing.T) { testGCLog(t, 256<<20) }

// The figures of doc/method/measuring.md are of 1 GiB.
func TestLongGCLog(t *testing.T) { testGCLog(t, 1<<30) }

func testGCLog(t *testing.T, size int64) {
	file := filepath.Join(t.TempDir(), "gc.log")
	lines, torn := writeGCLog(t, file, size)
	cmd := exec.Command("dyno", "gc", "--json", file)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Collections int64 `json:"collections"`
		Text        struct {
			Torn int64 `json:"torn"`
			Lost int64 `json:"lost"`
		} `json:"text"`
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	cpu := (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	rss := float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) / 1024
	t.Logf("%d of %d collections, %d of %d torn: %.2f s of CPU, %.0f MB/s, %.1f MiB at most", got.Collections, lines, got.Text.Torn, torn, cpu, float64(size)/1e6/cpu, rss)
	if got.Collections != lines || got.Text.Torn != torn || got.Text.Lost != 0 {
		t.Error("not all lines were found")
	}
	if rss > 100 {
		t.Error("too much memory")
	}
}

// writeGCLog writes a log and returns its gc lines, and how many are torn.
func writeGCLog(t *testing.T, file string, size int64) (lines, torn int64) {
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	rnd := rand.New(rand.NewPCG(1, 2))
	for written := int64(0); written < size; {
		lines++
		at := lines * 3
		line := fmt.Sprintf("gc %d @%d.%03ds %d%%: 0.0%02d+%d+0.051 ms clock, 0.056+0.12/0.56/0.94+0.61 ms cpu, %d->%d->%d MB, %d MB goal, 0 MB stacks, 0 MB globals, 12 P\n",
			lines, at/1000, at%1000, 10+lines/1e6, 10+rnd.IntN(90), 10+rnd.IntN(30), 400+rnd.IntN(9), 410+rnd.IntN(9), 200+rnd.IntN(9), 420+rnd.IntN(9))
		log := fmt.Sprintf("2026/11/22 10:15:%02d.%06d level=info method=POST path=/sessions/%d status=200\n", lines/1000%60, lines%1e6, rnd.IntN(1e6))
		if lines%16 == 0 {
			cuts := strings.FieldsFunc(line, func(r rune) bool { return r == '+' })
			i := 1 + rnd.IntN(len(cuts)-1)
			line = strings.Join(cuts[:i], "+") + log + "+" + strings.Join(cuts[i:], "+")
			torn++
		}
		for range 2 {
			line += log
		}
		n, _ := w.WriteString(line)
		written += int64(n)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return lines, torn
}
